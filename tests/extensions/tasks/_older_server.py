"""A server of 2025-11-25 written by hand, with one tool whose calls may be tasks."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import trio

from trio_mcp import Client
from trio_mcp.errors import MCPError
from trio_mcp.extensions import TasksClientExtension
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ALL: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
RELATED = "io.modelcontextprotocol/related-task"
OVER = ("completed", "failed", "cancelled")
DONE = {"content": [{"type": "text", "text": "done"}], "_meta": {RELATED: {"taskId": "t"}}}
QUESTION = {
    "message": "Which colour?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    "_meta": {RELATED: {"taskId": "t"}},
}
SILENCE = object()


class OlderServer:
    """Answers as a test says.

    Attributes:
      tasks: What it declares of tasks; nothing when None.
      support: What the list says of its one tool.
      statuses: What ``tasks/get`` says, one after the other; the last of them from then on.
      result: What the call is answered, and ``tasks/result``: a dict, or an error.
      answers: By method, what to answer in place of all that: a dict, an error, `SILENCE`, or a
        list of those, one for each request; None is what it answers anyway.
      received: Every message, with the time at which it came.

    """

    def __init__(self, support: str | None = "required", *statuses: str, **task: Any) -> None:
        self.tasks: Any = ALL
        self.support = support
        self.statuses = list(statuses) or ["completed"]
        self.task = task
        self.result: Any = DONE
        self.answers: dict[str, Any] = {}
        self.received: list[tuple[float, Any]] = []
        self.asks: dict[str, Any] | None = None
        self.answered: list[Any] = []
        self.cancelled = False
        self._waiting: dict[Any, trio.Event] = {}

    async def run(self, channel: Any) -> None:
        self.channel = channel
        async with trio.open_nursery() as self.nursery:
            try:
                while True:
                    for message in await channel.receive():
                        self.received.append((trio.current_time(), message))
                        if isinstance(message, JSONRPCRequest):
                            self.nursery.start_soon(self.answer, message)
                        elif isinstance(message, (JSONRPCResponse, JSONRPCError)):
                            self.answered.append(message)
                            self._waiting.pop(message.id, trio.Event()).set()
            except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
                self.nursery.cancel_scope.cancel()

    async def answer(self, request: JSONRPCRequest) -> None:
        chosen = self.answers.get(request.method)
        if isinstance(chosen, list):
            chosen = chosen.pop(0) if chosen else None
        if chosen is SILENCE:
            return
        if chosen is None:
            chosen = await self.respond(request.method, request.params or {})
        answer: Any = (
            JSONRPCError(id=request.id, error=chosen.error)
            if isinstance(chosen, MCPError)
            else JSONRPCResponse(id=request.id, result=chosen)
        )
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self.channel.send([answer])

    async def respond(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                return {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}, **({"tasks": self.tasks} if self.tasks else {})},
                    "serverInfo": {"name": "older", "version": "1"},
                }
            case "tools/list":
                return {"tools": [self.tool]}
            case "tools/call":
                if "task" not in params:
                    return self.result
                return {"task": self.state("working"), "_meta": {"com.example/hint": 1}}
            case "tasks/get":
                status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
                return self.state("cancelled" if self.cancelled else status)
            case "tasks/result":
                return await self.give_result()
            case "tasks/cancel":
                self.cancelled = True
                return self.state("cancelled")
        return MCPError(-32601, "Method not found")

    async def give_result(self) -> Any:
        if self.asks is not None:
            await self.ask("elicitation/create", self.asks)
            self.asks, self.statuses = None, ["completed"]
        elif self.statuses[0] not in OVER and len(self.statuses) == 1:
            await trio.sleep_forever()
        return self.result

    async def ask(self, method: str, params: dict[str, Any]) -> None:
        name = f"ask {len(self.received)}"
        event = self._waiting[name] = trio.Event()
        await self.channel.send([JSONRPCRequest(id=name, method=method, params=params)])
        await event.wait()

    async def tell(self, method: str, params: dict[str, Any]) -> None:
        await self.channel.send([JSONRPCNotification(method=method, params=params)])

    @property
    def tool(self) -> dict[str, Any]:
        execution = {} if self.support is None else {"execution": {"taskSupport": self.support}}
        return {"name": "work", "inputSchema": {"type": "object"}, **execution}

    def state(self, status: str) -> dict[str, Any]:
        times = {"createdAt": "2026-11-30T12:00:00Z", "lastUpdatedAt": "2026-11-30T12:00:00Z"}
        return {"taskId": "t", "status": status, "ttl": None, **times, **self.task}

    # What came

    @property
    def methods(self) -> list[str]:
        return [each.method for _, each in self.received if hasattr(each, "method")][2:]

    def all_params(self, method: str) -> list[dict[str, Any]]:
        return [
            each.params or {}
            for _, each in self.received
            if getattr(each, "method", None) == method
        ]

    def times(self, *methods: str) -> list[float]:
        at = [time for time, each in self.received if getattr(each, "method", None) in methods]
        return [round(later - at[0], 3) for later in at]


@asynccontextmanager
async def connect_older(server: OlderServer, **options: Any) -> AsyncGenerator[Client, None]:
    """Connect a client that knows tasks to such a server."""
    near, far = open_memory_channel_pair(as_text=True)
    options = {"extensions": [TasksClientExtension()], "mode": "legacy", **options}
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        try:
            async with Client(near, **options) as client:
                yield client
        except Exception as exc:  # noqa: BLE001 - raised again below, and in no group
            failure = exc
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
