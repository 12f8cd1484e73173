"""What a server needs before it can answer: in rounds, or by live requests to older clients."""

from __future__ import annotations

import pytest

from trio_mcp.types import ElicitResult, InputRequiredResult, TextContent

from ._roads import in_memory, in_the_modern_era, where_it_can_be_asked
from ._story import error_of, fill_in, text_of


@where_it_can_be_asked
async def test_tools_resources_and_prompts_may_ask(features):
    async with features.open(elicitation_callback=fill_in) as client:
        if not features.revision.has_elicitation:
            for call in (
                client.read_resource("asking://tea"),
                client.get_prompt("asking_prompt", {"what": "tea"}),
            ):
                assert (await error_of(call)).code == -32021
            return
        assert text_of(await client.call_tool("order", {"what": "tea"})) == "3 s tea for Ann"
        [contents] = (await client.read_resource("asking://tea")).contents
        assert contents.text == "tea for Ann"
        [message] = (await client.get_prompt("asking_prompt", {"what": "tea"})).messages
        assert message.content == TextContent(text="tea for Ann")


@in_memory
async def test_a_result_made_by_hand_asks_in_every_era_that_can(features):
    async with features.open(elicitation_callback=fill_in) as client:
        if features.revision.has_url_elicitation:
            expected = "[('where', 'accept'), ('who', 'accept')] asked"
            assert text_of(await client.call_tool("by_hand")) == expected
        else:
            assert (await error_of(client.call_tool("by_hand"))).code == -32021


@in_the_modern_era
@pytest.mark.case("C013")
async def test_rounds_may_be_answered_by_hand_and_the_state_is_sealed(features):
    async with features.open(elicitation_callback=fill_in) as client:
        session = client.session
        first = await session.call_tool("by_hand", allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        assert set(first.input_requests) == {"who", "where"}
        assert "asked" not in first.request_state
        answers = {key: ElicitResult(action="decline") for key in first.input_requests}
        second = await session.call_tool(
            "by_hand", input_responses=answers, request_state=first.request_state
        )
        assert text_of(second) == "[('where', 'decline'), ('who', 'decline')] asked"
        for state in ("mine", first.request_state[:-4] + "AAAA"):
            tampered = session.call_tool("by_hand", input_responses=answers, request_state=state)
            error = await error_of(tampered)
            assert (error.code, error.message) == (-32602, "Invalid or expired requestState")
        # It belongs to its request.
        moved = session.call_tool(
            "order",
            {"what": "tea"},
            input_responses=answers,
            request_state=first.request_state,
            allow_input_required=True,
        )
        assert (await error_of(moved)).message == "Invalid or expired requestState"
