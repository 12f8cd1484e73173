"""What cannot be JSON is refused alike on every road between a client and a server."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer
from trio_mcp.client import Client
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.transports._line_channel import LineChannel
from trio_mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from trio_mcp._rpc._channel import Channel

BAD = "\ud800"


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"x": value}
    return value


def line_pair() -> tuple[Channel, Channel]:
    near, far = trio.testing.memory_stream_pair()
    return LineChannel(near, near), LineChannel(far, far)


PAIRS: dict[str, Callable[[], tuple[Channel, Channel]]] = {
    "memory": open_memory_channel_pair,
    "memory as text": lambda: open_memory_channel_pair(as_text=True),
    "lines": line_pair,
}


@pytest.fixture(params=["direct", *PAIRS])
def connect(request: pytest.FixtureRequest) -> Any:
    """Join a client and a server by one of the roads."""

    @asynccontextmanager
    async def connect(mcp: MCPServer[Any], **options: Any) -> AsyncGenerator[Client, None]:
        if request.param == "direct":
            async with Client(mcp, **options) as client:
                yield client
            return
        near, far = PAIRS[request.param]()

        @asynccontextmanager
        async def transport() -> AsyncGenerator[Channel, None]:
            yield near

        async with trio.open_nursery() as nursery:
            nursery.start_soon(mcp.lowlevel_server.run, far)
            async with Client(transport(), **options) as client:
                yield client
            await near.aclose()

    return connect


def make_server() -> MCPServer[Any]:
    mcp: MCPServer[Any] = MCPServer("plain")

    @mcp.tool()
    async def echo(value: Any) -> str:
        return "fine"

    return mcp


ASKS: list[tuple[str, Callable[[Client], Any], str]] = [
    ("read", lambda client: client.read_resource(f"r://{BAD}"), "params.uri: the text holds"),
    ("call", lambda client: client.call_tool(f"x{BAD}"), "params.name: the text holds"),
    ("list", lambda client: client.list_tools(cursor=BAD), "params.cursor: the text holds"),
    ("get", lambda client: client.get_prompt(BAD), "params.name: the text holds"),
    (
        "arguments",
        lambda client: client.call_tool("echo", {"value": [{"x": BAD}]}),
        "arguments.value[0].x: the text holds",
    ),
    (
        "NaN",
        lambda client: client.call_tool("echo", {"value": [math.nan]}),
        "arguments.value[0]: JSON has no nan",
    ),
    (
        "deep",
        lambda client: client.call_tool("echo", {"value": nested(1000)}),
        "nested deeper than 100 levels",
    ),
    (
        "just too deep",
        # The arguments alone would do, the whole message does not.
        lambda client: client.call_tool("echo", {"value": nested(98)}),
        "nested deeper than 100 levels",
    ),
]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("ask", "what"), [each[1:] for each in ASKS], ids=[each[0] for each in ASKS]
)
async def test_a_call_that_is_no_json_raises_at_once_and_the_next_one_works(
    autojump_clock: Any, connect: Any, ask: Any, what: str, mode: str
) -> None:
    async with connect(make_server(), mode=mode) as client:
        began = trio.current_time()
        with pytest.raises(ValueError, match=r"levels|text|JSON") as caught:
            await ask(client)
        assert what in str(caught.value)
        assert trio.current_time() == began
        result = await client.call_tool("echo", {"value": nested(97)})
        assert result.content[0].text == "fine"


@pytest.mark.filterwarnings("ignore:.*is deprecated since")
@pytest.mark.parametrize("kind", ["sampling", "elicitation", "progress", "log"])
async def test_a_tool_that_says_what_is_no_json_is_told_where(
    autojump_clock: Any, connect: Any, kind: str
) -> None:
    mcp: MCPServer[Any] = MCPServer("asks")
    refused: list[Exception] = []

    async def say(ctx: Context[Any]) -> None:
        if kind == "sampling":
            content = TextContent(text=BAD)
            message = SamplingMessage(role="user", content=content)
            await ctx.session.create_message([message], max_tokens=1)
        elif kind == "elicitation":
            schema: dict[str, Any] = {"type": "object", "properties": {}}
            await ctx.session.elicit_form(f"really {BAD}?", schema)
        elif kind == "progress":
            await ctx.report_progress(1, 2, BAD)
        else:
            await ctx.session.send_log_message("warning", "fine", BAD)

    @mcp.tool()
    async def tool(ctx: Context[Any]) -> str:
        try:
            await say(ctx)
        except ValueError as exc:
            refused.append(exc)
        return "went on"

    async def sample(_: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        raise AssertionError(params)

    async def elicit(_: Any, params: Any) -> Any:
        raise AssertionError(params)

    async def ignore(*_: object) -> None:
        pass

    async with connect(
        mcp,
        mode="legacy",
        sampling_callback=sample,
        elicitation_callback=elicit,
        logging_callback=ignore,
    ) as client:
        result = await client.call_tool("tool", progress_callback=ignore)
        assert result.content[0].text == "went on"
    (why,) = refused
    assert "the text holds a lone surrogate" in str(why)
    assert "params." in str(why)


async def test_a_result_that_is_no_json_is_an_internal_error(
    autojump_clock: Any, connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    mcp: MCPServer[Any] = MCPServer("odd")

    @mcp.resource("odd://names")
    def names() -> str:
        return f"caf{BAD}"

    async with connect(mcp) as client:
        with pytest.raises(Exception, match="Internal server error") as caught:
            await client.read_resource("odd://names")
        assert getattr(caught.value, "code", None) == -32603
    assert "the text holds a lone surrogate" in caplog.text
