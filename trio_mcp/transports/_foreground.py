"""A server that is a whole program: it says where it serves, and stops in good order."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, final

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from .http._serve_http import HttpTransport

NETWORK_TRANSPORTS: Final = ("streamable-http", "sse", "websocket")
"""The transports of which a program serves many clients, until it is stopped."""


class NotThere(ConnectionError):
    """What a server needs from elsewhere cannot be reached; the text says what, and why.

    To who starts a program, that is no defect of it: a line is enough.
    """


class Serving(Protocol):
    """What a function that serves reports."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Where it is reached."""
        ...

    def stop(self) -> None:
        """Begin to stop, in bounded time."""


@final
class Foreground(trio.TaskStatus[Serving]):
    """The ``task_status`` of what is served by a program for itself.

    Args:
      name: Of the server.

    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._serving: Serving | None = None

    def started(self, value: Serving | None = None) -> None:
        """Say where it serves, in a line on stderr."""
        assert value is not None
        self._serving = value
        announce(self._name, value.urls)

    def stop(self) -> bool:
        """Have it stop, if it serves already."""
        if self._serving is None:
            return False
        self._serving.stop()
        return True


def check_options(transport: str, options: Mapping[str, Any]) -> None:
    """Check options, and what the environment says of the others, before there is a server.

    Raises:
      TypeError, ValueError: if one is something else, or is none of the transport.

    """
    if transport == "websocket":
        from .websocket import _options as websocket  # noqa: PLC0415 - loads on first use

        websocket.read_options(options)
    else:
        from .http._serve_http import read_options  # noqa: PLC0415 - loads on first use

        read_options(cast("HttpTransport", transport), options)


def serve_function(transport: str) -> Callable[..., Awaitable[None]]:
    """Give the function that serves a server over a network transport.

    It is called with the server, ``task_status`` and the options of the transport.
    """
    if transport == "websocket":
        from .websocket._serve import serve_websocket  # noqa: PLC0415 - loads on first use

        return serve_websocket
    from .http._serve_http import serve_http  # noqa: PLC0415 - as above

    return partial(serve_http, transport=cast("HttpTransport", transport))


def announce(name: str, urls: Iterable[str], how: str = "") -> None:
    """Say where a server of this name serves, and how, in a line on stderr."""
    say(f"{name}: serving at {' and '.join(urls)}{how} (Ctrl-C ends)")


def say(line: str) -> None:
    """Write a line to stderr, if it takes one."""
    # A program may have been started without a stderr, or with one that takes nothing.
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)  # noqa: T201
