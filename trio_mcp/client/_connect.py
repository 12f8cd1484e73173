"""Clients that are opened and closed in different tasks: a nursery of the user owns them."""

from __future__ import annotations

import functools
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, Unpack, final

import attrs
import trio

from trio_mcp._rpc._nursery import finish_within
from trio_mcp.errors import ConnectionLost

from ._client import Client

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from trio_mcp.types import (
        DiscoverResult,
        Implementation,
        LoggingLevel,
        SamplingCapability,
    )

    from ._cache_store import CacheConfig
    from ._callbacks import (
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
        SamplingFnT,
    )
    from ._client import ConnectMode
    from ._extensions import ClientExtension
    from ._restart import RestartPolicy
    from ._session import ClientSession

logger: Final = logging.getLogger("trio_mcp.client")

CLOSE_TIMEOUT: Final = 10.0
"""Seconds that a connection has to close in good order, before its task is cancelled."""

FORCED_CLOSE_TIMEOUT: Final = 7.0
"""Seconds after that: what ending a process that resists takes, and a little more."""


class ClientOptions(TypedDict, total=False):
    """The keyword arguments of `Client`, for `connect`."""

    raise_exceptions: bool
    read_timeout_seconds: float | None
    sampling_callback: SamplingFnT | None
    sampling_capabilities: SamplingCapability | None
    list_roots_callback: ListRootsFnT | None
    logging_callback: LoggingFnT | None
    log_level: LoggingLevel | None
    message_handler: MessageHandlerFnT | None
    client_info: Implementation | None
    mode: ConnectMode
    prior_discover: DiscoverResult | None
    elicitation_callback: ElicitationFnT | None
    input_required_max_rounds: int
    extensions: Sequence[ClientExtension] | None
    cache: CacheConfig | None
    ping_interval: float | None
    restart: RestartPolicy | None


async def connect(
    nursery: trio.Nursery, server: Any, **options: Unpack[ClientOptions]
) -> ConnectedClient:
    """Open a client in a task of your nursery, and return it as a handle for any task.

    For programs that cannot keep a connection in one ``async with``: opened by one task, used
    by others, closed by yet another::

        client = await connect(nursery, StdioServerParameters(command="server"))
        ...
        await client.aclose()

    The nursery owns the connection: where it is cancelled, the connection is closed, and until
    the connection is closed the nursery waits. It never sees an exception of it.

    Args:
      nursery: Runs the connection.
      server: What `Client` takes.
      options: The keyword arguments of `Client`.

    Returns:
      The client, connected.

    Raises:
      MCPError: if there is no connection to be had; whatever entering a `Client` raises is
          raised here, and nothing is left open.

    Cancellation:
      Nothing is left open.

    """
    client = ConnectedClient(server, **options)
    await nursery.start(client.run, name="MCP client")
    return client


@final
@attrs.define(eq=False)
class ConnectedClient(Client):
    """A `Client` that runs in a nursery of the user, made by `connect`.

    Every verb may be called from any task. When the server ends the connection, the handle
    closes by itself, and each later call raises the `ConnectionLost` that says why.

    ``async with client:`` closes it at the end of the block, in whichever task that is.
    """

    _leaving: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    _forced: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    _closed: trio.Event = attrs.field(factory=trio.Event, init=False)
    _lost: ConnectionLost | None = attrs.field(default=None, init=False)
    _error: Exception | None = attrs.field(default=None, init=False)
    _closers: int = attrs.field(default=0, init=False)

    @property
    def session(self) -> ClientSession:
        """The session below this client.

        Raises:
          ConnectionLost: if the client is closed, by either side.

        """
        if self._session is None or self._closed.is_set():
            raise self._why_closed()
        return self._session

    @property
    def closed(self) -> bool:
        """Whether the connection is closed, and nothing of it is left."""
        return self._closed.is_set()

    async def wait_closed(self) -> ConnectionLost:
        """Wait until the connection is closed, by whoever, and return why."""
        await self._closed.wait()
        return self._why_closed()

    async def aclose(self) -> None:
        """Close the connection, from any task, and wait until nothing of it is left.

        It may be called by several tasks, and again. Calls that wait fail with `ConnectionLost`.

        Raises:
          Exception: what went wrong on leaving, such as in the lifespan of a server of this
              process; where nobody waits for the end, that is logged.

        Cancellation:
          It is closed all the same. That takes at most `CLOSE_TIMEOUT` seconds, and then at
          most `FORCED_CLOSE_TIMEOUT` under a cancellation.

        """
        self._lost = self._lost or ConnectionLost("The connection was closed on this side")
        self._leaving.cancel(reason="aclose() was called")
        self._closers += 1
        try:
            with finish_within(CLOSE_TIMEOUT):
                await self._closed.wait()
            if not self._closed.is_set():
                logger.warning("A connection was not closed within %g s", CLOSE_TIMEOUT)
                self._forced.cancel(reason="closing took too long")
                with finish_within(FORCED_CLOSE_TIMEOUT):
                    await self._closed.wait()
        finally:
            self._closers -= 1
        error, self._error = self._error, None
        if error is not None:
            raise error
        await trio.lowlevel.checkpoint()

    async def __aenter__(self) -> Self:
        await trio.lowlevel.checkpoint()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()  # noqa: ASYNC102 - bounded inside

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:  # noqa: ASYNC114 - only `connect` starts it
        """Be connected until `aclose`, or until the server ends the connection."""
        started = False
        try:
            with self._forced:
                await Client.__aenter__(self)
                started = True
                task_status.started()
                await self._stay_and_leave()
        except Exception as exc:
            if not started:
                raise
            self._failed(exc)
        finally:
            self._lost = self._lost or ConnectionLost("The connection was closed on this side")
            self._closed.set()

    async def _stay_and_leave(self) -> None:
        assert self._session is not None
        async with AsyncExitStack() as stack:
            stack.push_async_exit(functools.partial(Client.__aexit__, self))
            with self._leaving:
                self._lost = self._lost or await self._session.wait_lost()

    def _failed(self, error: Exception) -> None:
        if self._closers:
            self._error = error
        else:
            logger.error("Closing a connection failed", exc_info=error)

    def _why_closed(self) -> ConnectionLost:
        if self._lost is None:
            return ConnectionLost("This connection is not open yet")
        return self._lost.again()
