"""A callback reports how far its answer is."""

from __future__ import annotations

import pytest
import trio.testing

from trio_mcp.types import ElicitResult, JSONRPCNotification

QUESTION = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}


def reporting(*reports):
    async def elicit(context, params):
        for report in reports:
            await context.report_progress(*report)
        return ElicitResult(action="decline")

    return elicit


async def reported(server):
    await trio.testing.wait_all_tasks_blocked()
    told = [each for each in server.received if isinstance(each, JSONRPCNotification)]
    return [each.params for each in told if each.method == "notifications/progress"]


async def test_progress_is_told_to_a_server_that_asks_for_it(
    autojump_clock, connect, script, initialized
):
    elicit = reporting((1, 4, "one"), (2, 4), (2,), (1,), (3,))
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", elicitation_callback=elicit):
        await server.ask("elicitation/create", {**QUESTION, "_meta": {"progressToken": "p"}})
        assert await reported(server) == [
            {"progressToken": "p", "progress": 1, "total": 4, "message": "one"},
            {"progressToken": "p", "progress": 2, "total": 4},
            {"progressToken": "p", "progress": 3},
        ]


async def test_a_server_that_does_not_ask_for_progress_is_told_none(
    autojump_clock, connect, script, initialized
):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", elicitation_callback=reporting((1,))):
        await server.ask("elicitation/create", QUESTION)
        assert await reported(server) == []


async def test_a_modern_server_is_told_none(autojump_clock, connect, script, discovery):
    meta = {"progressToken": "p"}
    question = {"method": "elicitation/create", "params": {**QUESTION, "_meta": meta}}
    wanted = {"resultType": "input_required", "inputRequests": {"k": question}}
    done = {"resultType": "complete", "content": []}
    server = script(
        server__discover=discovery,
        tools__call=lambda params: done if "inputResponses" in params else wanted,
    )
    async with connect(server, elicitation_callback=reporting((1,))) as client:
        await client.call_tool("x")
        assert await reported(server) == []


async def test_a_revision_without_messages_of_progress_is_told_the_rest(
    autojump_clock, connect, script, initialized
):
    async def sample(context, params):
        await context.report_progress(1, message="one")
        raise ValueError

    server = script(initialize=initialized("2024-11-05"))
    async with connect(server, mode="2024-11-05", sampling_callback=sample):
        message = {"role": "user", "content": {"type": "text", "text": "hi"}}
        params = {"messages": [message], "maxTokens": 1, "_meta": {"progressToken": 7}}
        await server.ask("sampling/createMessage", params)
        assert await reported(server) == [{"progressToken": 7, "progress": 1}]


@pytest.mark.parametrize("meta", [None, {"progressToken": "p"}], ids=["unasked", "asked"])
@pytest.mark.parametrize("report", [("1",), (float("nan"),), (1, "2"), (1, 2, 3)], ids=repr)
async def test_what_is_no_report_is_refused_whether_somebody_listens_or_not(
    autojump_clock, connect, script, initialized, meta, report
):
    async def elicit(context, params):
        with pytest.raises((TypeError, ValueError)):
            await context.report_progress(*report)
        return ElicitResult(action="decline")

    server = script(initialize=initialized())
    async with connect(server, mode="legacy", elicitation_callback=elicit):
        params = QUESTION if meta is None else {**QUESTION, "_meta": meta}
        await server.ask("elicitation/create", params)
        assert await reported(server) == []
        assert server.received[-1].result == {"action": "decline"}
