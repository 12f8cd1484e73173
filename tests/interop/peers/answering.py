"""The official SDK's client, which answers: ``python answering.py SERVER MODE``, a report as JSON.

Everything it is asked is in the report, and what became of each call.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

asked: list[Any] = []


def as_json(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def fill_in(context: Any, params: Any) -> types.ElicitResult:
    asked.append(as_json(params))
    content: dict[str, Any] = {}
    for name in params.requested_schema["properties"]:
        content |= {"count": {"count": 3}, "sure": {"sure": True}, "name": {"name": "Ann"}}.get(
            name, {}
        )
    return types.ElicitResult(action="accept", content=content)


async def decline(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="decline")


async def say(context: Any, params: Any) -> types.CreateMessageResult:
    asked.append(as_json(params))
    text = types.TextContent(type="text", text="Hi")
    return types.CreateMessageResult(role="assistant", content=text, model="m")


async def roots(context: Any) -> types.ListRootsResult:
    asked.append("roots")
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///a"}]})


async def outcome(client: Client, name: str, **arguments: Any) -> Any:
    try:
        result = as_json(await client.call_tool(name, arguments))
    except MCPError as exc:
        return {"code": exc.error.code, "message": exc.error.message, "data": exc.error.data}
    return {"error": result.get("isError", False), "text": result["content"][0]["text"]}


async def report(server: StdioServerParameters, mode: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    everything: dict[str, Any] = {
        "elicitation_callback": fill_in,
        "sampling_callback": say,
        "list_roots_callback": roots,
    }
    async with Client(stdio_client(server), mode=mode, **everything) as client:
        found["version"] = client.protocol_version
        for name, arguments in (
            ("order", {"what": "tea"}),
            ("consult", {"what": "Hello"}),
            ("confirm", {}),
            ("by_hand", {}),
        ):
            asked.clear()
            found[name] = {**await outcome(client, name, **arguments), "asked": [*asked]}
    async with Client(stdio_client(server), mode=mode, elicitation_callback=decline) as client:
        found["declined"] = await outcome(client, "order", what="tea")
        found["no sampling"] = await outcome(client, "consult", what="Hello")
    async with Client(stdio_client(server), mode=mode) as client:
        found["no elicitation"] = await outcome(client, "order", what="tea")
    return found


async def main() -> None:
    program, *modes = sys.argv[1:]
    server = StdioServerParameters(command=sys.executable, args=[program, "trio_mcp"])
    print(json.dumps({mode: await report(server, mode) for mode in modes}))


anyio.run(main)
