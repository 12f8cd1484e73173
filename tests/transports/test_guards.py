"""What protects a server may take its time, but no longer than somebody waits for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import h11
import pytest
import trio
import trio.testing

from trio_mcp import MCPServer
from trio_mcp.transports import ServeOptions, serve_http_app, serve_websocket
from trio_mcp.transports.http._asgi import HttpRequest
from trio_mcp.transports.http._guard import CHECK_TIMEOUT, Guard, Protection, admit
from trio_mcp.transports.websocket._request import MAX_HEAD_SIZE, Opening

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

UPGRADE = (
    "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    "Sec-WebSocket-Protocol: mcp\r\n\r\n"
)
POST = (
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    "Content-Length: 2\r\n\r\n{}"
)


class Thinking(Guard):
    """Never knows."""

    def __init__(self) -> None:
        self.began = trio.Event()
        self.ended = trio.Event()

    async def check(self, request: HttpRequest) -> Any:
        self.began.set()
        try:
            await trio.sleep_forever()
        finally:
            self.ended.set()


def by_http(mcp: MCPServer) -> Callable[..., Awaitable[Any]]:
    return partial(serve_http_app, mcp.streamable_http_app(), ServeOptions(port=0))


def by_websocket(mcp: MCPServer) -> Callable[..., Awaitable[Any]]:
    return partial(serve_websocket, mcp, port=0)


@pytest.mark.parametrize(("serve", "asked"), [(by_http, POST), (by_websocket, UPGRADE)])
async def test_client_that_goes_ends_the_check(serve: Any, asked: str) -> None:
    guard = Thinking()
    mcp = MCPServer("guarded")
    mcp.lowlevel_server._protection = Protection(guard)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            served = await nursery.start(serve(mcp))
            port = int(served.url.split(":")[2].partition("/")[0])
            stream = await trio.open_tcp_stream("127.0.0.1", port)
            await stream.send_all(asked.encode())
            await guard.began.wait()
            assert not guard.ended.is_set()
            await stream.aclose()
            await guard.ended.wait()
            nursery.cancel_scope.cancel()


async def test_check_that_takes_too_long_refuses(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": []}
    refusal = await admit(Thinking(), HttpRequest(scope, trio.sleep_forever))
    assert refusal is not None
    assert refusal.status == 503
    assert trio.current_time() == pytest.approx(CHECK_TIMEOUT)
    assert "The guard took longer than 60 s" in caplog.text


async def test_what_comes_during_a_check_is_kept() -> None:
    near, far = trio.testing.memory_stream_pair()
    opening = Opening(h11.Request(method="GET", target="/", headers=[("host", "h")]), b"", b"a")
    gone = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(opening.watch, near, gone.set)
        await far.send_all(b"b")
        await trio.testing.wait_all_tasks_blocked()
        assert opening.rest == b"ab"
        assert not gone.is_set()
        await far.aclose()
    assert gone.is_set()


async def test_no_more_is_kept_than_is_needed() -> None:
    near, far = trio.testing.memory_stream_pair()
    opening = Opening(h11.Request(method="GET", target="/", headers=[("host", "h")]), b"", b"")
    gone = trio.Event()
    await far.send_all(bytes(MAX_HEAD_SIZE + 1))
    await opening.watch(near, gone.set)
    assert not gone.is_set()


async def test_connection_that_breaks_ends_the_check() -> None:
    near, far = trio.testing.memory_stream_pair()
    opening = Opening(h11.Request(method="GET", target="/", headers=[("host", "h")]), b"", b"")
    gone = trio.Event()
    await near.aclose()
    await opening.watch(near, gone.set)
    assert gone.is_set()
    await far.aclose()
