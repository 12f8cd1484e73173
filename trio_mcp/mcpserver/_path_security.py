r"""Keeping what a peer names inside what a server means to serve.

The checks look at values as a template gave them: decoded once, as `UriTemplate.match` does it.
So it does not matter whether a peer wrote ``../``, ``%2e%2e/`` or ``..%5c``. What was encoded
twice arrives as the harmless text ``%2e%2e``, and stays that: nothing decodes it again.

`ResourceSecurity` needs to know nothing of the file system and guards every template by
itself; `safe_join` is for the function that opens files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

__all__ = [
    "DEFAULT_RESOURCE_SECURITY",
    "PathEscapeError",
    "ResourceSecurity",
    "ResourceSecurityError",
    "contains_path_traversal",
    "is_absolute_path",
    "safe_join",
]

# POSIX "/x"; Windows "\x", "\\host\share", "C:\x" and "C:x", which is relative to a drive.
_ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:")


class PathEscapeError(ValueError):
    """A path would lie outside the directory that it was joined to.

    Raised by the function of a template, it is answered like a URI that no template matches.
    """

    __module__ = "trio_mcp.mcpserver"


class ResourceSecurityError(ValueError):
    """A URI fits a template, but a value in it is not safe to hand on.

    Attributes:
      template: The URI template.
      param: The variable with the value.

    """

    __module__ = "trio_mcp.mcpserver"

    def __init__(self, template: str, param: str) -> None:
        super().__init__(f"The value of {param!r} in {template!r} is not allowed")
        self.template = template
        self.param = param
        self.args = (template, param)

    def __str__(self) -> str:
        return f"The value of {self.param!r} in {self.template!r} is not allowed"


def contains_path_traversal(value: str) -> bool:
    r"""Tell whether a relative path leads above the directory where it starts.

    ``a/../b`` does not, ``a/../../b`` does. Both ``/`` and ``\`` separate, since the value may
    end up on either kind of system; dots inside a name (``1..2``) are a name.
    """
    depth = 0
    for part in re.split(r"[/\\]", value):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False


def is_absolute_path(value: str) -> bool:
    r"""Tell whether joining the value to a directory would throw that directory away.

    That holds for ``/x``, ``\x``, ``\\host\share`` and anything with a drive letter
    (``C:\x``, ``C:x``), on whichever system this runs.
    """
    return _ABSOLUTE.match(value) is not None


def safe_join(base: str | Path, *parts: str) -> Path:
    """Join path parts to a directory, and make sure that the result lies in it.

    Symbolic links are followed first, as they are at this moment.

    Args:
      base: The directory; it may be relative.
      parts: Relative paths.

    Returns:
      The resolved path. Nothing need exist there.

    Raises:
      PathEscapeError: if a part is absolute or holds a null byte, or if the result lies outside.

    """
    root = Path(base).resolve()
    for part in parts:
        if "\0" in part:
            raise PathEscapeError(f"{part!r} holds a null byte")
        if is_absolute_path(part):
            raise PathEscapeError(f"{part!r} is an absolute path")
    path = root.joinpath(*parts).resolve()
    if not path.is_relative_to(root):
        raise PathEscapeError(f"{'/'.join(parts)!r} leads out of {str(root)!r}")
    return path


@attrs.frozen
class ResourceSecurity:
    """Which values a template's variables may have.

    Attributes:
      reject_path_traversal: Refuse what climbs above its start (`contains_path_traversal`).
      reject_absolute_paths: Refuse absolute paths of any system (`is_absolute_path`).
      reject_null_bytes: Refuse null characters, which cut paths short in some libraries.
      exempt_params: Variables that may have any value.

    """

    reject_path_traversal: bool = True
    reject_absolute_paths: bool = True
    reject_null_bytes: bool = True
    exempt_params: AbstractSet[str] = attrs.field(factory=frozenset[str])

    def validate(self, params: Mapping[str, str | list[str]]) -> str | None:
        """Give the name of the first variable whose value is refused, or None."""
        for name, value in params.items():
            if name not in self.exempt_params and self._refuses(value):
                return name
        return None

    def _refuses(self, value: str | list[str]) -> bool:
        # A list is looked at as the path that it will be joined to, too: ["", "etc"].
        texts = [value] if isinstance(value, str) else [*value, "/".join(value)]
        return (
            (self.reject_null_bytes and any("\0" in text for text in texts))
            or (self.reject_path_traversal and any(map(contains_path_traversal, texts)))
            or (self.reject_absolute_paths and any(map(is_absolute_path, texts)))
        )


DEFAULT_RESOURCE_SECURITY: Final = ResourceSecurity()
