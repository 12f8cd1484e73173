"""Lists in pages, whose cursors stay good while the list changes."""

from __future__ import annotations

import base64
import binascii
import bisect
from typing import TYPE_CHECKING, Final, TypeVar

from trio_mcp._codec import excerpt
from trio_mcp.errors import MCPError
from trio_mcp.types import INVALID_PARAMS

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

_MARK: Final = "after:"


def page_of(
    keys: Sequence[str], items: Sequence[T], cursor: str | None, size: int | None
) -> tuple[list[T], str | None]:
    """Cut out the page that a cursor asks for, and give the cursor of the next one.

    A cursor names the last item before the page: nothing comes twice, whatever comes and goes.

    Args:
      keys: Of the items, in order.
      items: As many.
      cursor: As the client sent it; None for the first page.
      size: The most items of a page; None for all.

    Raises:
      MCPError: -32602 if the cursor was never given out.

    """
    start = 0
    if cursor is not None:
        # Without pages no cursor was ever given out.
        last = None if size is None else _read(cursor)
        if last is None:
            raise MCPError(INVALID_PARAMS, "Invalid cursor", {"cursor": excerpt(cursor)})
        start = bisect.bisect_right(keys, last)
    end = len(keys) if size is None else start + size
    return list(items[start:end]), _write(keys[end - 1]) if end < len(keys) else None


def _write(key: str) -> str:
    return base64.urlsafe_b64encode((_MARK + key).encode()).decode("ascii")


def _read(cursor: str) -> str | None:
    try:
        text = base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
    except (binascii.Error, UnicodeError):
        return None
    key = text.removeprefix(_MARK)
    # Other spellings of the same bytes were not given out by us.
    return key if text.startswith(_MARK) and _write(key) == cursor else None
