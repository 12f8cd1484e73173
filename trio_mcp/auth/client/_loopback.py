"""A web server on this machine for one redirect (RFC 8252, section 7.3)."""

from __future__ import annotations

import errno
import logging
import os
import sys
import webbrowser
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, final
from urllib.parse import urlsplit

import attrs
import trio

from trio_mcp._checks import (
    check_callable,
    check_number,
    check_text,
    check_whole,
    check_word,
)
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.errors import OAuthFlowError

from ._callbacks import (
    AuthorizationAnswer,
    AuthorizationCallback,
    OpenCallback,
    check_shown,
    read_redirect,
)
from ._turns import turn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

logger: Final = logging.getLogger("trio_mcp.auth")

CALLBACK_TIMEOUT: Final = 300.0
"""Seconds that a person has to log in."""

HEAD_TIMEOUT: Final = 10.0
"""Seconds for a browser to say what it wants. Some open connections that they never use."""

MAX_HEAD_SIZE: Final = 16 * 1024
MAX_CONNECTIONS: Final = 16
"""At the same time. For one more, the oldest is closed that has not said what it wants."""

_HOSTS: Final = ("127.0.0.1", "localhost", "::1")
_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<body style="font-family: sans-serif; margin: 4em auto; max-width: 32em">
<h1>{title}</h1><p>{text}</p></body></html>
"""
_HEADERS: Final = (
    b"Content-Type: text/html; charset=utf-8",
    b"Cache-Control: no-store",
    b"Connection: close",
    # What is in the address is a secret, and the page is nobody's to embed.
    b"Referrer-Policy: no-referrer",
    b"Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
    b"X-Frame-Options: DENY",
    b"X-Content-Type-Options: nosniff",
)


@final
class LoopbackCallback(AuthorizationCallback):
    """Opens the browser, and has what comes back sent to a port of this machine.

    The port is open only while somebody logs in. One that the client is registered with is used
    again, if it is free. With a ``port`` that is given, logins of one program come one after the
    other.

    Args:
      port: Where to listen; 0 for any free one. Authorization servers have to take any port of
        a loopback address, and some do not: they are told which one when a client registers.
      host: ``"127.0.0.1"``, ``"localhost"`` or ``"::1"``.
      path: Of the redirect.
      timeout: Seconds that a person has to log in.
      open_browser: Opens a URL; false if there is no browser. It is called in a thread.

    """

    def __init__(
        self,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        path: str = "/callback",
        timeout: float = CALLBACK_TIMEOUT,
        open_browser: Callable[[str], object] = webbrowser.open,
    ) -> None:
        check_whole("port", port, least=0, most=65_535)
        check_word("host", host, _HOSTS)
        check_text("path", path)
        if not path.startswith("/") or not path.isascii() or set(path) & set("?# \\"):
            raise ValueError(f"path: expected the path of a URL, such as /callback, got {path!r}")
        check_number("timeout", timeout, above=0)
        check_callable("open_browser", open_browser)
        self._port = port
        self._host = host
        self._path = path
        self._timeout = timeout
        self._open_browser = open_browser

    def open(self, redirect_uris: list[str]) -> AbstractAsyncContextManager[OpenCallback]:
        """See `AuthorizationCallback.open`."""
        return self._listen(redirect_uris)

    @asynccontextmanager
    async def _listen(self, redirect_uris: list[str]) -> AsyncGenerator[OpenCallback, None]:
        if self._port == 0:
            listeners = await self._bind(self._registered_port(redirect_uris))
            async with self._serve(listeners) as waiting:
                yield waiting
            return
        is_open = False
        try:
            async with self.listen_alone() as waiting:
                is_open = True
                yield waiting
        except OSError:
            if is_open:
                raise
            # Most flows ask nobody: this one may be for a refresh. And who has the port may be
            # another login of this program, which is waited for then.
            yield _Later(self, f"http://{self._netloc(self._port)}{self._path}")

    @asynccontextmanager
    async def listen_alone(self) -> AsyncGenerator[OpenCallback, None]:
        """Listen on the port that was given.

        Raises:
          OSError: if somebody else does.

        """
        key = self.port_key()
        if key in _listening:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        closed = _listening[key] = trio.Event()
        try:
            async with self._serve(await self._bind(self._port)) as waiting:
                yield waiting
        finally:
            del _listening[key]
            closed.set()

    def port_key(self) -> tuple[object, str, int]:
        """Say which port is meant, among those of this run of Trio."""
        return trio.lowlevel.current_trio_token(), self._host, self._port

    @property
    def timeout(self) -> float:
        """How long a person has to log in."""
        return self._timeout

    @asynccontextmanager
    async def _serve(
        self, listeners: list[trio.SocketListener]
    ) -> AsyncGenerator[OpenCallback, None]:
        netloc = self._netloc(listeners[0].socket.getsockname()[1])
        waiting = _Waiting(
            f"http://{netloc}{self._path}", self._path, netloc, self._timeout, self._open_browser
        )
        async with open_background_nursery() as nursery:
            serve = partial(trio.serve_listeners, waiting.answer, listeners)
            # The port takes connections already.
            nursery.start_soon(serve, name="OAuth callback")  # noqa: ASYNC113
            yield waiting

    def _netloc(self, port: int) -> str:
        return f"[{self._host}]:{port}" if ":" in self._host else f"{self._host}:{port}"

    def _registered_port(self, redirect_uris: list[str]) -> int:
        if self._port == 0:
            for uri in redirect_uris:
                parts = urlsplit(uri)
                if parts.hostname == self._host and parts.path == self._path and parts.port:
                    return parts.port
        return self._port

    async def _bind(self, port: int) -> list[trio.SocketListener]:
        try:
            return await _bind_all(self._host, port)
        except OSError:
            if self._port != 0:
                raise
        # That of a registration is taken: the client registers with another one.
        return await _bind_all(self._host, 0)


async def _bind_all(host: str, port: int) -> list[trio.SocketListener]:
    if host != "localhost":
        return await trio.open_tcp_listeners(port, host=host)
    # The name has two addresses: both at the same port, where there is the other one.
    listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
    try:
        port = listeners[0].socket.getsockname()[1]
        return [*listeners, *await trio.open_tcp_listeners(port, host="::1")]
    except OSError:
        return listeners
    except BaseException:
        for listener in listeners:
            listener.socket.close()
        raise


_listening: Final[dict[tuple[object, str, int], trio.Event]] = {}
"""The ports at which logins of this program are waited for; each with what tells of its end."""


@final
class _Later(OpenCallback):
    """Stands for a port that somebody has, until a person has to log in."""

    def __init__(self, callback: LoopbackCallback, redirect_uri: str) -> None:
        self.redirect_uri = redirect_uri
        self._callback = callback

    async def ask(self, url: str, state: str) -> AuthorizationAnswer:
        """See `OpenCallback.ask`."""
        key, limit = self._callback.port_key(), self._callback.timeout
        async with AsyncExitStack() as stack:
            is_free = False
            with trio.move_on_after(limit):
                # A person logs in at one page after the other.
                await stack.enter_async_context(turn(key))
                while (closed := _listening.get(key)) is not None:
                    await closed.wait()
                is_free = True
            if not is_free:
                raise OAuthFlowError(
                    f"Nobody has logged in within {limit:g} s: other logins of this program "
                    f"have waited at {self.redirect_uri}"
                )
            try:
                waiting = await stack.enter_async_context(self._callback.listen_alone())
            except OSError as exc:
                raise OAuthFlowError(
                    f"Nobody can log in: {self.redirect_uri} cannot be listened on: "
                    f"{exc.strerror or exc}"
                ) from exc
            return await waiting.ask(url, state)


@final
@attrs.define(eq=False)
class _Waiting(OpenCallback):
    """Answers browsers until one brings what is waited for."""

    redirect_uri: str
    _path: str
    _netloc: str
    _timeout: float
    _open_browser: Callable[[str], object]
    _state: str | None = None
    _answer: AuthorizationAnswer | None = None
    _answered: trio.Event = attrs.Factory(trio.Event)
    _connections: int = 0
    _silent: list[trio.CancelScope] = attrs.Factory(list[trio.CancelScope])

    async def ask(self, url: str, state: str) -> AuthorizationAnswer:
        """See `OpenCallback.ask`."""
        check_shown(url)
        self._state, self._answer, self._answered = state, None, trio.Event()
        try:
            with trio.move_on_after(self._timeout):
                async with open_background_nursery() as nursery:
                    nursery.start_soon(self._show, url, name="browser")
                    await self._answered.wait()
        finally:
            self._state = None
        if self._answer is None:
            raise OAuthFlowError(f"Nobody has logged in within {self._timeout:g} s")
        return self._answer

    async def _show(self, url: str) -> None:
        # In a thread: a browser of the terminal returns when it is left.
        is_open: object = False
        try:
            open_browser = self._open_browser
            is_open = await trio.to_thread.run_sync(open_browser, url, abandon_on_cancel=True)
        except Exception:
            # Whoever logs in may still open it.
            logger.exception("The browser could not be opened")
        if not is_open:
            sys.stderr.write(f"Open this page to log in:\n{url}\n")

    async def answer(self, stream: trio.SocketStream) -> None:
        """Answer one request of a browser, or of whoever else finds the port."""
        self._connections += 1
        try:
            if self._has_place():
                with trio.move_on_after(HEAD_TIMEOUT) as scope:
                    await self._answer_to(await self._read_head(stream, scope), stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, _NoRequest):
            pass
        finally:
            self._connections -= 1
            stream.socket.close()

    def _has_place(self) -> bool:
        # Any program of this machine can open connections; the browser comes last.
        if self._connections > MAX_CONNECTIONS and self._silent:
            self._silent.pop(0).cancel()
            return True
        return self._connections <= MAX_CONNECTIONS

    async def _read_head(self, stream: trio.SocketStream, scope: trio.CancelScope) -> list[bytes]:
        self._silent.append(scope)
        try:
            return await _read_head(stream)
        finally:
            if scope in self._silent:
                self._silent.remove(scope)

    async def _answer_to(self, head: list[bytes], stream: trio.SocketStream) -> None:
        method, target = _request_line(head)
        host = _header(head, b"host")
        path, _, query = target.partition("?")
        # A browser leaves out the port that goes without saying.
        if host.lower() not in {self._netloc, self._netloc.removesuffix(":80")}:
            # Some page has got its own name to lead here.
            await _send(stream, "403 Forbidden", "Wrong address", "This page is not here.")
        elif path != self._path:
            await _send(stream, "404 Not Found", "Not here", "There is only one page here.")
        elif method != "GET":
            await _send(stream, "405 Method Not Allowed", "Not like this", "", b"Allow: GET")
        else:
            await self._take(query, stream)

    async def _take(self, query: str, stream: trio.SocketStream) -> None:
        answer = None if self._state is None else read_redirect(query, self._state)
        if answer is None:
            text = "This is no answer to the login that is waited for. Try again from the program."
            await _send(stream, "400 Bad Request", "No login", text)
            return
        # What it says is checked later, so nothing of it is shown.
        self._answer, self._state = answer, None
        try:
            text = "The program goes on. You can close this window."
            await _send(stream, "200 OK", "Back to the program", text)
        finally:
            self._answered.set()


class _NoRequest(Exception):
    """What came is no request of HTTP/1.1."""


async def _read_head(stream: trio.SocketStream) -> list[bytes]:
    head = bytearray()
    while b"\r\n\r\n" not in head:
        data = await stream.receive_some(4096)
        head += data
        if not data or len(head) > MAX_HEAD_SIZE:
            raise _NoRequest
    return bytes(head).partition(b"\r\n\r\n")[0].split(b"\r\n")


def _request_line(head: list[bytes]) -> tuple[str, str]:
    words = head[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1.") or not head[0].isascii():
        raise _NoRequest
    return words[0].decode(), words[1].decode()


def _header(head: list[bytes], name: bytes) -> str:
    found = [line.partition(b":")[2] for line in head[1:] if line.lower().startswith(name + b":")]
    if len(found) != 1:
        raise _NoRequest
    return found[0].strip().decode("latin-1")


async def _send(
    stream: trio.SocketStream, status: str, title: str, text: str, *headers: bytes
) -> None:
    body = _PAGE.format(title=title, text=text).encode()
    lines = [
        f"HTTP/1.1 {status}".encode(),
        *_HEADERS,
        *headers,
        f"Content-Length: {len(body)}".encode(),
    ]
    await stream.send_all(b"\r\n".join(lines) + b"\r\n\r\n" + body)
    # What is closed with something unread is reset, and the page may never be seen.
    await stream.send_eof()
    with trio.move_on_after(1):
        while await stream.receive_some(4096):
            pass
