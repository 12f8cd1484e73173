"""What a handler knows of the request it handles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import attrs
from typing_extensions import TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from trio_mcp._rpc._exchange import Exchange, Principal
    from trio_mcp.types import RequestId
    from trio_mcp.types._base import JsonObject

    from ._server import InitializationOptions, Server
    from ._session import ServerSession

LifespanContextT = TypeVar("LifespanContextT", default=Any)
RequestT = TypeVar("RequestT", default=Any)


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

    @property
    def principal(self) -> Principal | None:
        """Who asks, where that is known: over a network, of a server that is protected."""
        return None if self.exchange is None else self.exchange.principal
