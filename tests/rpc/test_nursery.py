"""What leaves a block with tasks behind it: its own exceptions as they are, and nothing doubled."""

from __future__ import annotations

import gc
import weakref
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import trio

from trio_mcp import Client, MCPServer
from trio_mcp._rpc._nursery import finish_begun, open_background_nursery
from trio_mcp.transports import open_memory_channel_pair


async def fail(exc: BaseException) -> None:
    raise exc


def nested(levels: int, *leaves: BaseException) -> BaseException:
    """Put an exception into groups, as nurseries in nurseries do."""
    if not levels:
        (exc,) = leaves
        return exc
    group = BaseExceptionGroup("inmost", list(leaves))
    for _ in range(levels - 1):
        group = BaseExceptionGroup("outer", [group])
    return group


@asynccontextmanager
async def no_block():
    yield


@asynccontextmanager
async def one_client():
    async with Client(MCPServer("one")) as client:
        yield client


@asynccontextmanager
async def three_clients():
    async with one_client(), one_client(), one_client() as client:
        yield client


@asynccontextmanager
async def a_client_over_text():
    near, far = open_memory_channel_pair(as_text=True)
    async with open_background_nursery() as nursery:
        nursery.start_soon(MCPServer("far").lowlevel_server.run, far)
        async with Client(near) as client:
            yield client


BLOCKS = [open_background_nursery, one_client, three_clients, a_client_over_text]


@pytest.mark.parametrize("levels", [0, 1, 2, 3])
@pytest.mark.parametrize("block", BLOCKS)
async def test_what_the_body_raises_leaves_as_it_is(block, levels):
    raised = nested(levels, ValueError("mine"))
    with pytest.raises(BaseException) as caught:
        async with block():
            raise raised
    assert caught.value is raised
    assert raised.__context__ is None
    assert raised.__cause__ is None


@pytest.mark.parametrize("block", BLOCKS)
async def test_a_nursery_inside_gives_its_group_as_without_the_block(block):
    mine, other = ValueError("mine"), KeyError("too")
    shapes = []

    async def fail_twice(outer):
        async with outer(), trio.open_nursery() as nursery:
            nursery.start_soon(fail, mine)
            nursery.start_soon(fail, other)

    for each in (no_block, block):
        with pytest.raises(BaseExceptionGroup) as caught:
            await fail_twice(each)
        group = caught.value
        shapes.append((type(group), group.message, sorted(map(id, group.exceptions))))
    assert shapes[0] == shapes[1]
    assert len(shapes[0][2]) == 2


@pytest.mark.parametrize("block", BLOCKS)
async def test_what_remains_beside_a_cancellation_from_outside_is_all_that_leaves(block):
    """A group of cancellations and errors: the scope that cancelled takes its part, no more."""

    async def fail_while_cancelled():
        async with block(), trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
            raise ValueError("mine")

    with pytest.raises(BaseExceptionGroup) as caught, trio.CancelScope() as scope:
        await fail_while_cancelled()
    assert repr(caught.value.exceptions) == "(ValueError('mine'),)"
    assert scope.cancelled_caught


@pytest.mark.parametrize("block", BLOCKS)
async def test_a_cancellation_from_outside_is_one_exception(autojump_clock, block):
    seen = []
    with trio.move_on_after(1) as scope:
        try:
            async with block():
                await trio.sleep_forever()
        except BaseException as exc:
            seen.append(type(exc))
            raise
    assert scope.cancelled_caught
    assert seen == [trio.Cancelled]


async def test_a_cancellation_while_the_block_is_left_is_one_exception():
    async def clean_up_slowly():
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.lowlevel.checkpoint()
                scope.cancel()

    seen = []
    with trio.CancelScope() as scope:
        try:
            async with open_background_nursery() as nursery:
                nursery.start_soon(clean_up_slowly)
                nursery.start_soon(clean_up_slowly)
                await trio.testing.wait_all_tasks_blocked()
        except BaseException as exc:
            seen.append(type(exc))
            raise
    assert seen == [trio.Cancelled]


async def test_a_task_that_fails_alone_leaves_as_it_is():
    defect = KeyError("behind")

    async def wait_beside_a_failure():
        async with open_background_nursery() as nursery:
            nursery.start_soon(fail, defect)
            await trio.sleep_forever()

    with pytest.raises(KeyError) as caught:
        await wait_beside_a_failure()
    assert caught.value is defect


async def test_a_task_that_fails_cancels_groups_of_the_body_without_a_trace():
    defect = KeyError("behind")

    async def clean_up_badly():
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("mine")

    async def wait_beside_a_failure():
        async with open_background_nursery() as behind, trio.open_nursery() as nursery:
            nursery.start_soon(clean_up_badly)
            nursery.start_soon(trio.sleep_forever)
            await trio.testing.wait_all_tasks_blocked()
            behind.start_soon(fail, defect)

    with pytest.raises(BaseExceptionGroup) as caught:
        await wait_beside_a_failure()
    assert caught.value.message == "the block and a task behind it both failed"
    own, others = caught.value.exceptions
    assert repr(own.exceptions) == "(ValueError('mine'),)"
    assert others.exceptions == (defect,)
    assert caught.value.subgroup(trio.Cancelled) is None


@pytest.mark.parametrize("levels", [0, 1, 2])
async def test_the_body_and_a_task_behind_it_that_both_fail_are_each_told_once(levels):
    mine, defect = nested(levels, ValueError("mine")), KeyError("behind")

    async def fail_at_the_end():
        try:
            await trio.sleep_forever()
        finally:
            raise defect

    async def fail_too():
        async with open_background_nursery() as nursery:
            nursery.start_soon(fail_at_the_end)
            await trio.testing.wait_all_tasks_blocked()
            raise mine

    with pytest.raises(BaseExceptionGroup) as caught:
        await fail_too()
    assert caught.value.exceptions[0] is mine
    assert caught.value.exceptions[1].exceptions == (defect,)


async def test_an_exit_stack_sees_the_same_exception():
    raised = nested(2, ValueError("mine"))

    async def raise_in_a_stack():
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(one_client())
            await stack.enter_async_context(open_background_nursery())
            raise raised

    with pytest.raises(BaseExceptionGroup) as caught:
        await raise_in_a_stack()
    assert caught.value is raised


@pytest.mark.parametrize("levels", [0, 1, 2])
async def test_what_was_raised_is_freed_without_the_collector(levels):
    class Mine(Exception):
        pass

    async def raise_through() -> weakref.ref[Mine]:
        mine = Mine()
        watch = weakref.ref(mine)
        raised = nested(levels, mine)
        del mine
        try:
            async with one_client():
                raise raised
        except (Mine, ExceptionGroup) as exc:
            exc.__traceback__ = None
        finally:
            del raised
        return watch

    gc.collect()
    gc.disable()
    try:
        assert (await raise_through())() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("cancelled_at", [0, 1])
async def test_what_is_begun_is_finished_if_it_is_in_time(autojump_clock, cancelled_at):
    finished = False
    with trio.move_on_after(cancelled_at) as scope:
        async with finish_begun(5):
            await trio.sleep(cancelled_at + 4)
            finished = True
        raise AssertionError("the cancellation was lost")
    assert scope.cancelled_caught
    assert finished
    assert trio.current_time() == pytest.approx(cancelled_at + 4)


@pytest.mark.parametrize("cancelled_at", [0, 1])
async def test_what_is_begun_is_given_up_in_the_end(autojump_clock, cancelled_at):
    with trio.move_on_after(cancelled_at) as scope:
        async with finish_begun(5):
            await trio.sleep(cancelled_at + 6)
            raise AssertionError("it went on")
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(cancelled_at + 5)


async def test_what_nobody_cancels_takes_its_time_and_raises_as_it_is(autojump_clock):
    raised = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as caught:  # noqa: PT012 - the block is tested
        async with finish_begun(5):
            await trio.sleep(100)
            raise raised
    assert caught.value is raised
    assert trio.current_time() == pytest.approx(100)


async def test_what_a_block_held_is_freed_at_once_when_a_helper_has_it_left():
    class Held:
        pass

    async def leave(scope):
        scope.cancel()

    async def use():
        held = Held()
        seen.append(weakref.ref(held))
        async with open_background_nursery() as nursery:
            nursery.start_soon(leave, nursery.cancel_scope)
            await trio.sleep_forever()

    seen = []
    gc.collect()
    gc.disable()
    try:
        await use()
        await trio.testing.wait_all_tasks_blocked()
        assert seen[0]() is None
    finally:
        gc.enable()
