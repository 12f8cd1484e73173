"""What was sent on the streams of older sessions, kept in Redis for all who serve them."""

from __future__ import annotations

import hashlib
import itertools
import logging
import re
import secrets
from collections import OrderedDict
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from trio_mcp._checks import check_number, check_whole
from trio_mcp._codec import Batch, Malformed, dump_message, parse_frame
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._trouble import Trouble
from trio_mcp.transports._redis import (
    DEFAULT_PREFIX,
    RedisAddress,
    RedisRefused,
    check_prefix,
    require_coredis,
)
from trio_mcp.transports._redis_link import RedisLink, RedisLinks

from ._event_store import EventMessage, SharedEventStore
from ._redis_scripts import END, SHAS, STORE

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator

    from trio_mcp.types import JSONRPCMessage

    from ._event_store import EventCallback, EventId, StreamId

MAX_DOUBTS: Final = 10_000
"""Streams of which is remembered that their last message may not have been kept."""

LIFE_SECONDS: Final = 15.0
"""Seconds for which a process counts as alive after it has said so last."""

GONE_SECONDS: Final = 1.0
"""Seconds for telling that it is no more."""

logger: Final = logging.getLogger("trio_mcp.redis")

_EVENT_ID: Final = re.compile(r"([0-9a-f]{32})-([0-9]{1,20})-([0-9]{1,20})", re.ASCII)

PAGE: Final = 64
"""Events that are read at once."""


@attrs.frozen
class _Doubt:
    """A call of which is not known whether it has kept its message."""

    call: str
    comes_again: bool
    """Whoever asked was cancelled, and keeps it again; otherwise it was sent without."""


class RedisEventStore(SharedEventStore):
    """A `SharedEventStore` in Redis, which several processes share, and which outlives them.

    ::

        app = mcp.streamable_http_app(event_store=RedisEventStore("redis://localhost/0"))

    Each stream has a key of its own, which expires, or is deleted when its session ends. No
    session takes more than its own part, so none pushes out what others want to resume. Give
    Redis a ``maxmemory``, many times what one session may take, and the policy ``volatile-ttl``
    to bound all together.

    The server connects when it starts, and cannot start without. While Redis is away later,
    messages are sent without being kept; the first of them may wait for a few seconds, the others
    do not. A stream that has lost one is not resumed across the gap.

    Needs the extra ``redis``, and Redis 6 or newer, with scripts allowed.

    Args:
      url: ``redis://user:password@host:port/db``, ``rediss://`` for TLS, or
        ``unix:///path?db=0``. It is not repeated in any message.
      prefix: Of the keys.
      max_events_per_stream: More push out the oldest of their stream.
      max_bytes_per_stream: Of its messages together, likewise. A message larger than that is
        not kept, and the stream not resumed across it.
      max_streams_per_session: More push out those of the same session that were written longest
        ago.
      max_bytes_per_session: Of the messages of all its streams, likewise.
      ttl: Seconds that a stream is kept after its last event.
      ssl_context: What is trusted with ``rediss://``, if it is not what the system trusts.

    Raises:
      ModuleNotFoundError: if coredis is not installed.
      TypeError, ValueError: if an argument is something else.

    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        max_events_per_stream: int = 1_000,
        max_bytes_per_stream: int = 8 * 1024 * 1024,
        max_streams_per_session: int = 1_000,
        max_bytes_per_session: int = 8 * 1024 * 1024,
        ttl: float = 3_600.0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        require_coredis("RedisEventStore")
        check_prefix(prefix)
        check_whole("max_events_per_stream", max_events_per_stream, least=1)
        check_whole("max_bytes_per_stream", max_bytes_per_stream, least=1)
        check_whole("max_streams_per_session", max_streams_per_session, least=1)
        check_whole("max_bytes_per_session", max_bytes_per_session, least=1)
        check_number("ttl", ttl, least=1)
        self._address = RedisAddress.parse(url, ssl_context)
        self._prefix = prefix
        self._max_events = max_events_per_stream
        self._max_bytes = min(max_bytes_per_stream, max_bytes_per_session)
        self._max_streams = max_streams_per_session
        self._max_of_session = max_bytes_per_session
        self._ttl_ms = int(min(ttl, 10**9) * 1000)
        self._links = RedisLinks("event store")
        self._doubts: OrderedDict[StreamId, _Doubt] = OrderedDict()
        self._me = ""
        self._calls = itertools.count()

    def __repr__(self) -> str:
        return f"<RedisEventStore {self._address}, prefix {self._prefix!r}>"

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None, None]:
        """See `EventStore.open`. It may be entered several times, also in several threads.

        Raises:
          ConnectionError: if Redis cannot be reached, or does not let this in.

        """
        link = RedisLink(self._address)
        async with open_background_nursery() as nursery:
            await nursery.start(link.run, name="Redis event store")
            if not self._links:
                # Here, since a process that was forked is another one.
                self._me = secrets.token_hex(8)
            with self._links.added(link):
                nursery.start_soon(self._tell_alive, link, name="Redis event store's life")
                yield
                if len(self._links) == 1:
                    await self._tell_gone(link)

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """See `EventStore.store_event`.

        Raises:
          ConnectionError: if Redis is away, or refuses it.

        """
        data = b"" if message is None else dump_message(message)
        is_too_large = len(data) > self._max_bytes
        if is_too_large:
            data = b""
        key = self._key(stream_id)
        doubt = self._doubts.pop(stream_id, None)
        call = f"{self._me}{next(self._calls)}"
        why = "" if doubt is None else "again" if doubt.comes_again else "failed"
        args = (
            2,
            self._name(key),
            self._name_of_session(stream_id.partition("/")[0]),
            stream_id,
            data,
            int(is_too_large),
            call,
            self._max_events,
            self._max_bytes,
            self._ttl_ms,
            why,
            "" if doubt is None else doubt.call,
            self._max_streams,
            self._max_of_session,
        )
        try:
            entry_id: bytes = await self._run_script(STORE, *args)
        except trio.Cancelled:
            self._remember(stream_id, _Doubt(call, comes_again=True))
            raise
        except Exception:
            self._remember(stream_id, _Doubt(call, comes_again=False))
            raise
        return f"{key}-{entry_id.decode()}"

    async def _run_script(self, script: bytes, *args: bytes | str | int) -> Any:
        link = self._links.here()
        try:
            return await link.ask(b"EVALSHA", SHAS[script], *args)
        except RedisRefused as exc:
            if not exc.is_unknown_script:
                raise
        return await link.ask(b"EVAL", script, *args)

    def _remember(self, stream_id: StreamId, doubt: _Doubt) -> None:
        self._doubts[stream_id] = doubt
        if len(self._doubts) > MAX_DOUBTS:
            self._doubts.popitem(last=False)

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        """See `EventStore.replay_events_after`. The event itself has to be kept still, too.

        Raises:
          ConnectionError: if Redis is away.

        """
        link = self._links.here()
        key, entry_id = _read_event_id(last_event_id)
        if not entry_id:
            await trio.lowlevel.checkpoint()
            return None
        name = self._name(key)
        found = _read_entries(await link.ask(b"XRANGE", name, entry_id, b"+", b"COUNT", PAGE))
        if not found or found[0].id != entry_id:
            return None
        stream_id, entries = found[0].stream_id, found[1:]
        count = len(found)
        while True:
            for each in entries:
                if each.message is not None:
                    await send_callback(EventMessage(each.message, f"{key}-{each.id}"))
            if count < PAGE:
                return stream_id
            entry_id = found[-1].id
            found = _read_entries(await link.ask(b"XRANGE", name, entry_id, b"+", b"COUNT", PAGE))
            if not found or found[0].id != entry_id:
                # Pushed out meanwhile, and perhaps others with it.
                return None
            entries, count = found[1:], len(found)

    async def stream_of(self, event_id: EventId) -> StreamId | None:
        """See `EventStore.stream_of`.

        Raises:
          ConnectionError: if Redis is away.

        """
        link = self._links.here()
        key, entry_id = _read_event_id(event_id)
        if not entry_id:
            await trio.lowlevel.checkpoint()
            return None
        entries = await link.ask(b"XRANGE", self._name(key), entry_id, entry_id, b"COUNT", 1)
        found = _read_entries(entries)
        return found[0].stream_id if found else None

    # Other processes

    async def _tell_alive(self, link: RedisLink) -> None:
        name = f"{self._prefix}:process:{self._me}"
        trouble = Trouble()
        while True:
            try:
                await link.ask(b"SET", name, b"", b"PX", int(LIFE_SECONDS * 1000))
                trouble.works()
            except RedisRefused as exc:
                level = logging.WARNING if trouble.fails() else logging.DEBUG
                logger.log(level, "Other processes take this one for dead: %s", exc)
            except ConnectionError as exc:
                # The link tells of it.
                logger.debug("%s", exc)
            await trio.sleep(LIFE_SECONDS / 3)

    async def _tell_gone(self, link: RedisLink) -> None:
        # One that does not answer holds up no server that stops: the key expires by itself.
        with trio.move_on_after(GONE_SECONDS), suppress(ConnectionError):
            await link.ask(b"DEL", f"{self._prefix}:process:{self._me}")

    async def is_written(self, stream_id: StreamId) -> bool:
        """See `SharedEventStore.is_written`. One that dies counts as alive for 15 seconds."""
        link = self._links.here()
        name = self._name(self._key(stream_id))
        entries = await link.ask(b"XREVRANGE", name, b"+", b"-", b"COUNT", 1)
        if not entries:
            return False
        fields: list[bytes] = entries[0][1]
        call = dict(zip(fields[::2], fields[1::2], strict=True)).get(b"n", b"")
        writer = call[: len(self._me)].decode(errors="replace")
        return bool(await link.ask(b"EXISTS", f"{self._prefix}:process:{writer}"))

    async def end_session(self, session_id: str) -> None:
        """See `SharedEventStore.end_session`."""
        ended = f"{self._prefix}:ended:{self._key(session_id)}"
        await self._run_script(END, 2, self._name_of_session(session_id), ended, self._ttl_ms)

    async def has_ended(self, session_id: str) -> bool:
        """See `SharedEventStore.has_ended`."""
        name = f"{self._prefix}:ended:{self._key(session_id)}"
        return bool(await self._links.here().ask(b"EXISTS", name))

    def _key(self, stream_id: StreamId) -> str:
        # One that says nothing of the stream, whose id is a secret.
        return hashlib.sha256(stream_id.encode()).hexdigest()[:32]

    def _name(self, key: str) -> str:
        return f"{self._prefix}:stream:{key}"

    def _name_of_session(self, session_id: str) -> str:
        return f"{self._prefix}:session:{self._key(session_id)}"


def _read_event_id(event_id: str) -> tuple[str, str]:
    """Take an id apart: the key of its stream, and its place there; empty if it is none."""
    found = _EVENT_ID.fullmatch(event_id)
    if found is None or int(found[2]) >= 2**64 or int(found[3]) >= 2**64:
        return "", ""
    return found[1], f"{found[2]}-{found[3]}"


@attrs.frozen
class _Entry:
    id: str
    stream_id: StreamId
    message: JSONRPCMessage | None


def _read_entries(entries: list[Any]) -> list[_Entry] | None:
    """Read entries; None if something behind the first is not there that should be."""
    found: list[_Entry] = []
    for entry_id, fields in entries:
        members = dict(zip(fields[::2], fields[1::2], strict=True))
        data = members.get(b"m", b"")
        frame = parse_frame(data) if data else None
        message = None if isinstance(frame, (Malformed, Batch)) else frame
        is_lost = members.get(b"x") == b"1" or message is not frame
        if is_lost and found:
            return None
        stream_id = members.get(b"s", b"").decode(errors="replace")
        found.append(_Entry(entry_id.decode(), stream_id, message))
    return found
