"""What an application serves beside the endpoint, at paths of its own."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp._checks import check_callable, check_items, check_text

from ._asgi import HttpRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from ._asgi import ASGIApp, Receive, Scope, Send


def route_path(path: str) -> str:
    """Give the one spelling of a path: with a slash before, and none behind."""
    return "/" + path.strip("/")


def check_apart(routes: Iterable[Route], endpoints: Iterable[str] = ()) -> None:
    """Refuse what would never be asked, since something else answers at its path.

    Args:
      routes: In the order in which they are looked at.
      endpoints: Paths where all methods are answered, before any route.

    Raises:
      ValueError: if there is such a route or endpoint.

    """
    first: dict[str, str] = {}
    for path in endpoints:
        if route_path(path) in first:
            raise ValueError(
                f"path: {path!r} and {first[route_path(path)]!r} are the same, for two endpoints"
            )
        first[route_path(path)] = path
    taken: set[tuple[str, str]] = set()
    for route in routes:
        path = route_path(route.path)
        if path in first:
            raise ValueError(
                f"path: {route.path!r} is that of an endpoint, which answers all requests there"
            )
        both = sorted(each for each in route.methods if (path, each) in taken)
        if both:
            raise ValueError(
                f"path: another route answers {' and '.join(both)} at {route.path!r} already"
            )
        taken.update((path, each) for each in route.methods)


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


def as_route(given: Any) -> Route:
    """Take a route of ours, or one that is made as those of Starlette are.

    Raises:
      TypeError: if it is neither.

    """
    if isinstance(given, Route):
        return given
    path: Any = getattr(given, "path", None)
    app: Any = getattr(given, "app", None)
    if not isinstance(path, str) or not callable(app):
        raise TypeError(f"A route has a path and an ASGI app; {type(given).__name__} has not")
    methods: Iterable[str] = getattr(given, "methods", None) or ("GET",)
    endpoint: Any = app
    return make_route(path, methods, endpoint, getattr(given, "name", None))
