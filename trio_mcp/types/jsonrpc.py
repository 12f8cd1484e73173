"""JSON-RPC messages as they travel, and the codes of their errors."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, TypeVar, dataclass_transform

import attrs

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


class _Values:
    """Compares by value; one of each method for all, as it is for `WireModel`."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return _values_of(self) == _values_of(other)

    def __hash__(self) -> int:
        return hash(_values_of(self))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in _names_of(self))
        return f"{self.__class__.__name__}({', '.join(shown)})"


def _values_of(message: Any) -> tuple[Any, ...]:
    return tuple(getattr(message, name) for name in _names_of(message))


def _names_of(message: Any) -> list[str]:
    return [each.name for each in attrs.fields(message.__class__)]


@dataclass_transform(kw_only_default=True, frozen_default=True)
def _message(cls: _T) -> _T:
    # Without methods of its own, a class takes half the time.
    made: Any = attrs.frozen(kw_only=True, eq=False, repr=False)(cls)
    made.__module__ = _PACKAGE
    return made  # type: ignore[no-any-return]  # attrs cannot type a class made of a slotted one


@_message
class JSONRPCRequest(_Values):
    """A call that wants an answer."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    method: str
    params: dict[str, Any] | None = None


@_message
class JSONRPCNotification(_Values):
    """A message that is never answered."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: str
    params: dict[str, Any] | None = None


@_message
class JSONRPCResponse(_Values):
    """The answer of a call that worked."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    result: dict[str, Any]


@_message
class ErrorData(_Values):
    """What went wrong: a code, one sentence, and details of any JSON type."""

    code: int
    message: str
    data: Any = None


@_message
class JSONRPCError(_Values):
    """The answer of a call that failed; its id is None where that could not be read."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId | None
    error: ErrorData


JSONRPCMessage: TypeAlias = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError
"""Anything that travels as one message."""
