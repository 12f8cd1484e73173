"""Tasks of 2025-11-25 that several processes share by Redis."""

from __future__ import annotations

from typing import Any

import trio

from tests._limits import SOON
from tests.extensions.tasks._studio import error_of, settle, studio
from trio_mcp.extensions import RedisTaskStore
from trio_mcp.types import ErrorData

from ._raw import connect


def server_on(redis_server: Any) -> Any:
    """One of the servers, with a store of its own."""
    return studio(store=RedisTaskStore(redis_server.url), poll_interval=0.05)


async def test_the_question_of_a_task_is_asked_by_another_process(redis_server):
    with trio.fail_after(SOON):
        async with (
            connect(server_on(redis_server).mcp) as one,
            connect(server_on(redis_server).mcp) as other,
        ):
            task_id = await one.start("ask_twice")
            await other.until(task_id, "input_required")
            result = await other.result(task_id)
            assert result["content"][0]["text"] == "wall=blue door=blue roof=blue"
            assert len(other.asked) == 3
            assert not one.asked
            # What is over there is over here.
            assert await one.result(task_id) == result


async def test_an_error_in_place_of_an_answer_reaches_the_tool_of_another_process(redis_server):
    with trio.fail_after(SOON):
        async with (
            connect(server_on(redis_server).mcp) as one,
            connect(server_on(redis_server).mcp) as other,
        ):
            task_id = await one.start("ask")
            other.answers["Which colour?"] = ErrorData(code=-5, message="not today")
            error = await error_of(other.result(task_id))
            assert (error.code, error.message) == (-5, "not today")


async def test_a_task_of_another_process_is_cancelled(redis_server):
    with trio.fail_after(SOON):
        made = server_on(redis_server)
        async with connect(made.mcp) as one, connect(server_on(redis_server).mcp) as other:
            task_id = await one.start("paint", {"seconds": 600})
            assert (await other.cancel(task_id))["status"] == "cancelled"
            assert (await error_of(one.result(task_id))).message == "The task was cancelled"
            await settle(lambda: made.seen)
            assert made.seen == ["the client cancelled the task"]
