"""What is left of a client over stdio once its block has been left: nothing."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError, RequestTimeout

from ._peers import connect, connect_to_script, script_parameters

CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}}
SCRIPT: dict[str, Any] = {
    "server/discover": [
        {
            "result": {
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": CAPABILITIES,
                "ttlMs": 0,
                "cacheScope": "private",
            }
        }
    ],
    "initialize": [
        {
            "result": {
                "protocolVersion": "ASKED",
                "capabilities": CAPABILITIES,
                "serverInfo": {"name": "scripted", "version": "1"},
            }
        }
    ],
    "tools/list": [{"result": {"tools": []}}],
    "tools/call": [None],
    "resources/list": [{"result": {"resources": "none"}}],
    "resources/templates/list": [{"exit": 1}],
}
pytestmark = [
    pytest.mark.skipif(
        not Path("/proc/self/task").exists(), reason="counts by /proc, which is Linux's"
    ),
    pytest.mark.limit(60),
]
BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def use(mode: str, *, dies: bool = False) -> list[weakref.ref[Any]]:
    """Use a client in several ways; returns references to what it was made of."""
    client = Client(script_parameters(SCRIPT), mode=mode)
    async with client:
        await client.list_tools()
        with trio.move_on_after(0.01):
            await client.call_tool("x", {"text": "x"}, progress_callback=ignore)
        with pytest.raises(MCPError, match="Method not found"):
            await client.get_prompt("x")
        with pytest.raises(RequestTimeout):
            await client.call_tool("x", read_timeout_seconds=0.01)
        with pytest.raises(InvalidResponse):
            await client.list_resources()
        if dies:
            with pytest.raises(ConnectionLost):
                await client.list_resource_templates()
        session = client.session
        link: Any = session._link
        parts = [client, session, link, link._channel, link._channel._process, link._nursery]
        return [weakref.ref(part) for part in parts if hasattr(part, "__weakref__")]


async def ignore(progress: float, total: float | None, message: str | None) -> None: ...


@pytest.mark.parametrize("dies", [False, True])
@BOTH_ERAS
async def test_what_a_closed_client_held_is_freed_without_the_garbage_collector(
    mode: str, dies: bool
) -> None:
    await use(mode, dies=dies)  # what is made once and kept is made
    gc.collect()
    gc.disable()
    try:
        refs = await use(mode, dies=dies)
        assert len(refs) >= 4
        assert [ref() for ref in refs if ref() is not None] == []
    finally:
        gc.enable()


@BOTH_ERAS
async def test_twenty_clients_leave_no_process_no_descriptor_and_no_task(mode: str) -> None:
    await use(mode)
    before = resources()
    for _ in range(20):
        await use(mode)
        assert resources() == before


async def test_clients_that_did_not_come_to_anything_leave_nothing() -> None:
    await use("auto")
    before = resources()
    refused = {"server/discover": [{"error": {"code": -32020, "message": "no"}}]}
    for _ in range(5):
        with pytest.raises(MCPError):
            async with connect_to_script(refused, []):
                pytest.fail("it connected")
        assert resources() == before
        dying = {"server/discover": [{"exit": 1}]}
        with pytest.raises(MCPError):
            async with connect_to_script(dying, []):
                pytest.fail("it connected")
        assert resources() == before
        silent = {"server/discover": [None]}
        with trio.move_on_after(0.05):
            async with connect_to_script(silent, []):
                pytest.fail("it connected")
        assert resources() == before


async def test_a_client_that_is_left_by_an_error_or_a_cancel_leaves_nothing() -> None:
    await use("auto")
    before = resources()
    with pytest.raises(ZeroDivisionError):
        async with connect("trio_mcp"):
            raise ZeroDivisionError
    assert resources() == before
    with trio.CancelScope() as scope:
        async with connect("trio_mcp") as client, trio.open_nursery() as nursery:
            for n in range(10):
                nursery.start_soon(client.call_tool, "nap", {"name": str(n)})
            await client.call_tool("wait_running", {"number": 10})
            scope.cancel()
    assert scope.cancelled_caught
    assert resources() == before


def resources() -> tuple[list[str], set[int], int]:
    """Name what this process has open, its children, and how many tasks there are."""
    tasks = trio.lowlevel.current_statistics().tasks_living
    return sorted(descriptors()), children(), tasks


def descriptors() -> list[str]:
    found = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(each.readlink()))
        except FileNotFoundError:
            continue  # that of the listing itself
    return found


def children() -> set[int]:
    threads = Path("/proc/self/task").iterdir()
    return {int(pid) for thread in threads for pid in (thread / "children").read_text().split()}
