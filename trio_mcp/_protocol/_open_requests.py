"""Which requests are open in one direction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trio_mcp.types import RequestId

T = TypeVar("T")

_INTEGER: Final = re.compile(r"[1-9][0-9]{0,18}")


@attrs.define(eq=False)
class OpenRequests(Generic[T]):
    """The open requests of one direction, by id; ``"1"`` and ``1`` are two ids.

    Our own ids count upwards and are never used again, which satisfies both eras: the older
    one forbids an id to come back within a session. Theirs may come back once answered.
    """

    _entries: dict[RequestId, T] = attrs.Factory(dict[Any, Any])
    _last_id: int = 0

    def next_id(self) -> int:
        """Return an id that was never used in this direction."""
        self._last_id += 1
        return self._last_id

    def open(self, request_id: RequestId, entry: T) -> bool:
        """Enter a request; False, and nothing changed, when its id is in flight already."""
        if request_id in self._entries:
            return False
        self._entries[request_id] = entry
        return True

    def get(self, request_id: object) -> T | None:
        """Find the request that an answer or a cancel speaks of, whatever the peer sent."""
        # bool is an int to Python, so True would find the request with the id 1.
        if isinstance(request_id, (int, str)) and not isinstance(request_id, bool):
            return self._entries.get(request_id)
        return None

    def close(self, request_id: RequestId) -> T | None:
        """Take a request out; None when it was not open (any more)."""
        return self._entries.pop(request_id, None)

    def close_mistyped(self, request_id: RequestId) -> T | None:
        """Take out the request that an answer means whose id came back as a string.

        An integer never stands for a string here: ids of ours are integers.
        """
        if isinstance(request_id, str) and _INTEGER.fullmatch(request_id):
            return self._entries.pop(int(request_id), None)
        return None

    def drain(self) -> list[T]:
        """Take out all that are open, oldest first."""
        entries = list(self._entries.values())
        self._entries.clear()
        return entries

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)
