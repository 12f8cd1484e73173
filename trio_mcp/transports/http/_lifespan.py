"""The lifespan of an ASGI application: before its first request, until after its last one."""

from __future__ import annotations

import logging
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._rpc._nursery import finish_within, open_background_nursery

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ._asgi_request import AsgiApp, Message

logger: Final = logging.getLogger("trio_mcp.http")

SHUTDOWN_TIMEOUT: Final = 10.0
"""Seconds for an application to end its lifespan in, before that is cancelled."""


class Lifespan:
    """Tells an application when its server starts and stops.

    Args:
      app: The application.

    Attributes:
      state: What it wants its requests to have.

    """

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self.state: dict[str, Any] = {}
        self._received = 0
        self._stopping = trio.Event()
        self._settled = trio.Event()
        self._ended = trio.Event()
        self._failure: str | None = None
        self._error: Exception | None = None
        self._scope = trio.CancelScope()

    async def run(self) -> None:
        """Call the application.

        The requests of the application are to have ended before its lifespan does, whoever
        cancels: it is kept from being cancelled until `stop` has set a deadline.
        """
        with finish_within(math.inf) as self._scope:
            try:
                scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}}
                await self._app({**scope, "state": self.state}, self._receive, self._send)
            except Exception as exc:  # noqa: BLE001 - raised by `start` or `stop`
                self._error = exc
        self._settled.set()
        self._ended.set()

    async def start(self) -> None:
        """Wait until the application is ready, or is found to have no lifespan.

        Raises:
          Exception: what it raised on starting.
          RuntimeError: if it says that it cannot start.

        """
        await self._settled.wait()
        if self._failure is not None:
            # Some say so first, and then raise what had happened.
            with trio.move_on_after(SHUTDOWN_TIMEOUT):
                await self._ended.wait()
            self._raise_error()
            raise RuntimeError(f"The application cannot start: {self._failure}")
        if self._error is not None and not self._received:
            # ASGI: an application that raises for this scope has no lifespan.
            logger.debug("The application has no lifespan: %r", self._error)
            self._error = None
        self._raise_error()

    async def stop(self) -> None:
        """Have the application end its lifespan, also when cancelled, and cancel it after a while.

        Raises:
          Exception: what it raised on ending.

        """
        self._stopping.set()
        self._scope.deadline = trio.current_time() + SHUTDOWN_TIMEOUT
        with finish_within(SHUTDOWN_TIMEOUT + 1):
            await self._ended.wait()
        if self._failure is not None and self._error is None:
            logger.error("The application could not stop in good order: %s", self._failure)
        self._raise_error()

    def give_up(self) -> None:
        """End it although it has not started."""
        self._scope.cancel(reason="the server was cancelled before it had started")

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback refers to this frame

    async def _receive(self) -> Message:
        self._received += 1
        if self._received == 1:
            await trio.lowlevel.checkpoint()
            return {"type": "lifespan.startup"}
        await self._stopping.wait()
        if self._received > 2:
            await trio.sleep_forever()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: Message) -> None:
        await trio.lowlevel.checkpoint()
        if message["type"].endswith(".failed"):
            self._failure = str(message.get("message") or "it does not say why")
        if message["type"].startswith("lifespan.startup."):
            self._settled.set()


@asynccontextmanager
async def open_lifespan(app: AsgiApp) -> AsyncGenerator[dict[str, Any], None]:
    """Start an application, and stop it when the block is left; yields its state."""
    lifespan = Lifespan(app)
    async with open_background_nursery() as nursery:
        nursery.start_soon(lifespan.run, name="ASGI lifespan")
        try:
            await lifespan.start()
        except BaseException:
            lifespan.give_up()
            raise
        try:
            yield lifespan.state
        finally:
            await lifespan.stop()  # noqa: ASYNC102 - it shields itself, bounded
