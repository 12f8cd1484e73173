"""What a stream of HTTP/2 has not sent when it ends: nobody waits for it, and nothing keeps it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import h2.config
import h2.connection
import h2.settings
import pytest
import trio
import trio.testing
from hypercorn.events import Closed, RawData
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from priority import MissingStreamError

from trio_mcp.transports.http._protocols import Http2, HttpConfig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

WRITE_SECONDS = 60
PIECE = 1_000_000
HEAD = [(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/")]

Send = Callable[[Any], Awaitable[None]]


@attrs.define(eq=False)
class Conversation:
    """A client that lets nothing come, and a server, in memory; tests play the applications."""

    nursery: trio.Nursery
    client: h2.connection.H2Connection = attrs.Factory(
        lambda: h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    )
    sends: list[Send] = attrs.Factory(list)
    gone: int = 0
    protocol: Any = None

    async def begin(self) -> None:
        context = WorkerContext(None)
        config = HttpConfig("", context)
        state = ConnectionState({})
        self.protocol = Http2(
            WRITE_SECONDS, None, config, context, self, state, True, None, None, self._take
        )
        self.client.initiate_connection()
        self.client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
        await self.protocol.initiate()
        await self.flush()

    async def _take(self, event: Any) -> None:
        if isinstance(event, RawData):
            self.client.receive_data(event.data)

    async def flush(self) -> None:
        await self.protocol.handle(RawData(self.client.data_to_send()))

    async def ask(self) -> tuple[int, Send]:
        stream_id = self.client.get_next_available_stream_id()
        self.client.send_headers(stream_id, HEAD, end_stream=True)
        await self.flush()
        return stream_id, self.sends[-1]

    # What the protocol asks of its task group

    def spawn(self, func: Callable[..., Awaitable[None]], *args: Any) -> None:
        self.nursery.start_soon(func, *args)

    async def spawn_app(self, app: Any, config: Any, scope: Any, send: Send) -> Send:
        self.protocol.body_of_newest()
        self.sends.append(send)
        return self._put

    async def _put(self, event: Any) -> None:
        self.gone += event["type"] == "http.disconnect"


@asynccontextmanager
async def conversation() -> AsyncGenerator[Conversation, None]:
    async with trio.open_nursery() as nursery:
        talk = Conversation(nursery)
        await talk.begin()
        yield talk
        nursery.cancel_scope.cancel()


async def answer(send: Send, ended: trio.Event) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": bytes(PIECE), "more_body": True})
    ended.set()


async def the_connection_ends(talk: Conversation, stream_id: int) -> None:
    await talk.protocol.handle(Closed())


async def the_client_resets_it(talk: Conversation, stream_id: int) -> None:
    talk.client.reset_stream(stream_id)
    await talk.flush()


@pytest.mark.parametrize("end", [the_connection_ends, the_client_resets_it])
async def test_who_waits_to_send_ends_with_the_stream(end: Any, autojump_clock: Any):
    async with conversation() as talk:
        stream_id, send = await talk.ask()
        ended = trio.Event()
        talk.nursery.start_soon(answer, send, ended)
        await trio.testing.wait_all_tasks_blocked()
        assert not ended.is_set()
        await end(talk, stream_id)
        await ended.wait()
        assert trio.current_time() == 0
        assert talk.gone == 1
        await trio.testing.wait_all_tasks_blocked()
        assert not any(each.buffer for each in talk.protocol.stream_buffers.values())


async def test_who_waits_for_the_end_of_an_answer_ends_with_the_connection(autojump_clock: Any):
    async with conversation() as talk:
        _, send = await talk.ask()
        ended = trio.Event()

        async def answer_whole() -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            # Less than what makes a sender wait for room.
            await send({"type": "http.response.body", "body": b"all", "more_body": False})
            ended.set()

        talk.nursery.start_soon(answer_whole)
        await trio.testing.wait_all_tasks_blocked()
        assert not ended.is_set()
        await talk.protocol.handle(Closed())
        await ended.wait()
        assert trio.current_time() == 0


async def test_of_a_stream_that_nobody_reads_nothing_is_kept(autojump_clock: Any):
    async with conversation() as talk:
        for _ in range(3):
            _, send = await talk.ask()
            # It is given up after its time.
            await answer(send, trio.Event())
        assert trio.current_time() >= WRITE_SECONDS
        await trio.testing.wait_all_tasks_blocked()
        assert not talk.protocol.stream_buffers


async def test_of_an_answer_that_breaks_off_nothing_is_kept(autojump_clock: Any):
    async with conversation() as talk:
        _, send = await talk.ask()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        await send(None)
        await trio.testing.wait_all_tasks_blocked()
        assert not talk.protocol.stream_buffers


async def test_turn_of_a_stream_that_was_closed_before_it_was_written_is_passed_over():
    async with conversation() as talk:
        gone, ended = 101, trio.Event()
        # It has its turn, and there is nothing to take any more.
        talk.protocol.priority.insert_stream(gone)
        await talk.protocol.has_data.set()
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(MissingStreamError):
            talk.protocol.priority.remove_stream(gone)
        # Others are written still.
        talk.client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 2 * PIECE})
        talk.client.increment_flow_control_window(2 * PIECE)
        _, send = await talk.ask()
        talk.nursery.start_soon(answer, send, ended)
        await ended.wait()
