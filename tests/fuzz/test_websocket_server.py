"""A server over WebSockets and clients that send anything: it serves the others, and logs no defect.

A failure says the seed of the client that came last: ``--fuzz-seed=N --fuzz-seconds=0`` tries it.
"""

from __future__ import annotations

import logging
import random
import time

import pytest
import trio

from tests.transports.websocket._wire import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    bystander,
    connected,
    discover,
    frame,
    request,
    serving,
)

OPCODES = [0, TEXT, TEXT, TEXT, BINARY, CLOSE, PING, PONG, 3, 11]
SIZES = [0, 1, 2, 5, 125, 126, 300, 1_001]
DEFECTS = "A connection failed", "A connection was dropped"


def some_bytes(rng: random.Random, size: int) -> bytes:
    return bytes(rng.randrange(256) for _ in range(size))


def some_frame(rng: random.Random) -> bytes:
    opcode, payload = rng.choice(OPCODES), some_bytes(rng, rng.choice(SIZES))
    if opcode == TEXT and rng.random() < 0.6:
        payload = discover(rng.randrange(5))[8:]
    sent = bytearray(frame(opcode, payload, fin=rng.random() < 0.8, mask=rng.random() < 0.95))
    if rng.random() < 0.15:
        sent[rng.randrange(len(sent))] ^= 1 << rng.randrange(8)
    return bytes(sent[: rng.randrange(len(sent))]) if rng.random() < 0.1 else bytes(sent)


def some_opening(rng: random.Random, url: str) -> bytes:
    head = bytearray(request(url))
    if rng.random() < 0.1:
        head[rng.randrange(len(head))] = rng.randrange(256)
    return bytes(head)


def some_talk(rng: random.Random) -> bytes:
    if rng.random() < 0.2:
        return some_bytes(rng, rng.randrange(1, 200))
    return b"".join(some_frame(rng) for _ in range(rng.randrange(1, 12)))


@pytest.mark.limit(300)
async def test_no_client_harms_another(search_seconds, search_seed, caplog):
    caplog.set_level(logging.WARNING, "trio_mcp.websocket")
    seed = random.randrange(2**32) if search_seed is None else search_seed
    began, end = seed, time.monotonic() + search_seconds
    limits = {"max_message_size": 1_000, "write_timeout": 1.0, "head_timeout": 1.0}
    async with serving(**limits) as (served, _), bystander(served) as other:
        while seed == began or time.monotonic() < end:
            rng = random.Random(seed)
            async with connected(served) as raw:
                try:
                    await raw.send(some_opening(rng, served.url))
                    rest = some_talk(rng)
                    while rest:
                        size = rng.randrange(1, len(rest) + 1)
                        await raw.send(rest[:size])
                        rest = rest[size:]
                        if rng.random() < 0.3:
                            await trio.lowlevel.checkpoint()
                    with trio.move_on_after(0.01):
                        await raw.rest()
                except trio.BrokenResourceError:
                    pass
            await other.send(discover(9))
            assert (await other.message())["id"] == 9, seed
            found = [each for each in caplog.messages if each.startswith(DEFECTS)]
            assert not found, (seed, found)
            seed += 1
