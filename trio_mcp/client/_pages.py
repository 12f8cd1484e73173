"""All the items of a list, page after page, as an object that is safe to abandon."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import trio

from trio_mcp.errors import InvalidResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp.types import PaginatedResult

T = TypeVar("T")
PageT = TypeVar("PageT", bound="PaginatedResult")

MAX_PAGES: Final = 1_000
"""Pages that an iteration reads before it takes the server to be running in circles."""


class Pages(Generic[T]):
    """Iterates over the items of a list; asks for the next page when it is needed.

    It holds nothing open between two items: leave it whenever you like. It is for one task at a
    time, as every iterator: let several tasks have one each. Any task may close it.
    """

    __slots__ = ("_cursor", "_fetch", "_items", "_seen", "_turning", "_what")

    def __init__(
        self, what: str, fetch: Callable[[str | None], Awaitable[tuple[Sequence[T], str | None]]]
    ) -> None:
        self._what = what
        self._fetch: Callable[[str | None], Awaitable[tuple[Sequence[T], str | None]]] | None = (
            fetch
        )
        self._cursor: str | None = None
        self._seen: set[str] = set()
        self._items: deque[T] = deque()
        # Of the task that waits for the next page.
        self._turning: trio.CancelScope | None = None

    def __aiter__(self) -> Pages[T]:
        return self

    async def __anext__(self) -> T:
        """Return the next item.

        Raises:
          InvalidResponse: if the server gives out a cursor for the second time, or more than
              `MAX_PAGES` pages.
          trio.BusyResourceError: if another task waits for the next page.

        """
        if self._turning is not None:
            raise trio.BusyResourceError(
                f"another task goes through these pages of {self._what}: iterate in one task, "
                "or let each have an iterator of its own"
            )
        while not self._items:
            if self._fetch is None:
                raise StopAsyncIteration
            await self._turn_page(self._fetch)
        return self._items.popleft()

    async def _turn_page(
        self, fetch: Callable[[str | None], Awaitable[tuple[Sequence[T], str | None]]]
    ) -> None:
        items: Sequence[T] = ()
        cursor: str | None = None
        try:
            with trio.CancelScope() as self._turning:
                items, cursor = await fetch(self._cursor)
        finally:
            self._turning = None
        if self._fetch is None:
            # It was closed meanwhile: what has come all the same is not wanted any more.
            return
        # Pagination: only a missing cursor ends the list; an empty one is a cursor.
        if cursor is None:
            self._fetch = None
        elif cursor in self._seen:
            raise InvalidResponse(f"{self._what}: the server repeats the cursor {cursor!r:.60}")
        elif len(self._seen) >= MAX_PAGES:
            raise InvalidResponse(f"{self._what}: more than {MAX_PAGES} pages")
        else:
            self._seen.add(cursor)
        self._cursor = cursor
        self._items.extend(items)

    async def aclose(self) -> None:
        """Stop: there are no more items, also for a task that waits for one.

        Such a task gets ``StopAsyncIteration``, and what it asked the server for is given up as if
        it had been cancelled. There is nothing else to release; this is here for
        `contextlib.aclosing`.

        Cancellation:
          It is closed all the same.

        """
        self._fetch = None
        self._items.clear()
        if self._turning is not None:
            self._turning.cancel(reason="these pages were closed")
        await trio.lowlevel.checkpoint()


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
