"""What a server listens on: ports, unix sockets, and TLS on top of them."""

from __future__ import annotations

import os
import socket
import ssl
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from collections.abc import Sequence

UNIX: Final = "unix:"
BACKLOG: Final = 1_024


async def open_listeners(binds: Sequence[str]) -> list[trio.SocketListener]:
    """Listen on addresses: ``host:port``, ``[::1]:port`` or ``unix:/path``.

    Raises:
      OSError: if one of them cannot be had; none is left open then.

    """
    listeners: list[trio.SocketListener] = []
    try:
        for bind in binds:
            if bind.startswith(UNIX):
                listeners.append(await _listen_on_path(bind.removeprefix(UNIX)))
            else:
                host, port = split_address(bind)
                listeners += await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG)
    except BaseException:
        for listener in listeners:
            listener.socket.close()
        raise
    return listeners


def split_address(bind: str) -> tuple[str, int]:
    """Take ``host:port`` apart.

    Raises:
      ValueError: if it is something else.

    """
    host, colon, port = bind.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"binds: expected 'host:port' or 'unix:/path', got {bind!r:.80}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def url_of(listener: trio.SocketListener, scheme: str) -> str:
    """Write where a listener is reached."""
    address = listener.socket.getsockname()
    if isinstance(address, (str, bytes)):
        return f"{UNIX}{os.fsdecode(address)}"
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"{scheme}://{host}:{address[1]}"


def remove_paths(binds: Sequence[str]) -> None:
    """Remove the files of the unix sockets among addresses that were listened on."""
    for bind in binds:
        if bind.startswith(UNIX):
            with suppress(OSError):
                os.unlink(bind.removeprefix(UNIX))  # noqa: PTH108 - what the system calls it


async def _listen_on_path(path: str) -> trio.SocketListener:
    # The server before may have died without removing it; one that lives is not robbed.
    if await _is_left_over(path):
        os.unlink(path)  # noqa: PTH108, ASYNC240 - a socket, which blocks for no disk
    sock = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        await sock.bind(path)
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return trio.SocketListener(sock)


async def _is_left_over(path: str) -> bool:
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):  # noqa: PTH116, ASYNC240 - as above
            return False
        await (await trio.open_unix_socket(path)).aclose()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def tls_context(
    certfile: str | os.PathLike[str],
    keyfile: str | os.PathLike[str] | None,
    keyfile_password: str | None,
    *,
    http2: bool,
) -> ssl.SSLContext:
    """Read a certificate and its key.

    Raises:
      OSError: if they cannot be read or do not fit (`ssl.SSLError` is one).

    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Without a password, OpenSSL would ask at the terminal.
    context.load_cert_chain(certfile, keyfile, keyfile_password or "")
    context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
    return context
