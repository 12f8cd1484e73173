"""The server of the soak test, over Streamable HTTP: ``python server.py IDLE``.

Sessions whose clients vanish without a word are forgotten after so many seconds. The first line
of stdout is its URL. Each line on stdin is answered by what it holds, as JSON; the
end of stdin ends it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import trio
from attrs import frozen

from trio_mcp import Context, MCPServer
from trio_mcp.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from trio_mcp.transports import InMemoryEventStore, ServeOptions, serve_http_app

server = MCPServer("soak", log_level="CRITICAL")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def stream(to: int, ctx: Context) -> str:
    """Report progress this often, with a pause now and then."""
    for done in range(to):
        await ctx.report_progress(done + 1, to)
        if done % 3 == 0:
            await trio.sleep(0.01)
    return "done"


@server.tool()
async def nap(seconds: float) -> str:
    """Sleep."""
    await trio.sleep(seconds)
    return "woke"


@server.tool()
def work(size: int) -> int:
    """Count in a thread."""
    return len("x" * size)


@server.tool()
async def change(ctx: Context) -> str:
    """Tell everybody that the tools have changed."""
    await ctx.notify_tools_changed()
    return "told"


@frozen
class Confirm:
    sure: bool


def ask() -> Elicit[Confirm]:
    return Elicit("sure?", Confirm)


@server.tool()
async def confirm(answer: Annotated[ElicitationResult[Confirm], Resolve(ask)]) -> bool:
    """Ask the user."""
    return isinstance(answer, AcceptedElicitation) and answer.data.sure


def holdings() -> dict[str, Any]:
    """Count what this process holds. Called in the thread that runs Trio."""
    gc.collect()
    run = server.session_manager._run
    assert run is not None
    lines = Path("/proc/self/status").read_text().splitlines()
    return {
        "tasks": trio.lowlevel.current_statistics().tasks_living,
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names are enough
        "sessions": len(run.older.sessions),
        "slots": server.workers.limiter.borrowed_tokens,
        "memory": int(next(line for line in lines if line.startswith("VmRSS")).split()[1]),
    }


def answer_lines(token: trio.lowlevel.TrioToken, finished: trio.Event) -> None:
    try:
        for _ in sys.stdin:
            print(json.dumps(trio.from_thread.run_sync(holdings, trio_token=token)), flush=True)
    finally:
        trio.from_thread.run_sync(finished.set, trio_token=token)


async def main() -> None:
    app = server.streamable_http_app(
        event_store=InMemoryEventStore(max_bytes=1_000_000),
        session_idle_timeout=float(sys.argv[1]),
    )
    finished = trio.Event()
    async with trio.open_nursery() as nursery:
        serving = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        print(f"{serving.url}/mcp", flush=True)
        token = trio.lowlevel.current_trio_token()
        threading.Thread(target=answer_lines, args=(token, finished), daemon=True).start()
        await finished.wait()
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
