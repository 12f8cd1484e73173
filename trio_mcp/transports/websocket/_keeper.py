"""Whether the peer of a WebSocket is still there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, final

import trio
from trio_websocket import ConnectionClosed
from wsproto.utilities import LocalProtocolError

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

    from ._stream import GuardedStream

SECOND_LOOK: Final = 0.1
"""Seconds before a peer that has been silent is given up: the event loop may have been held up
for so long that its last word waits to be read."""


@final
class Keeper:
    """Gives a connection up whose peer is silent.

    Whatever comes says that somebody is there, as a pong may wait behind messages that nobody
    receives; and what nobody reads is no silence.

    Args:
      connection: Sends the pings.
      stream: Knows how long nothing has come.
      interval: Seconds of silence before the peer is asked.
      timeout: Seconds in which something has to come then.

    """

    def __init__(
        self,
        connection: WebSocketConnection,
        stream: GuardedStream,
        interval: float,
        timeout: float,
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._interval = interval
        self._timeout = timeout
        self._asking = False

    @trio.lowlevel.enable_ki_protection
    async def run(self) -> None:
        """Watch until the connection ends."""
        stream = self._stream
        async with trio.open_nursery() as nursery:
            while not stream.ended:
                await trio.sleep(max(self._interval - stream.silence, SECOND_LOOK))
                if stream.silence < self._interval:
                    continue
                if not self._asking:
                    nursery.start_soon(self._ask, name="WebSocket ping")
                asked = stream.silent_since
                await trio.sleep(self._timeout)
                if stream.silent_since == asked:
                    await trio.sleep(SECOND_LOOK)
                if stream.silent_since == asked:
                    stream.lose(
                        f"Connection closed: {stream.peer} was silent for {self._timeout:g} s"
                    )
            nursery.cancel_scope.cancel(reason="the connection ended")

    async def _ask(self) -> None:
        # Not under the time limit: a frame that is half written cannot be given up.
        self._asking = True
        with suppress(ConnectionClosed, LocalProtocolError):
            await self._connection.ping()
        self._asking = False
