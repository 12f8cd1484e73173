"""The JSON-RPC envelope: bytes to messages and back, by hand.

Every message of a session passes here, so the common shapes are told apart by a few look-ups
and nothing is converted twice; what is inside ``params`` and ``result`` stays plain JSON for
the converter of the session's revision.

Nothing that a peer sends makes `parse_frame` raise. What is no message becomes a `Malformed`
that says what to answer, or that there is nothing to answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

import attrs

from trio_mcp._codec._excerpt import EXCERPT
from trio_mcp._codec._json import (
    JsonError,
    checked_copy,
    dumps,
    dumps_lines,
    is_balanced,
    loads,
)
from trio_mcp._codec._lines import KEPT
from trio_mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

if TYPE_CHECKING:
    from trio_mcp._codec._lines import TooLong
    from trio_mcp.types import RequestId
    from trio_mcp.types._base import JsonObject, JsonValue


MAX_BATCH: Final = 1_000
"""How many messages a batch may hold.

Many more than a program has reason to put into one. The smallest element takes two bytes, and
as an error that is answered a hundred times as much, so the size of a text bounds too little.
"""


@attrs.frozen
class Malformed:
    """What arrived in place of a message."""

    code: int
    """The code to answer: -32700 for what is no JSON, -32600 for what is no message."""

    message: str
    """What is wrong with it, in one sentence."""

    id: RequestId | None = None
    """Its id, if that can be read and may be told: what is no JSON is answered without one."""

    is_response: bool = False
    """It was meant as an answer: nothing may be sent back."""

    answers: RequestId | None = None
    """The id of the request of ours that it was, or may have been, meant to answer. If such a
    request waits, this is all the answer it gets."""

    excerpt: str | None = None
    """The beginning of what arrived, for a log."""


@attrs.frozen
class Batch:
    """A JSON array of messages, which only revision 2025-03-26 allows.

    Never empty, and of `MAX_BATCH` messages at most: an array of more is one `Malformed`.
    """

    messages: tuple[JSONRPCMessage | Malformed, ...]


Frame: TypeAlias = JSONRPCMessage | Batch | Malformed
"""What one line, HTTP body or WebSocket message may hold."""


def parse_frame(data: bytes | str) -> Frame:
    """Parse one JSON text into what it holds. Never raises."""
    try:
        value = loads(data)
    except JsonError as exc:
        return _unparsable(data, f"Parse error: {exc}")
    parsed: JSONRPCMessage | Malformed
    if value.__class__ is not list:
        parsed = parse_message(value)
    elif not value:
        parsed = _invalid("an empty batch")
    elif len(value) > MAX_BATCH:
        parsed = _too_many(value)
    else:
        return Batch(tuple([parse_message(each) for each in value]))
    if isinstance(parsed, Malformed):
        return attrs.evolve(parsed, excerpt=_excerpt(data))
    return parsed


def parse_line(line: bytes | TooLong) -> Frame:
    """Parse what a `LineSplitter` returned. Never raises."""
    if isinstance(line, bytes):
        return parse_frame(line)
    return attrs.evolve(_too_long(line), excerpt=_excerpt(line.head))


def parse_message(value: JsonValue) -> JSONRPCMessage | Malformed:
    """Tell which message a JSON value is. Members that JSON-RPC does not know are ignored."""
    if value.__class__ is not dict:
        return _invalid(f"a message is an object, not {_kind(value)}")
    if value.get("jsonrpc") != "2.0":
        return _malformed(value, 'the member "jsonrpc" has to be "2.0"')
    if "method" in value:
        return _parse_call(value)
    if "result" in value or "error" in value:
        return _parse_answer(value)
    return _malformed(value, 'there is no "method", "result" or "error"')


def message_to_json(message: JSONRPCMessage) -> JsonObject:
    """Turn a message into a JSON object, in the usual order of members.

    An error whose id is None has no ``id``: the specification wants it left out where
    JSON-RPC itself would write null.
    """
    value: JsonObject = {"jsonrpc": "2.0"}
    if isinstance(message, JSONRPCResponse):
        value["id"] = message.id
        value["result"] = message.result
        return value
    if isinstance(message, JSONRPCError):
        if message.id is not None:
            value["id"] = message.id
        value["error"] = _error_to_json(message.error)
        return value
    if isinstance(message, JSONRPCRequest):
        value["id"] = message.id
    value["method"] = message.method
    if message.params is not None:
        value["params"] = message.params
    return value


def dump_message(message: JSONRPCMessage) -> bytes:
    """Write a message as one JSON text, without a newline in it or after it.

    Raises:
      TypeError, ValueError: as `dumps`, for data that did not pass `checked_copy`.

    """
    return dumps(message_to_json(message))


def dump_lines(messages: list[JSONRPCMessage]) -> bytes:
    """Write messages, each as one line with its line feed.

    Raises:
      TypeError, ValueError: as `dumps`.

    """
    return dumps_lines([message_to_json(message) for message in messages])


def why_unwritable(message: JSONRPCMessage) -> TypeError | ValueError | None:
    """Say where a message holds what JSON cannot say; None if it can be written."""
    return _why_unwritable(message_to_json(message))


def check_request(method: str, params: JsonObject | None) -> None:
    """Refuse a request that could not be written, before it is on its way.

    Its numbers were checked where they were handed over: NaN is not looked for.

    Raises:
      TypeError, ValueError: with the method, the path and what is wrong there.

    """
    try:
        dumps([method, params])
    except (TypeError, ValueError):
        _refuse_call(method, params)


def check_notification(method: str, params: JsonObject | None) -> None:
    """Refuse a notification that could not be written, before it is on its way.

    Raises:
      TypeError, ValueError: as `check_request`; also for a number that is not finite.

    """
    try:
        written = dumps({"method": method, "params": params})
    except (TypeError, ValueError):
        _refuse_call(method, params)
    else:
        # The encoder takes NaN for null.
        if b"null" in written:
            _refuse_call(method, params)


def _refuse_call(method: str, params: JsonObject | None) -> None:
    why = _why_unwritable({"method": method, "params": params})
    if why is not None:
        raise type(why)(f"{printable(method)}: {why}") from None


def check_result(result: JsonObject) -> None:
    """Refuse a result that could not be written.

    Raises:
      TypeError, ValueError: with the path and what is wrong there.

    """
    try:
        dumps([result])
    except (TypeError, ValueError):
        why = _why_unwritable({"result": result})
        if why is not None:
            raise why from None
        raise


def printable(text: str) -> str:
    """Escape what no encoding can express, so that a text can be shown and sent."""
    return text.encode("utf-8", "backslashreplace").decode()


def _why_unwritable(value: JsonObject) -> TypeError | ValueError | None:
    try:
        checked_copy(value, "")
        dumps(value)
    except TypeError as exc:
        return TypeError(str(exc).removeprefix("."))
    except ValueError as exc:
        return ValueError(str(exc).removeprefix("."))
    return None


def _parse_call(value: JsonObject) -> JSONRPCRequest | JSONRPCNotification | Malformed:
    method = value["method"]
    if not isinstance(method, str):
        return _malformed(value, f"a method is a string, not {_kind(method)}")
    # Null is read as absent: serializers that write every member do so.
    params: JsonObject | None = value.get("params")
    if params is not None and params.__class__ is not dict:
        return _malformed(value, f"params are an object, not {_kind(params)}")
    if "id" not in value:
        return JSONRPCNotification(method=method, params=params)
    request_id = value["id"]
    if not _is_id(request_id):
        return _invalid(
            f"the id of a request is a string or an integer, not {_id_kind(request_id)}"
        )
    return JSONRPCRequest(id=request_id, method=method, params=params)


def _parse_answer(value: JsonObject) -> JSONRPCResponse | JSONRPCError | Malformed:
    request_id = value.get("id")
    result: JsonObject | None = value.get("result")
    error: JsonObject | None = value.get("error")
    if error is None:
        if result is None or result.__class__ is not dict:
            return _malformed(value, f"a result is an object, not {_kind(result)}")
        if not _is_id(request_id):
            told = "nothing" if request_id is None else _id_kind(request_id)
            return _malformed(value, f"a result has the id of its request, not {told}")
        return JSONRPCResponse(id=request_id, result=result)
    if result is not None:
        return _malformed(value, 'an answer has either a "result" or an "error"')
    if request_id is not None and not _is_id(request_id):
        return _malformed(value, f"an error has the id of its request, not {_id_kind(request_id)}")
    if error.__class__ is not dict:
        return _malformed(value, f"an error is an object, not {_kind(error)}")
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(message, str):
        return _malformed(value, "an error has an integer code and a message")
    data = ErrorData(code=code, message=message, data=error.get("data"))
    return JSONRPCError(id=request_id, error=data)


def _error_to_json(error: ErrorData) -> JsonObject:
    value: JsonObject = {"code": error.code, "message": error.message}
    if error.data is not None:
        value["data"] = error.data
    return value


def _is_id(value: Any) -> TypeGuard[RequestId]:
    # Exact types: a bool is an int to isinstance.
    return value.__class__ is int or value.__class__ is str


def _malformed(value: JsonObject, what: str) -> Malformed:
    request_id = value.get("id")
    shows_method = "method" in value
    return _invalid(
        what,
        request_id if _is_id(request_id) else None,
        is_response=not shows_method and ("result" in value or "error" in value),
        answers=None if shows_method else _meant_id(request_id),
    )


def _invalid(
    what: str,
    id: RequestId | None = None,
    *,
    is_response: bool = False,
    answers: RequestId | None = None,
) -> Malformed:
    said = f"Invalid {'response' if is_response else 'Request'}: {what}"
    return Malformed(INVALID_REQUEST, said, id, is_response, answers)


def _meant_id(value: Any) -> RequestId | None:
    """Return the id of a request of ours that the id of an answer can only mean."""
    # Numbers of other languages come back with a fraction.
    if value.__class__ is float and value.is_integer():
        return int(value)
    return value if _is_id(value) else None


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _id_kind(value: JsonValue) -> str:
    return f"{value!r}" if value.__class__ is float else _kind(value)


# How the envelope of a message that cannot be read looks from its ends. At the end, only the
# members of the message itself can stand before the last brace.
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_ID = rb'"id"\s*:\s*(-?\d{1,30}(?:\.\d{1,30})?|"(?:[^"\\]|\\.){0,300}")\s*'
_BEGIN: Final = re.compile(
    rb"\s*\{\s*(?:(?:" + _VERSION + rb"|" + _ID + rb'),\s*){0,2}"(\w+)("\s*:|\Z)'
)
_END: Final = re.compile(
    rb",\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*\Z"
)


def _unparsable(data: bytes | str, what: str) -> Malformed:
    """Describe what is no JSON. If it shows that it is an answer, its call need not wait on."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if not raw.lstrip().startswith(b"{"):
        # Something was printed before it, without the end of a line; or it is a batch, of
        # which the first answer can be told.
        raw = raw[max(raw.find(b'{"jsonrpc"'), 0) :]
    begin = _BEGIN.match(raw[:KEPT])
    if begin is None or not _begins_answer(begin):
        return Malformed(PARSE_ERROR, what, excerpt=_excerpt(data))
    # An id at the end of a text that breaks off may belong to what is inside.
    found = _id_in(begin) if begin[1] or not is_balanced(raw) else _id_in(_END.search(raw[-KEPT:]))
    request_id = found if _is_id(found) else None
    return Malformed(PARSE_ERROR, what, request_id, True, _meant_id(found), _excerpt(data))


def _too_long(line: TooLong) -> Malformed:
    """Describe a message of which only the ends were kept."""
    what = f"a message of more than {line.limit} bytes"
    begin = _BEGIN.match(line.head)
    if begin is None or begin[2] not in {b"method", b"params", b"result", b"error"}:
        return _invalid(what)
    found = _id_in(begin) if begin[1] else _id_in(_END.search(line.tail))
    request_id = found if _is_id(found) else None
    if not _begins_answer(begin):
        return _invalid(what, request_id)
    return _invalid(what, request_id, is_response=True, answers=_meant_id(found))


def _too_many(values: list[JsonValue]) -> Malformed:
    """Describe a batch that is not looked at. If it begins with an answer, it holds answers."""
    what = f"a batch of {len(values)} messages, {MAX_BATCH} at most are read"
    first = parse_message(values[0])
    if isinstance(first, (JSONRPCResponse, JSONRPCError)):
        return _invalid(what, first.id, is_response=True, answers=first.id)
    return _invalid(what)


def _begins_answer(begin: re.Match[bytes]) -> bool:
    name = begin[2]
    if begin[3]:
        return name in {b"result", b"error"}
    return b"result".startswith(name) or b"error".startswith(name)  # it breaks off there


def _id_in(match: re.Match[bytes] | None) -> JsonValue:
    found = None if match is None else match[1]
    try:
        return loads(found) if found else None
    except JsonError:
        return None


def _excerpt(data: bytes | str) -> str:
    head = data[: EXCERPT + 1]
    text = head if isinstance(head, str) else head.decode("utf-8", "backslashreplace")
    return text if len(head) <= EXCERPT else text[:EXCERPT] + "…"
