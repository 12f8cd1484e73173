"""What serves requests, as carriers see it: a server, or the callbacks of a client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._codec import Malformed
    from trio_mcp.types import ErrorData
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._exchange import Exchange
    from ._link import Link
    from ._standing import StandingRequest


class Connection(ABC):
    """What a service keeps of one connection or session."""

    __slots__ = ()

    @property
    @abstractmethod
    def revision(self) -> Revision | None:
        """The revision that the connection's handshake agreed on, if there was one."""


class Serving(ABC):
    """A service that runs: what a carrier hands its requests and notifications to.

    Only `handle` and what `notified` returns may wait; everything else is called by the task
    that reads the wire.

    Attributes:
      raise_exceptions: Let a defect of a handler leave as it is, in place of an answer.

    """

    __slots__ = ()

    raise_exceptions: bool

    @abstractmethod
    def connect(self, link: Link | None) -> Connection:
        """Begin a connection; ``link`` reaches its other side outside any request."""

    def assume(  # noqa: B027 - only HTTP knows
        self,
        connection: Connection,
        *,
        session_id: str | None = None,
        revision: Revision | None = None,
    ) -> None:
        """Take what the carrier knows of a connection that has just begun.

        Args:
          connection: From `connect`.
          session_id: The name of its session.
          revision: What it speaks, where no handshake will tell (HTTP without sessions).

        """

    @abstractmethod
    def disconnect(self, connection: Connection) -> None:
        """Forget a connection."""

    @abstractmethod
    def accept(self, exchange: Exchange) -> bool:
        """Decide what a request means, and set ``exchange.accepted``.

        What changes the connection (``initialize``) is in force when this returns, so before
        the next message is looked at.

        Returns:
          False to drop the request without an answer.

        Raises:
          MCPError: with the error to answer instead of handling it.

        """

    @abstractmethod
    async def handle(self, exchange: Exchange) -> JsonObject:
        """Carry out an accepted request and return its result.

        The result is JSON, checked, and the caller's own, but for `SharedArray` in its members.

        Raises:
          MCPError: with the error to answer. Any other exception is a defect of the handler:
              it is logged, and the peer hears only that there was one.

        """

    @abstractmethod
    def notified(
        self, connection: Connection, method: str, params: JsonObject
    ) -> Callable[[], Awaitable[None]] | None:
        """Take a notification: update state at once, and return what user code has to do.

        What is returned runs behind the reader, in the order of arrival.
        """

    @abstractmethod
    def malformed(
        self, connection: Connection, malformed: Malformed
    ) -> tuple[ErrorData | None, Callable[[], Awaitable[None]] | None]:
        """Take something that was no message.

        Returns:
          The error to answer, or None; and what user code has to do, as in `notified`.

        """

    def mirrored_arguments(self, tool: str) -> Mapping[str, tuple[str, ...]]:
        """Say which arguments of a tool HTTP requests repeat, by header (2026-07-28).

        Returns:
          For each header the names that lead to its argument.

        """
        del tool
        return {}

    def name_param(self, method: str) -> str | None:
        """Name the member of a method's params that HTTP requests repeat (2026-07-28).

        Asked of every method; None where the protocol says it.
        """
        del method
        return None

    def required_scopes(self, method: str, params: JsonObject) -> Sequence[str]:
        """Say what whoever asks has to be allowed, where that is decided by scopes.

        Args:
          method: Of the request.
          params: As they came: nobody has checked them.

        """
        del method, params
        return ()

    def standing_requests(self, connection: Connection) -> Sequence[StandingRequest]:
        """Say what to ask again of a server of the older era that has lost the session."""
        del connection
        return ()

    def ending(self, connection: Connection) -> None:  # noqa: B027 - most have no streams
        """A connection takes no more requests: let its streams come to their end."""

    async def stop(self) -> None:  # noqa: B027 - as above
        """End gracefully what would not end by itself: streams of notifications."""


class Service(ABC):
    """A server that can be served on any carrier, any number of times, also at once."""

    @abstractmethod
    def open(self) -> AbstractAsyncContextManager[Any]:
        """Enter the lifespan; yields the `Serving` of this run."""

    def protection(self) -> Any:
        """Say what keeps strangers away where this is served over a network.

        Returns:
          A ``Protection`` of the transports, which ask; None to let everybody in.

        """
        return None
