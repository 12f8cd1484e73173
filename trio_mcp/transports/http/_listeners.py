"""What a server listens on: ports, unix sockets, and TLS on top of them."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import stat
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, final

import attrs
import trio

from ._serve_options import FD, UNIX, split_address

if TYPE_CHECKING:
    from collections.abc import Iterable

BACKLOG: Final = 1_024


class CannotServe(OSError):
    """An address cannot be had, or files cannot be read; `strerror` says which and why."""


def cannot_listen(bind: str, exc: OSError) -> CannotServe:
    """Make the error for an address: what the system says does not name it."""
    return CannotServe(exc.errno, f"cannot listen on {bind}: {exc.strerror or exc}")


@final
@attrs.define(eq=False)
class Listening:
    """The sockets on which a server listens.

    Attributes:
      listeners: One for each of its addresses.

    """

    listeners: list[trio.SocketListener] = attrs.Factory(list[trio.SocketListener])
    _paths: list[str] = attrs.Factory(list[str])
    _inherited: list[trio.SocketListener] = attrs.Factory(list[trio.SocketListener])

    async def listen_on(self, bind: str) -> None:
        """Listen on one more address.

        Raises:
          CannotServe: if it cannot be had.

        """
        try:
            if bind.startswith(FD):
                listener = _listen_on_descriptor(int(bind.removeprefix(FD)))
                self._inherited.append(listener)
                self.listeners.append(listener)
            elif bind.startswith(UNIX):
                # Relative to where the program is now, wherever it goes meanwhile.
                path = os.path.abspath(bind.removeprefix(UNIX))  # noqa: PTH100, ASYNC240 - no disk
                self.listeners.append(await _listen_on_path(path))
                self._paths.append(path)
            else:
                host, port = split_address(bind)
                self.listeners += await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG)
        except OSError as exc:
            raise cannot_listen(bind, exc) from exc

    def withdraw(self) -> None:
        """Remove the files of unix sockets, once: another server may have the paths then."""
        paths, self._paths = self._paths, []
        for path in paths:
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - what the system calls it

    def close(self) -> None:
        """Listen no more."""
        self.withdraw()
        for listener in self.listeners:
            listener.socket.close()

    def give_up(self) -> None:
        """Undo it all: what was inherited stays open, for whose it is."""
        for listener in self._inherited:
            listener.socket.detach()
        self.close()


async def open_listeners(binds: Iterable[str]) -> Listening:
    """Listen on addresses: ``host:port``, ``[::1]:port``, ``unix:/path`` or ``fd:3``.

    Raises:
      OSError: if one of them cannot be had; nothing is left of the others then.

    """
    listening = Listening()
    try:
        for bind in binds:
            await listening.listen_on(bind)
    except BaseException:
        listening.give_up()
        raise
    return listening


def url_of(listener: trio.SocketListener, scheme: str) -> str:
    """Write where a listener is reached."""
    address = listener.socket.getsockname()
    if isinstance(address, (str, bytes)):
        return f"{UNIX}{os.fsdecode(address)}"
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"{scheme}://{host}:{address[1]}"


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
    except BaseException:
        sock.close()
        raise
    try:
        sock.listen(BACKLOG)
        return trio.SocketListener(sock)
    except BaseException:
        os.unlink(path)  # noqa: PTH108, ASYNC240 - as above
        sock.close()
        raise


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


def make_deaf(number: int) -> None:
    """Listen no more on a descriptor, from any thread, whoever waits for connections there.

    The number keeps being a socket that is listened on, as whoever uses it expects; but nobody
    can reach it.
    """
    with (
        suppress(OSError),
        TemporaryDirectory(prefix="mcp-") as where,
        socket.socket(socket.AF_UNIX) as deaf,
    ):
        deaf.bind(f"{where}/deaf")
        deaf.listen(1)
        os.dup2(deaf.fileno(), number, inheritable=False)


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
        cause = exc.strerror or str(exc)
        if isinstance(exc, ssl.SSLError) and exc.reason != "KEY_VALUES_MISMATCH":
            cause = _why_no_key(keyfile or certfile, keyfile_password) or cause
        why = f"the files for TLS, {files}, cannot be read: {cause}"
        raise CannotServe(exc.errno, why) from exc
    context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
    return context


def _why_no_key(keyfile: str | os.PathLike[str], password: str | None) -> str:
    """Say what is wrong with the file of a key: OpenSSL says no more than in which part of it."""
    data = b""
    with suppress(OSError), open(keyfile, "rb") as file:  # noqa: PTH123 - small, read once
        data = file.read()
    if b"PRIVATE KEY" not in data:
        return f"there is no private key in {os.fspath(keyfile)}"
    if b"ENCRYPTED" not in data:
        return ""
    if password is None:
        return "the key has a password, and no keyfile_password is given"
    return "keyfile_password is not the password of the key"
