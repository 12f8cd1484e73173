"""A client under test, and a server written by hand on the other end of its wire."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)


class Script:
    """Answers requests by method: a result, an `MCPError`, a function of the params, or silence."""

    SILENCE = object()

    def __init__(self, **answers):
        self.answers = {name.replace("__", "/"): answer for name, answer in answers.items()}
        self.received = []
        self.channel = None

    @property
    def methods(self):
        return [each.method for each in self.received if hasattr(each, "method")]

    async def run(self, channel):
        self.channel = channel
        try:
            while True:
                for message in await channel.receive():
                    self.received.append(message)
                    if isinstance(message, JSONRPCRequest):
                        await self.answer(message)
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async def answer(self, request):
        answer = self.answers.get(request.method, MCPError(-32601, "Method not found"))
        if callable(answer):
            answer = answer(request.params)
        if answer is self.SILENCE:
            return
        if isinstance(answer, MCPError):
            await self.channel.send([JSONRPCError(id=request.id, error=answer.error)])
        else:
            await self.channel.send([JSONRPCResponse(id=request.id, result=answer)])

    async def tell(self, method, params=None):
        await self.channel.send([JSONRPCNotification(method=method, params=params)])

    async def ask(self, method, params=None, request_id="s1"):
        await self.channel.send([JSONRPCRequest(id=request_id, method=method, params=params)])

    async def report_error(self, code, message):
        error = ErrorData(code=code, message=message)
        await self.channel.send([JSONRPCError(id=None, error=error)])


@pytest.fixture
def script():
    return Script


DISCOVERY = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "ttlMs": 0,
    "cacheScope": "private",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "1"}},
}


def handshake(version="2025-11-25"):
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "1"},
    }


@pytest.fixture
def discovery():
    return DISCOVERY


@pytest.fixture
def initialized():
    return handshake


@pytest.fixture
def connect():
    """Connect a client to a script; what the client is opened with goes along."""

    @asynccontextmanager
    async def connect(script, **options):
        near, far = open_memory_channel_pair(as_text=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(script.run, far)
            failure = None
            try:
                async with Client(near, **options) as client:
                    yield client
            except Exception as exc:  # noqa: BLE001 - raised again below
                failure = exc
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure

    return connect


class _CancelAtStep(trio.abc.Instrument):
    """Cancels a scope before the n-th step that any task takes from now on."""

    def __init__(self, scope, step):
        self.scope = scope
        self.left = step

    def before_task_step(self, task):
        self.left -= 1
        if not self.left:
            self.scope.cancel()


@pytest.fixture
def cancel_at_each_step():
    """Run something again and again, cancelled one step (of any task) later each time.

    After each run `check` is awaited with what the run returned, or None where it was cancelled.
    Gives how many runs were cancelled.
    """

    async def cancel_at_each_step(run, check):
        step = 0
        while True:
            step += 1
            result = None
            with trio.CancelScope() as scope:
                instrument = _CancelAtStep(scope, step)
                trio.lowlevel.add_instrument(instrument)
                try:
                    result = await run()
                finally:
                    trio.lowlevel.remove_instrument(instrument)
            await check(result)
            if not scope.cancelled_caught:
                return step - 1

    return cancel_at_each_step
