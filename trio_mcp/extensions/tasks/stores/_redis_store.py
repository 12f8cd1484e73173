"""Tasks in Redis, for several processes that serve the same clients."""

from __future__ import annotations

import hashlib
import logging
import time
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from trio_mcp._checks import check_kind, check_whole
from trio_mcp._codec import dumps, loads
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.transports._redis import (
    DEFAULT_PREFIX,
    RedisAddress,
    check_prefix,
    require_coredis,
)
from trio_mcp.transports._redis_link import RedisLink, RedisLinks
from trio_mcp.types import INTERNAL_ERROR

from ._redis_presence import Presence
from ._redis_scripts import CREATE, DELETE, GET, LIST, REPLACE
from ._store import Listeners, TaskPage, TooManyTasks, read_position, tell_forgotten
from ._stored import StoredTask

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable

    from trio_mcp.transports._redis import RedisConnection


logger: Final = logging.getLogger("trio_mcp.extensions.tasks")

_GONE: Final = "The process that worked on it is gone"


class RedisTaskStore:
    """A `TaskStore` in Redis, which several processes share.

    ::

        tasks = TasksExtension({"render": "optional"}, store=RedisTaskStore("redis://localhost/0"))

    A client may ask any of the processes for its task, answer it and cancel it there. The work
    stays in the process in which it began: when that stops, the task fails, and when it dies, the
    task is found to have failed five to seven minutes later. Each task has a key of its own, which
    expires with it. Where a principal has too many, or nobody, the one of them that has been over
    for longest is forgotten for a new one, unless that was just now. Give Redis a ``maxmemory``
    to bound all together.

    The server connects when it starts, and cannot start without. While Redis is away later,
    requests about tasks fail, calls that would become tasks too, and results wait.

    Needs the extra ``redis``, and Redis 6 or newer, with scripts allowed.

    Args:
      url: ``redis://user:password@host:port/db``, ``rediss://`` for TLS, or
        ``unix:///path?db=0``. It is not repeated in any message.
      prefix: Of the keys and of the channel.
      max_tasks_per_owner: How many tasks one principal may have, those included that are over
        and not yet expired.
      max_tasks_of_nobody: How many tasks there may be whose clients nobody authenticated.
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
        max_tasks_per_owner: int = 100,
        max_tasks_of_nobody: int = 1_000,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        require_coredis("RedisTaskStore")
        check_prefix(prefix)
        check_whole("max_tasks_per_owner", max_tasks_per_owner, least=1)
        check_whole("max_tasks_of_nobody", max_tasks_of_nobody, least=1)
        self._address = RedisAddress.parse(url, ssl_context)
        self._prefix = prefix
        self._channel = f"{prefix}:tasks"
        self._max_tasks_per_owner = max_tasks_per_owner
        self._max_tasks_of_nobody = max_tasks_of_nobody
        self._listeners = Listeners()
        self._links = RedisLinks("task store")
        self._presence = Presence(f"{prefix}:task-process", partial(self._listeners.tell, None))

    def __repr__(self) -> str:
        return f"<RedisTaskStore {self._address}, prefix {self._prefix!r}>"

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None, None]:
        """Be connected as long as the block lasts. Servers do this by themselves.

        It may be entered several times, also in several threads.

        Raises:
          ConnectionError: if Redis cannot be reached, or does not let this in.

        """
        presence = self._presence
        link = RedisLink(self._address, _Conversation(self._channel, self._listeners, presence))
        with presence.entered():
            async with open_background_nursery() as nursery:
                await nursery.start(link.run, name="Redis task store")
                with self._links.added(link):
                    try:
                        yield
                    finally:
                        await presence.remove(link)  # noqa: ASYNC102 - in finish_within

    async def create(self, task: StoredTask) -> None:
        """See `TaskStore.create`.

        Raises:
          TooManyTasks: if its owner has too many.
          ConnectionError: if Redis is away, or refuses it.

        """
        check_kind("task", task, StoredTask)
        keys = [self._name(task.task_id), *self._names_of(task.owner)]
        of_nobody = task.owner is None
        forgotten: bytes | None = await self._links.here().ask(
            b"EVAL",
            CREATE,
            len(keys),
            *keys,
            task.version,
            dumps(task.to_json()),
            max(1, round(task.ttl * 1000)),
            self._channel,
            task.task_id,
            self._max_tasks_of_nobody if of_nobody else self._max_tasks_per_owner,
            _awaited_until(task),
            self._presence.mark,
            repr(task.created_at),
        )
        if forgotten is None:
            raise TooManyTasks("Too many tasks are kept; try again later")
        if forgotten:
            tell_forgotten(forgotten.decode())

    async def get(self, task_id: str) -> StoredTask | None:
        """See `TaskStore.get`. A task whose process is gone has failed.

        Raises:
          ConnectionError: if Redis is away.

        """
        found = await self._links.here().ask(b"EVAL", GET, 1, self._name(task_id))
        return await self._read(found)

    async def _read(self, found: list[Any]) -> StoredTask | None:
        written, mark, is_set = found[0], found[1].decode(), bool(found[2])
        if written is None:
            return None
        task = StoredTask.from_json(loads(written))
        if not mark:
            return task
        self._presence.note(mark, is_there=is_set)
        if not self._presence.is_gone(mark):
            return task
        error = {"code": INTERNAL_ERROR, "message": _GONE}
        failed = task.ended(time.time(), "failed", error=error, status_message=_GONE)
        if not await self._replace(failed, mark):
            return await self.get(task.task_id)
        logger.warning("The task %.6s… has failed: its process is gone", task.task_id)
        return failed

    async def replace(self, task: StoredTask) -> bool:
        """See `TaskStore.replace`.

        Raises:
          ConnectionError: if Redis is away, or refuses it. It may have been replaced.

        """
        check_kind("task", task, StoredTask)
        return await self._replace(task)

    async def _replace(self, task: StoredTask, *missing: str) -> bool:
        is_next: int = await self._links.here().ask(
            b"EVAL",
            REPLACE,
            1 + len(missing),
            self._name(task.task_id),
            *missing,
            task.version - 1,
            task.version,
            dumps(task.to_json()),
            self._channel,
            task.task_id,
            _awaited_until(task),
        )
        return bool(is_next)

    async def delete(self, task_id: str) -> None:
        """See `TaskStore.delete`.

        Raises:
          ConnectionError: if Redis is away.

        """
        await self._links.here().ask(
            b"EVAL", DELETE, 1, self._name(task_id), self._channel, task_id
        )

    async def list_tasks(
        self, owner: str, *, position: str | None = None, limit: int = 100
    ) -> TaskPage:
        """See `ListingTaskStore.list_tasks`.

        Raises:
          ValueError: if the position is none.
          ConnectionError: if Redis is away.

        """
        check_whole("limit", limit, least=1)
        after = read_position(position)
        names = self._names_of(owner)
        more, *found = await self._links.here().ask(
            b"EVAL", LIST, len(names), *names, after, limit
        )
        tasks = [await self._read(each) for each in found]
        return TaskPage([each for each in tasks if each is not None], more.decode() or None)

    def subscribe(self, listener: Callable[[str | None], None]) -> Callable[[], None]:
        """See `TaskStore.subscribe`."""
        return self._listeners.add(listener)

    def _names_of(self, owner: str | None) -> list[str]:
        name = f"{self._prefix}:tasks-of-nobody"
        if owner is not None:
            name = f"{self._prefix}:tasks-of:{_digest(owner)}"
        return [name, f"{name}:order"]

    def _name(self, task_id: str) -> str:
        # One that says nothing of the task, whose id is a secret.
        return f"{self._prefix}:task:{_digest(task_id)}"


class _Conversation:
    """Hears of changes on the channel, those of this process among them."""

    def __init__(self, channel: str, listeners: Listeners, presence: Presence) -> None:
        self._channel = channel
        self._listeners = listeners
        self._presence = presence

    async def begin(self, connection: RedisConnection, *, again: bool) -> None:
        """See `Conversation.begin`."""
        connection.tell(b"SUBSCRIBE", self._channel)
        # A subscription is confirmed unasked, and refused in place of the next answer.
        await connection.ask(b"PING")
        await self._presence.set(connection)
        if again:
            self._listeners.tell(None)

    async def go_on(self, connection: RedisConnection) -> None:
        """See `Conversation.go_on`."""
        async with open_background_nursery() as nursery:
            nursery.start_soon(self._presence.keep, connection, name="mark of a task store")
            await connection.take_pushes(self._take)

    def _take(self, push: list[Any]) -> None:
        if len(push) == 3 and push[0] == b"message":
            self._listeners.tell(push[2].decode(errors="replace"))


def _awaited_until(task: StoredTask) -> str:
    return repr(task.awaited_until) if task.is_over else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
