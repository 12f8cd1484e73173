"""Bodies and frames in the smallest pieces: others have their turns, and little is kept."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import h2.connection
import pytest
import trio
from hypercorn.events import RawData
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from trio_mcp.transports.http._asgi_request import PARTS_AT_ONCE, SMALL, AsgiRequest
from trio_mcp.transports.http._protocols import FRAMES_AT_ONCE, Http2, HttpConfig

from ._serving import App, connected, serving

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

COUNT = 1_000


class Turns:
    """How often another task ran."""

    def __init__(self) -> None:
        self.count = 0

    async def take(self) -> None:
        while True:
            await trio.lowlevel.checkpoint()
            self.count += 1


@asynccontextmanager
async def counted_turns() -> AsyncGenerator[Turns, None]:
    turns = Turns()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.take)
        yield turns
        nursery.cancel_scope.cancel()


async def nothing(*args: Any) -> None:
    del args


def make_request() -> AsgiRequest:
    return AsgiRequest({"method": "POST", "path": "/"}, nothing, nothing, nothing, 60)


def part(body: bytes) -> Any:
    return {"type": "http.request", "body": body, "more_body": True}


async def test_others_have_turns_while_small_parts_of_a_body_are_taken():
    request = make_request()
    async with counted_turns() as turns:
        for _ in range(COUNT):
            await request.put(part(b"a"))
        assert turns.count >= COUNT // PARTS_AT_ONCE // 2


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([1] * COUNT, 1),
        ([1] * (2 * SMALL), 2),
        ([SMALL] * 4, 4),
        ([SMALL - 1, 1, 1], 2),
        ([SMALL + 1, 1, 1], 2),
    ],
)
async def test_small_parts_that_wait_are_put_together(sizes: list[int], kept: int):
    received = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        received.append(await receive())

    request = make_request()
    body = b""
    for place, size in enumerate(sizes):
        data = b"%c" % (place % 256) * size
        body += data
        await request.put(part(data))
    assert len(request._parts) == kept
    await request.run(app)
    assert received == [part(body)]
    assert type(received[0]["body"]) is bytes


async def test_a_body_in_chunks_of_a_byte_arrives_whole():
    async with serving(App()) as (served, app), connected(served) as raw:
        head = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        await raw.send(head + b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n")
        await raw.until(b"\r\n\r\n")
        assert app.bodies == [b"a" * 20_000]


class Tasks:
    """Starts none."""

    def spawn(self, *args: Any) -> None:
        del args


async def test_others_have_turns_while_small_frames_are_taken():
    context = WorkerContext(None)
    config = HttpConfig("", context)
    state = ConnectionState({})
    protocol = Http2(1, None, config, context, Tasks(), state, True, None, None, nothing)
    await protocol.initiate()
    client = h2.connection.H2Connection()
    client.initiate_connection()
    # A frame that no endpoint knows, without content: RFC 9113, 4.1, has it ignored.
    frame = b"\0\0\0\x0b\0\0\0\0\0"
    data = client.data_to_send() + frame * COUNT * 4
    async with counted_turns() as turns:
        await protocol.handle(RawData(data))
        assert turns.count >= len(data) // FRAMES_AT_ONCE // 2
