from __future__ import annotations

import inspect

import attrs
import pytest

from trio_mcp import Context, Sample, ServerSession
from trio_mcp.types import CreateMessageRequestParams, SamplingMessage, TextContent
from trio_mcp.types._sampling_options import SamplingOptions, sampling_request

TURN = SamplingMessage(role="user", content=TextContent(text="hello"))
# What every request has, and what no author says of a sampling request.
GIVEN_OTHERWISE = {"messages", "max_tokens", "meta", "task", "extra"}


def test_options_are_the_optional_fields_of_the_request():
    fields = {each.name for each in attrs.fields(CreateMessageRequestParams)}
    assert set(SamplingOptions.__annotations__) == fields - GIVEN_OTHERWISE


@pytest.mark.parametrize("asks", [Sample, Context.sample, ServerSession.create_message])
def test_signature_names_each_option(asks):
    parameters = inspect.signature(asks).parameters
    assert parameters["messages"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert parameters["max_tokens"].default is inspect.Parameter.empty
    for name in SamplingOptions.__annotations__:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default is None
    assert not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())


def test_request_has_what_was_given():
    params = sampling_request([TURN], 5, {"temperature": 0.5, "stop_sequences": ["."]}).params
    assert params == CreateMessageRequestParams(
        messages=[TURN], max_tokens=5, temperature=0.5, stop_sequences=["."]
    )


@pytest.mark.parametrize("wrong", ["heat", "meta", "task"])
def test_an_option_that_there_is_not_is_refused(wrong):
    with pytest.raises(TypeError, match=f"sampling has no argument '{wrong}'"):
        Sample([TURN], max_tokens=5, **{wrong: None})
