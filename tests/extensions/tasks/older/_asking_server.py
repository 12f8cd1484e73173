"""A server of 2025-11-25, written by hand, that asks its client for tasks."""

from __future__ import annotations

import itertools
from contextlib import asynccontextmanager

import trio

from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.extensions import TasksClientExtension
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    CreateMessageResult,
    ElicitResult,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    TextContent,
)

FORM = {"message": "Name?", "requestedSchema": {"type": "object", "properties": {}}}
CHAT = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 9}


class AskingServer:
    """Sends what it is told to, and keeps what comes."""

    def __init__(self, version="2025-11-25"):
        self.version = version
        self.declared = None
        self.notified = []
        self.channel = None
        self._ids = itertools.count(1)
        self._answers = {}

    async def run(self, channel):
        self.channel = channel
        try:
            while True:
                for message in await channel.receive():
                    await self._take(message)
        except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async def _take(self, message):
        if isinstance(message, JSONRPCNotification):
            self.notified.append(message)
        elif isinstance(message, JSONRPCRequest):
            assert message.method == "initialize"
            self.declared = message.params["capabilities"]
            result = {
                "protocolVersion": self.version,
                "capabilities": {},
                "serverInfo": {"name": "by hand", "version": "1"},
            }
            await self.channel.send([JSONRPCResponse(id=message.id, result=result)])
        else:
            await self._answers[message.id].send(message)

    async def start(self, method, params):
        """Send a request; what is returned waits for its answer."""
        request_id = next(self._ids)
        send, receive = trio.open_memory_channel(1)
        self._answers[request_id] = send
        await self.channel.send([JSONRPCRequest(id=request_id, method=method, params=params)])

        async def answer():
            message = await receive.receive()
            if isinstance(message, JSONRPCError):
                raise MCPError.from_error_data(message.error)
            return message.result

        answer.request_id = request_id
        return answer

    async def ask(self, method, params):
        answer = await self.start(method, params)
        return await answer()

    async def ask_in_task(self, method="elicitation/create", params=FORM, **wanted):
        created = await self.ask(method, {**params, "task": wanted})
        return created["task"]

    async def about(self, method, task_id):
        return await self.ask(method, {"taskId": task_id})

    async def tell(self, method, params):
        await self.channel.send([JSONRPCNotification(method=method, params=params)])


class Person:
    """Answers questions when it is told to, and says what became of them."""

    def __init__(self, answer=None):
        self.answer = ElicitResult(action="decline") if answer is None else answer
        self.asked = []
        self.left = []
        self.may_answer = trio.Event()
        self.is_asked = trio.Event()

    async def elicit(self, context, params):
        self.asked.append(params)
        self.is_asked.set()
        try:
            await self.may_answer.wait()
        except trio.Cancelled:
            self.left.append(params)
            raise
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def sample(context, params):
    return CreateMessageResult(role="assistant", content=TextContent(text="ho"), model="m")


@asynccontextmanager
async def served(server, *, tasks=None, version="2025-11-25", **options):
    """Have a client talk to the server; with tasks, unless it is told otherwise."""
    near, far = open_memory_channel_pair(as_text=True)
    if tasks is None:
        tasks = [TasksClientExtension()]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with Client(near, mode=version, extensions=tasks, **options) as client:
            yield client
        nursery.cancel_scope.cancel()
