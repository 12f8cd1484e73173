"""Types of the protocol as JSON, for whoever keeps one or sends it on by other ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from trio_mcp._checks import check_class, check_kind, check_text
from trio_mcp.types._base import WireModel
from trio_mcp.types._revisions import KNOWN_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION, revision_for

from ._converter import decode, encode
from ._json import JsonError, checked_copy, loads

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject, JsonValue
    from trio_mcp.types._revisions import Revision

T = TypeVar("T", bound="WireModel")


def to_json(value: WireModel, protocol_version: str = LATEST_MODERN_VERSION) -> JsonObject:
    """Write a type of the protocol as it is sent: as objects that ``json.dumps`` takes.

    Args:
      value: Such as a result, a tool, or the questions of an ``InputRequiredResult``.
      protocol_version: The revision whose names and members it is written in.

    Returns:
      A copy: nothing of it is shared with the value.

    Raises:
      TypeError: if it is none, or holds something of another type than it says.
      ValueError: if the revision is not known, or has no words for it.

    """
    check_kind("value", value, WireModel)
    written: Any = checked_copy(encode(value, _known(protocol_version)), "")
    return written  # type: ignore[no-any-return]  # of an object, an object


def from_json(
    cls: type[T], json: JsonValue | bytes, protocol_version: str = LATEST_MODERN_VERSION
) -> T:
    """Read a type of the protocol from what `to_json` wrote, or from a message.

    Args:
      cls: What to read it as.
      json: The object, or its text.
      protocol_version: The revision that it is written in.

    Raises:
      TypeError: if the class is no type of the protocol.
      ValueError: if the text is no JSON, or does not fit; says where, what was expected and
        what came.

    """
    check_class("cls", cls, WireModel)
    revision = _known(protocol_version)
    try:
        found = loads(json) if isinstance(json, (str, bytes)) else checked_copy(json, "json")
    except JsonError as exc:
        raise ValueError(f"json: {exc}") from None
    return decode(cls, found, revision, where="json")


def _known(protocol_version: str) -> Revision:
    check_text("protocol_version", protocol_version)
    revision = revision_for(protocol_version)
    if revision is None:
        known = ", ".join(KNOWN_PROTOCOL_VERSIONS)
        raise ValueError(
            f"protocol_version: expected one of {known}, got {protocol_version!r:.80}"
        )
    return revision
