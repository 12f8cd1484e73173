"""All the items of a list, page after page, as an object that is safe to abandon."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

import trio

from trio_mcp.errors import InvalidResponse

if TYPE_CHECKING:
    from trio_mcp.types import PaginatedResult

T = TypeVar("T")
PageT = TypeVar("PageT", bound="PaginatedResult")

FetchPage: TypeAlias = Callable[[str | None], Awaitable[tuple[Sequence[T], str | None]]]
"""Asks for a page by its cursor; returns its items and the cursor of the next one."""

MAX_EMPTY_PAGES: Final = 1_000
"""Pages in a row without an item that are read before the server is taken to run in circles."""

MAX_LISTED: Final = 100_000
"""Items of a list that this side reads on its own account, to keep them."""


class PageReader(Generic[T]):
    """Reads a list page by page, in one task at a time.

    A list may have any number of pages, so what says that a server runs in circles is a cursor
    that comes for the second time, or pages and pages without an item.

    Args:
      what: The method, for errors.
      fetch: Asks for a page.
      most: How many items are read before that is an error; None for any number.

    """

    __slots__ = ("_count", "_cursor", "_empty", "_fetch", "_most", "_seen", "_turning", "_what")

    def __init__(self, what: str, fetch: FetchPage[T], *, most: int | None = None) -> None:
        self._what = what
        self._fetch: FetchPage[T] | None = fetch
        self._most = most
        self._cursor: str | None = None
        # By digest: a server may make its cursors as long as it likes.
        self._seen: set[bytes] = set()
        self._count = self._empty = 0
        # Of the task that waits for the next page.
        self._turning: trio.CancelScope | None = None

    def check_alone(self) -> None:
        """Check that no other task waits for the next page.

        Raises:
          trio.BusyResourceError: if one does.

        """
        if self._turning is not None:
            raise trio.BusyResourceError(
                f"another task goes through these pages of {self._what}: iterate in one task, "
                "or let each have an iterator of its own"
            )

    async def next_page(self) -> Sequence[T] | None:
        """Ask for the next page; None when there is none, or `close` was called.

        Raises:
          InvalidResponse: if the server runs in circles, or goes on beyond ``most``.
          trio.BusyResourceError: if another task waits for it.

        Cancellation:
          The next call asks for the same page.

        """
        self.check_alone()
        if self._fetch is None:
            await trio.lowlevel.checkpoint()
            return None
        items: Sequence[T] = ()
        cursor: str | None = None
        try:
            with trio.CancelScope() as self._turning:
                items, cursor = await self._fetch(self._cursor)
        finally:
            self._turning = None
        if self._fetch is None:
            # It was closed meanwhile: what has come all the same is not wanted any more.
            return None
        self._turn_to(cursor, len(items))
        return items

    def close(self) -> None:
        """Stop: there is no next page, and a task that waits for one gives up what it asked."""
        self._fetch = None
        if self._turning is not None:
            self._turning.cancel(reason="these pages were closed")

    def _turn_to(self, cursor: str | None, items: int) -> None:
        # Pagination: only a missing cursor ends the list; an empty one is a cursor.
        if cursor is None:
            self._fetch = None
            return
        digest = hashlib.blake2b(cursor.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        count, empty = self._count + items, 0 if items else self._empty + 1
        if digest in self._seen:
            raise InvalidResponse(f"{self._what}: the server repeats the cursor {cursor!r:.60}")
        if empty >= MAX_EMPTY_PAGES:
            raise InvalidResponse(f"{self._what}: {MAX_EMPTY_PAGES} pages in a row have no items")
        if self._most is not None and count >= self._most:
            raise InvalidResponse(f"{self._what}: {count} items, and there are more")
        self._seen.add(digest)
        self._cursor, self._count, self._empty = cursor, count, empty


class Pages(Generic[T]):
    """Iterates over the items of a list; asks for the next page when it is needed.

    It holds nothing open between two items: leave it whenever you like. It is for one task at a
    time, as every iterator: let several tasks have one each. Any task may close it. A list may
    have any number of pages.
    """

    __slots__ = ("_items", "_reader")

    def __init__(self, what: str, fetch: FetchPage[T]) -> None:
        self._reader = PageReader(what, fetch)
        self._items: deque[T] = deque()

    def __aiter__(self) -> Pages[T]:
        return self

    async def __anext__(self) -> T:
        """Return the next item, after a checkpoint also where the page is there already.

        Raises:
          InvalidResponse: if the server gives out a cursor for the second time, or
              `MAX_EMPTY_PAGES` pages in a row that have no items.
          trio.BusyResourceError: if another task waits for the next page.

        """
        if self._items:
            self._reader.check_alone()
            await trio.lowlevel.checkpoint()
        while not self._items:
            page = await self._reader.next_page()
            if page is None:
                raise StopAsyncIteration
            self._items.extend(page)
        return self._items.popleft()

    async def aclose(self) -> None:
        """Stop: there are no more items, also for a task that waits for one.

        Such a task gets ``StopAsyncIteration``, and what it asked the server for is given up as if
        it had been cancelled. There is nothing else to release; this is here for
        `contextlib.aclosing`.

        Cancellation:
          It is closed all the same.

        """
        self._items.clear()
        self._reader.close()
        await trio.lowlevel.checkpoint()


async def read_all(what: str, fetch: FetchPage[T]) -> list[T]:
    """Read a whole list, to keep it; a checkpoint for each page.

    Raises:
      InvalidResponse: as `PageReader` does, for more than `MAX_LISTED` items, too.

    """
    reader = PageReader(what, fetch, most=MAX_LISTED)
    items: list[T] = []
    while (page := await reader.next_page()) is not None:
        items.extend(page)
    return items


def pages_of(
    what: str, list_page: Callable[..., Awaitable[PageT]], items_of: Callable[[PageT], Sequence[T]]
) -> Pages[T]:
    """Go through a list whose pages some function asks for by their cursor.

    Args:
      what: The method, for errors.
      list_page: Called with ``cursor=``.
      items_of: Finds the items of a page.

    """

    async def fetch(cursor: str | None) -> tuple[Sequence[T], str | None]:
        page = await list_page(cursor=cursor)
        return items_of(page), page.next_cursor

    return Pages(what, fetch)
