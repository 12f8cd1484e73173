"""The lifespan of an ASGI application: before its first request, until after its last one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, final

import trio

from trio_mcp.transports._lifespan import SHUTDOWN_TIMEOUT, Lifespan

if TYPE_CHECKING:
    from ._asgi_request import AsgiApp, Message

logger: Final = logging.getLogger("trio_mcp.http")


@final
class AsgiLifespan(Lifespan):
    """Tells an application when its server starts and stops.

    Args:
      app: The application.

    Attributes:
      state: What it wants its requests to have.

    """

    def __init__(self, app: AsgiApp) -> None:
        super().__init__()
        self._app = app
        self.state: dict[str, Any] = {}
        self._received = 0
        self._has_started = False
        self._failure: str | None = None
        self._says_it_ended = False

    async def live(self) -> bool:
        """Call the application. One that returns early may just not care for the end."""
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}}
        try:
            await self._app({**scope, "state": self.state}, self._receive, self._send)
        except Exception as exc:
            if self._received or self._failure is not None:
                raise
            # ASGI: an application that raises for this scope has no lifespan.
            logger.debug("The application has no lifespan: %r", exc)
        return self._says_it_ended

    async def wait_started(self) -> None:
        """Wait until the application is ready, or is found to have no lifespan.

        Raises:
          Exception: what it raised on starting.
          RuntimeError: if it says that it cannot start.

        """
        await self.settled.wait()
        if self._failure is not None and not self._has_started:
            # Some say so first, and then raise what had happened.
            with trio.move_on_after(SHUTDOWN_TIMEOUT):
                await self.ended.wait()
            self.raise_error()
            raise RuntimeError(f"The application cannot start: {self._failure}")
        self.raise_error()

    async def stop(self) -> None:
        """See `Lifespan.stop`."""
        await super().stop()
        if self._failure is not None:
            logger.error("The application could not stop in good order: %s", self._failure)

    async def _receive(self) -> Message:
        self._received += 1
        if self._received == 1:
            await trio.lowlevel.checkpoint()
            return {"type": "lifespan.startup"}
        await self.stopping.wait()
        if self._received > 2:
            await trio.sleep_forever()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: Message) -> None:
        await trio.lowlevel.checkpoint()
        kind = message["type"]
        if kind.endswith(".failed"):
            self._failure = str(message.get("message") or "it does not say why")
        if kind.startswith("lifespan.startup."):
            self._has_started = kind == "lifespan.startup.complete"
            self.settled.set()
        if kind.startswith("lifespan.shutdown."):
            self._says_it_ended = True
