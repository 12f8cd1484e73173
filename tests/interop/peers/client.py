"""The client of the official SDK: ``python client.py BACKEND SERVER MODE…``, a report as JSON.

Connects to the server of trio_mcp, a program or a URL, once for each mode, does what the protocol has, and prints
what came of it: ``{MODE: {STEP: RESULT}}``. A mode is "auto", "legacy", or an older revision,
which this SDK asks for once it is told that no newer one is known.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import mcp.client.session
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

Step = Callable[[Client], Awaitable[Any]]

# Over HTTP, this SDK reads no event of more than 1 MiB, and a result has its text twice.
SIZE = 1 << 18 if sys.argv[2].startswith("http") else 1 << 20


def as_json(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def say_who(client: Client) -> Any:
    return {
        "version": client.protocol_version,
        "info": as_json(client.server_info),
        "capabilities": as_json(client.server_capabilities),
        "instructions": client.instructions,
    }


async def list_all(client: Client) -> Any:
    return {
        "tools": as_json(await client.list_tools())["tools"],
        "resources": as_json(await client.list_resources())["resources"],
        "templates": as_json(await client.list_resource_templates())["resourceTemplates"],
        "prompts": as_json(await client.list_prompts())["prompts"],
    }


async def call(client: Client) -> Any:
    text = "ünd 🎈\n" + "x" * SIZE
    echoed = await client.call_tool("echo", {"text": text})
    return {
        "echoed": isinstance(echoed.content[0], types.TextContent)
        and echoed.content[0].text == text,
        "protocol": as_json(await client.call_tool("protocol")),
        "add": as_json(await client.call_tool("add", {"a": 20, "b": 22})),
        "measure": as_json(await client.call_tool("measure", {"value": 8.5})),
        "fail": as_json(await client.call_tool("fail", {"text": "no luck"})),
        "crash": as_json(await client.call_tool("crash")),
        "wrong": as_json(await client.call_tool("add", {"a": "one", "b": 2})),
    }


async def watch_progress(client: Client) -> Any:
    seen = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        seen.append([progress, total, message])

    await client.call_tool("count", {"to": 20}, progress_callback=watch)
    return seen


async def cancel(client: Client) -> Any:
    with anyio.CancelScope() as scope:

        async def started(progress: float, total: float | None, message: str | None) -> None:
            scope.cancel()

        await client.call_tool("nap", {"name": "scope"}, progress_callback=started)
    ended = as_json(await client.call_tool("wait_ended", {"name": "scope"}))
    refused = await refusal(client.call_tool("nap", {"name": "timeout"}, read_timeout_seconds=0.2))
    running = as_json(await client.call_tool("wait_running", {"number": 0}))
    return {
        "cancelled": scope.cancelled_caught,
        "timeout": refused["code"],
        "ended": ended["content"][0]["text"],
        "running": running["content"][0]["text"],
    }


async def read(client: Client) -> Any:
    return {
        "motto": as_json(await client.read_resource("text://motto"))["contents"],
        "bytes": as_json(await client.read_resource("bytes://all"))["contents"],
        "note": as_json(await client.read_resource("note://first%20one"))["contents"],
    }


async def prompt_and_complete(client: Client) -> Any:
    reference = types.PromptReference(name="greet")
    template = types.ResourceTemplateReference(uri="note://{name}")
    completed = [
        await client.complete(reference, {"name": "name", "value": "a"}),
        await client.complete(template, {"name": "name", "value": "g"}, {"style": "s"}),
    ]
    return {
        "prompt": as_json(await client.get_prompt("greet", {"name": "Ada"}))["messages"],
        "completed": [each.completion.values for each in completed],
    }


async def be_refused(client: Client) -> Any:
    return {
        "tool": await refusal(client.call_tool("nope")),
        "resource": await refusal(client.read_resource("note://missing")),
        "prompt": await refusal(client.get_prompt("nope")),
        "argument": await refusal(client.get_prompt("greet")),
        "roots": await refusal(client.call_tool("roots")),
    }


async def refusal(asked: Awaitable[Any]) -> Any:
    try:
        return as_json(await asked)
    except MCPError as exc:
        return {"code": exc.error.code, "message": exc.error.message, "data": exc.error.data}


async def ping(client: Client) -> Any:
    return await refusal(client.send_ping())


STEPS: dict[str, Step] = {
    "who": say_who,
    "lists": list_all,
    "calls": call,
    "progress": watch_progress,
    "cancel": cancel,
    "read": read,
    "prompts": prompt_and_complete,
    "refused": be_refused,
    "ping": ping,
}


async def list_roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada")])


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    text = types.TextContent(text=params.messages[0].content.text.upper())
    return types.CreateMessageResult(role="assistant", content=text, model="loud")


async def visit(server: str, mode: str) -> dict[str, Any]:
    logged: list[Any] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        logged.append([params.level, params.data, params.logger])

    target: Any = server
    if server.endswith("/sse"):
        target = sse_client(server)
    elif not server.startswith("http"):
        parameters = StdioServerParameters(command=sys.executable, args=[server, "trio_mcp"])
        target = stdio_client(parameters)
    if mode not in ("auto", "legacy"):
        mcp.client.session.LATEST_HANDSHAKE_VERSION = mode
        mode = "legacy"
    with anyio.fail_after(25):
        async with Client(
            target,
            mode=mode,
            logging_callback=log,
            log_level="info",
            list_roots_callback=list_roots,
            sampling_callback=sample,
            cache=None,
        ) as client:
            report = {name: await step(client) for name, step in STEPS.items()}
            await client.call_tool("speak")
            if mode == "legacy":
                await client.set_logging_level("error")
                await client.call_tool("speak")
                report["asked"] = as_json(await client.call_tool("sample", {"text": "hi"}))
            with anyio.fail_after(5):
                # Its callbacks run in tasks of their own.
                while [each[0] for each in logged].count("error") < (2 if mode == "legacy" else 1):
                    await anyio.lowlevel.checkpoint()
            report["logged"] = logged
    return report


async def main(server: str, modes: list[str]) -> None:
    print(json.dumps({mode: await visit(server, mode) for mode in modes}))


if __name__ == "__main__":
    anyio.run(main, sys.argv[2], sys.argv[3:], backend=sys.argv[1])
