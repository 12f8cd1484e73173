"""Types of the protocol as JSON, for whoever keeps one or sends it on by other ways."""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

import attrs

from trio_mcp._checks import check_kind, check_text, wrong_kind
from trio_mcp.types._base import WireModel
from trio_mcp.types._common import EmptyResult
from trio_mcp.types._revisions import KNOWN_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, revision_for
from trio_mcp.types.jsonrpc import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from ._converter import decode, encode
from ._decode_error import DecodeError
from ._envelope import Malformed, message_to_json, parse_message
from ._excerpt import excerpt
from ._json import JsonError, checked_copy, loads

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject, JsonValue
    from trio_mcp.types._revisions import Revision
    from trio_mcp.types.jsonrpc import JSONRPCMessage

T = TypeVar("T", bound="WireModel | JSONRPCMessage | ErrorData")

_MESSAGES: Final = (JSONRPCRequest, JSONRPCNotification, JSONRPCResponse, JSONRPCError)
_KINDS: Final = (WireModel, *_MESSAGES, ErrorData)
_EXPECTED: Final = "a class of WireModel, a JSON-RPC message, ErrorData, or a union of such"


def to_json(
    value: WireModel | JSONRPCMessage | ErrorData, protocol_version: str = LATEST_MODERN_VERSION
) -> JsonObject:
    """Write a type of the protocol as it is sent: as objects that ``json.dumps`` takes.

    Args:
      value: Such as a result, a tool, the questions of an ``InputRequiredResult``, or a message
          of JSON-RPC.
      protocol_version: The revision whose names and members it is written in; messages are the
          same in all.

    Returns:
      A copy: nothing of it is shared with the value.

    Raises:
      TypeError: if it is none, or holds something of another type than it says.
      ValueError: if the revision is not known, or has no words for it.

    """
    check_kind("value", value, _KINDS, "WireModel, a JSON-RPC message or ErrorData")
    revision = _known(protocol_version)
    json = encode(value, revision) if isinstance(value, WireModel) else _message_to_json(value)
    written: Any = checked_copy(json, "")
    return written  # type: ignore[no-any-return]  # of an object, an object


def _message_to_json(value: JSONRPCMessage | ErrorData) -> JsonObject:
    """Write what the envelope writes unchecked, and check it."""
    is_error = isinstance(value, ErrorData)
    message = JSONRPCError(id=None, error=value) if isinstance(value, ErrorData) else value
    json = message_to_json(message)
    parsed = parse_message(json)
    if isinstance(parsed, Malformed):
        raise TypeError(f"{type(value).__name__}: {parsed.message}")
    return json["error"] if is_error else json


@overload
def from_json(
    cls: type[T], json: JsonValue | bytes, protocol_version: str = LATEST_MODERN_VERSION
) -> T: ...
@overload
def from_json(
    cls: types.UnionType, json: JsonValue | bytes, protocol_version: str = LATEST_MODERN_VERSION
) -> Any: ...
def from_json(
    cls: Any, json: JsonValue | bytes, protocol_version: str = LATEST_MODERN_VERSION
) -> Any:
    """Read a type of the protocol from what `to_json` wrote, or from a message.

    Args:
      cls: What to read it as: a class, or a union such as `ContentBlock` or `JSONRPCMessage`.
      json: The object, or its text.
      protocol_version: The revision that it is written in.

    Returns:
      What was written. The word that results have at 2026-07-28 where they say nothing else
      (``"resultType": "complete"``) is in no attribute of one that does without.

    Raises:
      TypeError: if the class is no type of the protocol.
      ValueError: if the text is no JSON, or does not fit; says where, what was expected and
        what came.

    """
    if not _is_known(cls):
        raise wrong_kind("cls", _EXPECTED, cls)
    revision = _known(protocol_version)
    try:
        found = loads(json) if isinstance(json, (str, bytes)) else checked_copy(json, "json")
    except JsonError as exc:
        raise ValueError(f"json: {exc}") from None
    if cls is ErrorData:
        return _read_error(found)
    return _without_common_word(decode(cls, found, revision, where="json"))


def _is_known(cls: Any) -> bool:
    if isinstance(cls, types.UnionType) or typing.get_origin(cls) is typing.Union:
        return all(map(_is_known, typing.get_args(cls)))
    return isinstance(cls, type) and issubclass(cls, _KINDS)


def _read_error(value: Any) -> ErrorData:
    # As it stands in a message, in such a message.
    parsed = parse_message({"jsonrpc": "2.0", "id": 0, "error": value})
    if not isinstance(parsed, JSONRPCError):
        expected = "an object with an integer code and a message"
        raise DecodeError(expected, excerpt(repr(value)), "json")
    return parsed.error


def _without_common_word(found: Any) -> Any:
    if getattr(found, "is_input_response", True):
        return found
    if found.extra.get("resultType") == "complete":
        extra = {name: each for name, each in found.extra.items() if name != "resultType"}
        return attrs.evolve(found, extra=extra)
    if isinstance(found, EmptyResult) and found.result_type == "complete":
        return found.evolve(result_type=None)
    return found


def _known(protocol_version: str) -> Revision:
    check_text("protocol_version", protocol_version)
    revision = revision_for(protocol_version)
    if revision is None:
        known = ", ".join(KNOWN_PROTOCOL_VERSIONS)
        raise ValueError(
            f"protocol_version: expected one of {known}, got {protocol_version!r:.80}"
        )
    return revision
