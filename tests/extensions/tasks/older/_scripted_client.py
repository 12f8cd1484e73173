"""A client of 2025-11-25, written by hand, that is asked for tasks."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress

import trio

from trio_mcp.errors import MCPError
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

RELATED = "io.modelcontextprotocol/related-task"
DECLARED = {
    "elicitation": {},
    "sampling": {},
    "tasks": {
        "list": {},
        "cancel": {},
        "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}},
    },
}
SILENCE = object()


def task(status="working", **more):
    return {
        "taskId": "t-1",
        "status": status,
        "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z",
        "ttl": None,
        **more,
    }


CREATED = {"task": task(pollInterval=2000)}


class ScriptedClient:
    """Calls a tool, and answers by method: a result, an `MCPError`, a function, or a list of such.

    Attributes:
      asked: What the server asked: the time, the method and the params.
      told: The methods of its notifications, and their params.

    """

    def __init__(self, **answers):
        self.answers = {name.replace("__", "/"): answer for name, answer in answers.items()}
        self.asked = []
        self.told = []
        self.channel = None
        self._silent = None
        self._result, self._take_result = trio.open_memory_channel(10)

    @property
    def methods(self):
        return [method for _, method, _ in self.asked]

    async def run(self):
        with suppress(trio.ClosedResourceError):
            await self._run()

    async def _run(self):
        while True:
            for message in await self.channel.receive():
                if isinstance(message, JSONRPCRequest):
                    self.asked.append((trio.current_time(), message.method, message.params))
                    await self._answer(message)
                elif isinstance(message, JSONRPCNotification):
                    self.told.append((message.method, message.params))
                else:
                    await self._result.send(message)

    async def _answer(self, request):
        answer = self.answers.get(request.method, MCPError(-32601, "Method not found"))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if callable(answer):
            answer = answer(request.params)
        if answer is SILENCE:
            self._silent = request
            return
        if isinstance(answer, MCPError):
            await self.channel.send([JSONRPCError(id=request.id, error=answer.error)])
        else:
            await self.channel.send([JSONRPCResponse(id=request.id, result=answer)])

    async def answer_last(self, result):
        """Answer what was not answered yet."""
        await self.channel.send([JSONRPCResponse(id=self._silent.id, result=result)])

    async def send(self, method, params, request_id):
        await self.channel.send([JSONRPCRequest(id=request_id, method=method, params=params)])

    async def take(self):
        """Give the next answer of the server."""
        return await self._take_result.receive()

    async def ask(self, method, params, request_id=1):
        await self.send(method, params, request_id)
        message = await self.take()
        if isinstance(message, JSONRPCError):
            raise MCPError.from_error_data(message.error)
        return message.result

    async def tell(self, method, params=None):
        await self.channel.send([JSONRPCNotification(method=method, params=params)])

    async def begin(self, declared, version):
        hello = {
            "protocolVersion": version,
            "capabilities": declared,
            "clientInfo": {"name": "by hand", "version": "1"},
        }
        await self.ask("initialize", hello, "hello")
        await self.tell("notifications/initialized")

    async def call(self, **more):
        """Call the tool ``act``, and give what its result says."""
        result = await self.ask("tools/call", {"name": "act", "arguments": {}, **more})
        return result["content"][0]["text"]


@asynccontextmanager
async def connected(client, mcp, *, declared=DECLARED, version="2025-11-25"):
    """Have a scripted client talk to a server."""
    client.channel, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mcp.lowlevel_server.run, far)
        nursery.start_soon(client.run)
        await client.begin(declared, version)
        yield client
        nursery.cancel_scope.cancel()
