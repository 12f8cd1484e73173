"""Resources that lie in the file system."""

from __future__ import annotations

import codecs
import mimetypes
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, TypeVar

import attrs
import trio

from trio_mcp._checks import check_kind, check_text
from trio_mcp._codec._json import dumps

from ._resource_contents import BINARY, JSON, TEXT, charset_of, is_textual
from ._resources import Resource
from ._workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable

# UTF-8 that tolerates the byte order mark which some editors write.
_UTF_8: Final = "utf-8-sig"

_READERS: Final = Workers()

_T = TypeVar("_T")


def _absolute(path: str | Path) -> Path:
    check_kind("path", path, (str, PurePath))
    path = Path(path)
    if not path.is_absolute():
        raise ValueError(f"The path of a resource must be absolute, {str(path)!r} is not")
    return path


def _guess_by_name(path: Path) -> str | None:
    guess, compression = mimetypes.guess_type(path)
    return guess if compression is None else BINARY


def _default_encoding(resource: FileResource) -> str | None:
    mime_type = resource.mime_type or _guess_by_name(resource.path) or TEXT
    return charset_of(mime_type) or (_UTF_8 if is_textual(mime_type) else None)


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
    encoding: str | None = attrs.field(default=attrs.Factory(_default_encoding, takes_self=True))

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.encoding is not None:
            check_text("encoding", self.encoding)
            _check_encoding(self.encoding)

    def guess_mime_type(self) -> str:
        return _guess_by_name(self.path) or (BINARY if self.encoding is None else TEXT)

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
    # Let go on cancel, and in places of their own: a file system that hangs must hold up neither
    # the client nor what else the application does in threads.
    return await trio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=_READERS.limiter)


def _check_encoding(encoding: str) -> None:
    try:
        codec = codecs.lookup(encoding)
    except LookupError as unknown:
        raise ValueError(f"There is no text encoding {encoding!r}") from unknown
    if not codec._is_text_encoding:  # noqa: SLF001 - the flag that str.encode goes by
        raise ValueError(f"{encoding!r} does not encode text")
