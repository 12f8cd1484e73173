"""The headers of an HTTP request, found by name in any case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar, final

V = TypeVar("V")

NO_VALUES: Final[tuple[str, ...]] = ()


@final
class Headers(Mapping[str, str]):
    """Headers by name, however that is written; one that came twice is joined by commas.

    Args:
      raw: Names and values, as ASGI has them: bytes, names in lower case.

    """

    __slots__ = ("_values",)

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in raw:
            key = name.decode("latin-1").lower()
            text = value.decode("latin-1").strip(" \t")
            values = self._values.get(key)
            if values is None:
                self._values[key] = [text]
            else:
                values.append(text)

    def all(self, name: str) -> tuple[str, ...]:
        """Give every value of a header, in the order in which they came."""
        return tuple(self._values.get(name.lower(), NO_VALUES))

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._values[name.lower()])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        # Values may be secret.
        return f"<Headers {', '.join(self._values)}>"


def in_place_of_others(headers: Mapping[str, V], others: Mapping[str, V]) -> dict[str, V]:
    """Put headers in place of others of their names, however these are written."""
    names = {name.lower() for name in headers}
    kept = {name: text for name, text in others.items() if name.lower() not in names}
    return {**kept, **headers}
