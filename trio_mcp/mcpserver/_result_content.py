"""What a tool returned as content for the model.

Content blocks are those of `mcp`: text as it is, a list as one block for each item (lists in
it are flattened), None as no block, anything else as JSON text. A NamedTuple is an object
here, and so one block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeGuard

import msgspec

from trio_mcp._codec._converter import encode
from trio_mcp._codec._json import checked_copy, dumps
from trio_mcp._codec._unions import TAGGED
from trio_mcp.types import TextContent
from trio_mcp.types._base import WireModel
from trio_mcp.types._revisions import LATEST_MODERN

from ._hints import to_json
from ._media import Audio, File, Image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.types import ContentBlock
    from trio_mcp.types._base import JsonValue

# Names, since few tools need all the classes.
_BLOCKS: Final = frozenset(TAGGED["ContentBlock"].values())
MEDIA: Final = (Image, Audio, File)
"""What is sent as a block of its own kind."""


class ResultError(ValueError):
    """What a tool returned does not fit what it published; a defect of the tool."""


def to_content(value: Any) -> list[ContentBlock]:
    """Make content blocks of a value.

    Raises:
      ResultError: if it has no JSON form: a number that is not finite, half a surrogate pair.
      OSError: if a file cannot be read.

    """
    cls = value.__class__
    if cls is str:
        if not value.isascii():
            _check_json(value)
        return [TextContent(text=value)]
    if cls is int and value.bit_length() < 64:  # Python refuses to print endless ones
        return [TextContent(text=str(value))]
    if value is None:
        return []
    if _is_listing(value):
        return [block for each in value for block in to_content(each)]
    return [_block(value)]


def _is_listing(value: Any) -> TypeGuard[Sequence[Any]]:
    return not hasattr(value, "_fields") and isinstance(value, (list, tuple))  # a NamedTuple


def _block(value: Any) -> ContentBlock:
    if is_block(value.__class__):
        block: ContentBlock = value
        check_made(block)
        return block
    if isinstance(value, Image):
        return value.to_image_content()
    if isinstance(value, Audio):
        return value.to_audio_content()
    if isinstance(value, File):
        return value.to_resource_content()
    if isinstance(value, str):
        return TextContent(text=str(_check_json(to_json(value))))
    return TextContent(text=json_text(_shown(value)))


def _shown(value: Any) -> JsonValue:
    """Make JSON of something without a schema; what has no JSON form is shown by its str."""
    try:
        return to_json(value)
    except TypeError:
        return str(value)


def json_text(value: JsonValue) -> str:
    """Write a value for reading, after a check that it is JSON.

    Raises:
      ResultError: if it holds something that JSON cannot.

    """
    return indented(_check_json(value))


def _check_json(value: Any) -> JsonValue:
    try:
        return checked_copy(value, "result")
    except (TypeError, ValueError) as exc:
        raise ResultError(str(exc)) from exc


def check_made(made: WireModel) -> None:
    """Check what an author has filled in, while the failure can still be one of the tool.

    Raises:
      ResultError: if it could not be sent; names the attribute.

    """
    try:
        checked_copy(encode(made, LATEST_MODERN), type(made).__name__)
    except (TypeError, ValueError) as exc:
        raise ResultError(str(exc)) from exc


def indented(value: JsonValue) -> str:
    """Write JSON with two spaces of indent."""
    return msgspec.json.format(dumps(value), indent=2).decode()


def reads_files(value: Any) -> bool:
    """Tell whether making content of a value reads files, and so may take a while."""
    if _is_listing(value):
        return any(reads_files(each) for each in value)
    return isinstance(value, MEDIA) and value.path is not None


def is_block(cls: type) -> bool:
    """Tell whether a class is one of content blocks."""
    return issubclass(cls, WireModel) and any(base.__name__ in _BLOCKS for base in cls.__mro__)
