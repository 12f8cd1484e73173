"""What the tools of both servers do. Knows neither SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

OWN_TOOLS = 6
"""How many tools a server has before others are added."""

DESCRIPTION = (
    "Look for entries of the catalogue. Matches are sorted by relevance, the newest first where "
    "they are equal; of each at most the given number is returned, with its title and its place."
)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def big(size: int) -> str:
    """Make a text of this many characters."""
    return "x" * size


async def sink(text: str) -> int:
    """Count the characters of a text."""
    return len(text)


class Sleeper:
    """A tool that sleeps, and one that tells how many calls of it are running."""

    def __init__(self, sleep: Callable[[float], Awaitable[Any]]) -> None:
        self._sleep = sleep
        self._running = 0

    async def sleep(self, seconds: float) -> str:
        """Sleep this long."""
        self._running += 1
        try:
            await self._sleep(seconds)
        finally:
            self._running -= 1
        return "done"

    async def running(self) -> int:
        """Tell how many calls of the tool `sleep` are running."""
        return self._running


def make_lookup() -> Callable[..., Any]:
    """Make a tool of usual size, of which a server may have hundreds."""

    async def lookup(
        query: str,
        limit: int = 10,
        exact: bool = False,
        tags: list[str] | None = None,
        since: str | None = None,
    ) -> dict[str, int]:
        return {query: limit, "exact": int(exact), "tags": len(tags or ()), since or "": 0}

    return lookup
