"""What one side uses to reach the other, whatever lies between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from trio_mcp.errors import ConnectionLost
    from trio_mcp.types._base import JsonObject

    ProgressFn = Callable[[float, float | None, str | None], Awaitable[None]]


# Not frozen, since most requests make one, and that makes it three times as slow.
@attrs.define
class CallOptions:
    """What a caller knows of one request, and some carriers need. Not to be changed.

    Attributes:
      on_progress: Called in the caller's own task, in order, before the request returns.
      timeout: Seconds from the moment the request was written, or None for no limit. A
          request that cannot be written ends after ``max_total_timeout``.
      reset_timeout_on_progress: Let each progress report start the timeout anew.
      max_total_timeout: Seconds from the call on after which even progress no longer helps;
          ten times the timeout when None. A limit by itself, too, without a timeout.
      may_cancel: Whether the peer may be told of a cancellation (`initialize`: no).
      negotiates: It is part of agreeing with the peer: where the connection mends, it does not
          wait until that is over.
      headers: What to mirror in HTTP headers: by name, the text of each value.
      on_notification: For a request whose answer is the end of a stream of notifications:
          called with the method and params of each of them by whoever reads the carrier, so
          it must neither wait nor raise. The connection's service hears of them, too, before.
      on_late_result: Called with the result if one comes after the timeout, by whoever reads
          the carrier, as above. Nothing comes late where a timeout ends the request itself.

    """

    on_progress: ProgressFn | None = None
    timeout: float | None = None
    reset_timeout_on_progress: bool = False
    max_total_timeout: float | None = None
    may_cancel: bool = True
    negotiates: bool = False
    headers: Mapping[str, str] | None = None
    on_notification: Callable[[str, JsonObject], None] | None = None
    on_late_result: Callable[[JsonObject], None] | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the request has a time limit."""
        return self.timeout is not None or self.max_total_timeout is not None

    @property
    def first_limit(self) -> float | None:
        """Seconds in which it must be possible to send the request; None for no limit."""
        timeout, longest = self.timeout, self.max_total_timeout
        if timeout is None or longest is None:
            return longest if timeout is None else timeout
        return min(timeout, longest)


NO_OPTIONS: Final = CallOptions()


class Link(ABC):
    """One side's way to the other: requests and notifications, as JSON objects.

    Any number of tasks may use a link at once.
    """

    __slots__ = ()

    @abstractmethod
    async def request(
        self, method: str, params: JsonObject | None, options: CallOptions = NO_OPTIONS
    ) -> JsonObject:
        """Send a request and wait for its result.

        Args:
          method: Of the request.
          params: Of the request; the link owns the object from now on, and its ``_meta``.
          options: Progress callback, timeout and the like.

        Raises:
          MCPError: if the peer answered with an error.
          ConnectionLost: if the connection ended before the answer.
          RequestTimeout: if ``options.timeout`` or ``options.max_total_timeout`` passed.
          TypeError, ValueError: if it holds what JSON cannot say; the message has the path.

        Cancellation:
          A request that is still queued was never sent. Otherwise the peer is told to stop
          as soon as the carrier takes the notice, nobody waits for that, and a late answer
          is dropped.

        """

    @property
    def lost(self) -> bool:
        """Whether the connection has ended, so that no answer can come any more."""
        return False

    @property
    def can_ask(self) -> bool:
        """Whether a request sent now may reach the peer."""
        return not self.lost

    @property
    def mends(self) -> bool:
        """Whether a lost connection comes back, so that what was lost with it may be resumed."""
        return False

    @property
    def mirrors_arguments(self) -> bool:
        """Whether `CallOptions.headers` travel: arguments that a tool wants to see there."""
        return False

    @property
    def authorizer(self) -> Any:
        """What signs requests, and has a ``principal``; None where nothing does."""
        return None

    @property
    def extensions(self) -> Mapping[str, Mapping[str, Any]]:
        """The extensions of MCP that requests go by, with their settings."""
        return {}

    async def wait_usable(  # noqa: B027 - most never mend
        self, method: str, seconds: float | None
    ) -> None:
        """Where the connection mends: wait until a request can be sent, and its revision is known.

        Args:
          method: Of the request.
          seconds: How long at most; None for no limit.

        Raises:
          ConnectionLost: if it does not come back any more.
          RequestTimeout: if the time passed.

        """

    async def wait_lost(self) -> ConnectionLost:
        """Wait until the connection has ended.

        Where each request travels by itself there is nothing that could end: it never returns.
        """
        await trio.sleep_forever()

    def break_off(self, lost: ConnectionLost) -> None:
        """Give the connection up: what waits, and all that comes later, fails with this."""
        raise NotImplementedError(f"{type(self).__name__} cannot be broken off")

    @abstractmethod
    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification; waits only while the carrier is full.

        Raises:
          ConnectionLost: if the connection has ended.
          TypeError, ValueError: if it holds what JSON cannot say; the message has the path.

        """
