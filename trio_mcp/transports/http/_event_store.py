"""What was sent on the streams of older sessions, kept so that they can be resumed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.types import JSONRPCMessage

StreamId: TypeAlias = str
EventId: TypeAlias = str
EventCallback: TypeAlias = "Callable[[EventMessage], Awaitable[None]]"


@attrs.frozen
class EventMessage:
    """A message that was sent, and the id under which it is kept."""

    message: JSONRPCMessage
    event_id: EventId | None = None


class EventStore(ABC):
    """Keeps what was sent on streams."""

    @abstractmethod
    async def store_event(
        self, stream_id: StreamId, message: JSONRPCMessage | None
    ) -> EventId: ...

    @abstractmethod
    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None: ...
