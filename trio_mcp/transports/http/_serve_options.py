"""Where a server over HTTP listens, and what it grants each client."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._checks import check_text, wrong_value
from trio_mcp._variables import (
    FLAG,
    PATH,
    TEXT,
    TEXTS,
    Kind,
    NeedsAnother,
    number,
    or_none,
    settable,
    whole,
)
from trio_mcp.transports._urls import check_host

from ._defaults import DEFAULT_BODY_TIMEOUT
from ._options import LOOPBACK_HOSTS, MOUNTED_AT

if TYPE_CHECKING:
    from collections.abc import Sequence

UNIX: Final = "unix:"
"""What an address begins with that is the path of a unix socket."""


FD: Final = "fd:"
"""What one begins with that is a file descriptor: a socket that is listened on already."""


def split_address(bind: str, argument: str = "binds") -> tuple[str, int]:
    """Take ``host:port`` apart.

    Raises:
      ValueError: if it is something else; names the argument.

    """
    host, colon, port = bind.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise wrong_value(argument, "'host:port' or 'unix:/path'", bind)
    return host.removeprefix("[").removesuffix("]"), int(port)


def _check_binds(name: str, value: Any) -> None:
    if isinstance(value, str):
        raise TypeError(f"{name}: expected several addresses, got one str")
    TEXTS.check(name, value)
    for bind in value:
        if bind.startswith(FD):
            _check_descriptor(bind, name)
        elif bind.startswith(UNIX):
            PATH.check(name, bind.removeprefix(UNIX))
        else:
            _check_host(name, split_address(bind, name)[0], bind)


def _check_descriptor(bind: str, argument: str) -> None:
    number = bind.removeprefix(FD)
    if not (number.isdecimal() and number.isascii() and len(number) < 10):
        raise wrong_value(argument, "a number after 'fd:'", bind)


def _host_of(bind: str) -> str:
    if bind.startswith(UNIX):
        return UNIX
    if not bind.startswith(FD):
        return split_address(bind)[0]
    try:
        with closing(socket.socket(fileno=os.dup(int(bind.removeprefix(FD))))) as sock:
            address: Any = sock.getsockname()
    except OSError:
        return UNIX  # whoever listens on it will say what is wrong with it
    return UNIX if isinstance(address, (str, bytes)) else str(address[0])


def _check_host(name: str, host: str, value: str) -> None:
    if not host:
        # To some it is every address, and to others the loopback ones.
        every = "0.0.0.0 or ::" if host == value else "0.0.0.0:80 or [::]:80"
        raise wrong_value(name, f"a host, such as {every} for every address", value)
    check_host(name, host)


def _check_listening(name: str, value: Any) -> None:
    check_text(name, value)
    _check_host(name, value, value)


_HOST: Final = Kind(expected="the name or address of a host", check=_check_listening, read=str)

_BINDS: Final = Kind(
    expected="addresses with commas between them", check=_check_binds, read=TEXTS.read
)


@attrs.frozen(kw_only=True)
class ServeOptions:
    """Where `serve_http_app` listens, and what it grants a client.

    Attributes:
      host: The name or address to listen on. ``127.0.0.1`` is reached from this machine alone.
      port: The port; 0 for a free one.
      binds: Several addresses in place of `host` and `port`: ``host:port``, ``[::1]:port``,
          ``unix:/path``, or ``fd:3`` for a socket that was inherited and is listened on.
      unix_socket: The path of a unix socket, in place of `host` and `port`. One that a server
          left behind is replaced.
      certfile: The file of a certificate and those that vouch for it, for TLS.
      keyfile: The file of its key, if that is another one.
      keyfile_password: Of the key.
      http2: Offer HTTP/2 to clients with TLS.
      root_path: The path at which a proxy mounts the application, such as ``/api``; nothing where
          that is none.
      max_connections: Open at once; more are closed as they come. None for 10,000, or what
          the limit of the process for file descriptors leaves of that.
      head_timeout: Seconds for the head of a request, and for TLS before it.
      body_timeout: Seconds for the body of a request.
      write_timeout: Seconds that a client may leave unread what is written to it.
      keep_alive_timeout: Seconds that a connection may wait for its next request.
      graceful_timeout: Seconds for running requests, when the server stops.

    """

    host: str = settable("127.0.0.1", _HOST)
    port: int = settable(8000, whole(least=0, most=65_535))
    binds: Sequence[str] = settable((), _BINDS)
    unix_socket: str | os.PathLike[str] | None = settable(None, or_none(PATH))
    certfile: str | os.PathLike[str] | None = settable(None, or_none(PATH))
    keyfile: str | os.PathLike[str] | None = settable(None, or_none(PATH))
    keyfile_password: str | None = settable(None, or_none(TEXT), repr=False)
    http2: bool = settable(False, FLAG)
    root_path: str = settable("", MOUNTED_AT)
    max_connections: int | None = settable(None, or_none(whole(least=1)))
    head_timeout: float = settable(10.0, number(above=0))
    body_timeout: float = settable(DEFAULT_BODY_TIMEOUT, number(above=0))
    write_timeout: float = settable(20.0, number(above=0))
    keep_alive_timeout: float = settable(75.0, number(above=0))
    graceful_timeout: float = settable(3.0, number(least=0))

    def __attrs_post_init__(self) -> None:
        if self.certfile is None and (self.keyfile is not None or self.http2):
            option = "http2" if self.keyfile is None else "keyfile"
            raise NeedsAnother(option, "it needs TLS: give {}, too", "certfile")

    @property
    def addresses(self) -> Sequence[str]:
        """What to listen on, as `binds` writes it."""
        binds = list(self.binds)
        if self.unix_socket is not None:
            binds.append(f"{UNIX}{self.unix_socket}")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return binds or [f"{host}:{self.port}"]

    @property
    def most_open_host(self) -> str:
        """The host by which to decide from where it may be called, among all addresses.

        A unix socket is reached by no web page, but by proxies that say the name which they
        have in the world.
        """
        hosts = [host for each in self.addresses if (host := _host_of(each)) != UNIX] or [UNIX]
        open_hosts = [each for each in hosts if each not in LOOPBACK_HOSTS]
        return (open_hosts or hosts)[0]


@attrs.frozen(kw_only=True)
class WorkerOptions:
    """By how many processes a program serves.

    Attributes:
      workers: Processes that share the address. More than one need `stateless_http`, since the
          sessions of older clients live in one process each.

    """

    workers: int = settable(1, whole(least=1))
