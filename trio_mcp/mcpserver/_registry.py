"""What a server offers of one kind, under unique keys and in the order of registration."""

from __future__ import annotations

import base64
import binascii
import bisect
import itertools
import logging
import re
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

import attrs

from trio_mcp._codec import excerpt
from trio_mcp.errors import MCPError
from trio_mcp.types import INVALID_PARAMS

if TYPE_CHECKING:
    from collections.abc import Callable

_ItemT = TypeVar("_ItemT")

DuplicatePolicy: TypeAlias = Literal["warn", "error", "replace", "ignore"]
"""What becomes of a second item under one key: ``"warn"`` and ``"ignore"`` keep the first one."""

logger: Final = logging.getLogger("trio_mcp.mcpserver")


class Registry(Generic[_ItemT]):
    """Tools, resources, templates or prompts.

    Args:
      kind: What they are, as messages begin: "Tool".
      on_duplicate: What becomes of a second item under one key.
      changed: Called after each change.

    """

    def __init__(
        self, kind: str, *, on_duplicate: DuplicatePolicy, changed: Callable[[], None]
    ) -> None:
        self._kind = kind
        self._on_duplicate = on_duplicate
        self._changed = changed
        # With a number for each, in the order of registration: cursors are made of those.
        self._items: dict[str, tuple[int, _ItemT]] = {}
        self._numbers = itertools.count()
        self._last_number = -1
        # Replaced as a whole after each change: a list that another thread is still making
        # then goes into the old one, and is not served again.
        self._listings: dict[Any, Listing] = {}

    def add(self, key: str, item: _ItemT) -> _ItemT:
        """Add an item, or do as the policy says if there is one; return the one that counts.

        Raises:
          ValueError: if there is one under its key, and the policy is ``"error"``.

        """
        existing = self._items.get(key)
        if existing is not None and self._on_duplicate != "replace":
            if self._on_duplicate == "error":
                raise ValueError(f"{self._kind} already exists: {key}")
            if self._on_duplicate == "warn":
                logger.warning("%s already exists: %s", self._kind, key)
            return existing[1]
        # What replaces another stands in its place.
        number = next(self._numbers) if existing is None else existing[0]
        self._items[key] = (number, item)
        self._last_number = max(self._last_number, number)
        self._drop_lists()
        return item

    def remove(self, key: str) -> bool:
        """Remove an item; False if there is none."""
        if self._items.pop(key, None) is None:
            return False
        self._drop_lists()
        return True

    def _drop_lists(self) -> None:
        self._listings = {}
        self._changed()

    def get(self, key: str) -> _ItemT | None:
        found = self._items.get(key)
        return None if found is None else found[1]

    def items(self) -> list[_ItemT]:
        return [item for _, item in list(self._items.values())]

    def listing(self, form: Any, to_wire: Callable[[_ItemT], Any]) -> Listing:
        """Give the whole list in one form, made once after each change."""
        listings = self._listings
        made = listings.get(form)
        if made is None:
            items = list(self._items.items())
            made = listings[form] = Listing(
                kind=self._kind,
                keys=[key for key, _ in items],
                numbers=[number for _, (number, _) in items],
                last_number=self._last_number,
                entries=[to_wire(item) for _, (_, item) in items],
            )
        return made


@attrs.frozen(eq=False, kw_only=True)
class Listing:
    """A list as it is sent, with the keys and the numbers of its entries."""

    kind: str
    keys: list[str]
    numbers: list[int]
    last_number: int
    entries: list[Any]

    def page(self, cursor: str | None, size: int | None) -> tuple[list[Any], str | None]:
        """Cut out the page that a cursor asks for, and give the cursor of the next one.

        A cursor tells where the last entry before the page stands, or stood: it stays good when
        that one goes, and when others come and go.

        Args:
          cursor: As the client sent it; None for the first page.
          size: The most entries of a page; None for all.

        Raises:
          MCPError: -32602 if the cursor is none of this list.

        """
        start = 0 if cursor is None else self._position_after(cursor, size)
        end = len(self.keys) if size is None else start + size
        next_cursor = self._cursor_after(end - 1) if end < len(self.keys) else None
        return self.entries[start:end], next_cursor

    def _cursor_after(self, position: int) -> str:
        return _to_cursor(f"{self.kind}:{self.numbers[position]}:{self.keys[position]}")

    def _position_after(self, cursor: str, size: int | None) -> int:
        told = _CURSOR.fullmatch(_from_cursor(cursor))
        # Without pages no cursor was ever given out.
        if size is None or told is None or told["kind"] != self.kind:
            raise _invalid(cursor)
        number = int(told["number"])
        after = bisect.bisect_right(self.numbers, number)
        is_there = after > 0 and self.numbers[after - 1] == number
        if number > self.last_number or (is_there and self.keys[after - 1] != told["key"]):
            raise _invalid(cursor)
        return after


_CURSOR: Final = re.compile(
    r"(?P<kind>[^:]+):(?P<number>0|[1-9][0-9]{0,17}):(?P<key>.*)", re.ASCII | re.DOTALL
)


def _to_cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode("ascii")


def _from_cursor(cursor: str) -> str:
    """Read what `_to_cursor` wrote; an empty text, which it never writes, for anything else."""
    try:
        text = base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
    except (binascii.Error, UnicodeError):
        return ""
    # Other spellings of the same bytes were not given out by us.
    return text if _to_cursor(text) == cursor else ""


def _invalid(cursor: str) -> MCPError:
    return MCPError(INVALID_PARAMS, "Invalid cursor", {"cursor": excerpt(cursor)})
