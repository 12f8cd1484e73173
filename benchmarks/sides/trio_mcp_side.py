"""trio_mcp, on Trio."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio

from benchmarks.peers.trio_server import build_server
from benchmarks.sides.side import FEW_TOOLS, ROOT, Codec, Schemas, Side, Tasks
from trio_mcp import Client, StdioServerParameters, stdio_client

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager


class TrioMcpSide(Side):
    name = "trio_mcp"
    server_module = "benchmarks.peers.trio_server"
    client_import = "from trio_mcp import Client, StdioServerParameters"
    server_import = "from trio_mcp import Context, MCPServer"

    def run(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        return trio.run(function, *args)

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
        async with trio.open_nursery() as nursery:
            yield _NurseryTasks(nursery)

    def codec(self) -> Codec:
        from benchmarks.sides.trio_mcp_codec import TrioMcpCodec  # noqa: PLC0415 - for its rows

        return TrioMcpCodec()

    def schemas(self) -> Schemas:
        from benchmarks.sides.trio_mcp_schemas import (  # noqa: PLC0415 - for its rows
            TrioMcpSchemas,
        )

        return TrioMcpSchemas()


class _NurseryTasks(Tasks):
    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    def start(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        self._nursery.start_soon(function, *args)

    def cancel(self) -> None:
        self._nursery.cancel_scope.cancel()
