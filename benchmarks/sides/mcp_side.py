"""The official SDK, on asyncio as nearly all of its users run it."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp import Client, StdioServerParameters, stdio_client

from benchmarks.peers.mcp_server import build_server
from benchmarks.sides.side import FEW_TOOLS, ROOT, Codec, Schemas, Side, Tasks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager


class McpSide(Side):
    name = "mcp"
    server_module = "benchmarks.peers.mcp_server"
    client_import = "from mcp import Client, StdioServerParameters"
    server_import = "from mcp.server.mcpserver import Context, MCPServer"

    def run(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        async def main() -> Any:
            return await function(*args)

        return asyncio.run(main())

    def connect_memory(
        self, mode: str, tools: int = FEW_TOOLS
    ) -> AbstractAsyncContextManager[Any]:
        return Client(build_server(tools), mode=mode)

    @asynccontextmanager
    async def connect_stdio(self, mode: str, tools: int = FEW_TOOLS) -> AsyncGenerator[Any, None]:
        command, *args = self.server_command
        parameters = StdioServerParameters(command=command, args=[*args, str(tools)], cwd=ROOT)
        with open(os.devnull, "w") as errlog:  # noqa: ASYNC230, PTH123 - never waits
            async with Client(stdio_client(parameters, errlog=errlog), mode=mode) as client:
                yield client

    def connect_http(self, mode: str, url: str) -> AbstractAsyncContextManager[Any]:
        return Client(url, mode=mode)

    @asynccontextmanager
    async def open_tasks(self) -> AsyncGenerator[Tasks, None]:
        tasks = _AsyncioTasks()
        try:
            yield tasks
        except BaseException:
            tasks.cancel()
            raise
        finally:
            outcomes = await asyncio.gather(*tasks.started, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    def codec(self) -> Codec:
        from benchmarks.sides.mcp_codec import McpCodec  # noqa: PLC0415 - for its rows

        return McpCodec()

    def schemas(self) -> Schemas:
        from benchmarks.sides.mcp_schemas import McpSchemas  # noqa: PLC0415 - for its rows

        return McpSchemas()


class _AsyncioTasks(Tasks):
    def __init__(self) -> None:
        self.started: list[asyncio.Future[Any]] = []

    def start(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        self.started.append(asyncio.ensure_future(function(*args)))

    def cancel(self) -> None:
        for task in self.started:
            task.cancel()
