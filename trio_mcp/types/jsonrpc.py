"""JSON-RPC messages as they travel, and the codes of their errors."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, TypeVar, dataclass_transform

import attrs

from trio_mcp._late_hints import defer_class_hints

from ._constants import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    JSONRPC_VERSION,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
)
from ._literals import RequestId

__all__ = [
    "CONNECTION_CLOSED",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "JSONRPC_VERSION",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "PARSE_ERROR",
    "REQUEST_TIMEOUT",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "URL_ELICITATION_REQUIRED",
    "ErrorData",
    "JSONRPCError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "RequestId",
]

_T = TypeVar("_T", bound=type)
_PACKAGE: Final = __name__.rpartition(".")[0]


def _names_of(message: Any) -> list[str]:
    return [each.name for each in attrs.fields(message.__class__)]


def _values_of(message: Any) -> tuple[Any, ...]:
    return tuple(getattr(message, name) for name in _names_of(message))


def _equal(message: Any, other: object) -> Any:
    if other.__class__ is not message.__class__:
        return NotImplemented
    return _values_of(message) == _values_of(other)


def _hash(message: Any) -> int:
    return hash(_values_of(message))


def _show(message: Any) -> str:
    shown = (f"{name}={getattr(message, name)!r}" for name in _names_of(message))
    return f"{message.__class__.__name__}({', '.join(shown)})"


@dataclass_transform(kw_only_default=True, frozen_default=True)
def _message(cls: _T) -> _T:
    made: Any = attrs.frozen(kw_only=True, eq=False, repr=False)(cls)
    # One of each for all: to make its own takes half the time of a class.
    made.__eq__, made.__hash__, made.__repr__ = _equal, _hash, _show
    defer_class_hints(made)
    made.__module__ = _PACKAGE
    return made  # type: ignore[no-any-return]  # attrs cannot type a class made of a slotted one


@_message
class JSONRPCRequest:
    """A call that wants an answer."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    method: str
    params: dict[str, Any] | None = None


@_message
class JSONRPCNotification:
    """A message that is never answered."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: str
    params: dict[str, Any] | None = None


@_message
class JSONRPCResponse:
    """The answer of a call that worked."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    result: dict[str, Any]


@_message
class ErrorData:
    """What went wrong: a code, one sentence, and details of any JSON type."""

    code: int
    message: str
    data: Any = None


@_message
class JSONRPCError:
    """The answer of a call that failed; its id is None where that could not be read."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId | None
    error: ErrorData


JSONRPCMessage: TypeAlias = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError
"""Anything that travels as one message."""
