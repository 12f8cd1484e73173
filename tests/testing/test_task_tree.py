from __future__ import annotations

import trio
import trio.testing

from trio_mcp import Client, MCPServer
from trio_mcp.testing._task_tree import format_task_tree


async def wait_for_event(event: trio.Event) -> None:
    await event.wait()


async def hold_two(event: trio.Event) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_event, event, name="a")
        nursery.start_soon(wait_for_event, event, name="b")


async def test_tree_shows_names_nesting_and_the_line_where_each_task_waits():
    event = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold_two, event, name="holder")
        nursery.start_soon(wait_for_event, event, name="other")
        await trio.testing.wait_all_tasks_blocked()
        lines = format_task_tree(trio.lowlevel.current_task()).splitlines()
        event.set()

    assert [line.partition("  test_")[0] for line in lines[1:]] == [
        "├── holder",
        "│   ├── a",
        "│   └── b",
        "└── other",
    ]
    for line in (lines[2], lines[3], lines[4]):
        assert line.endswith("in wait_for_event: await event.wait()")
    assert "in hold_two" in lines[1]


async def test_a_call_in_memory_shows_the_line_of_its_handler():
    mcp = MCPServer("waits")
    event = trio.Event()

    @mcp.tool()
    async def wait() -> None:
        await wait_for_event(event)

    async with Client(mcp) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.call_tool, "wait", name="caller")
        await trio.testing.wait_all_tasks_blocked()
        lines = format_task_tree(trio.lowlevel.current_task()).splitlines()
        event.set()
    [line] = [line for line in lines if "caller" in line]
    assert line.endswith("in wait_for_event: await event.wait()")


async def test_task_that_has_not_begun_has_no_position():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 0, name="fresh")
        [fresh] = nursery.child_tasks
        assert format_task_tree(fresh).startswith("fresh")
