"""Clients that are opened and closed in different tasks: a nursery of the user owns them."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, Unpack, final

import attrs
import trio

from trio_mcp._checks import check_kind
from trio_mcp._rpc._nursery import finish_within
from trio_mcp.errors import ConnectionLost

from ._client import Client

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
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
    from ._client_life import ConnectMode
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
    auth: Any


async def connect(
    nursery: trio.Nursery, server: Any, **options: Unpack[ClientOptions]
) -> ConnectedClient:
    """Open a client in a task of your nursery, and return it as a handle for any task.

    For programs that cannot keep a connection in one ``async with``: opened by one task, used
    by others, closed by yet another::

        client = await connect(nursery, StdioServerParameters(command="server"))
        ...
        await client.aclose()

    The nursery owns the connection from the first moment: where it is cancelled, the connection
    is closed, and until the connection is closed the nursery waits. It never sees an exception
    of it.

    Args:
      nursery: Runs the connection.
      server: What `Client` takes.
      options: The keyword arguments of `Client`.

    Returns:
      The client, connected.

    Raises:
      MCPError: if there is no connection to be had; whatever entering a `Client` raises is
          raised here, and nothing is left open.
      ConnectionLost: also if the nursery was cancelled meanwhile.

    Cancellation:
      Nothing is left open, unless what closes it takes longer than `FORCED_CLOSE_TIMEOUT`
      seconds; then the nursery alone waits for that.

    """
    check_kind("nursery", nursery, trio.Nursery)
    # Not by `nursery.start`: that would run the connection under the caller's scopes until it is
    # open, so that a nursery that is cancelled would have to wait for a server that is silent.
    client = ConnectedClient(server, **options)
    nursery.start_soon(client.run, name="MCP client")
    await client.wait_open()
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
    _is_open: bool = attrs.field(default=False, init=False)
    _settled: trio.Event = attrs.field(factory=trio.Event, init=False)
    """It is open, or will never be."""
    _closed: trio.Event = attrs.field(factory=trio.Event, init=False)
    _lost: ConnectionLost | None = attrs.field(default=None, init=False)
    _error: Exception | None = attrs.field(default=None, init=False)
    """For one of those who wait, and are to raise it."""
    _waiting: int = attrs.field(default=0, init=False)

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
          most `FORCED_CLOSE_TIMEOUT` under a cancellation. For clean-up of your own that takes
          longer even so, such as in a shielded scope, the nursery alone waits.

        """
        self._lost = self._lost or _closed_here()
        self._leaving.cancel(reason="aclose() was called")
        with self._hearing_errors():
            with finish_within(CLOSE_TIMEOUT):
                await self._closed.wait()
            if not self._closed.is_set():
                logger.warning("A connection was not closed within %g s", CLOSE_TIMEOUT)
                await self._force("closing took too long")
        self._raise_error()
        await trio.lowlevel.checkpoint()

    async def _force(self, reason: str) -> None:
        self._forced.cancel(reason=reason)
        with finish_within(FORCED_CLOSE_TIMEOUT):
            await self._closed.wait()
        if not self._closed.is_set():
            logger.error("A connection resists being closed; its nursery goes on waiting for it")

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

    async def run(self) -> None:
        """Be connected until `aclose`, or until the server ends the connection."""
        try:
            with self._forced:
                await Client.__aenter__(self)
                self._is_open = True
                self._settled.set()
                await self._stay_and_leave()
        except Exception as exc:  # noqa: BLE001 - it is told to those who wait, or logged
            self._failed(exc)
        finally:
            self._lost = self._lost or _closed_here()
            self._closed.set()
            self._settled.set()

    async def wait_open(self) -> None:
        """Wait until `run` has opened the connection.

        Raises:
          Exception: what opening it raised.
          ConnectionLost: if `run` was cancelled before.

        Cancellation:
          `run` is cancelled, and waited for.

        """
        with self._hearing_errors():
            try:
                await self._settled.wait()
            except BaseException:
                await self._force("connect() was cancelled")  # noqa: ASYNC102 - bounded inside
                raise
        if not self._is_open:
            self._raise_error()
            raise ConnectionLost("The nursery was cancelled before the connection was open")

    async def _stay_and_leave(self) -> None:
        assert self._session is not None
        try:
            with self._leaving:
                self._lost = self._lost or await self._session.wait_lost()
        except BaseException as exc:  # noqa: ASYNC103 - swallowed where Client says so alone
            # No `AsyncExitStack`: one that is left by an exception keeps it, and itself.
            if not await Client.__aexit__(self, type(exc), exc, exc.__traceback__):  # noqa: ASYNC102 - bounded inside
                raise
        else:
            await Client.__aexit__(self, None, None, None)

    @contextmanager
    def _hearing_errors(self) -> Generator[None, None, None]:
        """Somebody waits, and will raise what goes wrong."""
        self._waiting += 1
        try:
            yield
        except BaseException:
            error, self._error = self._error, None
            if error is not None:
                _log(error)
            raise
        finally:
            self._waiting -= 1

    def _failed(self, error: Exception) -> None:
        if self._waiting:
            self._error = error
        else:
            _log(error)

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback refers to this frame

    def _why_closed(self) -> ConnectionLost:
        if self._lost is None:
            return ConnectionLost("This connection is not open yet")
        return self._lost.again()


def _closed_here() -> ConnectionLost:
    return ConnectionLost("The connection was closed on this side")


def _log(error: Exception) -> None:
    logger.error("Closing a connection failed", exc_info=error)
