"""What an older server keeps of its client for as long as a session lasts, and no longer.

Where another server or session takes the place of one that was lost, it has to be said again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import attrs
import trio

from trio_mcp._codec import excerpt
from trio_mcp.errors import ConnectionLost, MCPError

from ._calls import logger
from ._nursery import one_cancellation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp.types._base import JsonObject

StandingRequest: TypeAlias = "tuple[str, JsonObject]"

STANDING_TIMEOUT: Final = 5.0
"""Seconds that an older server has for all that is said right after the handshake. Calls wait for
it meanwhile, and it is of use without."""

MAX_AT_ONCE: Final = 100
"""Of those requests: enough for a server that is far away, and few beside what it can serve."""


@attrs.define(eq=False)
class StandingRequests:
    """The requests that are in force.

    Attributes:
      log_level: From which on the server tells log messages; None if it was never said.

    """

    log_level: str | None = None
    # In the order in which they were subscribed to.
    _resources: dict[str, None] = attrs.field(factory=dict[str, None])

    def answered(self, method: str, params: JsonObject) -> None:
        """Take note of a request that the server has carried out."""
        if method == "logging/setLevel":
            self.log_level = params["level"]
        elif method == "resources/subscribe":
            self._resources[params["uri"]] = None
        elif method == "resources/unsubscribe":
            self._resources.pop(params["uri"], None)

    def requests(self, *, logs: bool) -> list[StandingRequest]:
        """Give what is to be said again, in order.

        Args:
          logs: Whether the server has log messages.

        """
        level = self.log_level if logs else None
        first: list[StandingRequest]
        first = [] if level is None else [("logging/setLevel", {"level": level})]
        return [*first, *(("resources/subscribe", {"uri": each}) for each in self._resources)]


async def say_again(
    requests: Sequence[StandingRequest],
    ask: Callable[[str, JsonObject], Awaitable[object]],
    seconds: float | None = None,
) -> None:
    """Say what is in force to a server that does not know it, side by side.

    What it refuses, or does not answer in time, is logged: the connection is of use without.

    Args:
      requests: See `StandingRequests.requests`.
      ask: Sends one of them, and waits for the answer.
      seconds: How long a call may take that waits for this, None for no limit. All of them
          together get half of that, and at most `STANDING_TIMEOUT`.

    Raises:
      ConnectionLost: if the connection ends meanwhile.

    """
    if not requests:
        return
    limit = STANDING_TIMEOUT if seconds is None else min(seconds / 2, STANDING_TIMEOUT)
    unanswered = dict(enumerate(requests))
    # Shared: each task takes the next one, until there is none.
    waiting = iter(enumerate(requests))
    losses: list[ConnectionLost] = []

    async def say() -> None:
        for number, (method, params) in waiting:
            try:
                await ask(method, params)
            except ConnectionLost as lost:
                losses.append(lost)
                nursery.cancel_scope.cancel(reason="the connection was lost")
                return
            except MCPError as exc:
                logger.warning("%s %s: %s", method, excerpt(str(params)), excerpt(str(exc)))
            del unanswered[number]

    with trio.move_on_after(limit), one_cancellation():
        async with trio.open_nursery() as nursery:
            for _ in range(min(len(requests), MAX_AT_ONCE)):
                nursery.start_soon(say, name="MCP standing requests")
    if losses:
        try:
            raise losses[0]
        finally:
            losses.clear()
    if unanswered:
        method, params = next(iter(unanswered.values()))
        logger.warning(
            "%s %s, and %d more: no answer within %g s",
            method,
            excerpt(str(params)),
            len(unanswered) - 1,
            limit,
        )
