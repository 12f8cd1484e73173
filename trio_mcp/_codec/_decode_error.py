"""The error of JSON that is not what its type says."""

from __future__ import annotations

import re
from typing import Any, Final

from ._excerpt import excerpt

__all__ = ["DecodeError", "kind_of"]

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")

_KINDS: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def kind_of(value: object) -> str:
    """Name the JSON type of a value, with its article."""
    return _KINDS.get(value.__class__) or f"a Python {type(value).__name__}"


class DecodeError(ValueError):
    """A value from the peer does not fit.

    Attributes:
      expected: What should have been there, such as ``a string``.
      got: What was there, such as ``an integer`` or ``nothing``.

    """

    def __init__(self, expected: str, got: str, path: str = "") -> None:
        super().__init__(expected, got, path)
        self.expected = expected
        self.got = got
        self._path = path
        # From the inside out, while the error leaves one container after the other.
        self._steps: list[str | int] = []

    @property
    def path(self) -> str:
        """Where it is, by names on the wire: ``params.arguments.city``, ``tools[3].name``."""
        path = self._path
        for noted in reversed(self._steps):
            step = noted if isinstance(noted, int) else excerpt(noted)
            if isinstance(step, int):
                path += f"[{step}]"
            elif not _PLAIN_NAME.fullmatch(step):
                path += f"[{step!r}]"
            else:
                path += f".{step}" if path else step
        return path

    def inside(self, step: str | int) -> DecodeError:
        """Note the name or index under which the outer container holds the culprit."""
        self._steps.append(step)
        return self

    def at(self, where: str) -> DecodeError:
        """Note the name of the outermost value."""
        self._path = where
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return DecodeError, (self.expected, self.got, self.path)

    def __str__(self) -> str:
        found = f"expected {self.expected}, got {self.got}"
        return f"{self.path}: {found}" if self.path else found
