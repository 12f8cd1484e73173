"""Our client and a low-level server of the official SDK: what decorators do not reach."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.transports import StdioServerParameters, stdio_client
from trio_mcp.types import (
    CreateMessageResultWithTools,
    ElicitCompleteNotification,
    ElicitRequestURLParams,
    ElicitResult,
    ListRootsResult,
    ResourceUpdatedNotification,
    Root,
    SamplingCapability,
    SamplingToolsCapability,
    TextContent,
    ToolUseContent,
)

from ._peers import PEERS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PARAMETERS = StdioServerParameters(
    command=sys.executable, args=[str(PEERS / "lowlevel.py"), "mcp"]
)

pytestmark = [
    pytest.mark.limit(60),
    pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning"),
]
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@asynccontextmanager
async def connect(mode: str, **options: Any) -> AsyncGenerator[Client, None]:
    async with Client(stdio_client(PARAMETERS, errlog=None), mode=mode, **options) as client:
        yield client


async def answer_of(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    [block] = result.content
    assert isinstance(block, TextContent)
    return json.loads(block.text)


async def fill_in(context: Any, params: Any) -> ElicitResult:
    if isinstance(params, ElicitRequestURLParams):
        assert params.url == "https://a.example/"
        return ElicitResult(action="accept")
    return ElicitResult(action="accept", content={"count": 3})


async def converse(context: Any, params: Any) -> CreateMessageResultWithTools:
    assert [tool.name for tool in params.tools] == ["weather"]
    assert params.tool_choice.mode == "auto"
    assert params.system_prompt == "Be brief."
    assert params.model_preferences.speed_priority == 0.5
    use, result = (message.content_as_list[0] for message in params.messages)
    assert (use.input, result.tool_use_id) == ({"city": "Paris"}, "u1")
    return CreateMessageResultWithTools(
        role="assistant",
        content=[TextContent(text="And"), ToolUseContent(name="weather", id="u2", input={})],
        model="m",
        stop_reason="toolUse",
    )


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///a")])


EVERYTHING: dict[str, Any] = {
    "elicitation_callback": fill_in,
    "sampling_callback": converse,
    "sampling_capabilities": SamplingCapability(tools=SamplingToolsCapability()),
    "list_roots_callback": roots,
}


@both_eras
async def test_every_list_is_gone_through_page_by_page_and_kept_while_it_is_fresh(
    mode: str,
) -> None:
    names = [f"n{number}" for number in range(5)]
    async with connect(mode) as client:
        assert [each.name async for each in client.iter_tools()] == names
        assert [each.name async for each in client.iter_resources()] == names
        assert [each.name async for each in client.iter_resource_templates()] == names
        assert [each.name async for each in client.iter_prompts()] == names
        page = await client.list_prompts(cursor="2")
        assert ([each.name for each in page.prompts], page.next_cursor) == (["n2", "n3"], "4")
        with pytest.raises(MCPError) as caught:
            await client.list_prompts(cursor="mine")
        assert (caught.value.code, caught.value.data) == (-32602, {"cursor": "mine"})
        for _ in range(3):
            await client.list_tools()
        asked = await answer_of(client, "asked", method="tools/list")
        assert asked == (3 if mode == "auto" else 6)


@both_eras
async def test_every_question_is_answered(mode: str) -> None:
    done: list[str] = []

    async def handler(message: Any) -> None:
        if isinstance(message, ElicitCompleteNotification):
            done.append(message.params.elicitation_id)

    async with connect(mode, message_handler=handler, **EVERYTHING) as client:
        filled_in = {"count": 3, "size": "s", "fast": True}
        assert await answer_of(client, "form") == {"action": "accept", "content": filled_in}
        assert await answer_of(client, "talk") == {
            "stop": "toolUse",
            "blocks": ["text", "tool_use"],
        }
        assert await answer_of(client, "roots") == ["file:///a"]
        assert (await answer_of(client, "visit"))["action"] == "accept"
        [contents] = (await client.read_resource("item://n0")).contents
        assert contents.text == f"page {filled_in}"  # type: ignore[union-attr]
        [message] = (await client.get_prompt("n0")).messages
        assert message.content == TextContent(text=f"tone {filled_in}")
    assert done == ([] if mode == "auto" else ["visit-1"])


async def test_the_older_era_is_told_and_asked_more() -> None:
    updated: list[str] = []
    cancelled = trio.Event()

    async def handler(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            updated.append(message.params.uri)

    async def think(context: Any, params: Any) -> ElicitResult:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()
        raise AssertionError

    options = {**EVERYTHING, "elicitation_callback": think}
    async with connect("legacy", message_handler=handler, **options) as client:
        await client.subscribe_resource("item://n0")
        await client.unsubscribe_resource("item://n0")
        await client.set_logging_level("error")
        await client.send_roots_list_changed()
        assert await answer_of(client, "wait_told", what="roots") == [
            "subscribe item://n0",
            "unsubscribe item://n0",
            "level error",
            "roots",
        ]
        await answer_of(client, "touch", uri="item://n0")
        assert await answer_of(client, "ping") == "alive"
        assert await answer_of(client, "impatient") == "gave up"
        await cancelled.wait()
    assert updated == ["item://n0"]
