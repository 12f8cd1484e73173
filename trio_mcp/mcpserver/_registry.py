"""What a server offers of one kind, under unique keys and in the order of registration."""

from __future__ import annotations

import base64
import binascii
import logging
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

import attrs

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
        self._items: dict[str, _ItemT] = {}
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
            return existing
        self._items[key] = item
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
        return self._items.get(key)

    def items(self) -> list[_ItemT]:
        return list(self._items.values())

    def listing(self, form: Any, to_wire: Callable[[_ItemT], Any]) -> Listing:
        """Give the whole list in one form, made once after each change."""
        listings = self._listings
        made = listings.get(form)
        if made is None:
            items = list(self._items.items())
            entries = [to_wire(item) for _, item in items]
            made = listings[form] = Listing([key for key, _ in items], entries)
        return made


@attrs.frozen(eq=False)
class Listing:
    """A list as it is sent, and the keys of its entries."""

    keys: list[str]
    entries: list[Any]

    def page(self, cursor: str | None, size: int | None) -> tuple[list[Any], str | None]:
        """Cut out the page that a cursor asks for, and give the cursor of the next one.

        A cursor names the last entry before the page, so it stays good when others come and go.

        Args:
          cursor: As the client sent it; None for the first page.
          size: The most entries of a page; None for all.

        Raises:
          MCPError: -32602 if the cursor is none of this list.

        """
        start = 0 if cursor is None else self._position_after(cursor, size)
        end = len(self.keys) if size is None else start + size
        next_cursor = _cursor_after(self.keys[end - 1]) if end < len(self.keys) else None
        return self.entries[start:end], next_cursor

    def _position_after(self, cursor: str, size: int | None) -> int:
        key = _key_of(cursor)
        # Without pages no cursor was ever given out.
        if size is None or key is None or key not in self.keys:
            raise MCPError(INVALID_PARAMS, "Invalid cursor", {"cursor": cursor})
        return self.keys.index(key) + 1


def _cursor_after(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode("ascii")


def _key_of(cursor: str) -> str | None:
    try:
        key = base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
    except (binascii.Error, UnicodeError):
        return None
    # Other spellings of the same bytes were not given out by us.
    return key if _cursor_after(key) == cursor else None
