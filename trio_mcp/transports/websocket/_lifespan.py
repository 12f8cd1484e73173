"""The lifespan of a server: before its first connection, until after its last one."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from trio_mcp.transports._lifespan import Lifespan

if TYPE_CHECKING:
    from trio_mcp._rpc._service import Service, Serving


@final
class ServerLifespan(Lifespan):
    """Enters the lifespan of a server.

    Args:
      server: The server.

    """

    def __init__(self, server: Service) -> None:
        super().__init__()
        self._server = server
        self._serving: Serving | None = None

    @property
    def serving(self) -> Serving:
        """What serves, when it has started."""
        assert self._serving is not None
        return self._serving

    async def live(self) -> bool:
        """See `Lifespan.live`. A server whose lifespan ends has ended."""
        async with self._server.open() as self._serving:
            self.settled.set()
            await self.stopping.wait()
        return True

    async def wait_started(self) -> None:
        """Wait until the lifespan is entered, and raise what it raised."""
        await self.settled.wait()
        self.raise_error()
