"""An `MCPServer` over HTTP: as an application, and what is served beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ._serving_base import ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Unpack

    from trio_mcp.transports import (
        HttpApp,
        SseApp,
        SseAppOptions,
        StreamableHttpAppOptions,
        StreamableHTTPSessionManager,
    )

EndpointT = TypeVar("EndpointT", bound="Callable[..., Awaitable[Any]]")


class ServesHttp(ServingBase[LifespanResultT]):
    """The part of an `MCPServer` that makes applications of it."""

    def _open_http(self) -> None:
        self._custom_routes: list[Any] = []

    def streamable_http_app(self, **options: Unpack[StreamableHttpAppOptions]) -> HttpApp:
        """Make an ASGI 3 application that serves this over Streamable HTTP, in both eras.

        The options are told by `Server.streamable_http_app`. Where the application is mounted in
        another one, that one enters ``mcp.session_manager.run()``::

            @asynccontextmanager
            async def lifespan(app):
                async with mcp.session_manager.run():
                    yield

        Raises:
          TypeError, ValueError: if an option is something else.

        """
        return self._lowlevel_server.streamable_http_app(
            custom_starlette_routes=self._custom_routes, **options
        )

    def sse_app(self, **options: Unpack[SseAppOptions]) -> SseApp:
        """Make an ASGI 3 application that serves this over HTTP with SSE.

        For clients that know nothing newer; see `Server.sse_app`.

        Raises:
          TypeError, ValueError: if an option is something else.

        """
        return self._lowlevel_server.sse_app(
            custom_starlette_routes=self._custom_routes, **options
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
          TypeError, ValueError: if one of these is something else, or another route answers
            there already. Where the endpoint is, no other route can be: making the application
            fails then.

        """
        del include_in_schema

        def register(fn: EndpointT) -> EndpointT:
            from trio_mcp.transports.http._routes import (  # noqa: PLC0415 - loads on first use
                check_apart,
                make_route,
            )

            route = make_route(path, methods, fn, name)
            check_apart((*self._custom_routes, route))
            self._custom_routes.append(route)
            return fn

        return register
