"""The ASGI 3 application: the endpoint, other routes beside it, and the lifespan."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, final

import attrs
import trio

from trio_mcp._checks import check_text
from trio_mcp._rpc._nursery import finish_within

from ._asgi import HttpRequest, HttpResponse, path_within
from ._defaults import DEFAULT_MESSAGE_PATH, DEFAULT_SSE_PATH, DEFAULT_STREAMABLE_HTTP_PATH
from ._manager import StreamableHTTPSessionManager
from ._options import HttpOptions
from ._routes import check_apart, route_path
from ._security import check_host
from ._sse_manager import SseSessionManager

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._rpc._service import Service

    from ._asgi import ASGIApp, Receive, Scope, Send
    from ._guard import Protection
    from ._routes import Route

logger: Final = logging.getLogger("trio_mcp.http")

_TELL_SECONDS: Final = 1.0
# For the server to hear that the lifespan failed.


class Application:
    """An ASGI 3 application with a lifespan, for any ASGI server that runs Trio.

    Args:
      run: Runs what is behind the endpoints.
      endpoints: By their paths, each with and without a slash at the end.
      routes: What is served beside them.

    """

    def __init__(
        self,
        run: Callable[[], AbstractAsyncContextManager[None]],
        endpoints: Mapping[str, ASGIApp],
        routes: Iterable[Route],
    ) -> None:
        for path in endpoints:
            check_text("path", path)
        self._run = run
        self._endpoints = {route_path(path): each for path, each in endpoints.items()}
        self._routes = tuple(routes)
        check_apart(self._routes, endpoints)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or live through the lifespan."""
        if not trio.lowlevel.in_trio_task():
            raise RuntimeError(
                "This application runs on Trio, and its server does not: serve it by "
                "trio_mcp, or by hypercorn with `--worker-class trio`"
            )
        kind = scope["type"]
        if kind == "lifespan":
            await self._live(receive, send)
        elif kind == "http":
            await self._answer(scope, receive, send)
        elif kind == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise ValueError(f"No scope of the type {kind!r} is known")

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        started = False
        try:
            async with self._run():
                started = True
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception as exc:
            phase = "shutdown" if started else "startup"
            with finish_within(_TELL_SECONDS):
                await send({"type": f"lifespan.{phase}.failed", "message": repr(exc)})  # noqa: ASYNC120 - in finish_within
            raise
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = route_path(path_within(scope))
        endpoint = self._endpoints.get(path)
        if endpoint is not None:
            await endpoint(scope, receive, send)
            return
        found = [each for each in self._routes if route_path(each.path) == path]
        for route in found:
            if scope["method"] in route.methods:
                await route(scope, receive, send)
                return
        response = HttpResponse(send, scope.get("http_version", "1.1"))
        name = HttpRequest(scope, receive).name
        if found:
            allowed = ", ".join(sorted({method for each in found for method in each.methods}))
            logger.info("%s was refused with 405: allowed: %s", name, allowed)
            await response.send_whole(
                405, b"Method Not Allowed", [("allow", allowed)], "text/plain; charset=utf-8"
            )
            return
        here = " and ".join(self._endpoints)
        logger.info("%s was refused with 404: clients are answered at %s", name, here)
        await response.send_whole(404, b"Not Found", (), "text/plain; charset=utf-8")


@final
class HttpApp(Application):
    """A server over Streamable HTTP, in both eras, as an ASGI 3 application.

    The endpoint answers with and without a slash at the end of its path. Mounted in another
    application, which does not hand on the lifespan, it needs that one to enter
    ``session_manager.run()``.

    Args:
      server: Answers the requests.
      options: How.
      path: Of the endpoint.
      routes: What is served beside it.
      protection: Who may ask, if it is not what the server says.

    Attributes:
      session_manager: Answers the requests of the endpoint, while it runs.

    """

    def __init__(
        self,
        server: Service,
        options: HttpOptions | None = None,
        *,
        path: str = DEFAULT_STREAMABLE_HTTP_PATH,
        routes: Iterable[Route] = (),
        protection: Protection | None = None,
    ) -> None:
        manager = StreamableHTTPSessionManager.with_options(server, options or HttpOptions())
        manager.protection = protection or manager.protection
        self.session_manager = manager
        all_routes = (*_protecting_routes(manager), *routes)
        super().__init__(manager.run, {path: manager.handle_request}, all_routes)


@final
class SseApp(Application):
    """A server over HTTP with SSE, as an ASGI 3 application, for clients that know nothing else.

    Args:
      server: Answers the requests.
      options: How; what is about Streamable HTTP alone has no effect.
      sse_path: Of the stream.
      message_path: Where clients post.
      routes: What is served beside these.
      protection: Who may ask, if it is not what the server says.

    Attributes:
      session_manager: Answers the requests of both endpoints, while it runs.

    """

    def __init__(
        self,
        server: Service,
        options: HttpOptions | None = None,
        *,
        sse_path: str = DEFAULT_SSE_PATH,
        message_path: str = DEFAULT_MESSAGE_PATH,
        routes: Iterable[Route] = (),
        protection: Protection | None = None,
    ) -> None:
        check_text("sse_path", sse_path)
        check_text("message_path", message_path)
        check_apart((), (sse_path, message_path))
        manager = SseSessionManager(
            server, options or HttpOptions(), route_path(message_path) + "/"
        )
        manager.protection = protection or manager.protection
        self.session_manager = manager
        endpoints = {
            sse_path: manager.handle_sse,
            message_path: manager.handle_post_message,
        }
        super().__init__(manager.run, endpoints, (*_protecting_routes(manager), *routes))


def _protecting_routes(manager: StreamableHTTPSessionManager | SseSessionManager) -> list[Route]:
    """Give the routes of what protects a server, for the hosts by which it may be called."""

    def for_hosts(route: Route) -> Route:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            request = HttpRequest(scope, receive)
            refusal = check_host(request.headers, manager.options.transport_security)
            if refusal is None:
                await route(scope, receive, send)
                return
            reason = refusal.error.message
            logger.log(
                refusal.level, "%s was refused with %d: %s", request.name, refusal.status, reason
            )
            response = HttpResponse(send, scope.get("http_version", "1.1"))
            media_type = "text/plain; charset=utf-8"
            await response.send_whole(refusal.status, reason.encode(), (), media_type)

        return attrs.evolve(route, endpoint=answer, takes_request=False)

    return [for_hosts(each) for each in manager.protection.routes]
