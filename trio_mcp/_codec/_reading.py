"""Reading JSON into whatever type a user has named for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeGuard

from trio_mcp._checks import wrong_kind
from trio_mcp.types._base import WireModel

from ._converter import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.types._revisions import Revision

_READABLE: Final = "a wire type, a pydantic model or dict"


def is_readable(kind: object) -> bool:
    """Whether JSON objects can be read as this type: a wire type, a pydantic model, or dict."""
    return kind is dict or is_wire_type(kind) or callable(getattr(kind, "model_validate", None))


def check_readable(argument: str, kind: object) -> None:
    """Check that JSON objects can be read as this type.

    Raises:
      TypeError: if they cannot.

    """
    if not is_readable(kind):
        raise wrong_kind(argument, _READABLE, kind)


def is_wire_type(kind: object) -> TypeGuard[type[WireModel]]:
    """Whether this is a class of the protocol's, or one that a user made like those."""
    return isinstance(kind, type) and issubclass(kind, WireModel)


def read_as(kind: Any, value: Mapping[str, Any], revision: Revision, *, where: str) -> Any:
    """Read a JSON object as a type that `is_readable`.

    Wire types are decoded strictly. A pydantic model is validated by itself, without ``_meta``.

    Raises:
      ValueError: if it does not fit; says where, what was expected and what came.

    """
    if kind is dict:
        return value
    if is_wire_type(kind):
        return decode(kind, value, revision, where=where)
    try:
        return kind.model_validate({name: each for name, each in value.items() if name != "_meta"})
    except ValueError as exc:
        raise ValueError(_first_line(exc, where)) from exc


def _first_line(exc: ValueError, where: str) -> str:
    errors = getattr(exc, "errors", None)
    if errors is None:
        return str(exc).partition("\n")[0]
    first = errors(include_url=False, include_input=False)[0]
    path = ".".join([where, *(str(part) for part in first["loc"])])
    return f"{path}: {first['msg']}"
