"""Lists the tools when a result comes of one that was never listed, so that it can be checked."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._rpc._flight import Together

from ._pages import read_all

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp._rpc._link import CallOptions
    from trio_mcp.types import Tool

    from ._output_schema import OutputSchemas

    ToolPage = Callable[[str | None], Awaitable[tuple[Sequence[Tool], str | None]]]
    """Asks for a page of tools by its cursor, and has the schemas learn it."""

logger: Final = logging.getLogger("trio_mcp.client")

LOOKUP_TIMEOUT: Final = 30.0
"""Seconds that a result waits at most for the list that says how to check it."""

LOOKUP_REST: Final = 60.0
"""Seconds until a list that could not be had is asked for again, so that not every call waits."""


class ToolLookup:
    """Makes tools known, by listing them all, once for however many calls wait for that."""

    __slots__ = ("_listing", "_rests_until", "_schemas")

    def __init__(self, schemas: OutputSchemas) -> None:
        self._schemas = schemas
        self._listing = Together()
        self._rests_until = float("-inf")

    async def make_known(self, name: str, ask_page: ToolPage) -> None:
        """List the tools, unless this one is known.

        Raises:
          MCPError: what listing them raises.

        """
        await self._listing.do(
            partial(self._list_all, ask_page), lambda: not self._schemas.knows(name)
        )

    async def try_to_make_known(self, name: str, ask_page: ToolPage, seconds: float) -> None:
        """List the tools, unless this one is known. Where that fails, it is logged.

        Args:
          name: Of the tool.
          ask_page: Asks the server.
          seconds: How long it may take.

        """
        if self._rests():
            return
        why: Any = "there was no time left"
        try:
            with trio.move_on_after(min(seconds, LOOKUP_TIMEOUT)) as scope:
                await self._listing.do(
                    partial(self._list_all, ask_page),
                    lambda: not self._rests() and not self._schemas.knows(name),
                )
            if not scope.cancelled_caught:
                return
        except Exception as exc:  # noqa: BLE001 - logged; the call has its result
            if self._rests():
                # Who asked has told it, for all who waited.
                return
            why = exc
        self._rests_until = trio.current_time() + LOOKUP_REST
        logger.warning("Results are not checked, since the tools could not be listed: %s", why)

    def forget(self) -> None:
        """There is another server: it may well be able to list its tools."""
        self._rests_until = float("-inf")

    def _rests(self) -> bool:
        return trio.current_time() < self._rests_until

    async def _list_all(self, ask_page: ToolPage) -> None:
        version = self._schemas.version
        await read_all("tools/list", ask_page)
        self._schemas.learned_all(version)


def time_left(options: CallOptions, began: float | None = None) -> float:
    """How many seconds a call may still spend on checking its result.

    Args:
      options: Of the call.
      began: When; None if it begins now.

    """
    now = trio.current_time()
    spent = 0.0 if began is None else now - began
    left = LOOKUP_TIMEOUT
    if options.timeout is not None:
        # With progress it may have begun anew at any time.
        left = min(left, options.timeout - (0 if options.reset_timeout_on_progress else spent))
    if options.max_total_timeout is not None:
        # Half of it: the result is there, and still has to come back in time.
        left = min(left, (options.max_total_timeout - spent) / 2)
    return max(left, 0.0)
