from __future__ import annotations

import contextlib
import gc
import inspect
from importlib import import_module

import pytest
import trio
import trio.testing

from trio_mcp.client import Client, ClientSessionGroup
from trio_mcp.client._pages import MAX_EMPTY_PAGES, MAX_LISTED, Pages, read_all
from trio_mcp.errors import InvalidResponse
from trio_mcp.mcpserver import MCPServer
from trio_mcp.server import Server
from trio_mcp.types import CallToolResult, ListToolsResult, Tool


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


async def endless(cursor):
    return [], str(int(cursor or 0) + 1)


async def endless_items(cursor):
    return [cursor] * 1_000, str(int(cursor or 0) + 1)


@pytest.mark.case("C035")
@pytest.mark.parametrize("read", [lambda *of: anext(Pages(*of)), read_all])
async def test_empty_pages_without_end_are_an_error(read):
    with pytest.raises(InvalidResponse, match=f"x/list: {MAX_EMPTY_PAGES} pages in a row"):
        await read("x/list", endless)


async def test_empty_pages_between_others_are_none():
    async def fetch(cursor):
        page = int(cursor or 0)
        return (["item"] if page % 500 == 0 else []), None if page == 2_000 else str(page + 1)

    assert [item async for item in Pages("x/list", fetch)] == ["item"] * 5


async def test_a_list_may_have_any_number_of_pages(autojump_clock):
    mcp = MCPServer("many", list_page_size=1)
    names = [f"t{number}" for number in range(1_100)]
    for name in names:
        mcp.add_tool(lambda: 1, name=name)
    async with Client(mcp) as client:
        assert [tool.name async for tool in client.iter_tools()] == names
        # Whoever lists on its own account reads them all, too.
        assert (await client.call_tool("t1099")).structured_content is None
    async with ClientSessionGroup() as group:
        await group.connect_to_server(mcp)
        assert list(group.tools) == names


async def test_what_is_read_to_be_kept_has_a_bound_and_an_iteration_has_none():
    with pytest.raises(InvalidResponse, match="x/list: 100000 items, and there are more"):
        await read_all("x/list", endless_items)
    pages = Pages("x/list", endless_items)
    reader, read = pages._reader, 0
    while read <= MAX_LISTED:
        read += len(await reader.next_page())


async def test_the_results_of_the_last_of_many_tools_are_checked(autojump_clock):
    listed = 0

    async def list_tools(ctx, params):
        nonlocal listed
        listed += 1
        schema = {"type": "object", "required": ["x"]}
        tool = Tool(name=f"t{listed}", input_schema={"type": "object"}, output_schema=schema)
        return ListToolsResult(tools=[tool], next_cursor=str(listed) if listed < 1_200 else None)

    async def call_tool(ctx, params):
        return CallToolResult(content=[], structured_content={"y": 1})

    server = Server("many", on_list_tools=list_tools, on_call_tool=call_tool)
    async with Client(server) as client:
        with pytest.raises(InvalidResponse, match="does not fit the tool's output schema"):
            await client.call_tool("t1200")


class TestCheckpoints:
    """Each step of an iteration is one, whether a page has to be asked for or not."""

    @staticmethod
    async def fetch(cursor):
        await trio.lowlevel.checkpoint()
        return ["a", "b", "c"], None

    async def test_every_item_and_the_end(self):
        pages = Pages("x/list", self.fetch)
        for _ in range(3):
            with trio.testing.assert_checkpoints():
                await anext(pages)
        with trio.testing.assert_checkpoints(), pytest.raises(StopAsyncIteration):
            await anext(pages)

    async def test_other_tasks_have_a_turn_between_items(self):
        turns = []

        async def other():
            while True:
                turns.append("other")
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            turns.extend([item async for item in Pages("x/list", self.fetch)])
            nursery.cancel_scope.cancel()
        # Trio runs the tasks of one round in any order.
        assert turns.count("other") >= 3

    async def test_a_cancelled_step_takes_no_item(self):
        pages = Pages("x/list", self.fetch)
        assert await anext(pages) == "a"
        with trio.CancelScope() as scope:
            scope.cancel()
            await anext(pages)
        assert scope.cancelled_caught
        assert [item async for item in pages] == ["b", "c"]

    async def test_closing_between_two_items_ends_it(self):
        pages = Pages("x/list", self.fetch)
        assert await anext(pages) == "a"
        ended = []

        async def take():
            ended.append([item async for item in pages])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(take)
            await pages.aclose()
        assert ended in ([[]], [["b"]])


@pytest.mark.case("C014")
@pytest.mark.parametrize("verb", ["iter_tools", "iter_resources", "iter_prompts"])
async def test_an_iteration_may_be_left_at_any_time(autojump_clock, verb):
    mcp = MCPServer("three", list_page_size=1)
    for name in "abc":
        mcp.add_tool(lambda: "", name=name)
        mcp.resource(f"res://{name}", name=name)(lambda: "")
        mcp.prompt(name=name)(lambda: "")
    async with Client(mcp) as client:
        iterate = getattr(client, verb)
        async for _ in iterate():
            break
        gc.collect()
        with contextlib.suppress(KeyError):
            async for _ in iterate():
                raise KeyError
        gc.collect()
        with trio.CancelScope() as scope:
            async for _ in iterate():
                scope.cancel()
        assert scope.cancelled_caught
        gc.collect()
        pages = iterate()
        assert (await anext(pages)).name == "a"
        await pages.aclose()
        await pages.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(pages)
        del pages
        gc.collect()
        assert [each.name async for each in iterate()] == ["a", "b", "c"]


async def test_two_tasks_cannot_share_an_iteration(autojump_clock):
    async def fetch(cursor):
        await trio.sleep(1)
        return [cursor or "first"], {None: "second", "second": None}[cursor]

    pages = Pages("x/list", fetch)
    taken, refused = [], []

    async def take():
        try:
            taken.extend([item async for item in pages])
        except trio.BusyResourceError as exc:
            refused.append(str(exc))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        nursery.start_soon(take)
    assert taken == ["first", "second"]
    (said,) = refused
    assert said.startswith("another task goes through these pages of x/list: iterate in one task")


async def test_a_page_that_failed_or_was_cancelled_may_be_asked_for_again(autojump_clock):
    turns = iter([OSError(), None, None])

    async def fetch(cursor):
        trouble = next(turns)
        if trouble is not None:
            raise trouble
        await trio.sleep(1)
        return ["a"], None

    pages = Pages("x/list", fetch)
    with pytest.raises(OSError):
        await anext(pages)
    with trio.move_on_after(0.5):
        await anext(pages)
    assert [each async for each in pages] == ["a"]


@pytest.mark.parametrize("answers", [True, False])
async def test_closing_ends_the_iteration_of_another_task(autojump_clock, answers):
    given_up = []

    async def fetch(cursor):
        if cursor is None:
            return ["a"], "more"
        with trio.CancelScope(shield=answers):
            try:
                await trio.sleep(1)
            except trio.Cancelled:
                given_up.append(cursor)
                raise
        return ["b", "c"], "even more"

    pages = Pages("x/list", fetch)
    taken = []

    async def take():
        taken.extend([item async for item in pages])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        await trio.testing.wait_all_tasks_blocked()
        await pages.aclose()
    # The task that waited is through, and what came too late is dropped.
    assert taken == ["a"]
    assert given_up == ([] if answers else ["more"])
    assert trio.current_time() == (1 if answers else 0)
    assert [item async for item in pages] == []


async def test_closing_is_a_checkpoint_and_closes_in_any_case():
    async def fetch(cursor):
        return ["a", "b"], None

    pages = Pages("x/list", fetch)
    assert await anext(pages) == "a"
    with trio.CancelScope() as scope:
        scope.cancel()
        with trio.testing.assert_checkpoints():
            await pages.aclose()
    assert scope.cancelled_caught
    with pytest.raises(StopAsyncIteration):
        await anext(pages)
    await pages.aclose()


@pytest.mark.case("C013", "C014")
@pytest.mark.parametrize(
    "package",
    [
        "trio_mcp",
        *(f"trio_mcp.{name}" for name in ("client", "server", "mcpserver", "transports")),
    ],
)
def test_nothing_public_is_an_async_generator(package):
    # It could be left half-read, with whatever it holds open, and finished anywhere.
    module = import_module(package)
    generators = []
    for name in module.__all__:
        thing = getattr(module, name)
        members = vars(thing).items() if inspect.isclass(thing) else [("", thing)]
        generators += [
            f"{name}.{member}"
            for member, function in members
            if not member.startswith("_") and inspect.isasyncgenfunction(function)
        ]
    assert generators == []
