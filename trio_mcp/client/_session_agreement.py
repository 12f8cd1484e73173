"""What a session and its server agree on, and how anything is said from then on."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import trio

from trio_mcp import types
from trio_mcp._checks import (
    check_callable,
    check_flag,
    check_kind,
    check_text,
    check_word,
)
from trio_mcp._codec import DecodeError, decode, encode
from trio_mcp._codec._reading import check_readable
from trio_mcp._protocol._task_requests import asks_for_task
from trio_mcp._rpc._link import CallOptions
from trio_mcp._rpc._standing import say_again
from trio_mcp.errors import InvalidResponse
from trio_mcp.types import HANDSHAKE_PROTOCOL_VERSIONS, SERVER_INFO_META_KEY
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN, Revision, revision_for

from ._arguments import NOT_AGREED, check_rounds, check_timeout, meta_to_json
from ._results import read_discovery, read_result, refuse_input
from ._session_life import LivingSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp._rpc._link import Link, ProgressFn
    from trio_mcp.types import (
        ClientCapabilities,
        ClientNotification,
        ClientRequest,
        InputRequiredResult,
        RequestParamsMeta,
    )
    from trio_mcp.types._base import JsonObject

    from ._declaration import Declaration
    from ._serving import ClientServing, NotificationListener
    from ._session_life import OpenLink

logger: Final = logging.getLogger("trio_mcp.client")

ResultT = TypeVar("ResultT")

DISCOVER_TIMEOUT_SECONDS: Final = 10.0
"""How long a probe waits before it is taken that the server knows only ``initialize``."""


class AgreedSession(LivingSession):
    """A session that agrees with its server on a revision, and then says things in it.

    Args:
      open_link: And the others: see `LivingSession`.
      declaration: What this client says of itself.

    """

    def __init__(
        self,
        open_link: OpenLink,
        serving: ClientServing,
        declaration: Declaration,
        *,
        read_timeout_seconds: float | None,
        ping_interval: float | None,
    ) -> None:
        super().__init__(
            open_link,
            serving,
            read_timeout_seconds=read_timeout_seconds,
            ping_interval=ping_interval,
            lifespans=declaration.extensions.lifespans,
        )
        self._declaration = declaration
        serving.standing.log_level = declaration.log_level
        self._revision: Revision | None = None
        self._envelope: JsonObject | None = None
        self._initialize_result: types.InitializeResult | None = None
        self._discover_result: types.DiscoverResult | None = None
        self._is_assumed = False

    # What is known of the server

    @property
    def revision(self) -> Revision | None:
        """The revision that the session speaks; None before it is agreed on."""
        return self._revision

    @property
    def protocol_version(self) -> str | None:
        """The name of the revision that the session speaks."""
        return None if self._revision is None else self._revision.version

    @property
    def initialize_result(self) -> types.InitializeResult | None:
        """What an older server said of itself."""
        return self._initialize_result

    @property
    def discover_result(self) -> types.DiscoverResult | None:
        """What a modern server said of itself."""
        return self._discover_result

    @property
    def server_info(self) -> types.Implementation | None:
        """Who the server says it is; a modern one need not say."""
        if self._initialize_result is not None:
            return self._initialize_result.server_info
        if self._discover_result is None:
            return None
        info: Any = (self._discover_result.meta or {}).get(SERVER_INFO_META_KEY)
        if not isinstance(info, dict):
            return None
        try:
            return decode(types.Implementation, info, LATEST_MODERN, where="serverInfo")
        except DecodeError:
            # It is for display only: a server that spells it wrong is no less usable.
            return None

    @property
    def server_capabilities(self) -> types.ServerCapabilities | None:
        """What the server can do."""
        said = self._initialize_result or self._discover_result
        return None if said is None else said.capabilities

    @property
    def instructions(self) -> str | None:
        """What the server says of its use, for a model."""
        said = self._initialize_result or self._discover_result
        return None if said is None else said.instructions

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What this client declares."""
        return self._declared().capabilities

    def _declared(self) -> Declaration:
        if self._link is None or not (used := self._link.extensions):
            return self._declaration
        return self._declaration.also_with(used)

    # Agreeing on a revision

    async def initialize(self, version: str = LATEST_HANDSHAKE.version) -> types.InitializeResult:
        """Open a session of the older era (lifecycle).

        Raises:
          MCPError: if the server refused.
          InvalidResponse: if it answered with a revision that this client does not speak.

        """
        result = await self.send_initialize(version)
        answered = revision_for(str(result.get("protocolVersion")))
        if answered is None or not answered.has_handshake:
            raise InvalidResponse(
                f"The server answered initialize with protocol version "
                f"{result.get('protocolVersion')!r:.60}, which this client does not speak; "
                f"it asked for {version}"
            )
        return await self.complete_initialize(answered, result)

    async def send_initialize(self, version: str) -> JsonObject:
        """Send ``initialize`` and return what it answered, without acting on it.

        Raises:
          ValueError: if the version is none with a handshake.
          MCPError: if the server refused, or why there is no answer.

        """
        check_word("version", version, HANDSHAKE_PROTOCOL_VERSIONS)
        revision = revision_for(version)
        assert revision is not None
        params: JsonObject = {
            "protocolVersion": version,
            "capabilities": self._declared().capabilities_at(revision),
            "clientInfo": encode(self._declaration.client_info, revision),
        }
        # The specification forbids to cancel `initialize`.
        options = CallOptions(timeout=self._read_timeout_seconds, may_cancel=False)
        return await self._require_link().request("initialize", params, options)

    async def complete_initialize(
        self, revision: Revision, result: JsonObject
    ) -> types.InitializeResult:
        """Adopt what ``initialize`` answered, and tell the server that this side is ready.

        A server that announces log messages is told from which level on, if there is one; one
        that takes the place of another is told what was said to that.

        Raises:
          InvalidResponse: if that is no such answer.
          ConnectionLost: if the connection ends meanwhile.

        """
        read = refuse_input(
            "initialize", read_result("initialize", result, types.InitializeResult, revision)
        )
        self.adopt(read)
        await self._require_link().notify("notifications/initialized")
        self._start_keep_alive()
        await say_again(
            self._serving.standing_requests(),
            self._ask_while_agreeing,
            self._read_timeout_seconds,
        )
        return read

    async def _ask_while_agreeing(self, method: str, params: JsonObject) -> JsonObject:
        return await self._require_link().request(method, params, CallOptions(negotiates=True))

    async def discover(self) -> types.DiscoverResult:
        """Ask a modern server what it is and can do, and speak modern from now on.

        Raises:
          MCPError: as `send_discover`.

        """
        result = await self.send_discover(LATEST_MODERN.version)
        read = read_discovery(result, LATEST_MODERN)
        self.adopt(read)
        return read

    async def send_discover(
        self, version: str, on_late_result: Callable[[JsonObject], None] | None = None
    ) -> JsonObject:
        """Send ``server/discover`` at any version and return what it answered.

        Args:
          version: Of the protocol.
          on_late_result: Called with what is answered after the time limit, by the task that
              reads the wire: it must neither raise nor take long.

        Raises:
          MCPError: -32022 with the versions in its data, if the server does not speak it.
          RequestTimeout: if no answer comes within ``read_timeout_seconds``, or within
              `DISCOVER_TIMEOUT_SECONDS` where that is not set.

        """
        check_text("version", version)
        if on_late_result is not None:
            check_callable("on_late_result", on_late_result)
        timeout = self._read_timeout_seconds
        options = CallOptions(
            timeout=DISCOVER_TIMEOUT_SECONDS if timeout is None else timeout,
            may_cancel=False,
            on_late_result=on_late_result,
        )
        params: JsonObject = {"_meta": self._declared().envelope(version)}
        return await self._require_link().request("server/discover", params, options)

    def adopt(
        self,
        result: types.InitializeResult | types.DiscoverResult,
        revision: Revision | None = None,
    ) -> None:
        """Speak what a server is known to speak, without asking it.

        Args:
          result: What it answered, now or at another time.
          revision: Which of the versions to speak; the newest of them when None.

        Raises:
          ValueError: if none of them is known.

        """
        check_kind("result", result, (types.InitializeResult, types.DiscoverResult))
        if revision is not None:
            check_kind("revision", revision, Revision)
        if isinstance(result, types.InitializeResult):
            revision = revision or revision_for(result.protocol_version)
        else:
            known = (revision_for(each) for each in result.supported_versions)
            modern = [each for each in known if each is not None and each.is_modern]
            revision = revision or max(modern, default=None)
        if revision is None:
            raise ValueError("adopt: the server speaks no version that this client knows")
        self._initialize_result = result if isinstance(result, types.InitializeResult) else None
        self._discover_result = result if isinstance(result, types.DiscoverResult) else None
        self._is_assumed = False
        self._revision = revision
        self._envelope = (
            self._declared().envelope(revision.version) if revision.is_modern else None
        )

    def assume(self, revision: Revision) -> None:
        """Speak a modern revision, without knowing anything else of the server."""
        check_kind("revision", revision, Revision)
        unknown = types.DiscoverResult(
            supported_versions=[revision.version], capabilities=types.ServerCapabilities()
        )
        self.adopt(unknown, revision)
        self._is_assumed = True

    def may_offer(self, capability: str) -> bool:
        """Whether the server may have something: it said so, or was never asked.

        Args:
          capability: ``tools``, ``prompts``, ``resources`` and the like.

        """
        check_word("capability", capability, _server_capabilities())
        said = self.server_capabilities
        return self._is_assumed or (said is not None and getattr(said, capability) is not None)

    async def offers(self, capability: str) -> bool:
        """Tell whether it is worth asking the server for something: see `may_offer`.

        While a server is being started again, it waits for the next one, which may offer
        something else. Of a connection that is lost for good it is true: asking tells why.

        Raises:
          ConnectionLost: if a server that was being started again does not come back.
          RequestTimeout: if that takes longer than ``read_timeout_seconds``.

        """
        link = self._require_link()
        if link.mends:
            await link.wait_usable(f"Asking for {capability}", self._read_timeout_seconds)
        return self.may_offer(capability) or link.lost

    # Any message

    async def send_request(
        self,
        request: ClientRequest | types.Request[Any, Any],
        result_type: type[ResultT],
        request_read_timeout_seconds: float | None = None,
        metadata: Any = None,
        progress_callback: ProgressFn | None = None,
    ) -> ResultT:
        """Send any request and read its result into a type.

        Args:
          request: One of the protocol, or an own one.
          result_type: A wire type, a pydantic model, or dict.
          request_read_timeout_seconds: How long to wait, in seconds; as the session does when
              None.
          metadata: Not used; it is here for those who know `mcp`.
          progress_callback: Called with each report of progress.

        Raises:
          TypeError: if `result_type` is something else.
          ValueError: if it answers questions, and the revision has no such answers.
          MCPError: if the server answered with an error.

        """
        del metadata
        check_kind("request", request, types.Request)
        check_readable("result_type", result_type)
        revision = self._require_revision()
        check_rounds(request.params, revision)
        params = {} if request.params is None else encode(request.params, revision)
        options = self._options(
            "request_read_timeout_seconds", request_read_timeout_seconds, progress_callback
        )
        name = None if request.name_param is None else params.get(request.name_param)
        spec = METHODS.get(request.method)
        if isinstance(name, str) and (spec is None or spec.name_param is None):
            # Of an extension; the link knows what the protocol's own methods repeat.
            options = attrs.evolve(options, headers={"Mcp-Name": name})
        result = await self._ask(request.method, params, result_type, options)
        self._serving.standing.answered(request.method, params)
        return refuse_input(request.method, result)

    async def send_notification(
        self, notification: ClientNotification | types.Notification[Any, Any]
    ) -> None:
        """Send any notification. One of the protocol is sent if the revision has it.

        Raises:
          TypeError, ValueError: if it holds what JSON cannot say.
          ConnectionLost: if the connection has ended.

        """
        check_kind("notification", notification, types.Notification)
        params = notification.params
        json = None if params is None else encode(params, self._require_revision())
        await self.tell(notification.method, json)

    async def tell(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification, unless the revision has no such one from clients.

        Raises:
          TypeError, ValueError: if it holds what JSON cannot say.
          ConnectionLost: if the connection has ended.

        """
        link, revision, spec = self._require_link(), self._require_revision(), METHODS.get(method)
        if spec is None or spec.may_be_sent_by("client", revision):
            await link.notify(method, params)
        else:
            logger.debug("%s is not sent: not at %s", method, revision)
            await trio.lowlevel.checkpoint()

    async def send_listen(
        self, wanted: types.SubscriptionFilter, on_notification: NotificationListener
    ) -> JsonObject:
        """Subscribe to changes, and wait for the end of the subscription.

        `listen` is the pleasant face on it.

        Args:
          wanted: Which changes.
          on_notification: Called with each notification of the subscription, as
              `on_notification` calls its listeners, after them.

        Raises:
          MCPError: if the server refused, or ended the subscription with an error.
          ConnectionLost: if the connection ended first.

        """
        check_kind("wanted", wanted, types.SubscriptionFilter)
        check_callable("on_notification", on_notification)
        revision = self._require_revision()
        params: JsonObject = {"notifications": encode(wanted, revision)}
        if self._envelope is not None:
            params["_meta"] = dict(self._envelope)
        options = CallOptions(on_notification=on_notification)
        return await self._require_link().request("subscriptions/listen", params, options)

    # How they are sent

    async def _list(
        self, method: str, params: types.PaginatedRequestParams | None, result_type: type[ResultT]
    ) -> ResultT:
        if params is not None:
            check_kind("params", params, types.PaginatedRequestParams)
        json = {} if params is None else encode(params, self._require_revision())
        result = await self._ask(method, json, result_type)
        return refuse_input(method, result)

    async def _complete(
        self,
        method: str,
        params: JsonObject,
        result_type: type[ResultT],
        options: CallOptions | None = None,
        meta: RequestParamsMeta | None = None,
    ) -> ResultT:
        return refuse_input(method, await self._ask(method, params, result_type, options, meta))

    async def _ask(
        self,
        method: str,
        params: JsonObject,
        result_type: type[ResultT],
        options: CallOptions | None = None,
        meta: RequestParamsMeta | None = None,
    ) -> ResultT | InputRequiredResult:
        result = await self._send(method, params, options, meta)
        return read_result(method, result, result_type, self._require_revision())

    async def _send(
        self,
        method: str,
        params: JsonObject,
        options: CallOptions | None = None,
        meta: RequestParamsMeta | None = None,
    ) -> JsonObject:
        self._require_revision()
        link = self._require_link()
        if options is None:
            options = CallOptions(timeout=self._read_timeout_seconds)
        if link.mends:
            # The next server may speak another revision.
            options = await once_usable(link, method, options)
        if "task" in params and asks_for_task(method, params, self._require_revision()):
            options = attrs.evolve(options, may_cancel=False)
        given = params.get("_meta") if meta is None else meta_to_json(meta)
        if self._envelope is not None:
            params["_meta"] = {**given, **self._envelope} if given else {**self._envelope}
        elif given:
            params["_meta"] = given
        return await link.request(method, params or None, options)

    def _options(
        self,
        argument: str,
        timeout: float | None,
        progress_callback: ProgressFn | None,
        *,
        reset_timeout_on_progress: bool = False,
        max_total_timeout: float | None = None,
    ) -> CallOptions:
        if timeout is None:
            timeout = self._read_timeout_seconds
        else:
            check_timeout(argument, timeout)
        if progress_callback is not None:
            check_callable("progress_callback", progress_callback)
        if max_total_timeout is not None:
            check_timeout("max_total_timeout", max_total_timeout)
        if reset_timeout_on_progress is not False:
            check_flag("reset_timeout_on_progress", reset_timeout_on_progress)
        return CallOptions(
            on_progress=progress_callback,
            timeout=timeout,
            reset_timeout_on_progress=reset_timeout_on_progress,
            max_total_timeout=max_total_timeout,
        )

    def _require_revision(self) -> Revision:
        if self._revision is None:
            raise RuntimeError(NOT_AGREED)
        return self._revision


async def once_usable(link: Link, method: str, options: CallOptions) -> CallOptions:
    """Wait for a connection that mends, at the expense of the time for all of the call."""
    began = trio.current_time()
    await link.wait_usable(method, options.first_limit)
    if options.max_total_timeout is None:
        return options
    left = options.max_total_timeout - (trio.current_time() - began)
    return attrs.evolve(options, max_total_timeout=max(left, 0.0))


@cache
def _server_capabilities() -> tuple[str, ...]:
    """Name what a server may say that it has."""
    names = (field.name for field in attrs.fields(types.ServerCapabilities))
    return tuple(name for name in names if name != "extra")
