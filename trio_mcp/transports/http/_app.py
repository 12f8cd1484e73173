"""The ASGI 3 application: the endpoint, other routes beside it, and the lifespan."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, final

import attrs
import trio

from trio_mcp._checks import check_callable, check_items, check_text
from trio_mcp._rpc._nursery import finish_within

from ._asgi import HttpRequest, HttpResponse
from ._manager import StreamableHTTPSessionManager

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from trio_mcp._rpc._service import Service

    from ._asgi import ASGIApp, Receive, Scope, Send
    from ._options import HttpOptions

logger: Final = logging.getLogger("trio_mcp.http")

DEFAULT_PATH: Final = "/mcp"

_TELL_SECONDS: Final = 1.0
# For the server to hear that the lifespan failed.


def route_path(path: str) -> str:
    """Give the one spelling of a path: with a slash before, and none behind."""
    return "/" + path.strip("/")


@attrs.frozen
class Route:
    """A path beside the endpoint, and what answers there.

    Attributes:
      path: Without variables.
      methods: Of HTTP.
      endpoint: An ASGI application; or a function that takes an `HttpRequest` and returns one,
          as the responses of Starlette are.
      name: For the author's own use.

    """

    path: str
    methods: tuple[str, ...]
    endpoint: Callable[..., Awaitable[Any]]
    takes_request: bool
    name: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for this path."""
        if not self.takes_request:
            await self.endpoint(scope, receive, send)
            return
        answer: ASGIApp = await self.endpoint(HttpRequest(scope, receive))
        await answer(scope, receive, send)


@final
class HttpApp:
    """A server as an ASGI 3 application, for any ASGI server that runs Trio.

    The endpoint answers with and without a slash at the end of its path. Mounted in another
    application, which does not hand on the lifespan, it needs that one to enter
    ``session_manager.run()``.

    Args:
      server: Answers the requests.
      options: How.
      path: Of the endpoint.
      routes: What is served beside it.

    Attributes:
      session_manager: Answers the requests of the endpoint, while it runs.

    """

    def __init__(
        self,
        server: Service,
        options: HttpOptions | None = None,
        *,
        path: str = DEFAULT_PATH,
        routes: Iterable[Route] = (),
    ) -> None:
        check_text("path", path)
        self.session_manager = StreamableHTTPSessionManager(server, options)
        self.path = route_path(path)
        self._routes = tuple(routes)

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
            async with self.session_manager.run():
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
        request = HttpRequest(scope, receive)
        path = route_path(request.path)
        if path == self.path:
            await self.session_manager.handle_request(scope, receive, send)
            return
        found = [each for each in self._routes if route_path(each.path) == path]
        for route in found:
            if request.method in route.methods:
                await route(scope, receive, send)
                return
        response = HttpResponse(send, scope.get("http_version", "1.1"))
        if found:
            allowed = ", ".join(sorted({method for each in found for method in each.methods}))
            await response.send_whole(
                405, b"Method Not Allowed", [("allow", allowed)], "text/plain; charset=utf-8"
            )
            return
        logger.info("%s was refused with 404: the endpoint is %s", request.name, self.path)
        await response.send_whole(404, b"Not Found", (), "text/plain; charset=utf-8")


def make_route(
    path: str, methods: Iterable[str], endpoint: Callable[..., Awaitable[Any]], name: str | None
) -> Route:
    """Make a route of what a server's author gave.

    Raises:
      TypeError, ValueError: if one of the arguments is something else.

    """
    check_text("path", path)
    if not path.startswith("/"):
        raise ValueError(f"path: expected a path that begins with '/', got {path!r}")
    if "{" in path:
        raise ValueError(f"path: expected a path without variables, got {path!r}")
    check_items("methods", methods, str, "a list of strings")
    check_callable("a route", endpoint)
    names = tuple(each.upper() for each in methods)
    if "GET" in names and "HEAD" not in names:
        names = (*names, "HEAD")
    return Route(path, names, endpoint, _takes_request(endpoint), name)


def _takes_request(endpoint: Callable[..., Awaitable[Any]]) -> bool:
    import inspect  # noqa: PLC0415 - loads on first use

    parameters = inspect.signature(endpoint).parameters.values()
    needed = [
        each
        for each in parameters
        if each.default is each.empty
        and each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD}
    ]
    if len(needed) not in {1, 3}:
        raise TypeError(
            "A route takes (scope, receive, send), as ASGI says, or one HttpRequest; this one "
            f"takes {len(needed)} arguments"
        )
    return len(needed) == 1
