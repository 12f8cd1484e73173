"""One server program for both SDKs: ``python server.py mcp`` or ``python server.py trio_mcp``.

The decorators have the same names in both, so what differs between the two processes is only
what serves them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import anyio

if sys.argv[1] == "mcp":
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
    from mcp_types import (
        Completion,
        CreateMessageRequest,
        CreateMessageRequestParams,
        CreateMessageResult,
        ListRootsRequest,
        ListRootsResult,
        SamplingMessage,
        TextContent,
    )
else:
    from trio_mcp import Context, MCPServer
    from trio_mcp.errors import ResourceNotFoundError, ToolError
    from trio_mcp.types import (
        Completion,
        CreateMessageRequest,
        CreateMessageRequestParams,
        CreateMessageResult,
        ListRootsRequest,
        ListRootsResult,
        SamplingMessage,
        TextContent,
    )

server = MCPServer(
    "interop",
    title="Interop",
    version="7",
    instructions="Call add.",
    website_url="https://example.com/interop",
    log_level="CRITICAL",
)


@dataclass
class Measure:
    value: float
    unit: str


class Naps:
    """The calls of the tool `nap`: how many run, and how each of them ended."""

    def __init__(self) -> None:
        self.running = 0
        self.ended: dict[str, str] = {}
        self._changed: anyio.Event | None = None

    def change(self, by: int) -> None:
        self.running += by
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def wait_changed(self) -> None:
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()


naps = Naps()


@server.tool(title="Addition")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def measure(value: float) -> Measure:
    """Measure in metres."""
    return Measure(value, "m")


@server.tool()
async def fail(text: str) -> str:
    """Fail with a text."""
    raise ToolError(text)


@server.tool()
async def crash() -> str:
    """Fail in a way that nobody foresaw."""
    raise ZeroDivisionError("secret")


@server.tool()
async def count(to: int, ctx: Context) -> int:
    """Report progress this often."""
    for done in range(to):
        await ctx.report_progress(done + 1, to, f"step {done + 1}")
    return to


@server.tool()
async def speak(ctx: Context) -> str:
    """Send log messages of three levels."""
    for level in ("debug", "info", "error"):
        await ctx.session.send_log_message(level, {"said": level}, logger="speaker")
    return "spoke"


@server.tool()
async def nap(name: str, ctx: Context) -> str:
    """Sleep until cancelled."""
    naps.change(1)
    try:
        await ctx.report_progress(1)
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        naps.ended[name] = "cancelled"
        raise
    finally:
        naps.change(-1)
    return "woke"


@server.tool()
async def wait_ended(name: str) -> str:
    """Wait until a nap has ended, and say how."""
    with anyio.fail_after(5):
        while name not in naps.ended:
            await naps.wait_changed()
    return naps.ended[name]


@server.tool()
async def wait_running(number: int) -> int:
    """Wait until this many naps run."""
    with anyio.fail_after(10):
        while naps.running != number:
            await naps.wait_changed()
    return naps.running


@server.tool()
async def protocol(ctx: Context) -> str:
    """Tell the revision that the request speaks."""
    return str(ctx.protocol_version)


@server.tool()
async def roots(ctx: Context) -> list[str]:
    """Ask the client for its roots."""
    found = await ctx.session.send_request(ListRootsRequest(), ListRootsResult)
    return [str(root.uri) for root in found.roots]


@server.tool()
async def sample(text: str, ctx: Context) -> str:
    """Ask the client's model."""
    message = SamplingMessage(role="user", content=TextContent(text=text))
    answer = await ctx.session.send_request(
        CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=9)),
        CreateMessageResult,
    )
    assert isinstance(answer.content, TextContent)
    return f"{answer.model}: {answer.content.text}"


@server.resource("text://motto", title="Motto", mime_type="text/markdown")
def motto() -> str:
    """Tell the motto."""
    return "*Many* languages, ünd one."


@server.resource("bytes://all", mime_type="application/octet-stream")
def all_bytes() -> bytes:
    """Give every byte."""
    return bytes(range(256))


@server.resource("note://{name}", mime_type="text/plain")
def note(name: str) -> str:
    """Find a note."""
    if name == "missing":
        raise ResourceNotFoundError(f"there is no note {name}")
    return f"note of {name}"


@server.prompt(title="Greeting")
def greet(name: str, style: str = "plain") -> str:
    """Greet somebody."""
    return f"Greet {name}, {style}."


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion | None:
    known = ["ada", "alan", "grace"]
    if context is not None and context.arguments:
        known = [f"{name} ({context.arguments['style']})" for name in known]
    values = [name for name in known if name.startswith(argument.value)]
    return Completion(values=values, total=len(values), has_more=False)


if __name__ == "__main__":
    server.run("stdio")
