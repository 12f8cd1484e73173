"""Answers in the smallest pieces: the program of the client goes on meanwhile."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import httpx
import pytest
import trio

from trio_mcp import Client
from trio_mcp.transports import streamable_http_client
from trio_mcp.transports.http._body import PIECES_AT_ONCE, Body

from ._scripted import DISCOVERY, DONE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

COUNT = 1_000
NOTICE = {"jsonrpc": "2.0", "method": "notifications/unknown"}


@asynccontextmanager
async def counted_turns() -> AsyncGenerator[list[None], None]:
    turns: list[None] = []

    async def take() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            turns.append(None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        yield turns
        nursery.cancel_scope.cancel()


@attrs.define(eq=False)
class Response:
    """One whose pieces are all there, and perhaps one that does not come."""

    ends: bool
    is_closed: bool = True
    left_by: type[BaseException] | None = None

    async def aiter_raw(self) -> AsyncGenerator[bytes, None]:
        try:
            for _ in range(COUNT):
                yield b"a"
            if not self.ends:
                await trio.sleep_forever()
        except BaseException as exc:
            self.left_by = type(exc)
            raise


async def test_others_have_turns_while_a_body_is_read():
    body = Body(Response(ends=True), "x")
    async with counted_turns() as turns:
        assert await body.read(COUNT) == b"a" * COUNT
        assert len(turns) >= COUNT // PIECES_AT_ONCE // 2
    await body.leave()


async def test_a_body_is_left_in_the_middle_of_its_read_however_many_pieces_are_there():
    response = Response(ends=False)
    body = Body(response, "x")
    # The next turn of others would come before the next piece.
    for _ in range(PIECES_AT_ONCE - 1):
        assert await body.next() == b"a"
    await body.leave()
    assert response.left_by is trio.Cancelled


@pytest.mark.parametrize("answer_comes", ["before", "behind"])
async def test_others_have_turns_while_events_are_taken(answer_comes: str):
    def answer(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        is_call = asked["method"] == "tools/call"
        result = {"jsonrpc": "2.0", "id": asked["id"], "result": DONE if is_call else DISCOVERY}
        messages = [NOTICE] * COUNT if is_call else []
        messages.insert(0 if answer_comes == "before" else len(messages), result)
        # The whole of it is one piece.
        text = "".join(f"data: {json.dumps(each)}\n\n" for each in messages)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http_client,
        Client(streamable_http_client("http://x/mcp", http_client=http_client)) as client,
        counted_turns() as turns,
    ):
        before: Any = len(turns)
        result = await client.call_tool("x")
        assert not result.is_error
        assert len(turns) - before >= COUNT // PIECES_AT_ONCE // 2
