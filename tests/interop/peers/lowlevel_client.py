"""The official SDK's client and our low-level server: ``python lowlevel_client.py SERVER MODE…``.

Prints what came of it as JSON: ``{MODE: {STEP: RESULT}}``.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

VERBS = {
    "tools": "list_tools",
    "resources": "list_resources",
    "resource_templates": "list_resource_templates",
    "prompts": "list_prompts",
}


def as_json(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def answer_of(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result.content[0], types.TextContent)
    return json.loads(result.content[0].text)


async def go_through(client: Client, member: str) -> Any:
    pages: list[list[str]] = []
    cursor = None
    while True:
        result = await getattr(client, VERBS[member])(cursor=cursor)
        pages.append([each.name for each in getattr(result, member)])
        cursor = result.next_cursor
        if cursor is None:
            return pages


class User:
    """Answers what the server asks, and remembers it."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.heard: list[Any] = []
        self.cancelled = anyio.Event()

    async def fill_in(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(as_json(params))
        if isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action="accept")
        if params.message == "Are you there?":
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()
        return types.ElicitResult(action="accept", content={"count": 3, "size": "l"})

    async def converse(self, context: Any, params: Any) -> types.CreateMessageResultWithTools:
        self.asked.append(as_json(params))
        text = types.TextContent(text="And")
        use = types.ToolUseContent(name="weather", id="u2", input={})
        return types.CreateMessageResultWithTools(
            role="assistant", content=[text, use], model="m", stop_reason="toolUse"
        )

    async def roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///a")])

    async def hear(self, message: Any) -> None:
        self.heard.append(as_json(message))


async def use_lists(client: Client) -> dict[str, Any]:
    report: dict[str, Any] = {}
    report["pages"] = {member: await go_through(client, member) for member in VERBS}
    try:
        await client.list_prompts(cursor="mine")
    except MCPError as exc:
        report["refused"] = [exc.error.code, exc.error.data]
    for _ in range(3):
        await client.list_tools()
    report["asked"] = await answer_of(client, "asked", method="tools/list")
    return report


async def be_asked(client: Client) -> dict[str, Any]:
    tools = ("form", "talk", "roots", "visit")
    return {
        **{tool: await answer_of(client, tool) for tool in tools},
        "resource": as_json(await client.read_resource("item://n0"))["contents"],
        "prompt": as_json(await client.get_prompt("n0"))["messages"],
    }


async def tell(client: Client, user: User) -> dict[str, Any]:
    await client.subscribe_resource("item://n0")
    await client.unsubscribe_resource("item://n0")
    await client.set_logging_level("error")
    await client.send_roots_list_changed()
    report = {"told": await answer_of(client, "wait_told", what="roots")}
    await answer_of(client, "touch", uri="item://n0")
    report["ping"] = await answer_of(client, "ping")
    report["impatient"] = await answer_of(client, "impatient")
    await user.cancelled.wait()
    return report


async def visit(server: str, mode: str) -> dict[str, Any]:
    user = User()
    parameters = StdioServerParameters(command=sys.executable, args=[server, "trio_mcp"])
    with anyio.fail_after(25):
        async with Client(
            stdio_client(parameters),
            mode=mode,
            elicitation_callback=user.fill_in,
            sampling_callback=user.converse,
            sampling_capabilities=types.SamplingCapability(tools=types.SamplingToolsCapability()),
            list_roots_callback=user.roots,
            message_handler=user.hear,
        ) as client:
            report = {**await use_lists(client), **await be_asked(client)}
            report["questions"] = [*user.asked]
            if mode == "legacy":
                report |= await tell(client, user)
    return {**report, "heard": user.heard}


async def main(server: str, modes: list[str]) -> None:
    print(json.dumps({mode: await visit(server, mode) for mode in modes}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    anyio.run(main, sys.argv[1], sys.argv[2:])
