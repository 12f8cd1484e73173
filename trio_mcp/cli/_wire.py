"""``--wire``: a channel that shows what goes through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from trio_mcp._codec import dumps, message_to_json
from trio_mcp._codec._envelope import Batch, Malformed
from trio_mcp.transports import Channel

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp._codec import Frame
    from trio_mcp.types import JSONRPCMessage
    from trio_mcp.types._base import JsonValue

SENT: Final = "→"
RECEIVED: Final = "←"


@final
class WireChannel(Channel):
    """Another channel, each of whose messages is told about.

    Args:
      channel: The channel; closed with this one.
      tell: Called with a line: the direction and the message as JSON. What arrived and was
          no message is shown with what is wrong with it.

    """

    __slots__ = ("_channel", "_tell")

    def __init__(self, channel: Channel, tell: Callable[[str], None]) -> None:
        self._channel = channel
        self._tell = tell

    async def receive(self) -> list[Frame]:
        """See `Channel.receive`."""
        frames = await self._channel.receive()
        for frame in frames:
            self._tell(f"{RECEIVED} {_show(frame)}")
        return frames

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """See `Channel.send`."""
        # Before they are sent, so that no answer is shown before its request.
        for message in messages:
            self._tell(f"{SENT} {_show(message)}")
        await self._channel.send(messages)

    async def aclose(self) -> None:
        """See `Channel.aclose`."""
        await self._channel.aclose()


def _show(frame: Frame) -> str:
    if isinstance(frame, Malformed):
        return f"({frame.message}) {frame.excerpt or ''}".rstrip()
    if isinstance(frame, Batch):
        # A batch is shown as one line, with what is no message in it as null.
        return _dump([_member(each) for each in frame.messages])
    return _dump(message_to_json(frame))


def _member(message: JSONRPCMessage | Malformed) -> JsonValue:
    return None if isinstance(message, Malformed) else message_to_json(message)


def _dump(value: JsonValue) -> str:
    return dumps(value).decode()
