"""What an older server keeps of its client for as long as a session lasts, and no longer.

Where another server or session takes the place of one that was lost, it has to be said again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

from trio_mcp._codec import excerpt
from trio_mcp.errors import ConnectionLost, MCPError

from ._calls import logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp.types._base import JsonObject

StandingRequest: TypeAlias = "tuple[str, JsonObject]"


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
    requests: Sequence[StandingRequest], ask: Callable[[str, JsonObject], Awaitable[object]]
) -> None:
    """Say what is in force to a server that does not know it, one after the other.

    What it refuses, or does not answer in time, is logged: the connection is of use without.

    Args:
      requests: See `StandingRequests.requests`.
      ask: Sends one of them, and waits for the answer, in bounded time.

    Raises:
      ConnectionLost: if the connection ends meanwhile.

    """
    for method, params in requests:
        try:
            await ask(method, params)
        except ConnectionLost:
            raise
        except MCPError as exc:
            logger.warning("%s %s: %s", method, excerpt(str(params)), excerpt(str(exc)))
