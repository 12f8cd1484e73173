"""The channel over a WebSocket keeps every promise of a channel."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
import trio.testing

from trio_mcp.testing import check_channel
from trio_mcp.transports import Malformed, websocket_client
from trio_mcp.transports.http._serve_options import ServeOptions
from trio_mcp.transports.websocket import _server_connection
from trio_mcp.transports.websocket._options import WebSocketOptions
from trio_mcp.types import JSONRPCNotification

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.transports import Channel


@asynccontextmanager
async def open_pair(monkeypatch: Any, **options: Any) -> AsyncGenerator[tuple[Any, Any], None]:
    """Open a client's channel and the server's, which nobody reads but the test."""
    far: list[Channel] = []
    opened, done = trio.Event(), trio.Event()

    async def keep(self: Any, channel: Channel) -> None:
        far.append(channel)
        opened.set()
        await done.wait()

    monkeypatch.setattr(_server_connection.ServerConnection, "_talk", keep)
    served = _server_connection.Endpoint(
        serving=None,  # type: ignore[arg-type]
        listening=ServeOptions(),
        options=WebSocketOptions(),
    )

    async def handle(stream: trio.SocketStream) -> None:
        await _server_connection.ServerConnection(served, stream).run()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, handle, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        async with websocket_client(f"ws://127.0.0.1:{port}/mcp", **options) as near:
            await opened.wait()
            yield near, far[0]
            done.set()
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_pair_turned(monkeypatch: Any) -> AsyncGenerator[tuple[Any, Any], None]:
    async with open_pair(monkeypatch) as (near, far):
        yield far, near


async def send_malformed(channel: Any) -> None:
    await channel._connection.send_message("no JSON")


@pytest.mark.req("R-076")
@pytest.mark.parametrize("open_it", [open_pair, open_pair_turned], ids=["client", "server"])
async def test_every_promise_of_a_channel(monkeypatch, open_it):
    await check_channel(partial(open_it, monkeypatch), send_malformed=send_malformed)


@pytest.mark.parametrize(
    "sent", ["", " ", "{", "[]", "null", '{"jsonrpc": "2.0"}', "\ufeff{}", '"\\ud800"']
)
async def test_text_that_is_no_message_is_malformed(monkeypatch, sent):
    async with open_pair(monkeypatch) as (near, far):
        await far._connection.send_message(sent)
        (frame,) = await near.receive()
        assert isinstance(frame, Malformed)


async def test_many_messages_are_one_write(monkeypatch):
    async with open_pair(monkeypatch) as (near, far):
        writes = []
        socket = near._stream._stream.socket
        send = socket.send

        async def count(data: bytes) -> int:
            writes.append(bytes(data))
            sent: int = await send(data)
            return sent

        socket.send = count
        note = JSONRPCNotification(method="n")
        await near.send([note] * 20)
        taken = []
        while len(taken) < 20:
            taken += await far.receive()
        assert taken == [note] * 20
        assert len(writes) == 1


async def test_what_is_no_json_is_not_sent(monkeypatch):
    async with open_pair(monkeypatch) as (near, far):
        good = JSONRPCNotification(method="n")
        bad = attrs.evolve(good, params={"x": object()})
        with pytest.raises(TypeError):
            await near.send([good, bad])
        await near.send([good])
        assert await far.receive() == [good]


async def test_only_one_task_receives_and_one_sends(monkeypatch):
    async with open_pair(monkeypatch) as (near, _), trio.open_nursery() as nursery:
        nursery.start_soon(near.receive)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await near.receive()

        async def fill() -> None:
            while True:
                await near.send([JSONRPCNotification(method="n" * 1_000_000)])

        nursery.start_soon(fill)
        await trio.testing.wait_all_tasks_blocked(0.02)
        with pytest.raises(trio.BusyResourceError):
            await near.send([JSONRPCNotification(method="n")])
        nursery.cancel_scope.cancel()


async def test_two_tasks_may_close_at_once(monkeypatch):
    async with open_pair(monkeypatch) as (near, _), trio.open_nursery() as nursery:
        nursery.start_soon(near.aclose)
        nursery.start_soon(near.aclose)


async def test_hang_up_is_known_before_it_is_received(monkeypatch):
    async with open_pair(monkeypatch) as (near, far):
        assert not near.hung_up
        await far.send([JSONRPCNotification(method="n")])
        await far.aclose()
        await trio.testing.wait_all_tasks_blocked(0.02)
        assert near.hung_up
        assert len(await near.receive()) == 1
