"""One inbound request, with the place to answer it."""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from ._progress import progress_params
from ._reasons import reason_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from trio_mcp._protocol._ladder import Accepted
    from trio_mcp.types import RequestId
    from trio_mcp.types._base import JsonObject

    from ._link import Link

NO_PARAMS: Final[JsonObject] = {}


@attrs.frozen
class Principal:
    """Who asks, where the carrier knows it: an authenticated user or client.

    Attributes:
      subject: The stable name of the user or client.
      details: Whatever the authentication adds: an `AccessToken` where that was one.
      scopes: What it may do.
      expires_at: Until when that holds, in seconds since 1970; None for ever.
      key: Tells it apart from all others: sessions and states belong to it. The subject alone, if
        nothing else is given.

    """

    subject: str
    details: Any = None
    scopes: Sequence[str] = attrs.field(default=(), kw_only=True)
    expires_at: float | None = attrs.field(default=None, kw_only=True)
    key: str = attrs.field(
        default=attrs.Factory(lambda self: self.subject, takes_self=True), kw_only=True
    )

    def lacks(self, scopes: Iterable[str]) -> list[str]:
        """Give those of some scopes that it does not have."""
        return [each for each in scopes if each not in self.scopes]


def is_same(one: Principal | None, other: Principal | None) -> bool:
    """Tell whether two are the same, whatever their tokens, or both nobody."""
    return (None if one is None else one.key) == (None if other is None else other.key)


current_principal: Final[ContextVar[Principal | None]] = ContextVar(
    "trio_mcp_principal", default=None
)
"""Who asked what the current task or thread works for."""


@attrs.frozen
class Caller:
    """Who is at the other end of a connection that began with an HTTP request.

    Attributes:
      headers: Of that request.
      principal: Who sent it, where that is known.
      http: More of it.

    """

    headers: Mapping[str, str] | None = None
    principal: Principal | None = None
    http: HttpDetails | None = None


NOBODY: Final = Caller()
"""Who is at the other end of pipes and in the same process: whoever started this."""


@attrs.frozen
class HttpDetails:
    """What a handler may want of the HTTP request that carried its own.

    Attributes:
      request: The request, with its headers.
      close_stream: Has the client come back for the answer, where its stream can be resumed.
      close_standalone_stream: The same for the stream of what belongs to no request.

    """

    request: Any
    close_stream: Callable[[], Awaitable[None]] | None = None
    close_standalone_stream: Callable[[], Awaitable[None]] | None = None


@attrs.define(eq=False)
class Exchange:
    """One inbound request: what was asked, by whom, and the way back.

    Whatever routing an answer, a report or a question needs is this object; nothing of it
    travels in the metadata of messages.

    Attributes:
      id: The request's id, as it came.
      method: The request's method.
      params: The request's params; empty when there are none. Not to be changed.
      connection: The server's state of the connection or session it came on.
      link: To ask the other side within this request, or None where it cannot be asked.
      headers: Of the HTTP request that carried it, if one did.
      principal: Who asks, where the carrier knows it.
      http: More of that HTTP request.
      accepted: What the ladder found: revision, meta, declared capabilities.
      end_of_stream: Of a request that is answered by a stream of notifications, from when
          that has begun: the result that ends it in good order.
      on_stream: Called when that stream begins, by a carrier that wants to know.
      scope: Cancelled when the peer gives the request up, or when the connection ends.

    """

    id: RequestId
    method: str
    params: JsonObject
    connection: Any
    _send: Callable[[str, JsonObject | None], Awaitable[None]]
    link: Link | None = None
    headers: Mapping[str, str] | None = None
    principal: Principal | None = None
    http: HttpDetails | None = None
    accepted: Accepted = attrs.field(init=False)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    end_of_stream: JsonObject | None = None
    on_stream: Callable[[], None] | None = None
    closed: bool = False
    _cancel_reason: str | None = None
    _last_progress: float = -math.inf

    def cancel(self, reason: str) -> None:
        """Stop the handler; nothing is sent for this request any more."""
        if self.closed:
            return
        self.closed = True
        self._cancel_reason = reason
        self.scope.cancel(reason=reason)

    def give_up(self, reason: str) -> None:
        """Let the handler run on; nothing is sent for this request any more."""
        self.closed = True
        self._cancel_reason = reason

    def close(self) -> None:
        """The answer is on its way: what a left-over thread still reports goes nowhere."""
        self.closed = True
        self._send = _send_nowhere

    @property
    def cancel_reason(self) -> str | None:
        """Why this request is cancelled, in words; None while it is not. From any thread."""
        if self._cancel_reason is not None:
            return self._cancel_reason
        return reason_in(self.scope)

    def detached(self, scope: trio.CancelScope, way: Link | None = None) -> Exchange:
        """Make another one for work that may outlive this request, in a scope of its own.

        Args:
          scope: Of the work.
          way: What it tells and asks goes there. Without one it goes through this exchange, and
            so nowhere once this one is closed.

        """
        other = Exchange(
            self.id,
            self.method,
            self.params,
            self.connection,
            self.notify if way is None else way.notify,
            self.link if way is None else way,
            self.headers,
            self.principal,
            self.http,
            scope=scope,
        )
        other.accepted = self.accepted
        return other

    def begin_stream(self, end: JsonObject) -> None:
        """Be answered by a stream of notifications from now on.

        Args:
          end: The result that ends it in good order.

        """
        assert self.end_of_stream is None
        self.end_of_stream = end
        if self.on_stream is not None:
            self.on_stream()

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification that belongs to this request, in order.

        Waits while the carrier is full. Does nothing once the request is over.
        """
        if self.closed:
            await trio.lowlevel.checkpoint()
            return
        await self._send(method, params)

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the caller how far the work is (progress).

        Does nothing when the caller did not ask, when the value did not rise since the last
        report, or once the request is over.

        Raises:
          TypeError, ValueError: if it is no report, whether somebody listens or not; the next
              one counts as if it had not been tried.

        """
        report = progress_params(progress, total, message)
        accepted = self.accepted
        if accepted.progress_token is None or not progress > self._last_progress:
            await trio.lowlevel.checkpoint()
            return
        self._last_progress = progress
        if not accepted.revision.has_progress_message:
            report.pop("message", None)
        report["progressToken"] = accepted.progress_token
        await self.notify("notifications/progress", report)


async def _send_nowhere(method: str, params: JsonObject | None) -> None:
    del method, params
    await trio.lowlevel.checkpoint()
