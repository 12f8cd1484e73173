"""The server asks the user: by a form, or by sending them to a page."""

from __future__ import annotations

import pytest

from trio_mcp.types import ElicitCompleteNotification, ElicitRequestURLParams, ElicitResult

from ._roads import IN_MEMORY, at, in_memory, where_it_can_be_asked
from ._story import decline, error_of, failure_of, fill_in, settle, text_of

MISSING_CAPABILITY = -32021


@pytest.mark.req("R-340", "R-346")
@where_it_can_be_asked
async def test_forms_are_filled_in_and_defaults_applied(features):
    asked = []

    async def answer(context, params):
        asked.append(params)
        return await fill_in(context, params)

    async with features.open(elicitation_callback=answer) as client:
        if not features.revision.has_elicitation:
            error = await error_of(client.call_tool("order", {"what": "tea"}))
            assert error.code == MISSING_CAPABILITY
            return
        assert text_of(await client.call_tool("order", {"what": "tea"})) == "3 s tea for Ann"
    by_message = {params.message: params.requested_schema for params in asked}
    assert set(by_message) == {"How much tea?", "Who?"}
    assert by_message["How much tea?"]["required"] == ["count"]


@at(each for each in IN_MEMORY if each.revision.has_elicitation)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_what_the_user_does_not_answer(features, action):
    async def answer(context, params):
        if params.message == "Who?":
            return ElicitResult(action=action)
        return await fill_in(context, params)

    async with features.open(elicitation_callback=answer) as client:
        result = await client.call_tool("order", {"what": "tea"})
        assert text_of(result) == f"3 s tea for {action}"
    async with features.open(elicitation_callback=decline) as client:
        failed = await client.call_tool("order", {"what": "tea"})
        assert "elicitation was decline" in failure_of(failed)


@in_memory
@pytest.mark.req("R-187", "R-342")
async def test_who_shows_no_forms_is_not_asked(features):
    async with features.open() as client:
        error = await error_of(client.call_tool("order", {"what": "tea"}))
    assert error.code == MISSING_CAPABILITY
    assert error.message.startswith("Client did not declare the form elicitation capability")


@in_memory
async def test_while_a_call_waits_only_older_clients_are_asked(features):
    async with features.open(elicitation_callback=fill_in) as client:
        if features.is_modern:
            error = await error_of(client.call_tool("live_form"))
            assert "InputRequiredResult" in error.message
        elif features.revision.has_elicitation:
            assert text_of(await client.call_tool("live_form")) == "Ann"
        else:
            error = await error_of(client.call_tool("live_form"))
            assert error.code == MISSING_CAPABILITY


@where_it_can_be_asked
async def test_a_user_is_sent_to_a_page_and_its_end_is_told(features):
    asked, told = [], []

    async def answer(context, params):
        asked.append(params)
        return ElicitResult(action="accept")

    async def handler(message):
        if isinstance(message, ElicitCompleteNotification):
            told.append(message.params.elicitation_id)

    async with features.open(elicitation_callback=answer, message_handler=handler) as client:
        if features.is_modern or not features.revision.has_url_elicitation:
            await error_of(client.call_tool("live_url"))
            assert asked == []
            return
        assert text_of(await client.call_tool("live_url")) == "accept"
        [params] = asked
        assert isinstance(params, ElicitRequestURLParams)
        assert (params.url, params.elicitation_id) == ("https://a.example/", "visit-1")
        await settle(lambda: told == ["visit-1"])
