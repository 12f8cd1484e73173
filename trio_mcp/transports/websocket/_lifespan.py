"""The lifespan of a server: before its first connection, until after its last one."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, final

import trio

from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp.transports.http._lifespan import SHUTDOWN_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp._rpc._service import Service, Serving


@asynccontextmanager
async def open_lifespan(server: Service) -> AsyncGenerator[Serving, None]:
    """Enter the lifespan of a server, and leave it at the end of the block.

    Raises:
      Exception: what it raised.

    Cancellation:
      The lifespan is not cancelled before the block has ended, and has `SHUTDOWN_TIMEOUT`
      seconds then.

    """
    lifespan = _Lifespan(server)
    async with open_background_nursery() as nursery:
        nursery.start_soon(lifespan.run, name="MCP lifespan")
        try:
            serving = await lifespan.wait_entered()
        except BaseException:
            lifespan.give_up()
            raise
        try:
            yield serving
        finally:
            await lifespan.leave()  # noqa: ASYNC102 - it shields itself, bounded


@final
class _Lifespan:
    def __init__(self, server: Service) -> None:
        self._server = server
        self._serving: Serving | None = None
        self._scope = trio.CancelScope()
        self._settled = trio.Event()
        self._leaving = trio.Event()
        self._ended = trio.Event()
        self._error: Exception | None = None

    async def run(self) -> None:
        with finish_within(math.inf) as self._scope:
            try:
                async with self._server.open() as self._serving:
                    self._settled.set()
                    await self._leaving.wait()
            except Exception as exc:  # noqa: BLE001 - raised by `wait_entered` or `leave`
                self._error = exc
        self._settled.set()
        self._ended.set()

    async def wait_entered(self) -> Serving:
        await self._settled.wait()
        self._raise_error()
        assert self._serving is not None
        return self._serving

    def give_up(self) -> None:
        self._scope.cancel(reason="the server was cancelled before it had started")

    async def leave(self) -> None:
        self._leaving.set()
        self._scope.deadline = trio.current_time() + SHUTDOWN_TIMEOUT
        with finish_within(SHUTDOWN_TIMEOUT + 1):
            await self._ended.wait()
        self._raise_error()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback refers to this frame
