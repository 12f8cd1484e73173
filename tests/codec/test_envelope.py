from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp._codec._envelope import (
    MAX_BATCH,
    Batch,
    Malformed,
    dump_message,
    message_to_json,
    parse_frame,
    parse_line,
    parse_message,
)
from trio_mcp._codec._json import dumps
from trio_mcp._codec._lines import LineSplitter
from trio_mcp.types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

MESSAGES = [
    (b'{"jsonrpc":"2.0","id":1,"method":"m"}', JSONRPCRequest(id=1, method="m")),
    (
        b'{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":[1]}}',
        JSONRPCRequest(id="a", method="m", params={"x": [1]}),
    ),
    (b'{"jsonrpc":"2.0","id":"1","method":"m"}', JSONRPCRequest(id="1", method="m")),
    (
        b'{"jsonrpc":"2.0","id":36893488147419103232,"method":"m"}',
        JSONRPCRequest(id=2**65, method="m"),
    ),
    (b'{"jsonrpc":"2.0","id":"","method":"m"}', JSONRPCRequest(id="", method="m")),
    (
        b'{"jsonrpc":"2.0","id":0,"method":"m","params":{}}',
        JSONRPCRequest(id=0, method="m", params={}),
    ),
    (b'{"jsonrpc":"2.0","method":"n"}', JSONRPCNotification(method="n")),
    (
        b'{"jsonrpc":"2.0","method":"n","params":{"a":null}}',
        JSONRPCNotification(method="n", params={"a": None}),
    ),
    (b'{"jsonrpc":"2.0","id":1,"result":{}}', JSONRPCResponse(id=1, result={})),
    (b'{"jsonrpc":"2.0","id":"x","result":{"a":1}}', JSONRPCResponse(id="x", result={"a": 1})),
    (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}',
        JSONRPCError(id=1, error=ErrorData(code=-32601, message="no")),
    ),
    (
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"?","data":[1]}}',
        JSONRPCError(id=None, error=ErrorData(code=-32700, message="?", data=[1])),
    ),
]


@pytest.mark.req("R-001", "R-003")
@pytest.mark.parametrize(("data", "message"), MESSAGES)
def test_messages_are_read_and_written(data: bytes, message: Any) -> None:
    parsed = parse_frame(data)
    assert parsed == message
    assert type(parsed) is type(message)
    assert type(getattr(parsed, "id", None)) is type(getattr(message, "id", None))
    assert dump_message(message) == data
    assert dumps(message_to_json(message)) == data
    assert parse_frame(data.decode()) == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}',
            JSONRPCError(id=None, error=ErrorData(code=1, message="m")),
        ),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":null}', JSONRPCRequest(id=1, method="m")),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":null}', JSONRPCResponse(id=1, result={})),
        (
            b'{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}',
            JSONRPCError(id=1, error=ErrorData(code=1, message="m")),
        ),
        (
            b' {"trace":1,"jsonrpc":"2.0","id":1,"method":"m","result":1} ',
            JSONRPCRequest(id=1, method="m"),
        ),
    ],
)
def test_harmless_differences_are_accepted(data: bytes, message: Any) -> None:
    assert parse_frame(data) == message


@pytest.mark.req("R-003", "R-004", "R-012")
@pytest.mark.case("C029")
@pytest.mark.parametrize(
    ("data", "code", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":1,"meth', -32700, None),
        (b"Listening on 3000", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":NaN}}', -32700, None),
        (b"42", -32600, None),
        (b"null", -32600, None),
        (b'"text"', -32600, None),
        (b"true", -32600, None),
        (b"[]", -32600, None),
        (b"{}", -32600, None),
        (b'{"id":7,"method":"m"}', -32600, 7),
        (b'{"jsonrpc":"1.0","id":"7","method":"m"}', -32600, "7"),
        (b'{"jsonrpc":2.0,"id":7,"method":"m"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":1}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":null}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}', -32600, 7),
        (b'{"jsonrpc":"2.0","method":"m","params":[1]}', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"m"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', -32600, None),
    ],
)
def test_a_malformed_request_tells_what_to_answer(
    data: bytes, code: int, request_id: str | int | None
) -> None:
    frame = parse_frame(data)
    assert isinstance(frame, Malformed)
    assert frame.code == code
    assert frame.id == request_id
    assert type(frame.id) is type(request_id)
    assert not frame.is_response
    # Only what names no method, nor shows that it would have, may answer something of ours.
    assert frame.answers == (7 if data == b'{"jsonrpc":"2.0","id":7}' else None)
    assert frame.message.startswith("Parse error: " if code == -32700 else "Invalid Request: ")
    assert frame.excerpt == data.decode("utf-8", "backslashreplace")


@pytest.mark.parametrize(
    ("data", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":[1]}', 7),
        (b'{"jsonrpc":"2.0","id":7,"result":null}', 7),
        (b'{"jsonrpc":"2.0","result":{}}', None),
        (b'{"jsonrpc":"2.0","id":null,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":1.0,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":true,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":7,"error":"no"}', 7),
        (b'{"jsonrpc":"2.0","id":7,"error":{}}', 7),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":"1","message":"m"}}', 7),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":true,"message":"m"}}', 7),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":1.5,"message":"m"}}', 7),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":1}}', 7),
        (b'{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"m"}}', None),
        (b'{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"m"}}', 7),
        (b'{"id":7,"result":{}}', 7),
    ],
)
def test_a_malformed_answer_is_not_to_be_answered(data: bytes, request_id: int | None) -> None:
    frame = parse_frame(data)
    assert isinstance(frame, Malformed)
    assert frame.code == -32600
    assert frame.message.startswith("Invalid response: ")
    assert frame.id == request_id
    assert frame.answers == (1 if b'"id":1.0' in data else request_id)
    assert type(frame.answers) in (int, type(None))
    assert frame.is_response


UNREADABLE_ANSWERS = [
    (
        b'{"jsonrpc":"2.0","id":7,"result":{"x":"\\ud800"}}',
        "a lone surrogate, \\ud800 (byte 39)",
    ),
    (
        b'{"jsonrpc":"2.0","id":7,"result":{"x":"\\\\\\udC00 and more"}}',
        "a lone surrogate, \\udC00 (byte 41)",
    ),
    (
        b'{"jsonrpc":"2.0","id":7,"result":{"x":"\\ud83d\\ude00\\uDbff\\u0041"}}',
        "a lone surrogate, \\uDbff (byte 51)",
    ),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}', "invalid character (byte 38)"),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":-Infinity}}', "byte"),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":1e999}}', "beyond what a float holds, 1e999"),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":"\xe4"}}', "UTF-8"),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":"\n"}}', "invalid character"),
    (b'{"jsonrpc":"2.0","id":7,"result":{}},', "trailing characters"),
    (b'{"jsonrpc":"2.0","id":7,"result":{},}', "trailing comma"),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":"y', "the text ends too early"),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":"\\ud800', "the text ends too early"),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":"\\\\ud800"}', "the text ends too early"),
    (b'{"jsonrpc":"2.0","id":7,"resu', "the text ends too early"),
    (b'{"jsonrpc":"2.0","id":7,"e', "the text ends too early"),
    (b'{"id":7,"jsonrpc":"2.0","error":{"code":NaN}}', "byte"),
    (b' { "id" : 7.0 , "result" : NaN }', "byte"),
    (b'{"jsonrpc":"2.0","result":{"x":NaN},"id":7}', "byte"),
    (b'{"error":{"x":NaN},"id":7,"jsonrpc":"2.0"} ', "byte"),
    (b'Loading... {"jsonrpc":"2.0","id":7,"result":{}}', "byte"),
    (b'[{"jsonrpc":"2.0","id":7,"result":NaN}]', "byte"),
    (b'{"jsonrpc":"2.0","id":7,"result":{"x":' + b"[" * 150 + b"]" * 150 + b"}}", "100 levels"),
    (
        b'{"jsonrpc":"2.0","result":' + b'{"x":' * 150 + b"1" + b"}" * 150 + b',"id":7}',
        "100 levels",
    ),
    (b'{"jsonrpc":"2.0","id":7,"result":' + b"[" * 100_000, "100 levels"),
]


@pytest.mark.parametrize(("data", "what"), UNREADABLE_ANSWERS, ids=str)
def test_an_answer_that_is_no_json_tells_whom_it_answers(data: bytes, what: str) -> None:
    frame = parse_frame(data)
    assert isinstance(frame, Malformed)
    assert frame.code == -32700
    assert frame.answers == 7
    assert frame.is_response
    assert frame.message.startswith("Parse error: ")
    assert what in frame.message
    if data.isascii():
        assert parse_frame(data.decode()) == frame


@pytest.mark.parametrize(
    "data",
    [
        # Cut off: what looks like the end of the message may be one of its parts.
        b'{"jsonrpc":"2.0","result":{"x":{"y":1,"id":7}',
        b'{"jsonrpc":"2.0","result":{"x":[NaN,{"y":1,"id":7}',
        b'{"result":{"x":NaN}}',
        b'{"id":7.5,"result":{"x":NaN}}',
        b'{"id":"\xff","result":{"x":NaN}}',
    ],
)
def test_an_answer_that_is_no_json_is_not_taken_for_that_to_another(data: bytes) -> None:
    frame = parse_frame(data)
    assert isinstance(frame, Malformed)
    assert frame.is_response
    assert frame.answers is None


@pytest.mark.req("R-012")
@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":7,"params":{"x":NaN},"method":"m"}',
        b'{"jsonrpc":"2.0","id":7,"params":{"result":{"x":NaN}}}',
        b'{"jsonrpc":"2.0","method":"m","params":{"x":NaN},"id":7}',
        b'{"jsonrpc":"2.0","id":7,"resulting":NaN}',
        b'{"jsonrpc":"2.0","id":7,"re":NaN}',
        b'{"jsonrpc":"2.0","id":7,"met',
        b'{"jsonrpc":"2.0","id":7,',
        b'{"jsonrpc":"2.0","id":7',
        b'[{"jsonrpc":"2.0","id":7,"method":NaN}]',
        b"Listening on 3000",
        b"",
    ],
)
def test_what_is_no_json_and_no_answer_has_no_id(data: bytes) -> None:
    frame = parse_frame(data)
    assert isinstance(frame, Malformed)
    assert (frame.code, frame.id, frame.answers, frame.is_response) == (-32700, None, None, False)


def test_a_batch_keeps_its_order_and_its_faults() -> None:
    frame = parse_frame(
        b'[{"jsonrpc":"2.0","method":"n"}, 42, {"jsonrpc":"2.0","id":1,"method":"m"}, []]'
    )
    assert isinstance(frame, Batch)
    first, second, third, fourth = frame.messages
    assert first == JSONRPCNotification(method="n")
    assert isinstance(second, Malformed)
    assert third == JSONRPCRequest(id=1, method="m")
    assert isinstance(fourth, Malformed)


@pytest.mark.parametrize("each", [b"1", b"{}", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'])
def test_a_batch_of_too_many_is_one_fault(each: bytes) -> None:
    # Of each element that is no message something would be kept, and answered.
    frame = parse_frame(b"[" + b",".join([each] * MAX_BATCH) + b"]")
    assert isinstance(frame, Batch)
    assert len(frame.messages) == MAX_BATCH
    frame = parse_frame(b"[" + b",".join([each] * (MAX_BATCH + 1)) + b"]")
    assert isinstance(frame, Malformed)
    assert (frame.code, frame.id, frame.answers, frame.is_response) == (-32600, None, None, False)
    assert "a batch of 1001 messages, 1000 at most are read" in frame.message
    assert frame.excerpt is not None


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":7,"result":{}}',
        b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}',
    ],
)
def test_too_many_answers_in_one_batch_are_answered_by_nothing(answer: bytes) -> None:
    frame = parse_frame(b"[" + answer + b",1" * MAX_BATCH + b"]")
    assert isinstance(frame, Malformed)
    assert (frame.id, frame.answers, frame.is_response) == (7, 7, True)


def test_the_excerpt_is_short() -> None:
    frame = parse_frame(b"x" * 10_000)
    assert isinstance(frame, Malformed)
    assert frame.excerpt == "x" * 200 + "…"
    frame = parse_frame("é" * 201)
    assert isinstance(frame, Malformed)
    assert frame.excerpt == "é" * 200 + "…"


@pytest.mark.parametrize(
    ("line", "request_id", "is_response"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":"%s"}}', 7, False),
        (b'{"jsonrpc": "2.0", "id": "a\\"b", "result": {"x": "%s"}}', 'a"b', True),
        (b'{"jsonrpc":"2.0","method":"n","params":{"x":"%s","id":1}}', None, False),
        (b'{"result":{"x":"%s"},"jsonrpc":"2.0","id":7}', 7, True),
        (b'{"method":"m","params":{"x":"%s"},"jsonrpc":"2.0","id":0}', 0, False),
        (b'{"error":{"x":"%s"},"id":"x","jsonrpc":"2.0"}\r', "x", True),
        (b'{"id":-3,"error":{"x":"%s"},"jsonrpc":"2.0"}', -3, True),
        (b'{"result":{"x":"%s","jsonrpc":"2.0","id":7}}', None, True),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"%s"}', None, False),
        (b'{"jsonrpc":"2.0","id":true,"method":"%s"}', None, False),
        (b'{"jsonrpc":"2.0","id":null,"method":"%s"}', None, False),
        (b'[{"jsonrpc":"2.0","id":7,"method":"%s"}]', None, False),
        (b'{"trace":"%s"}', None, False),
        (b"%s", None, False),
    ],
)
def test_a_message_that_is_too_long_still_tells_its_id(
    line: bytes, request_id: str | int | None, is_response: bool
) -> None:
    (dropped,) = LineSplitter(2000).feed(line % (b"x" * 5000) + b"\n")
    frame = parse_line(dropped)
    assert isinstance(frame, Malformed)
    assert frame.code == -32600
    kind = "response" if is_response else "Request"
    assert frame.message == f"Invalid {kind}: a message of more than 2000 bytes"
    assert frame.id == request_id
    assert frame.answers == (request_id if is_response else None)
    assert frame.is_response is is_response
    assert frame.excerpt is not None
    assert len(frame.excerpt) == 201


@pytest.mark.req("R-080")
def test_a_message_is_one_line() -> None:
    message = JSONRPCNotification(method="n", params={"text": "a\nb\r\nc\u2028"})
    data = dump_message(message)
    assert b"\n" not in data
    assert b"\r" not in data
    assert parse_frame(data) == message


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
ENVELOPES = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]),
    st.just("2.0") | ANY_JSON | st.fixed_dictionaries({"code": ANY_JSON, "message": ANY_JSON}),
)


@given(ENVELOPES | ANY_JSON)
def test_no_json_value_raises(value: Any) -> None:
    message = parse_message(value)
    if not isinstance(message, Malformed):
        assert parse_message(message_to_json(message)) == message


@given(st.binary() | st.text())
def test_no_bytes_raise(data: bytes | str) -> None:
    parse_frame(data)
