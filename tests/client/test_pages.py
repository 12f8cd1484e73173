from __future__ import annotations

import gc

import pytest

from trio_mcp.client import Client
from trio_mcp.client._pages import MAX_PAGES, Pages
from trio_mcp.errors import InvalidResponse
from trio_mcp.server import Server
from trio_mcp.types import ListToolsResult, Tool


def paged(pages: dict[str | None, tuple[list[str], str | None]]) -> Server:
    async def list_tools(ctx, params):
        names, following = pages[params.cursor]
        return ListToolsResult(
            tools=[Tool(name=name, input_schema={"type": "object"}) for name in names],
            next_cursor=following,
        )

    return Server("paged", on_list_tools=list_tools)


THREE = {None: (["a", "b"], ""), "": ([], "p3"), "p3": (["c"], None)}


@pytest.mark.case("C035")
@pytest.mark.req("R-328", "R-330", "R-332")
async def test_all_pages_are_gone_through_and_an_empty_cursor_is_a_cursor(autojump_clock):
    async with Client(paged(THREE)) as client:
        assert [tool.name async for tool in client.iter_tools()] == ["a", "b", "c"]
        assert [tool.name for tool in (await client.list_tools(cursor="p3")).tools] == ["c"]


@pytest.mark.req("R-331")
@pytest.mark.parametrize("cursor", ["0", " ", "null", "ü\n\u2028", '{"page": 2}', "x" * 10_000])
async def test_cursors_go_back_as_they_came(autojump_clock, cursor):
    async with Client(paged({None: (["a"], cursor), cursor: (["b"], None)})) as client:
        assert [tool.name async for tool in client.iter_tools()] == ["a", "b"]


@pytest.mark.case("C035")
async def test_a_cursor_that_comes_again_is_an_error(autojump_clock):
    async with Client(paged({None: (["a"], "x"), "x": (["b"], "x")})) as client:
        pages = client.iter_tools()
        assert (await anext(pages)).name == "a"
        with pytest.raises(InvalidResponse, match="tools/list: the server repeats the cursor 'x'"):
            await anext(pages)


@pytest.mark.case("C035")
async def test_a_list_without_end_is_an_error():
    async def fetch(cursor):
        return [], str(int(cursor or 0) + 1)

    with pytest.raises(InvalidResponse, match=f"more than {MAX_PAGES} pages"):
        await anext(Pages("x/list", fetch))


async def test_an_iteration_may_be_left_at_any_time(autojump_clock):
    async with Client(paged(THREE)) as client:
        async for _ in client.iter_tools():
            break
        pages = client.iter_tools()
        assert (await anext(pages)).name == "a"
        await pages.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(pages)
        gc.collect()
        assert len((await client.list_tools()).tools) == 2
