"""Cancelling, both ways."""

from __future__ import annotations

import trio

from trio_mcp.types import ElicitResult

from ._roads import in_a_conversation, in_memory, where_it_can_be_asked
from ._story import error_of, text_of


@in_a_conversation
async def test_a_cancelled_scope_cancels_the_handler(features):
    async with features.open() as client:
        with trio.CancelScope() as scope:

            async def started(progress, total, message):
                scope.cancel()

            await client.call_tool("nap", {"name": "one"}, progress_callback=started)
        assert scope.cancelled_caught
        told = await client.call_tool("wait_ended", {"name": "one"})
        assert text_of(told).startswith("cancelled")
        assert text_of(await client.call_tool("add", {"a": 1})) == "2"


@in_memory
async def test_one_of_many_calls_is_cancelled_and_the_others_go_on(features):
    results = []

    async def call(steps):
        results.append(text_of(await client.call_tool("pace", {"steps": steps})))

    async with features.open() as client, trio.open_nursery() as nursery:
        for steps in (1, 2, 3):
            nursery.start_soon(call, steps)
        with trio.move_on_after(0.15):
            await client.call_tool("nap", {"name": "two"})
        assert text_of(await client.call_tool("wait_ended", {"name": "two"}))
    assert results == ["arrived"] * 3


@where_it_can_be_asked
async def test_a_server_that_gives_up_cancels_its_question(features):
    cancelled = trio.Event()

    async def think(context, params):
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()
        return ElicitResult(action="cancel")

    async with features.open(elicitation_callback=think) as client:
        if features.is_modern or not features.revision.has_elicitation:
            # Nobody is asked while a request waits, or has no form to fill in.
            await error_of(client.call_tool("ask_in_vain"))
            return
        assert text_of(await client.call_tool("ask_in_vain")) == "gave up"
        await cancelled.wait()
