"""The life of a client: what it is made of, opened and closed, and what it knows of its server."""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Self

import attrs

from trio_mcp._checks import check_flag, check_kind, check_whole, check_word
from trio_mcp._rpc._block import GuardedBlock
from trio_mcp.errors import ConnectionLost, LocalError, MCPError
from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    MODERN_PROTOCOL_VERSIONS,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from trio_mcp.types._revisions import LATEST_HANDSHAKE

from ._arguments import check_options
from ._cache import ResponseCache
from ._cache_store import CacheConfig
from ._extensions_of_client import Extensions
from ._input_rounds import DEFAULT_INPUT_REQUIRED_MAX_ROUNDS
from ._negotiation import negotiate
from ._roads import check_reopens, older_road_to, road_to
from ._session import ClientSession

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence
    from types import TracebackType

    from trio_mcp.types import (
        DiscoverResult,
        Implementation,
        LoggingLevel,
        SamplingCapability,
        ServerCapabilities,
        Tool,
    )

    from ._callbacks import (
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
        SamplingFnT,
    )
    from ._extensions import ClientExtension
    from ._restart import MendingRoad, RestartPolicy
    from ._session_life import OpenLink

ConnectMode = str
"""``"auto"``, ``"legacy"``, or the name of a revision."""

OLDER_ROAD_STATUSES: Final = frozenset({400, 404, 405})
"""What `initialize` is answered by a server that knows HTTP+SSE alone."""

_MODERN_ERRORS: Final = frozenset(
    {HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION}
)

_MODES = ("auto", "legacy", *HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)


@attrs.define(eq=False)
class LivingClient:
    """A client from when it is made until it is closed, whatever it is used for; see `Client`."""

    server: Any
    raise_exceptions: bool = False
    read_timeout_seconds: float | None = None
    sampling_callback: SamplingFnT | None = None
    sampling_capabilities: SamplingCapability | None = None
    list_roots_callback: ListRootsFnT | None = None
    logging_callback: LoggingFnT | None = None
    log_level: LoggingLevel | None = None
    message_handler: MessageHandlerFnT | None = None
    client_info: Implementation | None = None
    mode: ConnectMode = "auto"
    prior_discover: DiscoverResult | None = None
    elicitation_callback: ElicitationFnT | None = None
    input_required_max_rounds: int = DEFAULT_INPUT_REQUIRED_MAX_ROUNDS
    extensions: Sequence[ClientExtension] | None = None
    cache: CacheConfig | None = attrs.field(factory=CacheConfig)
    ping_interval: float | None = attrs.field(default=None, kw_only=True)
    restart: RestartPolicy | None = attrs.field(default=None, kw_only=True)
    auth: Any = attrs.field(default=None, kw_only=True, repr=False)
    _session: ClientSession | None = attrs.field(default=None, init=False)
    _block: GuardedBlock[ClientSession] | None = attrs.field(default=None, init=False)
    _verdict: str | None = attrs.field(default=None, init=False)
    _was_only_slow: bool = attrs.field(default=False, init=False)
    _older_road_works: bool = attrs.field(default=False, init=False)
    _cache: ResponseCache | None = attrs.field(default=None, init=False)
    _extensions: Extensions = attrs.field(factory=Extensions, init=False)

    def __attrs_post_init__(self) -> None:
        self._check()
        if self.extensions is not None:
            self._extensions = Extensions.of(self.extensions)
        if self.cache is not None:
            self._cache = ResponseCache(self.cache)

    def _check(self) -> None:
        # It refuses what leads nowhere.
        road_to(self.server, auth=self.auth)
        check_flag("raise_exceptions", self.raise_exceptions)
        check_word("mode", self.mode, _MODES)
        check_whole("input_required_max_rounds", self.input_required_max_rounds, least=0)
        check_options(attrs.asdict(self, recurse=False))
        if self.restart is not None:
            from ._restart import RestartPolicy  # noqa: PLC0415 - few want it

            check_kind("restart", self.restart, RestartPolicy)
            check_reopens(self.server)

    async def __aenter__(self) -> Self:
        if self._block is not None:
            raise RuntimeError("This client is open already: use one Client per connection")
        block = self._block = GuardedBlock("Client", self._open())
        try:
            self._session = await block.__aenter__()
        except BaseException:
            self._block = None
            raise
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        block = self._block
        if block is None:
            raise RuntimeError("This client is not open")
        try:
            return await block.__aexit__(exc_type, exc_val, exc_tb)  # noqa: ASYNC102 - bounded inside
        finally:
            if not block.is_open:
                self._session = self._block = None

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[ClientSession, None]:
        why: MCPError | None = None
        for road in self._roads():
            is_open = False
            try:
                async with self._open_over(road) as session:
                    is_open = True
                    yield session
            except MCPError as exc:
                # An error that answers on the last road is of a server that was found there.
                if is_open or (why is not None and not isinstance(exc, ConnectionLost)):
                    raise
                # What the first attempt met says more than what the last resort did.
                why = why or exc
                if not may_be_of_older_road(exc):
                    break
            if is_open:
                return
        self._older_road_works = False
        assert why is not None
        try:
            raise why
        finally:
            del why  # its traceback refers to this frame

    def _roads(self) -> Iterator[OpenLink]:
        """Give the ways to the server, one after the other while there is no connection."""
        older_road = older_road_to(self.server, self.auth)
        if older_road is None or not self._older_road_works:
            yield road_to(self.server, raise_exceptions=self.raise_exceptions, auth=self.auth)
        if older_road is not None:
            # Streamable HTTP, backward compatibility: what is tried at last.
            self._older_road_works = True
            yield older_road

    @asynccontextmanager
    async def _open_over(self, road: OpenLink) -> AsyncGenerator[ClientSession, None]:
        mending: MendingRoad | None = None
        if self.restart is not None:
            from ._restart import MendingRoad  # noqa: PLC0415 - few want it

            road = mending = MendingRoad(road, self.restart, self._negotiate_again)
        session = ClientSession(
            read_timeout_seconds=self.read_timeout_seconds,
            sampling_callback=self.sampling_callback,
            elicitation_callback=self.elicitation_callback,
            list_roots_callback=self.list_roots_callback,
            logging_callback=self.logging_callback,
            message_handler=self.message_handler,
            client_info=self.client_info,
            log_level=self.log_level,
            sampling_capabilities=self.sampling_capabilities,
            extensions=self._extensions.also_declaring(self._extensions_used()),
            ping_interval=self.ping_interval,
            open_link=road,
        )
        if self._cache is not None:
            session.on_notification(self._cache.notified)
            session.ask_tool_page = self._ask_tool_page
        async with session:
            if self._cache is not None:
                own = self._own_auth()
                self._cache.signs = session.authorizer if own is None else own
            await self._negotiate(session, self._verdict or self.mode)
            self._remember(session)
            if mending is not None:
                mending.establish()
            cache = self._cache
            async with nullcontext() if cache is None else cache.open(session.revision):
                yield session

    def _own_auth(self) -> Any:
        return getattr(self.server, "auth", None) if self.auth is None else self.auth

    def _extensions_used(self) -> dict[str, Any]:
        """Give the extensions by which requests are signed, whatever carries them."""
        if (auth := self._own_auth()) is None:
            return {}
        from trio_mcp.transports.http._authorizing import Authorizer  # noqa: PLC0415 - few have one

        return {**auth.extensions} if isinstance(auth, Authorizer) else {}

    async def _ask_tool_page(self, cursor: str | None) -> tuple[Sequence[Tool], str | None]:
        raise NotImplementedError

    async def _negotiate_again(self) -> None:
        session = self.session
        if self._verdict is not None:
            try:
                await negotiate(session, self._verdict)
            except LocalError:
                raise
            except MCPError:
                # It is another server than it was: whatever was known of it is void.
                self._verdict = None
        if self._verdict is None:
            await self._negotiate(session, self.mode)
            self._remember(session)
        if self._cache is not None:
            self._cache.forget_all()
        session.reconnected()

    async def _negotiate(self, session: ClientSession, mode: ConnectMode) -> None:
        await negotiate(session, mode, self.prior_discover, self._discovered_late)

    def _discovered_late(self) -> None:
        self._verdict = None
        self._was_only_slow = True

    def _remember(self, session: ClientSession) -> None:
        # Versioning: the verdict about a server's era holds until it stops holding. Opening
        # this client again asks an older server for nothing that it has not.
        revision = session.revision
        if self.mode != "auto" or self._was_only_slow:
            return
        if revision is not None and revision.has_handshake:
            self._verdict = "legacy" if revision == LATEST_HANDSHAKE else revision.version

    # What is known of the server

    @property
    def session(self) -> ClientSession:
        """The session below this client, for its raw verbs.

        Raises:
          RuntimeError: outside of ``async with``.

        """
        if self._session is None:
            raise RuntimeError("Use the client inside `async with Client(...) as client:`")
        return self._session

    @property
    def protocol_version(self) -> str:
        """The revision that was agreed on."""
        version = self.session.protocol_version
        assert version is not None
        return version

    @property
    def server_info(self) -> Implementation | None:
        """Who the server says it is; a modern one need not say."""
        return self.session.server_info

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """What the server can do."""
        capabilities = self.session.server_capabilities
        assert capabilities is not None
        return capabilities

    @property
    def instructions(self) -> str | None:
        """What the server says of its use, for a model."""
        return self.session.instructions


def may_be_of_older_road(error: MCPError) -> bool:
    """Whether `initialize` was answered as by a server of HTTP+SSE (versioning, HTTP).

    That is by the status, whatever else the response says, unless it is what modern servers say.
    """
    response = error if isinstance(error, LocalError) else error.__cause__
    if not isinstance(response, ConnectionLost) or response.status not in OLDER_ROAD_STATUSES:
        return False
    # A missing method is no missing endpoint.
    is_method = error.code == METHOD_NOT_FOUND and response.status == 404
    return not is_method and error.code not in _MODERN_ERRORS
