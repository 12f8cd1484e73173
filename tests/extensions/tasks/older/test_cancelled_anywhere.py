"""Requests about tasks of 2025-11-25, cancelled at each checkpoint of the client and the server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.extensions.tasks._studio import studio
from trio_mcp.testing import cancel_everywhere

from ._raw import connect


@pytest.fixture(autouse=True)
def clock(autojump_clock):
    return autojump_clock


@asynccontextmanager
async def open_asking():
    """Yield a client and a task of its server that asks."""
    # In memory without text, the handler runs in the task of the caller.
    async with connect(studio(poll_interval=0.05).mcp, "direct") as raw:
        task_id = await raw.start("ask_twice")
        await raw.until(task_id, "input_required")
        yield raw, task_id


async def test_who_waits_for_a_result_may_give_up_anywhere_and_come_again():
    async def wait(subject: Any) -> None:
        raw, task_id = subject
        await raw.result(task_id)

    async def wait_again(subject: Any) -> None:
        raw, task_id = subject
        result = await raw.result(task_id)
        assert result["content"][0]["text"] == "wall=blue door=blue roof=blue"
        # What was cancelled with its question was asked again.
        asked = [each["message"] for each in raw.asked]
        assert {*asked} == {"wall", "door", "roof"}

    assert await cancel_everywhere(open_asking, wait, wait_again)


async def test_a_call_as_a_task_may_be_given_up_anywhere():
    made: list[Any] = []

    @asynccontextmanager
    async def open_studio():
        made.append(studio(poll_interval=0.05))
        async with connect(made[-1].mcp, "direct") as raw:
            yield raw
        # What is kept has an end, whether its client has ever heard of it or not.
        tasks = made[-1].tasks._store._tasks.values()
        assert all(each.is_over for each in tasks)

    async def call(raw: Any) -> None:
        await raw.start("paint", {"seconds": 1})

    async def call_again(raw: Any) -> None:
        task_id = await raw.start("paint", {"seconds": 1})
        assert (await raw.result(task_id))["content"][0]["text"] == "painted for 1 s"

    assert await cancel_everywhere(open_studio, call, call_again)


async def test_a_cancel_may_be_given_up_anywhere():
    async def cancel(subject: Any) -> None:
        raw, task_id = subject
        await raw.cancel(task_id)

    async def look(subject: Any) -> None:
        raw, task_id = subject
        task = await raw.get(task_id)
        if task["status"] != "cancelled":
            assert task["status"] == "input_required"
            await raw.cancel(task_id)
        assert (await raw.get(task_id))["status"] == "cancelled"

    assert await cancel_everywhere(open_asking, cancel, look)
