"""Bytes before and behind requests, which belong to none, cost nobody an answer."""

from __future__ import annotations

from typing import Any

import h11
import pytest
import trio
import trio.testing

from trio_mcp.transports.http._http1 import MAX_EMPTY_LINES, ServerConnection

from ._serving import App, bystander, connected, serving, until

CLOSE = b"GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
OLD = b"GET /hold HTTP/1.0\r\n\r\n"
ECHO = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"


# Behind the last request of a connection


@pytest.mark.parametrize("behind", [b"\r\n", b"x", ECHO, bytes(3_000_000)], ids=len)
@pytest.mark.parametrize("is_together", [True, False])
@pytest.mark.parametrize("request_", [CLOSE, OLD], ids=["close", "1.0"])
async def test_what_comes_behind_the_last_request_does_not_take_its_answer(
    request_, is_together, behind
):
    async with serving() as (served, app), bystander(served, app), connected(served) as raw:
        if is_together:
            await raw.send(request_ + behind)
        else:
            await raw.send(request_)
            await until(lambda: app.running == 2)
            await raw.send(behind)
        await until(lambda: app.running == 2)
        await trio.testing.wait_all_tasks_blocked(0.01)
        app.release.set()
        answer = await raw.rest()
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"held")
        assert answer.count(b"HTTP/1.1") == 1
        assert app.bodies == []


async def test_an_answer_that_has_begun_goes_on_over_what_comes_behind_its_request():
    class Slow(App):
        async def slow(self, scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begin", "more_body": True})
            await self.release.wait()
            await send({"type": "http.response.body", "body": b"end"})

    async with serving(Slow()) as (served, app), bystander(served, app):
        for head in ("HTTP/1.1\r\nHost: x\r\nConnection: close", "HTTP/1.0"):
            app.release = trio.Event()
            async with connected(served) as raw:
                await raw.send(f"GET /slow {head}\r\n\r\n".encode())
                await raw.until(b"begin")
                await raw.send(b"\r\n")
                await raw.send(ECHO)
                app.release.set()
                assert b"end" in await raw.rest()
        assert app.bodies == []


async def test_a_body_that_is_told_too_short_does_not_cut_an_early_answer():
    class Early(App):
        async def answered_early(self, scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begin", "more_body": True})
            while (await receive())["more_body"]:
                pass
            await send({"type": "http.response.body", "body": b"end"})

    head = b"POST /answered-early HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
    async with (
        serving(Early()) as (served, app),
        bystander(served, app),
        connected(served) as raw,
    ):
        await raw.send(head)
        assert b"connection: close" in await raw.until(b"begin")
        await raw.send(b"body and more than that")
        assert b"end" in await raw.rest()


async def test_client_that_leaves_is_noticed_although_something_came_behind_its_last_request():
    async with serving() as (served, app), bystander(served, app):
        async with connected(served) as raw:
            await raw.send(b"GET /watched HTTP/1.0\r\n\r\n\r\n")
            await raw.until(b"begin\n\n")
            await raw.send(b"\r\n")
        await until(lambda: app.disconnects == 1)


def test_what_comes_behind_the_last_request_is_not_kept():
    connection = ServerConnection(1000)
    connection.receive_data(b"GET / HTTP/1.0\r\n\r\nx")
    assert isinstance(connection.next_event(), h11.Request)
    assert isinstance(connection.next_event(), h11.EndOfMessage)
    assert connection.next_event() is h11.NEED_DATA
    connection.receive_data(bytes(100_000))
    connection.receive_data(b"")
    assert connection.next_event() is h11.NEED_DATA
    assert connection.trailing_data[0] == b"x"
    assert connection.has_more


# Empty lines before a request


@pytest.mark.parametrize("count", [1, 2, MAX_EMPTY_LINES])
async def test_empty_lines_before_a_request_are_ignored(count):
    lines = b"\r\n" * count
    async with serving() as (served, app), connected(served) as raw:
        for _ in range(3):
            await raw.send(lines + ECHO)
            assert (await raw.until(b"body")).startswith(b"HTTP/1.1 200")
        assert app.bodies == [b"body"] * 3


@pytest.mark.parametrize("count", [1, MAX_EMPTY_LINES])
async def test_empty_lines_between_requests_that_came_together_are_ignored(count):
    async with serving() as (served, app), connected(served) as raw:
        await raw.send((b"\r\n" * count).join([ECHO] * 5))
        for _ in range(5):
            assert (await raw.until(b"body")).startswith(b"HTTP/1.1 200")
        assert app.bodies == [b"body"] * 5


async def test_an_empty_line_may_come_in_pieces():
    async with serving() as (served, app), connected(served) as raw:
        for sent in (b"\r", b"\n\r", b"\n" + ECHO[:1], ECHO[1:]):
            await raw.send(sent)
            await trio.testing.wait_all_tasks_blocked(0.01)
        assert (await raw.until(b"body")).startswith(b"HTTP/1.1 200")
        assert app.bodies == [b"body"]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(b"\r\n" * (MAX_EMPTY_LINES + 1), id="too many"),
        pytest.param(b"\r", id="half of one"),
        pytest.param(b"\r\r\n", id="one and a half"),
        pytest.param(b"\r\n ", id="a blank behind it"),
    ],
)
async def test_what_else_comes_before_a_request_is_refused(before):
    async with serving() as (served, app), bystander(served, app), connected(served) as raw:
        await raw.send(before + ECHO)
        assert (await raw.rest()).startswith(b"HTTP/1.1 400")
        assert app.bodies == []


async def test_empty_lines_begin_no_request_that_could_be_late():
    limits = {"head_timeout": 0.1, "keep_alive_timeout": 0.5}
    async with serving(**limits) as (served, _):
        async with connected(served) as raw:
            await raw.send(ECHO + b"\r\n")
            await raw.until(b"body")
            # Closed since nothing came, and not refused with 408.
            assert await raw.rest() == b""
        async with connected(served) as raw:
            await raw.send(b"\r\n")
            assert await raw.rest() == b""


async def test_client_that_goes_behind_an_empty_line_is_told_nothing():
    async with serving() as (served, _), connected(served) as raw:
        await raw.send(b"\r\n")
        assert isinstance(raw.stream, trio.SocketStream)
        await raw.stream.send_eof()
        assert await raw.rest() == b""
