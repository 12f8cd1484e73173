"""Applications made of keyword arguments, and of the environment where these say nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trio_mcp._variables import options_of
from trio_mcp.transports._settling import (
    SECURITY,
    settle_options,
    settle_security,
    warn_if_open,
)

from ._app import HttpApp, SseApp
from ._options import HttpOptions, HttpPaths
from ._routes import as_route
from ._serve_options import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trio_mcp._rpc._service import Service
    from trio_mcp._variables import Option

    from ._guard import Protection

_OBJECTS: Final = ("event_store", SECURITY)
# Options that no text can say, though that of security has its parts.

STREAMABLE_HTTP: Final = (
    "streamable_http_path",
    *options_of(HttpOptions),
    *_OBJECTS,
)
"""What can be said of an application for Streamable HTTP, beside the host."""

SSE: Final = (
    "sse_path",
    "message_path",
    "max_request_body_size",
    "max_sessions",
    "keep_alive_interval",
    "body_timeout",
    "cors_origins",
    SECURITY,
)
"""What can be said of one for HTTP with SSE, beside the host."""

LISTENING: Final = tuple(options_of(ServeOptions))
"""What can be said of serving one."""

_OPTIONS: Final[Mapping[str, Option]] = {
    **options_of(HttpPaths),
    **options_of(ServeOptions),
    **options_of(HttpOptions),
}


def settle(what: str, names: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Put together what was given and what the environment says of the rest.

    Args:
      what: What takes the options, for errors.
      names: Those that it takes.
      given: Those that were given.

    Raises:
      TypeError: if one was given that it does not take.
      ValueError: if a variable has a value that its option cannot have.

    """
    return settle_options(what, names, _OPTIONS, given)


def make_http_app(
    server: Service,
    given: Mapping[str, Any],
    routes: Iterable[Any] = (),
    protection: Protection | None = None,
) -> HttpApp:
    """Make an application for Streamable HTTP.

    Raises:
      TypeError, ValueError: if an option is something else.

    """
    settled = settle("streamable_http_app", (*STREAMABLE_HTTP, "host"), given)
    path: Any = settled.pop("streamable_http_path", HttpPaths().streamable_http_path)
    served = map(as_route, routes)
    options = _http_options(settled)
    return HttpApp(server, options, path=path, routes=served, protection=protection)


def make_sse_app(
    server: Service,
    given: Mapping[str, Any],
    routes: Iterable[Any] = (),
    protection: Protection | None = None,
) -> SseApp:
    """Make an application for HTTP with SSE.

    Raises:
      TypeError, ValueError: if an option is something else.

    """
    settled = settle("sse_app", (*SSE, "host"), given)
    paths = {name: settled.pop(name) for name in options_of(HttpPaths) if name in settled}
    options = _http_options(settled)
    served = map(as_route, routes)
    return SseApp(server, options, **paths, routes=served, protection=protection)


def _http_options(settled: dict[str, Any]) -> HttpOptions:
    host = settled.pop("host", ServeOptions().host)
    _OPTIONS["host"].kind.check("host", host)
    settle_security(settled, host)
    warn_if_open(settled[SECURITY], host)
    return HttpOptions(**settled)
