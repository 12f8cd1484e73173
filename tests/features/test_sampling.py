"""The server asks the client's model: a question to come back with, or a live request before."""

from __future__ import annotations

import pytest

from trio_mcp.types import (
    CreateMessageResultWithTools,
    ErrorData,
    SamplingCapability,
    SamplingToolsCapability,
    TextContent,
    ToolUseContent,
)

from ._roads import in_memory, where_it_can_be_asked
from ._story import error_of, say, text_of

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")

MISSING_CAPABILITY = -32021


@where_it_can_be_asked
async def test_the_model_is_asked_in_every_era(features):
    asked = []

    async def answer(context, params):
        asked.append(params)
        return await say(context, params)

    async with features.open(sampling_callback=answer) as client:
        assert text_of(await client.call_tool("consult", {"what": "Hello"})) == "loud: Hi"
    [params] = asked
    [message] = params.messages
    assert message.content == TextContent(text="Hello")
    assert (params.max_tokens, params.system_prompt) == (5, "Be brief.")
    assert params.temperature == 0.5


@in_memory
async def test_a_talk_with_tools(features):
    async def answer(context, params):
        [tool] = params.tools
        assert tool.name == "weather"
        use, result = params.messages
        assert use.content_as_list[0].input == {"city": "Paris"}
        assert result.content_as_list[0].content == [TextContent(text="rain")]
        return CreateMessageResultWithTools(
            role="assistant",
            content=[TextContent(text="And …"), ToolUseContent(name="weather", id="2", input={})],
            model="m",
            stop_reason="toolUse",
        )

    tools = SamplingCapability(tools=SamplingToolsCapability())
    has_tools = features.revision.has_sampling_tools
    async with features.open(sampling_callback=answer, sampling_capabilities=tools) as client:
        if has_tools:
            result = await client.call_tool("consult_with_tools", {"what": "Paris"})
            assert text_of(result) == "toolUse: ['text', 'tool_use']"
        else:
            error = await error_of(client.call_tool("consult_with_tools", {"what": "Paris"}))
            assert error.code == MISSING_CAPABILITY
    async with features.open(sampling_callback=answer) as client:
        # Who does not say that it takes tools is not given any.
        error = await error_of(client.call_tool("consult_with_tools", {"what": "Paris"}))
        assert error.code == MISSING_CAPABILITY


@in_memory
async def test_who_has_no_model_is_not_asked(features):
    async with features.open() as client:
        error = await error_of(client.call_tool("consult", {"what": "Hello"}))
        assert error.code == MISSING_CAPABILITY
        assert error.data == {"requiredCapabilities": {"sampling": {}}}
        assert error.message.startswith("Client did not declare the sampling capability")


@in_memory
async def test_while_a_call_waits_only_older_clients_are_asked(features):
    async with features.open(sampling_callback=say) as client:
        if features.is_modern:
            error = await error_of(client.call_tool("live_sample", {"what": "Hello"}))
            assert "InputRequiredResult" in error.message
        else:
            result = await client.call_tool("live_sample", {"what": "Hello"})
            assert "Hi" in text_of(result)


@in_memory
async def test_a_refusal_of_the_client_ends_the_call(features):
    async def refuse(context, params):
        return ErrorData(code=-1, message="User rejected sampling request")

    async with features.open(sampling_callback=refuse) as client:
        error = await error_of(client.call_tool("consult", {"what": "Hello"}))
        assert (error.code, error.message) == (-1, "User rejected sampling request")
