"""What a server offers of one kind, under unique keys and in the order of registration."""

from __future__ import annotations

import base64
import binascii
import logging
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from trio_mcp.errors import MCPError
from trio_mcp.types import INVALID_PARAMS

if TYPE_CHECKING:
    from collections.abc import Callable

_ItemT = TypeVar("_ItemT")

logger: Final = logging.getLogger("trio_mcp.mcpserver")


class Registry(Generic[_ItemT]):
    """Tools, resources, templates or prompts.

    Args:
      kind: What they are, as messages begin: "Tool".
      warn_on_duplicates: Whether a second item under one key is logged. The first one stays.
      changed: Called after each change.

    """

    def __init__(
        self, kind: str, *, warn_on_duplicates: bool, changed: Callable[[], None]
    ) -> None:
        self._kind = kind
        self._warn_on_duplicates = warn_on_duplicates
        self._changed = changed
        self._items: dict[str, _ItemT] = {}
        self._wire: dict[Any, list[Any]] = {}

    def add(self, key: str, item: _ItemT) -> _ItemT:
        """Add an item, unless there is one under its key; return the one that counts."""
        existing = self._items.get(key)
        if existing is not None:
            if self._warn_on_duplicates:
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
        self._wire.clear()
        self._changed()

    def get(self, key: str) -> _ItemT | None:
        return self._items.get(key)

    def items(self) -> list[_ItemT]:
        return list(self._items.values())

    def listed(self, form: Any, to_wire: Callable[[_ItemT], Any]) -> list[Any]:
        """Give the whole list in one form, made once after each change."""
        made = self._wire.get(form)
        if made is None:
            made = self._wire[form] = [to_wire(item) for item in self._items.values()]
        return made

    def page(self, entries: list[Any], cursor: str | None, size: int | None) -> _Page:
        """Cut the page that a cursor asks for out of the list.

        A cursor names the last item before the page, so it stays good when others come and go.

        Raises:
          MCPError: -32602 if the cursor is none of this list.

        """
        start = 0 if cursor is None else self._position_after(cursor, size)
        if size is None or start + size >= len(entries):
            return entries[start:] if start else entries, None
        last = list(self._items)[start + size - 1]
        return entries[start : start + size], _cursor_after(last)

    def _position_after(self, cursor: str, size: int | None) -> int:
        key = _key_of(cursor)
        # Without pages no cursor was ever given out.
        if size is None or key is None or key not in self._items:
            raise MCPError(INVALID_PARAMS, "Invalid cursor", {"cursor": cursor})
        return list(self._items).index(key) + 1


_Page = tuple[list[Any], str | None]


def _cursor_after(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode("ascii")


def _key_of(cursor: str) -> str | None:
    try:
        key = base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
    except (binascii.Error, UnicodeError):
        return None
    # Other spellings of the same bytes were not given out by us.
    return key if _cursor_after(key) == cursor else None
