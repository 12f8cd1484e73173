"""A peer under test, and the far end of its wire held by the test."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio

from trio_mcp._protocol._ladder import Accepted
from trio_mcp._protocol._refusals import method_not_found
from trio_mcp._rpc._peer import open_peer
from trio_mcp._rpc._service import Connection, Serving
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import ErrorData, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from trio_mcp.types._revisions import revision_for


@attrs.define(eq=False)
class PlainConnection(Connection):
    agreed: Any = None

    @property
    def revision(self):
        return self.agreed


class ScriptedServing(Serving):
    """Serves ``do/<name>`` with the function of that name; remembers what it was told."""

    def __init__(self, revision="2025-11-25", **handlers):
        self.raise_exceptions = False
        self.revision = revision_for(revision)
        self.handlers = handlers
        self.told = []
        self.callback = None
        self.ended = False

    def connect(self, link):
        return PlainConnection(self.revision)

    def disconnect(self, connection):
        self.ended = True

    def accept(self, exchange):
        exchange.accepted = Accepted(self.revision, exchange.params.get("_meta") or {})
        if exchange.method.removeprefix("do/") not in self.handlers:
            raise method_not_found(exchange.method)
        return True

    async def handle(self, exchange):
        return await self.handlers[exchange.method.removeprefix("do/")](exchange)

    def notified(self, connection, method, params):
        self.told.append((method, params))
        return None if self.callback is None else lambda: self.callback(method, params)

    def malformed(self, connection, malformed):
        return ErrorData(code=malformed.code, message=malformed.message), None


@attrs.define
class FarEnd:
    """The other side of the wire, by hand."""

    channel: Any
    received: list = attrs.Factory(list)

    async def ask(self, method, params=None, request_id=1):
        await self.channel.send([JSONRPCRequest(id=request_id, method=method, params=params)])

    async def tell(self, method, params=None):
        await self.channel.send([JSONRPCNotification(method=method, params=params)])

    async def answer(self, request, result):
        await self.channel.send([JSONRPCResponse(id=request.id, result=result)])

    async def next(self):
        if not self.received:
            self.received.extend(await self.channel.receive())
        return self.received.pop(0)

    async def silence(self, seconds=0.5):
        """Nothing comes for so long (virtual) time."""
        assert not self.received
        with trio.move_on_after(seconds):
            raise AssertionError(await self.channel.receive())


@pytest.fixture
def serving():
    return ScriptedServing


@pytest.fixture
def open_wire():
    """Open a peer; yields it and the far end of its wire."""

    @asynccontextmanager
    async def open_wire(serving=None, **options):
        near, far = open_memory_channel_pair()
        async with open_peer(near, serving or ScriptedServing(), **options) as peer:
            yield peer, FarEnd(far)

    return open_wire
