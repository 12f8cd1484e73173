"""What lies in the directory of a skill: found, bounded, and known by its digest.

Nothing is followed out of the directories that an author named: symbolic links are refused, when
they are found and once more when a file is read. Hidden names (that begin with a dot) and
``__pycache__`` are left alone: what lies there, as a ``.git`` or an ``.env``, was not meant for
others.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp.mcpserver import PathEscapeError

from ._uris import is_plain_name, is_servable_name
from ._wire import MAX_SKILL_BYTES, MAX_SKILL_FILES, SKILL_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trio_mcp.types import JsonObject

_CACHES: Final = "__pycache__"

# A file that is replaced just then is opened again.
_ATTEMPTS: Final = 3

# A pipe would open when somebody writes into it; what became a link is not opened.
_OPEN_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)

# File systems tell the time of a change in steps: two changes in one step look alike. A file
# that was changed just now is read again the next time.
_SETTLED_NS: Final = 2_000_000_000


class InvalidSkill(ValueError):
    """A directory is no skill that could be offered; the text says which, and why.

    Attributes:
      path: What it is about.

    """

    __module__ = "trio_mcp.extensions"

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why
        self.args = (path, why)

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


def find_skills(root: Path, faults: list[InvalidSkill]) -> Iterator[Path]:
    """Find the directories with a ``SKILL.md`` in a directory, itself included, in order.

    Args:
      root: The directory.
      faults: Takes what stands in the way: links to directories, and what cannot be read.

    """
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        inner: list[Path] = []
        try:
            entries = _entries(directory)
        except OSError as exc:
            faults.append(InvalidSkill(directory, f"it cannot be read ({exc})"))
            continue
        for entry in entries:
            try:
                if entry.is_dir():
                    inner.append(_own_directory(entry))
                elif entry.name == SKILL_FILE:
                    yield directory
            except InvalidSkill as fault:
                faults.append(fault)
        waiting += reversed(inner)


@attrs.frozen
class Tree:
    """What lies in the directory of a skill, in order.

    Attributes:
      files: All of them.
      directories: All of them, its own too.

    """

    files: list[Path]
    directories: list[Path]


def find_files(skill: Path) -> Tree:
    """Find all that belongs to a skill.

    Raises:
      InvalidSkill: for what is neither a file nor a directory, for names that others would take
        for more than that, and where there is too much.
      OSError: if a directory cannot be read.

    """
    found = Tree([], [skill])
    total = 0
    waiting = [skill]
    while waiting:
        for entry in _entries(waiting.pop()):
            path = Path(entry.path)
            _check_name(path)
            if entry.is_symlink():
                raise InvalidSkill(path, "a symbolic link; a skill holds what it is made of")
            if entry.is_dir():
                waiting.append(_own_directory(entry))
                found.directories.append(path)
                continue
            if not entry.is_file():
                raise InvalidSkill(path, "neither a file nor a directory")
            found.files.append(path)
            # Not that of the entry: on Windows its sizes may be old.
            total += path.stat().st_size
            _check_limits(skill, len(found.files), total)
    return Tree(sorted(found.files), sorted(found.directories))


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        visible = [each for each in entries if not _is_hidden(each.name)]
    return sorted(visible, key=lambda each: each.name)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == _CACHES


def _own_directory(entry: os.DirEntry[str]) -> Path:
    # Junctions of Windows are no symbolic links, and lead elsewhere, too.
    if entry.is_symlink() or os.path.realpath(entry.path) != os.path.abspath(entry.path):  # noqa: PTH100 - as realpath writes it
        raise InvalidSkill(Path(entry.path), "a link to another directory, which is not followed")
    return Path(entry.path)


def _check_name(path: Path) -> None:
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise InvalidSkill(path, "its name has no UTF-8") from None
    if not is_plain_name(path.name):
        raise InvalidSkill(
            path.parent,
            f"{path.name!r:.200} in it would be more than a name on some system: it has a "
            "backslash, a control character or a drive, or nothing but dots and blanks",
        )
    if not is_servable_name(path.name):
        raise InvalidSkill(
            path.parent,
            f"{path.name!r:.200} in it reads as another name if it is decoded as a URI, so "
            "clients refuse the skill",
        )


def _check_limits(skill: Path, files: int, size: int) -> None:
    if files > MAX_SKILL_FILES:
        raise InvalidSkill(skill, f"more than {MAX_SKILL_FILES} files, the most that a skill has")
    if size > MAX_SKILL_BYTES:
        raise InvalidSkill(
            skill, f"more than {MAX_SKILL_BYTES} bytes (16 MiB), the most that a skill has"
        )


def read_bytes(path: Path) -> bytes:
    """Read a file of a skill, as far as a skill may be large.

    Raises:
      PathEscapeError: if there is a link on the way, by now.
      InvalidSkill: if it is too large, or is no file any more.
      OSError: if it cannot be read.

    """
    for _ in range(_ATTEMPTS):
        if path.resolve() != path:
            break
        with os.fdopen(os.open(path, _OPEN_FLAGS), "rb") as file:
            if not _is_still_there(path, os.fstat(file.fileno())):
                continue
            data = file.read(MAX_SKILL_BYTES + 1)
        _check_limits(path, 1, len(data))
        return data
    raise PathEscapeError(f"{path} has become a link")


def _is_still_there(path: Path, opened: os.stat_result) -> bool:
    # Of what is open by now, so that nobody can put a link in its place between two looks.
    if not stat.S_ISREG(opened.st_mode):
        raise InvalidSkill(path, "it is no file any more")
    return path.resolve() == path and os.path.samestat(opened, path.lstat())


@attrs.define
class Known:
    """What is known of a file.

    Attributes:
      stamp: What changes when the file does; None for one that was changed just now.
      digest: ``sha256:…``.
      size: In bytes.
      data: Its bytes, of a ``SKILL.md`` alone.
      frontmatter: What was read out of these.

    """

    stamp: tuple[int, ...] | None
    digest: str
    size: int
    data: bytes | None
    frontmatter: JsonObject | None = None


@attrs.define
class FileDigests:
    """The digests of files, made anew for those that have changed."""

    _known: dict[Path, Known] = attrs.field(factory=dict[Path, Known])
    _seen: dict[Path, Known] = attrs.field(factory=dict[Path, Known])

    def of(self, path: Path) -> Known:
        """Tell what is known of a file, after reading it if it has changed.

        Raises:
          PathEscapeError, InvalidSkill, OSError: see `read_bytes`.

        """
        seen = self._seen.get(path)
        if seen is None:
            seen = self._seen[path] = self._look(path)
        return seen

    def forget_unseen(self) -> None:
        """Forget the files that were not asked for since the last time."""
        self._known, self._seen = self._seen, {}

    def _look(self, path: Path) -> Known:
        stamp = _stamp(path.stat())
        known = self._known.get(path)
        if known is not None and known.stamp == stamp:
            return known
        data = read_bytes(path)
        return Known(
            stamp=stamp if _is_settled(stamp) and _stamp(path.stat()) == stamp else None,
            digest=f"sha256:{hashlib.sha256(data).hexdigest()}",
            size=len(data),
            data=data if path.name == SKILL_FILE else None,
        )


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _is_settled(stamp: tuple[int, ...]) -> bool:
    return max(stamp[:2]) < time.time_ns() - _SETTLED_NS
