"""The life of a session: opened once, listened to, left."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from trio_mcp._checks import check_callable, check_text
from trio_mcp._rpc._block import GuardedBlock
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp._rpc._sheltered import Sheltered

from ._keep_alive import keep_alive
from ._listeners import Listeners

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from types import TracebackType

    import trio

    from trio_mcp._rpc._link import Link
    from trio_mcp._rpc._service import Serving
    from trio_mcp.errors import ConnectionLost

    from ._extensions_of_client import OpenLifespan
    from ._serving import ClientServing, NotificationListener, ProgressListener

    OpenLink = Callable[[Serving], AbstractAsyncContextManager[Link]]

NO_LIFESPANS: Final[Mapping[str, Any]] = MappingProxyType({})


class LivingSession:
    """A session from when it is entered until it is left, whatever is said in it.

    Args:
      open_link: Opens the way to the server.
      serving: Answers what the server asks, and takes what it tells.
      read_timeout_seconds: How long each request may wait for its answer; None for no limit.
      ping_interval: Seconds between signs of life of an older server; None for none.
      lifespans: Of extensions, by their identifiers.

    """

    def __init__(
        self,
        open_link: OpenLink,
        serving: ClientServing,
        *,
        read_timeout_seconds: float | None,
        ping_interval: float | None,
        lifespans: Mapping[str, OpenLifespan] = NO_LIFESPANS,
    ) -> None:
        self._open_link: OpenLink | None = open_link
        self._serving = serving
        self._read_timeout_seconds = read_timeout_seconds
        self._ping_interval = ping_interval
        self._lifespans = lifespans
        self._lifespan_states: Mapping[str, Any] | None = None
        self._reconnect_listeners: Listeners[Callable[[], None]] = Listeners()
        self._block: GuardedBlock[Self] | None = None
        self._nursery: trio.Nursery | None = None
        self._link: Link | None = None

    async def __aenter__(self) -> Self:
        if self._open_link is None:
            raise RuntimeError("This session was entered before; make a new one")
        open_link, self._open_link = self._open_link, None
        block = GuardedBlock("ClientSession", self._open(open_link))
        await block.__aenter__()
        self._block = block
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        if self._block is None:
            raise RuntimeError("This session is not open")
        return await self._block.__aexit__(exc_type, exc_val, exc_tb)  # noqa: ASYNC102 - bounded inside

    @asynccontextmanager
    async def _open(self, open_link: OpenLink) -> AsyncGenerator[Self, None]:
        try:
            async with open_link(self._serving) as self._link, self._beside():
                yield self
        finally:
            self._serving.forget()

    @asynccontextmanager
    async def _beside(self) -> AsyncGenerator[None, None]:
        """Run what runs beside the session, where anything does."""
        if self._ping_interval is None and not self._lifespans:
            yield
        elif self._ping_interval is None:
            async with self._in_lifespans():
                yield
        else:
            async with open_background_nursery() as self._nursery, self._in_lifespans():
                yield

    @asynccontextmanager
    async def _in_lifespans(self) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            states: dict[str, Any] = {}
            for identifier, lifespan in self._lifespans.items():
                what = f"The lifespan of the extension {identifier!r}"
                block = Sheltered(what, lifespan(self))
                states[identifier] = await stack.enter_async_context(block)
            self._lifespan_states = states
            try:
                yield
            finally:
                self._lifespan_states = None

    def _start_keep_alive(self) -> None:
        if self._ping_interval is not None and self._nursery is not None:
            # Once, also where this is a restarted server: it goes on with the next one.
            nursery, self._nursery = self._nursery, None
            nursery.start_soon(
                keep_alive, self._require_link(), self._ping_interval, name="MCP keep-alive"
            )

    def _require_link(self) -> Link:
        if self._link is None:
            raise RuntimeError("Use the session inside `async with session:`")
        return self._link

    @property
    def lifespan_states(self) -> Mapping[str, Any]:
        """What the blocks yielded that extensions have round this session, by identifier.

        Raises:
          RuntimeError: while the session is not open.

        """
        self._require_link()
        if self._lifespan_states is None and self._lifespans:
            raise RuntimeError("The session is being opened or closed")
        return self._lifespan_states or NO_LIFESPANS

    @property
    def has_lifespan_states(self) -> bool:
        """Whether every block is open that extensions have round this session."""
        return self._lifespan_states is not None or not self._lifespans

    @property
    def read_timeout_seconds(self) -> float | None:
        """How long each request may wait for its answer; None for no limit."""
        return self._read_timeout_seconds

    @property
    def mends(self) -> bool:
        """Whether a lost connection comes back, since a restart policy is in force."""
        return self._link is not None and self._link.mends

    @property
    def authorizer(self) -> Any:
        """What signs the requests over Streamable HTTP, if anything does."""
        return None if self._link is None else self._link.authorizer

    async def wait_lost(self) -> ConnectionLost:
        """Wait until the connection has ended for good, and return how.

        Raises:
          RuntimeError: if the session is not open.

        """
        return await self._require_link().wait_lost()

    def on_notification(self, listener: NotificationListener) -> Callable[[], None]:
        """Have a function called with each notification, as soon as it is read.

        It sees the method and the params before any callback, subscription or waiting call
        does. The task that reads the wire calls it: it must neither raise nor take long.

        Returns:
          What takes it back.

        """
        check_callable("listener", listener)
        return self._serving.listeners.add(listener)

    def on_progress(self, token: str, listener: ProgressListener) -> Callable[[], None]:
        """Have a function called with each report of progress that carries a token.

        For a token that was sent in the ``_meta`` of a request without a callback of its own, and
        that stays valid for longer than the request. The task that reads the wire calls the
        function: it must neither raise nor take long. Such reports go nowhere else.

        Returns:
          What takes it back.

        Raises:
          ValueError: if somebody listens to that token already.

        """
        check_text("token", token)
        check_callable("listener", listener)
        listeners = self._serving.progress_listeners
        if token in listeners:
            raise ValueError(f"somebody listens to the progress token {token!r:.80} already")
        listeners[token] = listener

        def remove() -> None:
            if listeners.get(token) is listener:
                del listeners[token]

        return remove

    def on_reconnect(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have a function called each time a restarted server takes over from a dead one.

        It is called before any waiting call goes on, and must neither raise nor take long.

        Returns:
          What takes it back.

        """
        check_callable("listener", listener)
        return self._reconnect_listeners.add(listener)

    def reconnected(self) -> None:
        """Tell those who asked that another server has taken over."""
        for listener in self._reconnect_listeners:
            listener()
