"""What reaches a block of somebody else, and what leaves in the end."""

from __future__ import annotations

import gc
import logging
import weakref
from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp._rpc._sheltered import Sheltered


async def fail(exc):
    raise exc


async def fail_when_cancelled(exc):
    try:
        await trio.sleep_forever()
    finally:
        raise exc


async def test_of_a_group_the_block_sees_the_cancellation_alone(autojump_clock):
    seen = []

    @asynccontextmanager
    async def block():
        try:
            yield
        except BaseException as exc:
            seen.append(exc)
            raise

    with trio.move_on_after(1) as scope:
        with pytest.RaisesGroup(trio.Cancelled, KeyError) as caught:
            async with Sheltered("it", block()), trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                nursery.start_soon(fail_when_cancelled, KeyError("mine"))
        assert pytest.RaisesGroup(trio.Cancelled).matches(seen[0])
        raise caught.value.split(KeyError)[1]
    assert scope.cancelled_caught


async def test_what_is_left_of_a_group_when_the_block_took_its_own_cancellation(autojump_clock):
    @asynccontextmanager
    async def block():
        with trio.move_on_after(1):
            yield

    with pytest.RaisesGroup(KeyError):
        async with Sheltered("it", block()), trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(fail_when_cancelled, KeyError("mine"))


async def test_an_error_outlives_a_cancellation_during_the_clean_up(autojump_clock, caplog):
    @asynccontextmanager
    async def block():
        yield
        await trio.sleep_forever()

    with trio.move_on_after(1), pytest.raises(KeyError, match="mine"):
        async with Sheltered("it", block()):
            raise KeyError("mine")
    assert trio.current_time() == 1
    assert caplog.records == []


async def test_an_interrupt_during_the_clean_up_leaves(autojump_clock):
    @asynccontextmanager
    async def block():
        yield
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        async with Sheltered("it", block()):
            raise KeyError("mine")


async def test_failures_of_tasks_of_the_block_are_logged_beside_an_error(autojump_clock, caplog):
    @asynccontextmanager
    async def block():
        async with trio.open_nursery() as nursery:
            yield
            nursery.start_soon(fail, OSError("disk full"))
            await trio.sleep_forever()

    with pytest.raises(KeyError, match="mine"):
        async with Sheltered("it", block()):
            raise KeyError("mine")
    [record] = caplog.records
    assert record.message == "it could not be left properly"
    assert "disk full" in caplog.text


async def test_nothing_of_it_waits_for_the_garbage_collector(caplog):
    # Records would keep what they tell of.
    caplog.set_level(logging.CRITICAL, "trio_mcp")

    @asynccontextmanager
    async def block():
        yield
        raise OSError("disk full")

    class Thing:
        pass

    async def use():
        thing = Thing()
        try:
            async with Sheltered("it", block()):
                raise KeyError("mine")
        except KeyError:
            return weakref.ref(thing)

    gc.collect()
    gc.disable()
    try:
        thing = await use()
        assert thing() is None
    finally:
        gc.enable()
