"""A server that runs: from an accepted request to its result."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp import types
from trio_mcp._checks import awaited
from trio_mcp._codec import DecodeError, decode, excerpt
from trio_mcp._protocol._handshake import choose_handshake_revision
from trio_mcp._protocol._ladder import Accepted, accept_request
from trio_mcp._protocol._mirrors import mirrored_arguments
from trio_mcp._protocol._refusals import about_resource, invalid_params, method_not_found
from trio_mcp._rpc._exchange import current_principal
from trio_mcp._rpc._service import Serving
from trio_mcp.errors import (
    InsufficientScopeError,
    MCPError,
    MCPServerError,
    ResourceNotFoundError,
    UrlElicitationRequiredError,
)
from trio_mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
)
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import LATEST_MODERN

from ._answer import write_answer
from ._connection import ServerConnection
from ._context import NO_STATES, ServerRequestContext
from ._elicitation_url import check_required_elicitations
from ._kept import check_kept
from ._middleware import in_middleware
from ._registry import is_of_rounds, needs_input, read_params, without_rounds
from ._session import ServerSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from trio_mcp._codec import Malformed
    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp._rpc._link import Link
    from trio_mcp._rpc._service import Connection
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._registry import CallNext, HandlerEntry, HandlerResult
    from ._server import InitializationOptions, Server

logger: Final = logging.getLogger("trio_mcp.server")


class ServerServing(Serving):
    """One run of a `Server`, between entering its lifespan and leaving it."""

    __slots__ = (
        "__weakref__",
        "_lifespan_context",
        "_lifespan_states",
        "_options",
        "_server",
        "connections",
        "raise_exceptions",
    )

    def __init__(
        self,
        server: Server[Any],
        lifespan_context: Any,
        options: InitializationOptions | None,
        *,
        raise_exceptions: bool = False,
        lifespan_states: Mapping[str, Any] = NO_STATES,
    ) -> None:
        self._server = server
        self._lifespan_context = lifespan_context
        self._lifespan_states = lifespan_states
        self._options = options
        self.raise_exceptions = raise_exceptions
        self.connections: set[ServerConnection] = set()

    # Connections

    def connect(self, link: Link | None) -> ServerConnection:
        """See `Serving.connect`."""
        connection = ServerConnection(link)
        self.connections.add(connection)
        return connection

    def assume(
        self,
        connection: Connection,
        *,
        session_id: str | None = None,
        revision: Revision | None = None,
    ) -> None:
        """See `Serving.assume`."""
        assert isinstance(connection, ServerConnection)
        connection.session_id = session_id
        if revision is not None:
            connection.assume(revision)

    def disconnect(self, connection: Connection) -> None:
        """See `Serving.disconnect`."""
        assert isinstance(connection, ServerConnection)
        connection.link = None
        self.connections.discard(connection)

    def ending(self, connection: Connection) -> None:
        """See `Serving.ending`."""
        assert isinstance(connection, ServerConnection)
        for stream in list(connection.streams):
            stream.end()

    def mirrored_arguments(self, tool: str) -> Mapping[str, tuple[str, ...]]:
        """See `Serving.mirrored_arguments`."""
        find = self._server.get_tool_input_schema
        schema = None if find is None else find(tool)
        return {} if schema is None else mirrored_arguments(schema)

    def name_param(self, method: str) -> str | None:
        """See `Serving.name_param`."""
        entry = self._server.get_request_handler(method)
        # What is served to older clients alone has no such header, and is unknown with it, too.
        if entry is None or not entry.exists_in(method, LATEST_MODERN):
            return None
        return entry.name_param

    async def stop(self) -> None:
        """See `Serving.stop`. It does not wait for the streams to end."""
        for connection in self.connections:
            self.ending(connection)
        await trio.lowlevel.checkpoint()

    # Requests

    def accept(self, exchange: Exchange) -> bool:
        """See `Serving.accept`."""
        connection: ServerConnection = exchange.connection
        try:
            exchange.accepted = accept_request(
                exchange.method, exchange.params, connection.revision, self._serves
            )
        except MCPError as refused:
            exchange.accepted = self._accept_unserved(exchange, connection, refused)
        if exchange.method == "initialize":
            exchange.accepted = self._negotiate(exchange, connection)
        self._check_scopes(exchange)
        return True

    def _check_scopes(self, exchange: Exchange) -> None:
        """Refuse what somebody asks for who is not allowed to.

        Over HTTP that was refused before, with a status that says so. In memory and over stdio
        whoever runs a program may use it.

        Raises:
          InsufficientScopeError: if a scope is missing.

        """
        principal = exchange.principal
        if principal is None and exchange.headers is None:
            return
        needed = self.required_scopes(exchange.method, exchange.params)
        if needed and (principal is None or principal.lacks(needed)):
            protection = self._server.protection()
            of_all = () if protection is None else protection.guard.required_scopes
            # In one error, as in the one challenge of HTTP: with a token for these alone nobody
            # would get in.
            raise InsufficientScopeError(dict.fromkeys([*of_all, *needed]))

    def required_scopes(self, method: str, params: JsonObject) -> Sequence[str]:
        """See `Serving.required_scopes`."""
        find = self._server.get_required_scopes
        return () if find is None else list(dict.fromkeys(find(method, params)))

    def _accept_unserved(
        self, exchange: Exchange, connection: ServerConnection, refused: MCPError
    ) -> Accepted:
        """Accept a request without a handler, if there is middleware that may see or answer it.

        Raises:
          MCPError: the refusal, if there is none.

        """
        if refused.code != METHOD_NOT_FOUND or not self._server.middleware:
            raise refused
        try:
            return accept_request(
                exchange.method, exchange.params, connection.revision, _may_be_served
            )
        except MCPError:
            raise refused from None

    def _serves(self, method: str, revision: Revision) -> bool:
        entry = self._server.get_request_handler(method)
        return entry is not None and entry.exists_in(method, revision)

    def _negotiate(self, exchange: Exchange, connection: ServerConnection) -> Accepted:
        check_kept(exchange)
        try:
            params = decode(
                types.InitializeRequestParams,
                exchange.params,
                exchange.accepted.revision,
                where="params",
            )
        except DecodeError as exc:
            raise invalid_params(f"Invalid params: {exc}") from exc
        revision = choose_handshake_revision(params.protocol_version)
        connection.negotiate(revision, params)
        return attrs.evolve(exchange.accepted, revision=revision)

    async def handle(self, exchange: Exchange) -> JsonObject:
        """See `Serving.handle`."""
        entry = self._server.get_request_handler(exchange.method)
        if entry is not None and not entry.exists_in(exchange.method, exchange.accepted.revision):
            # For middleware alone; as where there is none, also if it was taken out meanwhile.
            entry = None
        try:
            result = await self._call(entry, exchange)
        except MCPServerError as exc:
            raise _error_of(exc, exchange) from exc
        except MCPError as exc:
            if exchange.method == "initialize":
                exchange.connection.forget_handshake()
            other = _in_other_words(exc, exchange)
            if other is None:
                raise
            try:
                raise other from exc
            finally:
                # Its traceback refers to this frame: it would keep itself, and its request.
                del other
        if exchange.method == "logging/setLevel":
            exchange.connection.log_level = exchange.params["level"]
        answer = write_answer(self._server, exchange, result)
        if exchange.method == "initialize":
            exchange.connection.announced = answer.get("capabilities") or {}
        return answer

    async def _call(self, entry: HandlerEntry | None, exchange: Exchange) -> HandlerResult:
        call = in_middleware(self._server.middleware, functools.partial(_call_handler, entry))
        outer, principal = current_principal.get(), exchange.principal
        if outer is principal:
            return await call(self._context_for(exchange))
        # Also where nobody is known: who asks one server in a handler of another is not the one
        # who asked that.
        current_principal.set(principal)
        try:
            return await call(self._context_for(exchange))
        finally:
            current_principal.set(outer)

    def _context_for(self, exchange: Exchange) -> ServerRequestContext[Any, Any]:
        accepted, http = exchange.accepted, exchange.http
        ctx = ServerRequestContext(
            server=self._server,
            session=ServerSession(exchange.connection, accepted.revision, exchange),
            lifespan_context=self._lifespan_context,
            protocol_version=accepted.revision.version,
            method=exchange.method,
            params=_params_of(exchange),
            request_id=exchange.id,
            meta=accepted.meta,
            exchange=exchange,
            initialization_options=self._options,
            lifespan_states=self._lifespan_states,
        )
        if http is not None:
            ctx.request = http.request
            ctx.close_sse_stream = http.close_stream
            ctx.close_standalone_sse_stream = http.close_standalone_stream
        return ctx

    # Notifications, and what is no message

    def notified(
        self, connection: Connection, method: str, params: JsonObject
    ) -> Callable[[], Awaitable[None]] | None:
        """See `Serving.notified`. What no handler is registered for only middleware sees."""
        assert isinstance(connection, ServerConnection)
        if method == "notifications/initialized":
            connection.become_ready()
        entry = self._server.get_notification_handler(method)
        revision = connection.revision
        if revision is None:
            # No handshake: of the modern era, which has none of the client's but those of
            # extensions. Requests say their revision, notifications need not.
            revision = LATEST_MODERN
            if method in METHODS:
                return None
        if entry is not None and not entry.exists_in(method, revision):
            entry = None
        if entry is None and not self._server.middleware:
            return None
        ctx = ServerRequestContext(
            server=self._server,
            session=ServerSession(connection, revision, None),
            lifespan_context=self._lifespan_context,
            protocol_version=revision.version,
            method=method,
            params=params,
            meta=params.get("_meta"),
            lifespan_states=self._lifespan_states,
        )
        call = in_middleware(
            self._server.middleware, functools.partial(_call_listener, entry, revision)
        )
        return functools.partial(_notice, call, ctx)

    def malformed(
        self, connection: Connection, malformed: Malformed
    ) -> tuple[types.ErrorData | None, None]:
        """See `Serving.malformed`. Everything but an answer is answered."""
        del connection
        if malformed.is_response:
            return None, None
        return types.ErrorData(code=malformed.code, message=malformed.message), None


def _params_of(exchange: Exchange) -> JsonObject:
    params = exchange.params
    if not exchange.accepted.revision.has_server_requests or not is_of_rounds(params):
        return params
    # The older era has no answers and no state in a request: they are members that nobody knows.
    spec = METHODS.get(exchange.method)
    return without_rounds(params) if spec is not None and spec.may_need_input else params


def _may_be_served(method: str, revision: Revision) -> bool:
    spec = METHODS.get(method)
    return spec is None or spec.may_be_sent_by("client", revision)


async def _notice(call: CallNext, ctx: ServerRequestContext[Any, Any]) -> None:
    await call(ctx)


async def _call_listener(
    entry: HandlerEntry | None, revision: Revision, ctx: ServerRequestContext[Any, Any]
) -> HandlerResult:
    if entry is None:
        return None
    try:
        read = read_params(entry.params_type, ctx.params, revision)
    except MCPError as exc:
        logger.debug("%s was dropped: %s", excerpt(ctx.method), excerpt(str(exc)))
        return None
    await awaited("handler of", entry.handler(ctx, read), ctx.method)
    return None


async def _call_handler(
    entry: HandlerEntry | None, ctx: ServerRequestContext[Any, Any]
) -> HandlerResult:
    if entry is None:
        raise method_not_found(ctx.method)
    exchange = ctx.exchange
    assert exchange is not None
    params = read_params(entry.params_type, ctx.params, exchange.accepted.revision)
    result: HandlerResult = await awaited("handler of", entry.handler(ctx, params), ctx.method)
    if result is None or not needs_input(result):
        return result
    from ._input_required import settle_input  # noqa: PLC0415 - most servers never ask

    return await settle_input(entry, ctx, result)


def _error_of(exc: MCPServerError, exchange: Exchange) -> MCPError:
    if isinstance(exc, ResourceNotFoundError):
        not_found = MCPError(INVALID_PARAMS, str(exc), about_resource(exchange.params.get("uri")))
        return _in_other_words(not_found, exchange) or not_found
    return MCPError(INTERNAL_ERROR, str(exc))


def _in_other_words(error: MCPError, exchange: Exchange) -> MCPError | None:
    """Return an error as the revision of its request says it; None if that is as it is.

    Raises:
      RuntimeError: if the revision has no words for it, which is a defect of the handler.
      ValueError: if it names nothing to visit, or sends the user to what is no URL, which is one,
        too.

    """
    revision = exchange.accepted.revision
    if error.code == URL_ELICITATION_REQUIRED:
        if not revision.has_url_elicitation_error:
            raise RuntimeError(
                f"{exchange.method}: the error {error.code} does not exist in revision {revision}"
                + ("; ask by an InputRequiredResult" if revision.is_modern else "")
            ) from error
        # Whoever made it by hand said the same in its data.
        read = MCPError.from_error_data(error.error)
        assert isinstance(read, UrlElicitationRequiredError)
        check_required_elicitations(read.elicitations)
    if revision.has_handshake:
        # Until 2025-11-25 a missing resource had a code of its own (resources, error handling).
        if _tells_of_a_missing_resource(error, exchange):
            return MCPError(RESOURCE_NOT_FOUND, error.message, error.data)
        return None
    # As the other code, it is history since 2026-07-28, and must not be sent (base, errors).
    if error.code == RESOURCE_NOT_FOUND:
        return MCPError(INVALID_PARAMS, error.message, error.data)
    return None


def _tells_of_a_missing_resource(error: MCPError, exchange: Exchange) -> bool:
    data: Any = error.data
    return (
        exchange.method == "resources/read"
        and error.code == INVALID_PARAMS
        and isinstance(data, dict)
        and "uri" in data
    )
