"""Disks that are slow, or hang: what is shared, what is given up, and what they cost others."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp.extensions import SkillsExtension
from trio_mcp.extensions.skills import _server
from trio_mcp.extensions.skills._disk import READERS, Disk

from ._skills import FORMS, ask, connect, head, listed, serve, write, write_forms

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.define
class Gate:
    """Holds up whoever comes by in a thread."""

    came: int = 0
    ended: int = 0
    many: int = 1
    has_come: trio.Event = attrs.field(factory=trio.Event)
    _open: threading.Event = attrs.field(factory=threading.Event)

    def __call__(self) -> None:
        trio.from_thread.run_sync(self._come)
        # A test that fails leaves no thread behind for good; one that waits is not overtaken.
        self._open.wait(10 * SOON)
        self.ended += 1

    def _come(self) -> None:
        self.came += 1
        if self.came == self.many:
            self.has_come.set()

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


async def test_who_comes_at_the_same_time_shares_a_look(gate):
    disk = Disk(gate)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(disk.look)
        await gate.has_come.wait()
        for _ in range(20):
            nursery.start_soon(disk.look)
        await trio.testing.wait_all_tasks_blocked()
        assert gate.came == 1
        assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
        gate.open()
    # They came too late for the first one: it may have missed what they want to see.
    assert gate.came == 2
    await disk.look()
    assert gate.came == 3


@pytest.mark.parametrize("who", ["first", "last", "all"])
async def test_who_is_cancelled_leaves_at_once_and_the_others_get_their_look(gate, who):
    disk = Disk(gate)
    scopes = [trio.CancelScope() for _ in range(3)]
    seen: list[int] = []
    left: list[int] = []

    async def look(number: int) -> None:
        with scopes[number]:
            await disk.look()
            seen.append(number)
        if scopes[number].cancelled_caught:
            left.append(number)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(look, 0)
        await gate.has_come.wait()
        nursery.start_soon(look, 1)
        nursery.start_soon(look, 2)
        await trio.testing.wait_all_tasks_blocked()
        gone = {"first": [0], "last": [2], "all": [0, 1, 2]}[who]
        for number in gone:
            scopes[number].cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(left) == gone
        # One at a time, also after the first was given up.
        assert (gate.came, gate.ended) == (1, 0)
        gate.open()
    assert sorted(seen) == sorted({0, 1, 2}.difference(gone))
    await disk.look()


async def test_a_look_that_fails_is_told_to_those_who_shared_it_and_begun_anew(gate):
    fails = [True]

    def look() -> None:
        gate()
        if fails.pop() if fails else False:
            raise MemoryError("no room")

    disk = Disk(look)
    told: list[str] = []

    async def ask_it() -> None:
        try:
            await disk.look()
        except MemoryError as exc:
            told.append(str(exc))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask_it)
        await gate.has_come.wait()
        gate.open()
    assert told
    assert set(told) == {"no room"}
    await disk.look()


async def test_a_disk_that_hangs_takes_no_place_of_other_threads(gate):
    gate.many = READERS
    disk = Disk(gate)
    others = trio.to_thread.current_default_thread_limiter()
    async with trio.open_nursery() as nursery:
        for _ in range(2 * READERS):
            nursery.start_soon(disk.read, gate)
        await gate.has_come.wait()
        await trio.testing.wait_all_tasks_blocked()
        assert (gate.came, others.borrowed_tokens) == (READERS, 0)
        nursery.cancel_scope.cancel()
    # What nobody waits for any more is still there, and keeps its place until it ends.
    with trio.move_on_after(0) as scope:
        await disk.read(gate)
    assert scope.cancelled_caught
    assert (gate.came, gate.ended) == (READERS, 0)
    gate.open()
    await disk.read(gate)


async def test_requests_that_are_given_up_while_a_disk_hangs_leave_the_server_at_work(
    tmp_path, monkeypatch, gate
):
    extension = SkillsExtension(write_forms(tmp_path))
    really_read = _server.read_catalog

    def read_catalog(*args: Any) -> Any:
        gate()
        return really_read(*args)

    monkeypatch.setattr(_server, "read_catalog", read_catalog)
    mcp = serve(extension)

    @mcp.tool()
    def add(a: int, b: int) -> int:
        return a + b

    async with connect(mcp) as client:
        async with trio.open_nursery() as nursery:
            for method in ("skills/list", "resources/list", "skills/list"):
                nursery.start_soon(ask, client, method)
            await gate.has_come.wait()
            await trio.testing.wait_all_tasks_blocked()
            # Files that are known are read, and other work goes on.
            assert (await client.read_resource(FORMS)).contents
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content
            assert gate.came == 1
            nursery.cancel_scope.cancel()
        write(tmp_path, {"mail/SKILL.md": head("mail")})
        gate.open()
        assert await listed(client) == [FORMS, "skill://mail/SKILL.md"]


def test_each_run_of_trio_has_its_own_places(tmp_path):
    extension = SkillsExtension(write_forms(tmp_path))
    mcp = serve(extension)

    async def main() -> list[str]:
        async with connect(mcp) as client:
            return await listed(client)

    assert trio.run(main) == trio.run(main) == [FORMS]
