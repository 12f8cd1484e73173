from __future__ import annotations

import copy
import pickle
import weakref

import attrs
import pytest

from trio_mcp import types
from trio_mcp.types import WireModel, wire_field, wire_model

CLASSES = sorted(
    (
        each
        for name in types.__all__
        if isinstance(each := getattr(types, name), type) and issubclass(each, WireModel)
    ),
    key=lambda cls: cls.__name__,
)


def sample(cls: type) -> WireModel:
    """Make an object with a made-up value for each field that needs one."""
    if cls is types.InputRequiredResult:
        return types.InputRequiredResult(request_state="x")
    needed = [each.name for each in attrs.fields(cls) if each.default is attrs.NOTHING]
    return cls(**dict.fromkeys(needed, "x"))


@pytest.mark.parametrize("cls", CLASSES)
def test_objects_are_frozen_and_have_no_room_for_more(cls):
    value = sample(cls)
    for name in [each.name for each in attrs.fields(cls)] + ["something_else"]:
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(value, name, 1)
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("cls", CLASSES)
def test_objects_pickle_and_copy_by_their_public_name(cls):
    value = sample(cls)
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert copy.copy(value) == value
    assert cls.__module__ == "trio_mcp.types"


@pytest.mark.parametrize("cls", CLASSES)
def test_arguments_have_to_be_named(cls):
    with pytest.raises(TypeError):
        cls("x")


def test_objects_are_compared_by_class_and_value():
    text = types.TextContent(text="hi")
    assert text == types.TextContent(text="hi")
    assert text != types.TextContent(text="ho")
    assert text != types.TextContent(text="hi", extra={"x": 1})
    assert text != "hi"
    assert types.Result() != types.EmptyResult()


def test_objects_hold_dicts_and_so_have_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(types.TextContent(text="hi"))


def test_repr_shows_what_is_not_default():
    tool = types.Tool(name="add", input_schema={})
    assert repr(types.ListToolsResult(tools=[tool], ttl_ms=5)) == (
        "ListToolsResult(ttl_ms=5, tools=[Tool(name='add', input_schema={})])"
    )
    assert repr(types.CallToolResult(content=[], is_error=True, structured_content=[])) == (
        "CallToolResult(content=[], structured_content=[], is_error=True)"
    )


def test_evolve_changes_a_copy():
    tool = types.Tool(name="add", input_schema={})
    assert tool.evolve(title="Add") == types.Tool(name="add", input_schema={}, title="Add")
    assert tool.title is None
    with pytest.raises(ValueError, match="ttl_ms must be at least 0"):
        types.CacheableResult().evolve(ttl_ms=-1)


@pytest.mark.req("R-302")
def test_negative_time_to_live_is_refused():
    with pytest.raises(ValueError, match=r"ListToolsResult.ttl_ms must be at least 0, not -1"):
        types.ListToolsResult(tools=[], ttl_ms=-1)


@pytest.mark.parametrize("priority", [-0.1, 1.1, float("nan")])
def test_priority_goes_from_0_to_1(priority):
    with pytest.raises(ValueError, match=r"Annotations.priority must be from 0 to 1"):
        types.Annotations(priority=priority)
    assert types.Annotations(priority=1).priority == 1


@pytest.mark.req("R-186")
@pytest.mark.parametrize("arguments", [{}, {"input_requests": {}}, {"input_requests": None}])
def test_input_required_result_needs_questions_or_a_state(arguments):
    with pytest.raises(ValueError, match="needs input_requests, request_state or both"):
        types.InputRequiredResult(**arguments)
    assert types.InputRequiredResult(request_state="").request_state == ""
    asked = {"roots": types.ListRootsRequest()}
    assert types.InputRequiredResult(input_requests=asked).input_requests == asked


def test_content_as_list_hides_that_one_block_may_stand_alone():
    text = types.TextContent(text="hi")
    assert types.SamplingMessage(role="user", content=text).content_as_list == [text]
    assert types.SamplingMessage(role="user", content=[text]).content_as_list == [text]
    result = types.CreateMessageResultWithTools(role="assistant", content=text, model="m")
    assert result.content_as_list == [text]
    assert result.evolve(content=[text, text]).content_as_list == [text, text]


def test_a_result_may_be_two_things_at_once():
    task = types.GetTaskResult(
        task_id="1", status="working", created_at="t", last_updated_at="t", ttl=None
    )
    assert isinstance(task, types.Task)
    assert isinstance(task, types.Result)
    tools = types.ListToolsResult(tools=[])
    assert isinstance(tools, types.CacheableResult)
    assert isinstance(tools, types.PaginatedResult)


def test_wire_types_of_other_packages_keep_their_module():
    @wire_model
    class Ticket(WireModel):
        ticket_id: str
        price: float | None = wire_field(default=None, wire="cost")

    assert Ticket.__module__ == __name__
    assert Ticket(ticket_id="1").price is None


def test_class_may_come_with_a_revision_which_its_subclasses_do_not_share():
    assert types.ResourceLink.wire_since == "2025-06-18"
    assert types.Resource.wire_since is None


def test_name_param_says_what_http_repeats():
    assert types.CallToolRequest.name_param == "name"
    assert types.ReadResourceRequest.name_param == "uri"
    assert types.ListToolsRequest.name_param is None


def test_objects_are_as_small_as_can_be():
    with pytest.raises(TypeError, match="weak reference"):
        weakref.ref(types.TextContent(text="hi"))
