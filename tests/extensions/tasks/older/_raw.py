"""A client of 2025-11-25 that says each word of tasks by itself."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import trio

from tests.extensions.tasks._studio import serve
from trio_mcp import Client, to_json
from trio_mcp.testing import open_client
from trio_mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    Request,
    Result,
    Root,
    TextContent,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp import MCPServer

VERSION = "2025-11-25"
RELATED = "io.modelcontextprotocol/related-task"
OVER = {"completed", "failed", "cancelled"}


@attrs.define(eq=False)
class Raw:
    """A client, and what its server asked and told.

    Attributes:
      client: Speaks 2025-11-25, and has no extension.
      asked: The params of questions, as JSON, in their order.
      told: Notifications: the method and the params, as JSON.
      holds: Keeps answers back until it is set.
      answers: What is answered, by the message of the question, if not the usual.

    """

    client: Client | None = None
    asked: list[dict[str, Any]] = attrs.Factory(list)
    told: list[tuple[str, dict[str, Any]]] = attrs.Factory(list)
    holds: trio.Event | None = None
    cancelled: list[dict[str, Any]] = attrs.Factory(list)
    answers: dict[str, Any] = attrs.Factory(dict)

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request as it is, and give the result as it came."""
        assert self.client is not None
        result = await self.client.session.send_request(
            Request(method=method, params=params), Result
        )
        return to_json(result, VERSION)

    async def call(self, tool: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
        return await self.ask("tools/call", name=tool, arguments=arguments or {}, **more)

    async def create(
        self, tool: str, arguments: Any = None, task: Any = None, **more: Any
    ) -> dict[str, Any]:
        """Call a tool as a task, and give the task."""
        created = await self.call(tool, arguments, task=task or {}, **more)
        assert created.keys() <= {"task", "_meta"}
        found: dict[str, Any] = created["task"]
        return found

    async def start(self, tool: str, arguments: Any = None, **more: Any) -> str:
        """The same, and give the id."""
        task_id: str = (await self.create(tool, arguments, **more))["taskId"]
        return task_id

    async def get(self, task_id: str) -> dict[str, Any]:
        return await self.ask("tasks/get", taskId=task_id)

    async def result(self, task_id: str) -> dict[str, Any]:
        return await self.ask("tasks/result", taskId=task_id)

    async def cancel(self, task_id: str) -> dict[str, Any]:
        return await self.ask("tasks/cancel", taskId=task_id)

    async def until(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """Poll until it has come to one of these; to its end, if none is said."""
        while True:
            task = await self.get(task_id)
            if task["status"] in (statuses or OVER):
                return task
            await trio.sleep(0.05)

    # What the server asks

    async def elicit(self, context: Any, params: Any) -> Any:
        return await self._answer(params, ElicitResult(action="accept", content={"name": "blue"}))

    async def sample(self, context: Any, params: Any) -> Any:
        said = TextContent(text="Marvellous")
        return await self._answer(
            params, CreateMessageResult(role="assistant", content=said, model="m")
        )

    async def roots(self, context: Any) -> Any:
        # The callback does not see the params.
        return ListRootsResult(roots=[Root(uri="file:///home")])

    async def _answer(self, params: Any, usual: Any) -> Any:
        self.asked.append(to_json(params, VERSION))
        message = getattr(params, "message", "")
        if self.holds is not None:
            try:
                await self.holds.wait()
            except trio.Cancelled:
                self.cancelled.append(self.asked[-1])
                raise
        return self.answers.get(message, usual)

    async def hear(self, message: Any) -> None:
        if not isinstance(message, Exception):
            params = {} if message.params is None else to_json(message.params, VERSION)
            self.told.append((message.method, params))

    @property
    def callbacks(self) -> dict[str, Any]:
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
            "message_handler": self.hear,
        }


@asynccontextmanager
async def connect(
    server: MCPServer, road: str = "text", *, asks: bool = True, **options: Any
) -> AsyncGenerator[Raw, None]:
    """Connect such a client in memory ("direct", "text") or over HTTP."""
    raw = Raw()
    given = {**(raw.callbacks if asks else {"message_handler": raw.hear}), **options}
    if road == "http":
        async with serve(server) as url, Client(url, mode=VERSION, **given) as client:
            raw.client = client
            yield raw
        return
    async with open_client(server, road, mode=VERSION, **given) as client:
        raw.client = client
        yield raw


@asynccontextmanager
async def connect_to(url: Any, **options: Any) -> AsyncGenerator[Raw, None]:
    """Connect such a client to what is served already."""
    raw = Raw()
    async with Client(url, mode=VERSION, **{**raw.callbacks, **options}) as client:
        raw.client = client
        yield raw
