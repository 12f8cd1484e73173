"""Pictures, sound and files that a function returns as they are.

Data goes out in the standard Base64 alphabet, with padding, from every place: tools,
resources and prompts use these same classes.
"""

from __future__ import annotations

import base64
import mimetypes
import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from trio_mcp import types
from trio_mcp._checks import check_kind, check_text

if TYPE_CHECKING:
    from trio_mcp.types import Annotations

BINARY: Final = "application/octet-stream"

_IMAGES: Final = {
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
_SOUNDS: Final = {
    ".aac": "audio/aac",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".wav": "audio/wav",
}
_TEXTUAL: Final = re.compile(
    r"text/|application/(?:json|xml|yaml|toml|javascript)$|[^/]+/[^/]+\+(?:json|xml)$"
)


class _Media:
    """Bytes, or the file that holds them.

    A file is read when the content is made, so an unreadable one fails that call alone.
    """

    def __init__(
        self, path: str | Path | None = None, data: bytes | None = None, format: str | None = None
    ) -> None:
        if (path is None) == (data is None):
            raise ValueError(f"{type(self).__name__} takes either path= or data=")
        if path is not None:
            check_kind("path", path, (str, PurePath))
        if data is not None:
            check_kind("data", data, (bytes, bytearray, memoryview))
        if format is not None:
            check_text("format", format)
        self.path = None if path is None else Path(path)
        self.data = data
        self._format = format

    def read(self) -> bytes:
        """Return the bytes.

        Raises:
          OSError: if the file cannot be read.

        """
        if self.path is not None:
            return self.path.read_bytes()
        assert self.data is not None
        return self.data

    def _type_of(self, kind: str, usual: str, by_suffix: dict[str, str]) -> str:
        if self._format:
            return f"{kind}/{self._format.lower()}"
        return usual if self.path is None else by_suffix.get(self.path.suffix.lower(), BINARY)

    def __repr__(self) -> str:
        source = f"{len(self.data)} bytes" if self.data is not None else repr(str(self.path))
        return f"<{type(self).__name__} {source}>"


class Image(_Media):
    """A picture.

    Args:
      path: The file, read when the content is made.
      data: Or its bytes.
      format: What comes after ``image/`` in the MIME type. Without it the file's suffix
        decides; bytes are taken for PNG.

    """

    def to_image_content(self) -> types.ImageContent:
        """Make the content block.

        Raises:
          OSError: if the file cannot be read.

        """
        return types.ImageContent(data=to_base64(self.read()), mime_type=self._mime_type)

    @property
    def _mime_type(self) -> str:
        return self._type_of("image", "image/png", _IMAGES)


class Audio(_Media):
    """Sound.

    Args:
      path: The file, read when the content is made.
      data: Or its bytes.
      format: What comes after ``audio/`` in the MIME type. Without it the file's suffix
        decides; bytes are taken for WAV.

    """

    def to_audio_content(self) -> types.AudioContent:
        """Make the content block.

        Raises:
          OSError: if the file cannot be read.

        """
        return types.AudioContent(data=to_base64(self.read()), mime_type=self._mime_type)

    @property
    def _mime_type(self) -> str:
        return self._type_of("audio", "audio/wav", _SOUNDS)


class File(_Media):
    """Any file, sent as an embedded resource: its text if it is text, else Base64.

    Args:
      path: The file, read when the content is made.
      data: Or its bytes.
      format: A MIME type, or what comes after ``application/`` in it; ``txt`` and ``text``
        mean plain text. Without it the suffix of `name` or `path` decides.
      name: What the file is called, for its URI; the file's own name if not given.

    """

    def __init__(
        self,
        path: str | Path | None = None,
        data: bytes | None = None,
        format: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(path, data, format)
        self.name = name or (self.path.name if self.path is not None else "file")

    def to_resource_content(
        self, mime_type: str | None = None, annotations: Annotations | None = None
    ) -> types.EmbeddedResource:
        """Make the content block.

        Args:
          mime_type: In place of the one found.
          annotations: For the client.

        Raises:
          OSError: if the file cannot be read.

        """
        mime_type = mime_type or self._mime_type
        uri = Path("/", self.name).as_uri() if self.path is None else self.path.absolute().as_uri()
        return types.EmbeddedResource(
            resource=_contents(uri, mime_type, self.read()), annotations=annotations
        )

    @property
    def _mime_type(self) -> str:
        if self._format:
            given = self._format.lower()
            if "/" in given:
                return given
            return "text/plain" if given in ("txt", "text", "plain") else f"application/{given}"
        return mimetypes.guess_type(self.name)[0] or BINARY


def to_base64(data: bytes) -> str:
    """Encode in the standard alphabet, with padding."""
    return base64.b64encode(data).decode("ascii")


def _contents(
    uri: str, mime_type: str, data: bytes
) -> types.TextResourceContents | types.BlobResourceContents:
    if _TEXTUAL.match(mime_type):
        try:
            return types.TextResourceContents(uri=uri, mime_type=mime_type, text=data.decode())
        except UnicodeDecodeError:
            pass  # in another encoding: as bytes it arrives whole
    return types.BlobResourceContents(uri=uri, mime_type=mime_type, blob=to_base64(data))
