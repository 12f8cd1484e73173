"""Bytes that a peer sends in place of an answer, as they come over a pipe."""

from __future__ import annotations

from contextlib import asynccontextmanager

import attrs
import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer
from trio_mcp._codec import loads
from trio_mcp._codec._lines import LineSplitter
from trio_mcp._rpc._peer import open_peer
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError
from trio_mcp.transports._line_channel import LineChannel

OPEN = b'{"jsonrpc":"2.0","id":%d,'

BAD_ANSWERS = [
    (OPEN + rb'"result":{"x":"\ud800"}}', r"Parse error: a lone surrogate, \ud800 (byte"),
    (OPEN + b'"result":{"x":NaN}}', "Parse error: "),
    (OPEN + b'"result":{"x":' + b"[" * 150 + b"]" * 150 + b"}}", "nested deeper than 100 levels"),
    (OPEN + b'"result":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "deeper than 100 levels"),
    (OPEN + b'"result":{"x":"\xe4"}}', "UTF-8"),
    (OPEN + b'"result":{"x":"y', "the text ends too early"),
    (OPEN + b'"result":{}}}', "trailing characters"),
    (b'{"jsonrpc":"2.0","id":%d}', 'there is no "method", "result" or "error"'),
    (
        OPEN + b'"result":{},"error":{"code":1,"message":"no"}}',
        'an answer has either a "result" or an "error"',
    ),
    (OPEN + b'"result":[]}', "a result is an object, not an array"),
    (OPEN + b'"result":null}', "a result is an object, not null"),
    (OPEN + b'"error":"no"}', "an error is an object, not a string"),
    (OPEN + b'"error":{}}', "an error has an integer code and a message"),
    (b'{"jsonrpc":"2.0","id":%d.0,"result":{}}', "not 1.0"),
    (b'{"jsonrpc":"2.0","id":%d.0,"error":{"code":1,"message":"no"}}', "not 1.0"),
    (b'{"jsonrpc":"2.0","id":"%d","result":{}}', "the answer has the id '1', the request had 1"),
    (b'{"jsonrpc":"2.0","id":"%d","error":{"code":1,"message":"no"}}', "the request had 1"),
    (b'{"jsonrpc":"2.0","id":"%d","result":3}', "the request had 1"),
    (b'{"jsonrpc":"1.0","id":%d,"result":{}}', 'the member "jsonrpc" has to be "2.0"'),
    (b'{"id":%d,"result":{}}', 'the member "jsonrpc" has to be "2.0"'),
    (b'[{"jsonrpc":"2.0","id":%d,"result":{}}]', "Batches are not part of this protocol version"),
    (b'[{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"no"}}]', "Batches are not part"),
    (b'[{"jsonrpc":"2.0","id":%d,"result":[]}]', "a result is an object, not an array"),
    (OPEN + b'"result":{"x":"' + b"x" * 5000 + b'"}}', "a message of more than 3000 bytes"),
]


def name_of(value):
    return str(value)[:60]


@attrs.define
class Pipe:
    """The far end of a line channel, in bytes."""

    stream: trio.StapledStream
    splitter: LineSplitter = attrs.Factory(LineSplitter)
    lines: list = attrs.Factory(list)

    async def next(self):
        while not self.lines:
            self.lines += self.splitter.feed(await self.stream.receive_some())
        return loads(self.lines.pop(0))

    async def write(self, line):
        await self.stream.send_all(line + b"\n")

    async def silence(self):
        await trio.testing.wait_all_tasks_blocked()
        assert not self.lines
        with trio.move_on_after(1):
            raise AssertionError(await self.stream.receive_some())


@asynccontextmanager
async def open_pipe(serving, limit=400_000):
    near, far = trio.testing.memory_stream_pair()
    async with open_peer(LineChannel(near, near, max_line_size=limit), serving) as peer:
        yield peer, Pipe(far)


@pytest.mark.req("R-006", "R-007")
@pytest.mark.case("C004")
@pytest.mark.parametrize(("line", "what"), BAD_ANSWERS, ids=name_of)
async def test_a_bad_answer_fails_its_call_alone_and_the_session_goes_on(
    autojump_clock, serving, line, what
):
    limit = 3000 if "more than" in what else 400_000
    async with open_pipe(serving(), limit) as (peer, pipe):
        good = []

        async def ask_well():
            good.append(await peer.request("good", None))

        async with trio.open_nursery() as nursery:

            async def answer_badly():
                asked = await pipe.next()
                nursery.start_soon(ask_well)
                also = await pipe.next()
                assert (asked["id"], also["id"]) == (1, 2)
                await pipe.write(line % 1)

            nursery.start_soon(answer_badly)
            with pytest.raises(InvalidResponse) as caught:
                await peer.request("bad", None)
            assert caught.value.message.startswith("bad: ")
            assert what in caught.value.message
            assert trio.current_time() == 0
            # It was an answer: nothing is sent back, not even a notice of cancellation.
            await pipe.silence()
            assert good == []
            await pipe.write(b'{"jsonrpc":"2.0","id":2,"result":{"x":1}}')
        assert good == [{"x": 1}]


@pytest.mark.req("R-012")
@pytest.mark.case("C005", "C029")
@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":NaN}}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"met', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":3}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', -32600, None),
        (b'[{"jsonrpc":"2.0","method":"m"}, {"jsonrpc":"2.0","id":9,"result":{}}]', -32600, None),
    ],
    ids=name_of,
)
async def test_a_bad_request_fails_no_call_that_has_the_same_id(
    autojump_clock, serving, line, code, request_id
):
    async with open_pipe(serving()) as (peer, pipe), trio.open_nursery() as nursery:
        results = []

        async def ask():
            results.append(await peer.request("m", None))

        nursery.start_soon(ask)
        assert (await pipe.next())["id"] == 1
        await pipe.write(line)
        answer = await pipe.next()
        assert (answer["error"]["code"], answer.get("id")) == (code, request_id)
        assert results == []
        await pipe.write(b'{"jsonrpc":"2.0","id":1,"result":{}}')
        await trio.testing.wait_all_tasks_blocked()
        assert results == [{}]


async def test_what_may_be_a_request_is_answered_when_nothing_waits(autojump_clock, serving):
    async with open_pipe(serving()) as (_, pipe):
        await pipe.write(b'{"jsonrpc":"2.0","id":1}')
        answer = await pipe.next()
        assert (answer["error"]["code"], answer["id"]) == (-32600, 1)


@pytest.mark.case("C009")
async def test_an_answer_that_breaks_off_with_the_connection_says_that_it_is_lost(
    autojump_clock, serving
):
    async with open_pipe(serving()) as (peer, pipe), trio.open_nursery() as nursery:

        async def die():
            await pipe.next()
            await pipe.stream.send_all(b'{"jsonrpc":"2.0","id":1,"result":{"x')
            await pipe.stream.aclose()

        nursery.start_soon(die)
        with pytest.raises(ConnectionLost):
            await peer.request("m", None)


@pytest.mark.parametrize(("line", "what"), BAD_ANSWERS[:16], ids=name_of)
async def test_a_server_that_asked_is_told_what_was_wrong_with_the_answer(
    autojump_clock, line, what
):
    mcp = MCPServer("asks")
    failures = []

    @mcp.tool()
    async def ask(ctx: Context) -> str:
        try:
            await ctx.session.send_ping()
        except MCPError as exc:
            failures.append(exc)
            raise
        raise AssertionError

    near, far = trio.testing.memory_stream_pair()
    pipe = Pipe(far)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mcp.lowlevel_server.run, LineChannel(near, near))
        await pipe.write(
            b'{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":'
            b'"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}'
        )
        assert (await pipe.next())["id"] == "i"
        await pipe.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        await pipe.write(
            b'{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"ask"}}'
        )
        asked = await pipe.next()
        assert (asked["method"], asked["id"]) == ("ping", 1)
        await pipe.write(line % 1)
        answer = await pipe.next()
        assert answer["id"] == "c"
        (failure,) = failures
        assert type(failure) is InvalidResponse
        assert what in failure.message
        await pipe.stream.aclose()
