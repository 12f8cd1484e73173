"""What is put below the WebSocket library, looked at by itself."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing

from trio_mcp.transports.websocket._frames import Close, FrameGate
from trio_mcp.transports.websocket._stream import GuardedStream

from ._wire import CLOSE, PONG, TEXT, frame


def guarded() -> tuple[GuardedStream, trio.StapledStream[Any, Any]]:
    near, far = trio.testing.memory_stream_pair()

    async def read_head(_stream: Any) -> tuple[bytes, bytes]:
        return b"head", frame(TEXT, b"early")

    stream = GuardedStream(
        near,  # type: ignore[arg-type]
        FrameGate(1000),
        read_head,
        is_client=False,
        peer="the client",
        write_timeout=1,
    )
    return stream, far


async def test_frames_wait_until_the_handshake_is_done(autojump_clock):
    stream, _ = guarded()
    assert await stream.receive_some() == b"head"
    with trio.move_on_after(1) as scope:
        await stream.receive_some()
    assert scope.cancelled_caught
    stream.open()
    assert await stream.receive_some() == frame(TEXT, b"early")


async def test_what_was_collected_goes_out_in_its_order_and_nothing_behind_a_close():
    stream, far = guarded()
    stream.open()
    stream.cork()
    for each in (frame(TEXT, b"a"), frame(PONG), frame(CLOSE), frame(TEXT, b"late")):
        await stream.send_all(each)
    await stream.uncork()
    await stream.send_all(frame(TEXT, b"later"))
    sent = frame(TEXT, b"a") + frame(PONG) + frame(CLOSE)
    assert await far.receive_some() == sent
    await far.send_all(frame(CLOSE))
    # It is said once.
    await stream.part(Close(1000))
    await stream._stream.aclose()
    assert await far.receive_some() == b""


async def test_frame_that_was_cut_off_is_the_last_one(autojump_clock):
    near, far = trio.testing.lockstep_stream_pair()
    stream, _ = guarded()
    stream._stream = near  # type: ignore[assignment]
    stream.open()
    with trio.move_on_after(0.5):
        await stream.send_all(frame(TEXT, b"a"))
    await stream.send_all(frame(TEXT, b"b"))
    await stream.part(Close(1000))
    await near.aclose()
    received = b""
    while data := await far.receive_some():
        received += data
    assert received == frame(TEXT, b"a")


async def test_refusal_of_the_library_is_not_sent_before_ours():
    stream, far = guarded()
    await stream.send_all(b"HTTP/1.1 400 \r\n\r\n")
    await stream.send_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    assert (await far.receive_some()).startswith(b"HTTP/1.1 101")
