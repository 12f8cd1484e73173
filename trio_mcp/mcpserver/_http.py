"""An `MCPServer` over HTTP: as an application, and what is served beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from trio_mcp.transports.http._defaults import (
    DEFAULT_BODY_TIMEOUT,
    DEFAULT_KEEP_ALIVE_INTERVAL,
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    DEFAULT_MAX_SESSIONS,
    DEFAULT_MESSAGE_PATH,
    DEFAULT_SESSION_IDLE_TIMEOUT,
    DEFAULT_SSE_PATH,
    DEFAULT_STREAMABLE_HTTP_PATH,
)

from ._serving_base import ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp.transports import (
        EventStore,
        HttpApp,
        SseApp,
        StreamableHTTPSessionManager,
        TransportSecuritySettings,
    )

EndpointT = TypeVar("EndpointT", bound="Callable[..., Awaitable[Any]]")


class ServesHttp(ServingBase[LifespanResultT]):
    """The part of an `MCPServer` that makes applications of it."""

    def _open_http(self) -> None:
        self._custom_routes: list[Any] = []

    def streamable_http_app(
        self,
        *,
        streamable_http_path: str = DEFAULT_STREAMABLE_HTTP_PATH,
        json_response: bool = False,
        stateless_http: bool = False,
        event_store: EventStore | None = None,
        retry_interval: int | None = None,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        session_idle_timeout: float | None = DEFAULT_SESSION_IDLE_TIMEOUT,
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
        keep_alive_interval: float = DEFAULT_KEEP_ALIVE_INTERVAL,
        body_timeout: float = DEFAULT_BODY_TIMEOUT,
        cors_origins: Sequence[str] = (),
    ) -> HttpApp:
        """Make an ASGI 3 application that serves this over Streamable HTTP, in both eras.

        What the arguments mean is told by `Server.streamable_http_app`. Where the application
        is mounted in another one, that one enters ``mcp.session_manager.run()``::

            @asynccontextmanager
            async def lifespan(app):
                async with mcp.session_manager.run():
                    yield

        Raises:
          TypeError, ValueError: if an argument is something else.

        """
        return self._lowlevel_server.streamable_http_app(
            streamable_http_path=streamable_http_path,
            json_response=json_response,
            stateless_http=stateless_http,
            event_store=event_store,
            retry_interval=retry_interval,
            max_request_body_size=max_request_body_size,
            session_idle_timeout=session_idle_timeout,
            max_sessions=max_sessions,
            transport_security=transport_security,
            host=host,
            custom_starlette_routes=self._custom_routes,
            keep_alive_interval=keep_alive_interval,
            body_timeout=body_timeout,
            cors_origins=cors_origins,
        )

    def sse_app(
        self,
        *,
        sse_path: str = DEFAULT_SSE_PATH,
        message_path: str = DEFAULT_MESSAGE_PATH,
        max_request_body_size: int = DEFAULT_MAX_REQUEST_BODY_SIZE,
        transport_security: TransportSecuritySettings | None = None,
        host: str = "127.0.0.1",
        max_sessions: int | None = DEFAULT_MAX_SESSIONS,
        keep_alive_interval: float = DEFAULT_KEEP_ALIVE_INTERVAL,
        body_timeout: float = DEFAULT_BODY_TIMEOUT,
    ) -> SseApp:
        """Make an ASGI 3 application that serves this over HTTP with SSE.

        For clients that know nothing newer; see `Server.sse_app`.

        Raises:
          TypeError, ValueError: if an argument is something else.

        """
        return self._lowlevel_server.sse_app(
            sse_path=sse_path,
            message_path=message_path,
            max_request_body_size=max_request_body_size,
            transport_security=transport_security,
            host=host,
            custom_starlette_routes=self._custom_routes,
            max_sessions=max_sessions,
            keep_alive_interval=keep_alive_interval,
            body_timeout=body_timeout,
        )

    @property
    def session_manager(self) -> StreamableHTTPSessionManager:
        """What answers the requests of the application that was made last.

        Raises:
          RuntimeError: if none was made.

        """
        return self._lowlevel_server.session_manager

    def custom_route(
        self,
        path: str,
        methods: list[str],
        name: str | None = None,
        include_in_schema: bool = True,
    ) -> Callable[[EndpointT], EndpointT]:
        """Serve something else beside the endpoint, in the applications made after this.

        ::

            @mcp.custom_route("/health", ["GET"])
            async def health(request: HttpRequest) -> Response:
                return PlainTextResponse("ok")

        The function takes an `HttpRequest` and returns an ASGI application, as the responses of
        Starlette are; or it is one itself, with the arguments ``scope, receive, send``. Nobody
        has to authenticate for it.

        Args:
          path: Without variables.
          methods: Of HTTP. ``HEAD`` comes with ``GET``.
          name: For the author's own use.
          include_in_schema: Without effect: no schema of the routes is made.

        Raises:
          TypeError, ValueError: if one of these is something else.

        """
        del include_in_schema

        def register(fn: EndpointT) -> EndpointT:
            from trio_mcp.transports.http._routes import (  # noqa: PLC0415 - loads on first use
                make_route,
            )

            self._custom_routes.append(make_route(path, methods, fn, name))
            return fn

        return register
