"""Messages are values: equal when their parts are, and shown by these."""

from __future__ import annotations

import pickle

import attrs
import pytest

from trio_mcp.types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

REQUEST = JSONRPCRequest(id=1, method="tools/list")
MESSAGES = [
    REQUEST,
    JSONRPCNotification(method="tools/list"),
    JSONRPCResponse(id=1, result={}),
    JSONRPCError(id=None, error=ErrorData(code=-32600, message="No")),
    ErrorData(code=-32600, message="No", data=[1]),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_message_equals_its_copies_alone(message):
    copy = pickle.loads(pickle.dumps(message))
    assert copy is not message
    assert copy == message
    assert [each for each in MESSAGES if each == message] == [message]
    assert message != attrs.asdict(message)


@pytest.mark.parametrize("change", [{"id": "1"}, {"method": "ping"}, {"params": {}}])
def test_message_with_another_part_is_another_one(change):
    assert attrs.evolve(REQUEST, **change) != REQUEST


def test_message_is_hashed_by_value_where_its_parts_can_be():
    assert {REQUEST: 1}[JSONRPCRequest(id=1, method="tools/list")] == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(JSONRPCResponse(id=1, result={}))


def test_message_shows_its_parts():
    assert repr(MESSAGES[3]) == (
        "JSONRPCError(jsonrpc='2.0', id=None, "
        "error=ErrorData(code=-32600, message='No', data=None))"
    )


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_message_cannot_be_changed(message):
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        message.jsonrpc = "1.0"
