"""What reading a resource gives: from the value of a function to the contents on the wire."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
import msgspec

from trio_mcp import types
from trio_mcp._codec._base64 import decode_base64
from trio_mcp._codec._json import checked_copy, dumps

from ._hints import to_json
from ._media import Audio, File, Image

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

TEXT: Final = "text/plain"
BINARY: Final = "application/octet-stream"
JSON: Final = "application/json"

# Textual types of `application/` from before the suffixes `+json` and `+xml` (RFC 6839).
_TEXTUAL: Final = frozenset(("application/json", "application/xml", "application/javascript"))


@attrs.frozen
class ReadResourceContents:
    """One piece of what a resource holds.

    Attributes:
      content: Text, or bytes.
      mime_type: Its MIME type.
      meta: What ``_meta`` says.

    """

    content: str | bytes
    mime_type: str | None = None
    meta: JsonObject | None = None

    def to_wire(self, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
        """Write it as the contents of a URI; bytes become standard base64 with padding."""
        if isinstance(self.content, str):
            return types.TextResourceContents(
                uri=uri, text=self.content, mime_type=self.mime_type or TEXT, meta=self.meta
            )
        blob = base64.b64encode(self.content).decode("ascii")
        return types.BlobResourceContents(
            uri=uri, blob=blob, mime_type=self.mime_type or BINARY, meta=self.meta
        )


@attrs.frozen
class ContentsElsewhere(ReadResourceContents):
    """Contents made by hand: they say by themselves where they are.

    Reading a resource may give those of its parts, each under its own URI.
    """

    uri: str = attrs.field(kw_only=True)

    def to_wire(self, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
        return super().to_wire(self.uri or uri)


def contents_of(
    value: Any, declared: str | None, meta: JsonObject | None
) -> list[ReadResourceContents]:
    """Make the contents of what a resource's function returned.

    Args:
      value: Text, bytes, an `Image`, `Audio` or `File`, contents made by hand, a list of
        such contents, or anything that has a JSON form.
      declared: The MIME type that the author gave. It is kept whatever the value is.
      meta: The ``_meta`` of the resource.

    Raises:
      TypeError: if something in the value has no JSON form.

    """
    if isinstance(value, (list, tuple)) and value:
        pieces: list[ReadResourceContents] = []
        for item in cast("list[Any]", value):
            made = _ready_made(item, declared, meta)
            if made is None:
                break
            pieces.append(made)
        else:
            return pieces
    return [_ready_made(value, declared, meta) or _plain(value, declared, meta)]


def _ready_made(
    value: Any, declared: str | None, meta: JsonObject | None
) -> ReadResourceContents | None:
    match value:
        case ReadResourceContents():
            return value
        case types.TextResourceContents():
            return ContentsElsewhere(
                value.text, value.mime_type or declared, value.meta or meta, uri=value.uri
            )
        case types.BlobResourceContents():
            blob = decode_base64(value.blob)
            return ContentsElsewhere(
                blob, value.mime_type or declared, value.meta or meta, uri=value.uri
            )
        case Image():
            image = value.to_image_content()
            return ReadResourceContents(
                decode_base64(image.data), declared or image.mime_type, meta
            )
        case Audio():
            audio = value.to_audio_content()
            return ReadResourceContents(
                decode_base64(audio.data), declared or audio.mime_type, meta
            )
        case File():
            return _of_file(value, declared, meta)
        case _:
            return None


def _of_file(file: File, declared: str | None, meta: JsonObject | None) -> ReadResourceContents:
    found = file.to_resource_content().resource
    content = (
        found.text if isinstance(found, types.TextResourceContents) else decode_base64(found.blob)
    )
    return ReadResourceContents(content, declared or found.mime_type, meta)


def _plain(value: Any, declared: str | None, meta: JsonObject | None) -> ReadResourceContents:
    if isinstance(value, str):
        return ReadResourceContents(value, declared or TEXT, meta)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return ReadResourceContents(bytes(cast("bytes", value)), declared or BINARY, meta)
    text = msgspec.json.format(dumps(checked_copy(to_json(value), "result")), indent=2).decode()
    return ReadResourceContents(text, declared or JSON, meta)


def is_textual(mime_type: str) -> bool:
    """Tell whether a MIME type is one of text."""
    essence = mime_type.partition(";")[0].strip().lower()
    return (
        essence.startswith("text/") or essence.endswith(("+json", "+xml")) or essence in _TEXTUAL
    )


def charset_of(mime_type: str) -> str | None:
    """Give the ``charset`` that a MIME type declares."""
    for parameter in mime_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip():
            return value.strip().strip('"')
    return None
