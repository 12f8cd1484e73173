"""Results that cannot be written: the client hears that there was a defect, the log says where."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pydantic
import pytest
import trio

from trio_mcp.client import Client, ClientSession
from trio_mcp.errors import MCPError
from trio_mcp.server import Server
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import INTERNAL_ERROR, ListToolsResult, Tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

FINE = Tool(name="fine", input_schema={"type": "object"})


@asynccontextmanager
async def connected(server: Server[Any], road: str) -> AsyncGenerator[Any]:
    if road == "direct":
        async with Client(server) as client:
            yield client
        return
    near, far = open_memory_channel_pair(as_text=road == "text")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with ClientSession(near) as session:
            await session.initialize()
            yield session
        nursery.cancel_scope.cancel()


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"properties": schema}
    return schema


@pytest.mark.parametrize("road", ["direct", "memory", "text"])
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"output_schema": True}, "Tool.output_schema: expected dict, got bool (at tools[1])"),
        ({"output_schema": "x"}, "Tool.output_schema: expected dict, got str (at tools[1])"),
        ({"input_schema": []}, "Tool.input_schema: expected dict, got list (at tools[1])"),
        ({"input_schema": deep(200)}, "nested deeper than 100 levels (at tools[1])"),
        (
            {"input_schema": {"secret": "\ud800"}},
            "Tool.input_schema.secret: the text holds a lone surrogate (at tools[1])",
        ),
        ({"name": 5}, "Tool.name: expected str, got int (at tools[1])"),
        ({"meta": {"secret": {1}}}, "Tool.meta.secret: set has no JSON form (at tools[1])"),
    ],
)
async def test_every_road_says_the_same(
    road: str, bad: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[FINE, Tool(**{"name": "x", "input_schema": {}, **bad})])

    async with connected(Server("s", on_list_tools=list_tools), road) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
        assert (caught.value.code, caught.value.message) == (
            INTERNAL_ERROR,
            "Internal server error",
        )
        assert caught.value.data is None
    [logged] = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert "tools/list" in logged.getMessage()
    assert logged.exc_info is not None
    assert str(logged.exc_info[1]).endswith(said)


class Told(pydantic.BaseModel):
    tools: list[dict[str, Any]]


@pytest.mark.parametrize("road", ["direct", "memory", "text"])
async def test_what_a_model_of_the_author_holds_is_checked_too(
    road: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def list_tools(_ctx: Any, _params: Any) -> Any:
        return Told.model_construct(tools=[{"name": "x", "inputSchema": {"a": "\ud800"}}])

    async with connected(Server("s", on_list_tools=list_tools), road) as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.list_tools()
    assert "result.tools[0].inputSchema.a: the text holds a lone surrogate" in caplog.text


@pytest.mark.parametrize("road", ["direct", "memory", "text"])
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"name": "\ud800"}, "result.tools[1].name: the text holds a lone surrogate"),
        ({"description": "a\udfff"}, "result.tools[1].description: the text holds a lone"),
        ({"input_schema": deep(97)}, "nested deeper than 100 levels"),  # with what is round it
    ],
)
async def test_every_road_refuses_what_no_text_can_hold(
    road: str, bad: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[FINE, Tool(**{"name": "x", "input_schema": {}, **bad})])

    async with connected(Server("s", on_list_tools=list_tools), road) as client:
        with pytest.raises(MCPError, match="Internal server error") as caught:
            await client.list_tools()
    assert caught.value.code == INTERNAL_ERROR
    assert said in caplog.text


@pytest.mark.parametrize("road", ["direct", "memory", "text"])
async def test_every_road_carries_what_is_just_not_too_deep(road: str) -> None:
    async def list_tools(_ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="x", input_schema=deep(95))])

    async with connected(Server("s", on_list_tools=list_tools), road) as client:
        [tool] = (await client.list_tools()).tools
    assert tool.input_schema == deep(95)
