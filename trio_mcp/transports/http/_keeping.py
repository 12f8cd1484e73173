"""Messages of older sessions on their way into an event store, and out of it again."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._checks import check_text, wrong_value
from trio_mcp._codec import dump_message
from trio_mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCResponse

from ._outage import Outage

if TYPE_CHECKING:
    from collections.abc import Generator

    from trio_mcp.types import JSONRPCMessage

    from ._event_store import EventMessage, EventStore

STORE_SECONDS: Final = 15.0
"""Seconds that an event store may take for one message, and for giving a stream again. What
the session sends next waits that long."""

PAUSE_SECONDS: Final = 30.0
"""Seconds in which a session does without an event store that has taken too long."""

MAX_AT_ONCE: Final = 64
"""Events that are taken out of a store at once, for one client that comes back."""

MAX_BYTES_AT_ONCE: Final = 1024 * 1024
"""The same in bytes; one event may be larger."""

_UNSPEAKABLE: Final = re.compile(r"[\0\r\n\ud800-\udfff]")

GAP: Final = JSONRPCNotification(method="trio_mcp/lost")
"""Is kept where something was sent without being kept, before anything that comes after it."""


def _check_event_id(event_id: object) -> None:
    """Check what a store, which may be anybody's, calls an event: a line of a stream says it.

    Raises:
      TypeError, ValueError: if no line can.

    """
    if event_id is None:
        return
    check_text("the id of an event", event_id)
    if not event_id or _UNSPEAKABLE.search(str(event_id)):
        # An empty one would have the client forget the id that it has.
        expected = "some text without line ends, null characters and lone surrogates"
        raise wrong_value("the id of an event", expected, event_id)


@attrs.define(eq=False)
class Patience:
    """How long a session waits for an event store: for one that hangs, once in a while."""

    _resumes_at: float = -math.inf

    @property
    def is_lost(self) -> bool:
        """Whether the store took too long just now."""
        return trio.current_time() < self._resumes_at

    def lose(self) -> None:
        """The store has taken too long."""
        self._resumes_at = trio.current_time() + PAUSE_SECONDS


@attrs.frozen
class StreamOptions:
    """How the streams of a session can be resumed.

    Attributes:
      store: Keeps what was sent; None if they cannot.
      polls: Whether the revision knows streams that are closed for a while.
      retry_ms: How long clients are to wait then, if that was said.
      patience: With the store.
      outage: Of the store, for all who use it.

    """

    store: EventStore | None
    polls: bool
    retry_ms: int | None
    patience: Patience = attrs.Factory(Patience)
    outage: Outage = attrs.Factory(Outage)

    @property
    def are_primed(self) -> bool:
        """Whether a stream begins with an event that no more than tells its id."""
        return self.store is not None and self.polls

    async def keep(self, stream_id: str, message: JSONRPCMessage | None) -> str | None:
        """Give a message to the store; what goes wrong is told, and costs the id alone.

        Returns:
          The id of its event; None if it is not kept, as far as is known.

        """
        assert self.store is not None
        if self.patience.is_lost:
            return None
        try:
            with trio.move_on_after(STORE_SECONDS):
                event_id = await self.store.store_event(stream_id, message)
                _check_event_id(event_id)
                self.outage.is_over("keep")
                return event_id
            self.patience.lose()
            self.outage.tell(
                "keep",
                "An event store took more than %g s: for %g s, nothing is kept of what is sent",
                STORE_SECONDS,
                PAUSE_SECONDS,
            )
        except ConnectionError as exc:
            self.outage.tell("keep", "A message is sent without being kept: %s", exc)
        except Exception as exc:  # noqa: BLE001 - told, with its traceback
            what = "An event store failed: a message is sent without being kept"
            self.outage.tell("keep", what, defect=exc)
        return None


@contextmanager
def within_store_seconds() -> Generator[None]:
    """Bound what a store takes for giving something again.

    Raises:
      TimeoutError: if the block takes more than `STORE_SECONDS`.

    """
    with trio.move_on_after(STORE_SECONDS) as limit:
        yield
    if limit.cancelled_caught:
        raise TimeoutError(f"the event store took more than {STORE_SECONDS:g} s")


NOT_RESUMABLE: Final = StreamOptions(None, polls=False, retry_ms=None)


@attrs.define(eq=False)
class Missed:
    """What came after an event on its stream: the first of it.

    Attributes:
      stream_id: The stream.
      last_event_id: The event that it ends with.
      events: Each as it is written, with its id.
      is_all: Whether nothing is left.
      is_answered: Whether an answer is among them.

    """

    last_event_id: str
    stream_id: str = ""
    events: list[tuple[bytes, str | None]] = attrs.Factory(list[Any])
    is_all: bool = True
    is_answered: bool = False
    _size: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.events) >= MAX_AT_ONCE or self._size >= MAX_BYTES_AT_ONCE

    def add(self, event: EventMessage) -> None:
        _check_event_id(event.event_id)
        data = dump_message(event.message)
        self._size += len(data)
        self.events.append((data, event.event_id))
        if event.event_id is not None:
            self.last_event_id = event.event_id
        self.is_answered |= isinstance(event.message, (JSONRPCResponse, JSONRPCError))


async def read_missed(
    store: EventStore, last_event_id: str, stream_id: str | None = None
) -> Missed | None:
    """Read what came after an event on its stream, as much as is sent at once.

    Args:
      store: Where it is kept.
      last_event_id: What the client has last.
      stream_id: The stream, if that is known; else the store is asked. Where it knows, no more
          is read than is needed.

    Returns:
      It; None if there is no such event (any more), or if some that came after it are lost.

    """
    if stream_id is None:
        stream_id = await store.stream_of(last_event_id)
    missed = Missed(last_event_id)
    has_gap = False
    enough = trio.CancelScope()

    async def collect(event: EventMessage) -> None:
        nonlocal has_gap
        await trio.lowlevel.checkpoint()
        if event.message == GAP:
            has_gap = True
        elif missed.is_full:
            missed.is_all = False
            if stream_id is not None:
                enough.cancel(reason="no more is sent at once")
                await trio.lowlevel.checkpoint()
        else:
            missed.add(event)

    found: str | None = None
    with enough:
        found = await store.replay_events_after(last_event_id, collect)
    if enough.cancelled_caught:
        found = stream_id
    if found is None or has_gap:
        return None
    missed.stream_id = found
    return missed
