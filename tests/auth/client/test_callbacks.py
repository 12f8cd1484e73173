"""How a person gets to an authorization server, and what it answers gets back."""

from __future__ import annotations

import ast
import inspect
import io
import socket
import sys
import webbrowser
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import trio

import trio_mcp
from trio_mcp.auth import (
    AuthorizationCodeResult,
    AuthorizationRefused,
    ConsoleCallback,
    LoopbackCallback,
    OAuthFlowError,
)
from trio_mcp.auth.client import _loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.auth import OpenCallback

URL = "https://auth.example/authorize?state=s"


def no_browser(url: str) -> bool:
    return True


async def get(
    callback: OpenCallback, query: str, *, path: str | None = None, **options: Any
) -> tuple[int, str]:
    """Request a page as a browser does; returns the status and the whole answer."""
    parts = urlsplit(callback.redirect_uri)
    target = f"{parts.path if path is None else path}{'?' if query else ''}{query}"
    method = options.pop("method", "GET")
    host = options.pop("host", parts.netloc)
    raw = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    return await send(callback, raw)


async def send(callback: OpenCallback, raw: bytes) -> tuple[int, str]:
    parts = urlsplit(callback.redirect_uri)
    assert parts.port is not None
    stream = await trio.open_tcp_stream(parts.hostname or "", parts.port)
    async with stream:
        await stream.send_all(raw)
        answer = b""
        async for chunk in stream:
            answer += chunk
    return int(answer.split(b" ")[1]) if answer else 0, answer.decode()


# The loopback server


@pytest.mark.req("R-519")
def test_no_url_comes_near_a_shell() -> None:
    parameters = inspect.signature(LoopbackCallback).parameters
    assert parameters["open_browser"].default is webbrowser.open
    shells = {"system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell"}
    for path in Path(trio_mcp.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call):
                name = getattr(call.func, "attr", getattr(call.func, "id", ""))
                assert name not in shells, path
                assert not any(each.arg == "shell" for each in call.keywords), path


async def test_the_browser_is_opened_and_its_redirect_taken() -> None:
    opened: list[str] = []
    is_open = trio.Event()

    def open_browser(url: str) -> bool:
        opened.append(url)
        trio.from_thread.run_sync(is_open.set)
        return True

    async with LoopbackCallback(open_browser=open_browser).open([]) as waiting:
        assert waiting.redirect_uri.startswith("http://127.0.0.1:")
        async with trio.open_nursery() as nursery:
            asking = Asking(waiting, nursery)
            await is_open.wait()
            status, page = await get(waiting, "code=c%2B1&state=right&iss=https%3A%2F%2Fa")
    assert status == 200
    assert asking.answers == [AuthorizationCodeResult(code="c+1", state="right", iss="https://a")]
    assert opened == [URL]
    assert "Referrer-Policy: no-referrer" in page
    assert "Cache-Control: no-store" in page
    # Nothing of the address is on the page: it was not checked yet.
    assert "c+1" not in page
    assert "https://a" not in page


class Asking:
    """A login that is waited for, by a nursery of the test."""

    def __init__(self, callback: OpenCallback, nursery: trio.Nursery) -> None:
        self.callback = callback
        self.answers: list[Any] = []
        nursery.start_soon(self._ask)

    async def _ask(self) -> None:
        self.answers.append(await self.callback.ask(URL, "right"))


@pytest.mark.req("R-434")
async def test_an_error_comes_back_and_is_not_shown() -> None:
    async with (
        LoopbackCallback(open_browser=no_browser).open([]) as waiting,
        trio.open_nursery() as nursery,
    ):
        asking = Asking(waiting, nursery)
        await trio.testing.wait_all_tasks_blocked()
        status, page = await get(
            waiting, "error=access_denied&error_description=EVIL&error_uri=u&state=right"
        )
    assert status == 200
    assert "EVIL" not in page
    assert "access_denied" not in page
    assert asking.answers == [
        AuthorizationRefused(
            error="access_denied", error_description="EVIL", error_uri="u", state="right"
        )
    ]


@pytest.mark.req("R-509")
async def test_what_is_not_the_redirect_is_passed_over() -> None:
    async with (
        LoopbackCallback(open_browser=no_browser).open([]) as waiting,
        trio.open_nursery() as nursery,
    ):
        # Nobody is logging in yet.
        assert (await get(waiting, "code=c&state=right"))[0] == 400
        asking = Asking(waiting, nursery)
        await trio.testing.wait_all_tasks_blocked()
        assert (await get(waiting, "", path="/favicon.ico"))[0] == 404
        assert (await get(waiting, "code=c&state=right", path="/other"))[0] == 404
        assert (await get(waiting, "code=c&state=wrong"))[0] == 400
        assert (await get(waiting, "code=c"))[0] == 400
        assert (await get(waiting, ""))[0] == 400
        assert (await get(waiting, "code=c&state=right", method="POST"))[0] == 405
        assert (await get(waiting, "code=c&state=right", host="evil.example"))[0] == 403
        assert asking.answers == []
        assert (await get(waiting, "code=c&state=right"))[0] == 200
        # The second time it is none of ours any more.
        assert (await get(waiting, "code=d&state=right"))[0] == 400
    assert asking.answers == [AuthorizationCodeResult(code="c", state="right")]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"GET\r\n\r\n",
        b"GET /callback SPDY/1\r\nHost: x\r\n\r\n",
        b"GET /callback?code=c&state=right HTTP/1.1\r\n\r\n",
        b"GET /callback HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"X" * 40_000,
    ],
)
async def test_what_is_no_request_gets_no_answer(raw: bytes) -> None:
    async with LoopbackCallback(open_browser=no_browser).open([]) as waiting:
        parts = urlsplit(waiting.redirect_uri)
        stream = await trio.open_tcp_stream("127.0.0.1", parts.port or 0)
        async with stream:
            answer = b""
            try:
                await stream.send_all(raw)
                await stream.send_eof()
                answer = b"".join([chunk async for chunk in stream])
            except trio.BrokenResourceError:
                pass  # what was not read is reset
        assert answer == b""


async def test_silent_connections_hold_nobody_up() -> None:
    async with LoopbackCallback(open_browser=no_browser).open([]) as waiting:
        port = urlsplit(waiting.redirect_uri).port or 0
        # Browsers open some on suspicion.
        silent = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(5)]
        async with trio.open_nursery() as nursery:
            asking = Asking(waiting, nursery)
            await trio.testing.wait_all_tasks_blocked()
            assert (await get(waiting, "code=c&state=right"))[0] == 200
        assert len(asking.answers) == 1
    for stream in silent:
        await stream.aclose()


async def test_the_port_is_closed_when_the_block_is_left() -> None:
    async with LoopbackCallback(open_browser=no_browser).open([]) as waiting:
        port = urlsplit(waiting.redirect_uri).port or 0
    with pytest.raises(OSError, match="all attempts"):
        await trio.open_tcp_stream("127.0.0.1", port)


async def test_nobody_is_waited_for_for_ever(autojump_clock: Any) -> None:
    # A minute passes, and it says how long that was.
    callback = LoopbackCallback(timeout=60, open_browser=no_browser)
    async with callback.open([]) as waiting:
        with pytest.raises(OAuthFlowError, match="Nobody has logged in within 60 s"):
            await waiting.ask(URL, "s")


def no_browser_here(url: str) -> bool:
    return False


def broken_browser(url: str) -> bool:
    raise OSError("there is no such program")


@pytest.mark.parametrize("browser", [no_browser_here, broken_browser])
async def test_where_there_is_no_browser_the_page_is_named(
    browser: Callable[[str], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Screen(io.StringIO):
        def write(self, text: str) -> int:
            is_shown.set()
            return super().write(text)

    is_shown, screen = trio.Event(), Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    async with (
        LoopbackCallback(open_browser=browser).open([]) as waiting,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(waiting.ask, URL, "s")
        await is_shown.wait()
        nursery.cancel_scope.cancel()
    assert screen.getvalue() == f"Open this page to log in:\n{URL}\n"


@pytest.mark.req("R-517", "R-520")
@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "data:,x", "-x"])
async def test_only_web_pages_are_opened(url: str) -> None:
    opened: list[str] = []
    async with LoopbackCallback(open_browser=opened.append).open([]) as waiting:
        with pytest.raises(OAuthFlowError, match="Only http"):
            await waiting.ask(url, "s")
    assert opened == []


async def test_the_port_of_a_registration_is_used_again_if_it_is_free() -> None:
    callback = LoopbackCallback(open_browser=no_browser)
    async with callback.open([]) as first:
        taken = first.redirect_uri
        # As long as it is taken, another one has to do.
        async with callback.open([taken]) as second:
            assert second.redirect_uri != taken
    async with callback.open(["https://elsewhere.example/callback", taken]) as third:
        assert third.redirect_uri == taken


async def test_a_port_that_was_asked_for_is_used_or_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with LoopbackCallback(port=port).open([]) as waiting:
            # Who only refreshes a token needs no port.
            assert waiting.redirect_uri == f"http://127.0.0.1:{port}/callback"
            with pytest.raises(OAuthFlowError, match=f"127.0.0.1:{port}/callback cannot be list"):
                await waiting.ask(URL, "s")


async def test_localhost_listens_on_both_of_its_addresses() -> None:
    callback = LoopbackCallback(host="localhost", path="/back", open_browser=no_browser)
    async with callback.open([]) as waiting, trio.open_nursery() as nursery:
        parts = urlsplit(waiting.redirect_uri)
        assert (parts.hostname, parts.path) == ("localhost", "/back")
        asking = Asking(waiting, nursery)
        await trio.testing.wait_all_tasks_blocked()
        assert (await get(waiting, "code=c&state=right"))[0] == 200
    assert len(asking.answers) == 1


@pytest.mark.parametrize("error", [OSError, trio.Cancelled])
async def test_localhost_has_one_address_where_there_is_no_other(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, opened = trio.open_tcp_listeners, list[trio.SocketListener]()

    async def open_first(port: int, *, host: str) -> list[trio.SocketListener]:
        if host == "::1" and error is OSError:
            raise OSError("no such address")
        if host == "::1":
            scope.cancel()
            await trio.lowlevel.checkpoint()
        opened.extend(await real(port, host=host))
        return opened[:]

    monkeypatch.setattr(trio, "open_tcp_listeners", open_first)
    callback = LoopbackCallback(host="localhost", open_browser=no_browser)
    with trio.CancelScope() as scope:
        async with callback.open([]) as waiting:
            assert (await get(waiting, "code=c"))[0] == 400
    assert scope.cancelled_caught is (error is not OSError)
    assert [each.socket.fileno() for each in opened] == [-1]


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
async def test_an_address_of_version_6_is_written_in_brackets() -> None:
    async with LoopbackCallback(host="::1", open_browser=no_browser).open([]) as waiting:
        assert waiting.redirect_uri.startswith("http://[::1]:")
        assert (await get(waiting, "code=c"))[0] == 400


async def test_no_more_connections_are_held_than_there_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_loopback, "MAX_CONNECTIONS", 1)
    async with LoopbackCallback(open_browser=no_browser).open([]) as waiting:
        port = urlsplit(waiting.redirect_uri).port or 0
        async with await trio.open_tcp_stream("127.0.0.1", port) as held:
            # The oldest one that has said nothing is closed for it.
            assert (await get(waiting, "code=c"))[0] == 400
            assert await held.receive_some(1) == b""


async def test_silent_connections_do_not_keep_the_browser_out() -> None:
    async with (
        LoopbackCallback(open_browser=no_browser).open([]) as waiting,
        trio.open_nursery() as nursery,
        AsyncExitStack() as stack,
    ):
        port = urlsplit(waiting.redirect_uri).port or 0
        for _ in range(2 * _loopback.MAX_CONNECTIONS):
            await stack.enter_async_context(await trio.open_tcp_stream("127.0.0.1", port))
        asking = Asking(waiting, nursery)
        await trio.testing.wait_all_tasks_blocked()
        assert (await get(waiting, "code=c&state=right"))[0] == 200
    assert asking.answers == [AuthorizationCodeResult(code="c", state="right")]


async def test_one_connection_more_is_closed_where_all_are_being_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_loopback, "MAX_CONNECTIONS", 0)
    async with LoopbackCallback(open_browser=no_browser).open([]) as waiting:
        with suppress(trio.BrokenResourceError):  # closed before it was read
            assert (await get(waiting, "code=c"))[0] == 0


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.1", 400), ("127.0.0.1:80", 400), ("127.0.0.1:8", 403)]
)
async def test_browsers_leave_out_the_port_that_goes_without_saying(
    host: str, status: int
) -> None:
    page = ("http://127.0.0.1:80/callback", "/callback", "127.0.0.1:80", 60.0, no_browser)
    async with trio.open_nursery() as nursery:
        # Port 80 itself is not for everybody to listen at.
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, _loopback._Waiting(*page).answer, [listener])
        port = listener.socket.getsockname()[1]
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            await stream.send_all(
                f"GET /callback?code=c HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
            )
            assert (await stream.receive_some(12)).endswith(str(status).encode())
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": -1}, "port: expected"),
        ({"host": "0.0.0.0"}, "host: expected"),
        ({"path": "callback"}, "path: expected the path of a URL"),
        ({"path": "/a?b"}, "path: expected the path of a URL"),
        ({"timeout": 0}, "timeout: expected"),
        ({"open_browser": "firefox"}, "open_browser: expected"),
    ],
)
def test_wrong_options_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        LoopbackCallback(**options)


# The console


def console(*lines: str) -> tuple[ConsoleCallback, io.StringIO]:
    written = io.StringIO()
    read = io.StringIO("".join(f"{line}\n" for line in lines))
    return ConsoleCallback(read_from=read, write_to=written), written


REDIRECT = "http://127.0.0.1:33418/callback"


async def test_the_address_of_the_last_page_is_pasted() -> None:
    callback, written = console(f"  {REDIRECT}?code=c&state=s&iss=i#x  ")
    async with callback.open([]) as waiting:
        assert waiting.redirect_uri == REDIRECT
        answer = await waiting.ask(URL, "s")
    assert answer == AuthorizationCodeResult(code="c", state="s", iss="i")
    assert URL in written.getvalue()


async def test_a_wrong_address_may_be_put_right() -> None:
    wrong = ["code=c", f"{REDIRECT}?code=c&state=other"]
    callback, written = console(*wrong, f"{REDIRECT}?error=access_denied&state=s")
    async with callback.open([]) as waiting:
        answer = await waiting.ask(URL, "s")
    assert answer == AuthorizationRefused(error="access_denied", state="s")
    assert written.getvalue().count("not the address of this login") == 2


@pytest.mark.parametrize(
    ("lines", "message"), [([], "the input has ended"), (["x"] * 4, "are of another login")]
)
async def test_who_does_not_log_in_is_told(lines: list[str], message: str) -> None:
    callback, _ = console(*lines)
    async with callback.open([]) as waiting:
        with pytest.raises(OAuthFlowError, match=message):
            await waiting.ask(URL, "s")


@pytest.mark.parametrize("query", ["tenant=1&code=c&state=s", "code=c&state=s&tenant=1"])
async def test_a_redirect_may_have_a_query_of_its_own(query: str) -> None:
    written = io.StringIO()
    callback = ConsoleCallback(
        redirect_uri="https://app.example/back?tenant=1",
        read_from=io.StringIO(f"https://app.example/back?{query}\n"),
        write_to=written,
    )
    async with callback.open([]) as waiting:
        assert await waiting.ask(URL, "s") == AuthorizationCodeResult(code="c", state="s")
    assert "begins with https://app.example/back:" in written.getvalue()


@pytest.mark.parametrize(
    "odd",
    ["state=\udc80&code=x", "state=s&code=\udc80", "state=s&code=%ff", "state=s&code=%ED%B2%80"],
)
async def test_what_is_pasted_may_be_no_text(odd: str) -> None:
    callback, written = console(f"{REDIRECT}?{odd}", f"{REDIRECT}?code=c&state=s")
    async with callback.open([]) as waiting:
        assert await waiting.ask(URL, "s") == AuthorizationCodeResult(code="c", state="s")
    assert written.getvalue().count("not the address of this login") == 1


async def test_bytes_that_are_no_text_may_be_put_right(tmp_path: Path) -> None:
    typed = tmp_path / "typed"
    typed.write_bytes(b"\xff\n")
    with typed.open(encoding="utf-8") as lines:
        callback = ConsoleCallback(read_from=lines, write_to=(written := io.StringIO()))
        async with callback.open([]) as waiting:
            with pytest.raises(OAuthFlowError, match="Nobody has logged in"):
                await waiting.ask(URL, "s")
    assert "not the address of this login" in written.getvalue()


async def test_a_console_that_is_silent_may_be_left() -> None:
    reader, writer = socket.socketpair()
    with writer, reader, reader.makefile("r") as lines:
        callback = ConsoleCallback(read_from=lines, write_to=io.StringIO())
        async with callback.open([]) as waiting:
            with trio.move_on_after(0.01) as scope:
                await waiting.ask(URL, "s")
        assert scope.cancelled_caught
        writer.sendall(b"\n")


@pytest.mark.parametrize("wrong", ["http://example.com/callback", "x", 1])
def test_a_redirect_goes_to_this_machine_or_is_https(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ConsoleCallback(redirect_uri=wrong)


# Several logins of one program


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


async def test_logins_at_one_port_come_one_after_the_other() -> None:
    sender, shown = trio.open_memory_channel[str](10)

    def open_browser(url: str) -> bool:
        trio.from_thread.run_sync(sender.send_nowait, url)
        return True

    callback = LoopbackCallback(port=free_port(), open_browser=open_browser)
    answers: list[Any] = []
    opened: list[OpenCallback] = []
    all_open = trio.Event()

    async def log_in() -> None:
        async with callback.open([]) as waiting:
            opened.append(waiting)
            if len(opened) == 3:
                all_open.set()
            await all_open.wait()
            answers.append(await waiting.ask(URL, "right"))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(log_in)
        for number in range(3):
            assert await shown.receive() == URL
            # Whoever had the port before has left it.
            assert len(answers) == number
            assert (await get(opened[0], f"code={number}&state=right"))[0] == 200
    assert [each.code for each in answers] == ["0", "1", "2"]
    assert len({each.redirect_uri for each in opened}) == 1


async def test_another_login_at_the_port_is_waited_for_as_long_as_a_person_is() -> None:
    callback = LoopbackCallback(port=free_port(), open_browser=no_browser, timeout=0.01)
    async with callback.open([]), callback.open([]) as second:
        with pytest.raises(OAuthFlowError, match=r"within 0\.01 s: other logins of this program"):
            await second.ask(URL, "right")


async def test_who_waits_for_a_port_can_be_cancelled() -> None:
    callback = LoopbackCallback(port=free_port(), open_browser=no_browser)
    async with callback.open([]), callback.open([]) as second, trio.open_nursery() as nursery:
        Asking(second, nursery)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    async with callback.open([]) as again:
        assert (await get(again, "code=1&state=right"))[0] == 400


async def test_a_port_of_somebody_else_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with LoopbackCallback(port=port, open_browser=no_browser).open([]) as waiting:
            with pytest.raises(OAuthFlowError, match="cannot be listened on"):
                await waiting.ask(URL, "right")


async def test_logins_at_one_console_come_one_after_the_other() -> None:
    reader, writer = socket.socketpair()
    written = io.StringIO()
    other = URL.replace("auth.example", "other.example")
    answers: list[object] = []
    with writer, reader, reader.makefile("r") as lines:
        callback = ConsoleCallback(read_from=lines, write_to=written)

        async def log_in(url: str, state: str) -> None:
            async with callback.open([]) as waiting:
                answers.append(await waiting.ask(url, state))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(log_in, URL, "one")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(log_in, other, "two")
            await trio.testing.wait_all_tasks_blocked()
            assert URL in written.getvalue()
            assert other not in written.getvalue()
            writer.sendall(f"{REDIRECT}?code=1&state=one\n{REDIRECT}?code=2&state=two\n".encode())
    assert [getattr(each, "code", None) for each in answers] == ["1", "2"]
    assert other in written.getvalue()
