"""What a handler knows of the request it handles."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Self

import attrs
from typing_extensions import TypeVar

from ._answer import write_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import trio

    from trio_mcp._rpc._exchange import Exchange, Principal
    from trio_mcp.types import RequestId
    from trio_mcp.types._base import JsonObject

    from ._registry import HandlerResult
    from ._server import InitializationOptions, Server
    from ._session import AskFnT, ServerSession

LifespanContextT = TypeVar("LifespanContextT", default=Any)
RequestT = TypeVar("RequestT", default=Any)

NO_STATES: Final[Mapping[str, Any]] = MappingProxyType({})


@attrs.define(eq=False, kw_only=True)
class ServerRequestContext(Generic[LifespanContextT, RequestT]):
    """The request that a handler or a middleware is called for.

    A middleware that wants the inner handler to see something else passes on a changed copy:
    ``await call_next(attrs.evolve(ctx, params=...))``.

    Attributes:
      server: The server that handles it.
      session: The way to the client that asked.
      lifespan_context: What the server's lifespan yielded.
      protocol_version: The revision of this request.
      method: Of the request or notification.
      params: As they came: a JSON object, before they are read into the handler's type. What
        answers an `InputRequiredResult` is not among them in the older era, which has none.
      request_id: Of the request; None for a notification.
      meta: The ``_meta`` of the params.
      request: The HTTP request that carried it, where one did.
      exchange: The request's own way back; None for a notification.
      initialization_options: What was given to `Server.run`, for ``initialize``.
      lifespan_states: What the further blocks round this run yielded, by the names they were
        added under (`Server.add_lifespan`); of an extension, by its identifier.

    """

    server: Server[LifespanContextT]
    session: ServerSession
    lifespan_context: LifespanContextT
    protocol_version: str
    method: str
    params: Mapping[str, Any] | None = None
    request_id: RequestId | None = None
    meta: JsonObject | None = None
    request: RequestT | None = None
    close_sse_stream: Callable[[], Awaitable[None]] | None = None
    close_standalone_sse_stream: Callable[[], Awaitable[None]] | None = None
    exchange: Exchange | None = None
    initialization_options: InitializationOptions | None = None
    lifespan_states: Mapping[str, Any] = NO_STATES

    @property
    def principal(self) -> Principal | None:
        """Who asks, where that is known: over a network, of a server that is protected."""
        return None if self.exchange is None else self.exchange.principal

    def detach(
        self, scope: trio.CancelScope, ask: AskFnT, *, meta: JsonObject | None = None
    ) -> Self:
        """Make the context for work that goes on when this request has been answered.

        What the work reports and logs still belongs to the request, and goes nowhere once that
        is answered, or `ServerRequestContext.mute` is called. Nor is the work cancelled with the
        request: whoever starts it sees to that, too.

        With ``meta`` it goes on in the session of the older era, for as long as that is there and
        the scope is not cancelled. The modern era has no sessions.

        Args:
          scope: What the work runs in. When that is cancelled, its reason is that of
            ``ctx.cancel_reason``.
          ask: Brings a question to the client and waits for its answer, in whatever way there
            is: what functions ask by ``ctx.elicit`` and the like goes there, in both eras.
          meta: What tells the client to which work a message belongs: members of the ``_meta`` of
            each.

        Raises:
          ValueError: if this is no request.

        """
        if self.exchange is None:
            raise ValueError("A notification has no context that could be detached")
        way = None
        if meta is not None and self.exchange.accepted.revision.has_handshake:
            from ._outside import OutsideLink  # noqa: PLC0415 - few requests are outlived

            way = OutsideLink(self.exchange, scope, meta)
        exchange = self.exchange.detached(scope, way)
        session = self.session.detached(exchange, ask)
        return attrs.evolve(self, exchange=exchange, session=session)

    def mute(self) -> None:
        """Send nothing more of what is reported or logged for this request."""
        if self.exchange is not None:
            self.exchange.close()

    def write_answer(self, result: HandlerResult) -> JsonObject:
        """Write what a handler returned as the result that would be sent, and check it.

        For what keeps results to send them later, by another request.

        Raises:
          TypeError, ValueError: if it is no result of the request's method.

        """
        if self.exchange is None:
            raise ValueError("A notification has no answer")
        return write_answer(self.server, self.exchange, result)
