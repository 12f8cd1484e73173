"""What a server listens on: ports, unix sockets, and TLS on top of them."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import trio

from ._serve_options import FD, UNIX, split_address

if TYPE_CHECKING:
    from collections.abc import Sequence

BACKLOG: Final = 1_024


class CannotServe(OSError):
    """An address cannot be had, or files cannot be read; `strerror` says which and why."""


async def open_listeners(binds: Sequence[str]) -> list[trio.SocketListener]:
    """Listen on addresses: ``host:port``, ``[::1]:port``, ``unix:/path`` or ``fd:3``.

    Raises:
      OSError: if one of them cannot be had; none is left open then.

    """
    listeners: list[trio.SocketListener] = []
    try:
        for bind in binds:
            listeners += await _listen_on(bind)
    except BaseException:
        for listener in listeners:
            listener.socket.close()
        raise
    return listeners


async def _listen_on(bind: str) -> list[trio.SocketListener]:
    try:
        if bind.startswith(FD):
            return [_listen_on_descriptor(int(bind.removeprefix(FD)))]
        if bind.startswith(UNIX):
            return [await _listen_on_path(bind.removeprefix(UNIX))]
        host, port = split_address(bind)
        return await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG)
    except OSError as exc:
        # What the system says does not name the address.
        why = exc.strerror or str(exc)
        raise CannotServe(exc.errno, f"cannot listen on {bind}: {why}") from exc


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


def _listen_on_descriptor(number: int) -> trio.SocketListener:
    sock = socket.socket(fileno=number)
    try:
        return trio.SocketListener(trio.socket.from_stdlib_socket(sock))
    except ValueError as exc:
        sock.detach()  # whose it is closes it
        raise OSError(errno.EINVAL, "it is no socket that is listened on") from exc
    except BaseException:
        sock.detach()
        raise


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
    try:
        # Without a password, OpenSSL would ask at the terminal.
        context.load_cert_chain(certfile, keyfile, keyfile_password or "")
    except OSError as exc:
        # Neither the system nor OpenSSL names the files.
        files = os.fspath(certfile) if keyfile is None else f"{certfile} and {keyfile}"
        why = f"the files for TLS, {files}, cannot be read: {exc.strerror or exc}"
        raise CannotServe(exc.errno, why) from exc
    context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
    return context
