"""Resources that lie in the file system."""

from __future__ import annotations

import codecs
import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import attrs
import trio

from trio_mcp._codec._json import dumps

from ._resource_contents import BINARY, JSON, TEXT, charset_of, is_textual
from ._resources import Resource

if TYPE_CHECKING:
    from collections.abc import Callable

# UTF-8 that tolerates the byte order mark which some editors write.
_DEFAULT_ENCODING: Final = "utf-8-sig"


class _Unset:
    """The type of an encoding that was not given, where None has a meaning."""


_UNSET: Final = _Unset()
_T = TypeVar("_T")


def _absolute(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_absolute():
        raise ValueError(f"The path of a resource must be absolute, {str(path)!r} is not")
    return path


@attrs.define(kw_only=True, eq=False, slots=False)
class FileResource(Resource):
    """A resource that is a file, read anew each time.

    Attributes:
      path: Where it is; absolute.
      encoding: How its text is encoded, or None to serve it as bytes. When not given, the
        MIME type decides: its ``charset``, or UTF-8 for types of text, or bytes.

    Raises:
      ValueError: if the path is not absolute, or the encoding is none of text.

    """

    path: Path = attrs.field(converter=_absolute)
    encoding: str | None = attrs.field(default=_UNSET)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if isinstance(self.encoding, _Unset):
            textual = is_textual(self.mime_type)
            self.encoding = charset_of(self.mime_type) or (_DEFAULT_ENCODING if textual else None)
        if self.encoding is not None:
            _check_encoding(self.encoding)

    def guess_mime_type(self) -> str:
        guess, compression = mimetypes.guess_type(self.path)
        if compression is not None:
            return BINARY
        if guess is not None:
            return guess
        return TEXT if isinstance(self.encoding, (str, _Unset)) else BINARY

    async def read(self) -> str | bytes:
        content: bytes = await _in_thread(self.path.read_bytes)
        return content if self.encoding is None else content.decode(self.encoding)


@attrs.define(kw_only=True, eq=False, slots=False)
class DirectoryResource(Resource):
    """A resource that lists the files of a directory, as JSON.

    Attributes:
      path: Where it is; absolute.
      recursive: Whether the files of its subdirectories are listed too.
      pattern: Which files are listed, as in `pathlib.Path.glob`; all when None.

    Raises:
      ValueError: if the path is not absolute.

    """

    path: Path = attrs.field(converter=_absolute)
    recursive: bool = False
    pattern: str | None = None

    def guess_mime_type(self) -> str:
        return JSON

    def list_files(self) -> list[Path]:
        """List what is there, in order. This blocks; `read` does it in a thread.

        Raises:
          FileNotFoundError: if there is no such directory.
          NotADirectoryError: if something else is there.

        """
        if not self.path.exists():
            raise FileNotFoundError(f"There is no directory {self.path}")
        if not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is no directory")
        find = self.path.rglob if self.recursive else self.path.glob
        return sorted(find(self.pattern or "*"))

    async def read(self) -> str:
        names: list[str] = await _in_thread(self._file_names)
        return dumps({"files": names}).decode()

    def _file_names(self) -> list[str]:
        return [
            path.relative_to(self.path).as_posix() for path in self.list_files() if path.is_file()
        ]


async def _in_thread(read: Callable[[], _T]) -> _T:
    # Let go on cancel: a file system that hangs must not hold up the client.
    return await trio.to_thread.run_sync(read, abandon_on_cancel=True)


def _check_encoding(encoding: str) -> None:
    try:
        codec = codecs.lookup(encoding)
    except LookupError as unknown:
        raise ValueError(f"There is no text encoding {encoding!r}") from unknown
    if not codec._is_text_encoding:  # noqa: SLF001 - the flag that str.encode goes by
        raise ValueError(f"{encoding!r} does not encode text")
