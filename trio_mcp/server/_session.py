"""The way from a handler to the client that asked."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, Unpack

import trio

from trio_mcp import types
from trio_mcp._checks import check_kind
from trio_mcp._codec import checked_copy, decode, encode, excerpt
from trio_mcp._codec._reading import check_readable, read_as
from trio_mcp._deprecation import deprecated
from trio_mcp._protocol._ladder import LOG_LEVELS
from trio_mcp._protocol._refusals import lacking, missing_client_capability
from trio_mcp._protocol._task_requests import asks_for_task
from trio_mcp._rpc._link import NO_OPTIONS, CallOptions
from trio_mcp._rpc._progress import progress_params
from trio_mcp.errors import InvalidResponse, MCPDeprecationWarning, NoBackChannelError
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN
from trio_mcp.types._sampling_options import sampling_request, spells_out_sampling_options

if TYPE_CHECKING:
    from collections.abc import Generator

    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp._rpc._link import Link, ProgressFn
    from trio_mcp.types import (
        CreateMessageResult,
        CreateMessageResultWithTools,
        ElicitRequestedSchema,
        ElicitRequestParams,
        ElicitResult,
        InputRequest,
        InputResponse,
        ListRootsResult,
        LoggingLevel,
        RequestId,
        SamplingMessage,
        ServerNotification,
        ServerRequest,
    )
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision
    from trio_mcp.types._sampling_options import SamplingOptions

    from ._connection import ServerConnection

logger: Final = logging.getLogger("trio_mcp.server")

ResultT = TypeVar("ResultT")


class AskFnT(Protocol):
    """Brings a question to the client in some way of its own."""

    async def __call__(self, request: InputRequest, /) -> InputResponse:
        """Return the answer to an elicitation, or to a request for sampling or roots."""
        ...


class Stopwatch(Protocol):
    """Something that stands still while a client is asked."""

    def stop(self) -> None:
        """A question goes to the client."""
        ...

    def go_on(self) -> None:
        """It has been answered."""
        ...


_ON_SUBSCRIPTIONS: Final = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
    }
)
"""Modern clients get these where they have asked for them."""

_SAMPLING_IS_DEPRECATED: Final = "Sampling is deprecated since protocol version 2026-07-28"
_ROOTS_ARE_DEPRECATED: Final = "Asking for roots is deprecated since protocol version 2026-07-28"


class ServerSession:
    """Reports, log messages and questions to one client, within one request where there is one.

    Questions (`send_request` and what is built on it) need the older era and a carrier that
    can ask; a modern handler returns an ``InputRequiredResult`` instead. Where an extension has a
    way of its own to ask, as tasks have, `ask` and what is built on it take that.
    """

    __slots__ = (
        "_capabilities",
        "_connection",
        "_exchange",
        "_own_way",
        "_revision",
        "_stopwatches",
    )

    def __init__(
        self,
        connection: ServerConnection,
        revision: Revision,
        exchange: Exchange | None,
        own_way: AskFnT | None = None,
    ) -> None:
        self._connection = connection
        self._revision = revision
        self._exchange = exchange
        self._capabilities: types.ClientCapabilities | None = None
        self._own_way = own_way
        self._stopwatches: list[Stopwatch] = []

    def detached(self, exchange: Exchange, ask: AskFnT) -> ServerSession:
        """Make the session of `ServerRequestContext.detach`, whose questions go another way."""
        return ServerSession(self._connection, self._revision, exchange, ask)

    # Who asks

    @property
    def protocol_version(self) -> str:
        """The revision that this request speaks."""
        return self._revision.version

    @property
    def client_params(self) -> types.InitializeRequestParams | None:
        """What the client says of itself: in ``initialize``, or in this request's ``_meta``."""
        accepted = None if self._exchange is None else self._exchange.accepted
        if accepted is None or accepted.capabilities is None:
            return self._connection.client_params
        info = accepted.client_info
        return types.InitializeRequestParams(
            protocol_version=self._revision.version,
            capabilities=self.client_capabilities or types.ClientCapabilities(),
            client_info=types.Implementation(name="unknown", version="")
            if info is None
            else decode(types.Implementation, info, self._revision, where="clientInfo"),
        )

    @property
    def client_capabilities(self) -> types.ClientCapabilities | None:
        """What the client can do for this request; None before the handshake."""
        if self._capabilities is None:
            accepted = None if self._exchange is None else self._exchange.accepted
            if accepted is not None and accepted.capabilities is not None:
                self._capabilities = decode(
                    types.ClientCapabilities,
                    accepted.capabilities,
                    self._revision,
                    where="capabilities",
                )
            elif self._connection.client_params is not None:
                self._capabilities = self._connection.client_params.capabilities
        return self._capabilities

    def check_client_capability(self, capability: types.ClientCapabilities) -> bool:
        """Tell whether the client declared at least this much."""
        declared = self._declared()
        return declared is not None and not lacking(_whole(capability), declared)

    def require_client_capability(self, capability: types.ClientCapabilities) -> None:
        """Refuse the request unless the client declared at least this much.

        Raises:
          MCPError: -32021, with what is required in its data. The older era has no code of its
              own for this; nothing is wrong with the params, which -32602 would say.

        """
        if not self.check_client_capability(capability):
            raise missing_client_capability(_whole(capability), self._declared() or {})

    def _declared(self) -> JsonObject | None:
        declared = self.client_capabilities
        if declared is None:
            return None
        said = encode(declared, self._revision)
        if said.get("elicitation") == {}:
            # Neither mode stands for forms (elicitation, capabilities).
            said["elicitation"] = {"form": {}}
        return said

    @property
    def can_send_request(self) -> bool:
        """Whether a question can reach the client."""
        return self._revision.has_server_requests and self._asking_link() is not None

    # Reports

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the caller how far the work is; nothing is sent if it did not ask.

        Raises:
          TypeError, ValueError: as `Context.report_progress`.

        """
        if self._exchange is not None and not self._is_subscription:
            await self._exchange.report_progress(progress, total, message)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        related_request_id: str | None = None,
    ) -> None:
        """Send progress for a token. `report_progress` is the shorter way within a request.

        Raises:
          TypeError, ValueError: as `report_progress`.
          ConnectionLost: outside of a request, if the client has gone.

        """
        del related_request_id
        check_kind("progress_token", progress_token, (str, int))
        params = progress_params(progress, total, message)
        params["progressToken"] = progress_token
        if not self._revision.has_progress_message:
            params.pop("message", None)
        await self._notify("notifications/progress", params)

    async def send_log_message(
        self,
        level: LoggingLevel,
        data: Any,
        logger: str | None = None,
        related_request_id: RequestId | None = None,
    ) -> None:
        """Send a log message, if the client asked for its level (logging, deprecated).

        Raises:
          ValueError: if the level is none of the eight.
          TypeError, ValueError: if the data is no JSON.
          ConnectionLost: outside of a request, if the client has gone.

        """
        del related_request_id
        if level not in LOG_LEVELS:
            raise ValueError(f"level must be one of {', '.join(LOG_LEVELS)}, got {level!r}")
        if not self._wants_log(level):
            return
        params: JsonObject = {"level": level, "data": checked_copy(data, "data")}
        if logger is not None:
            params["logger"] = logger
        await self._notify("notifications/message", params)

    @property
    def _is_subscription(self) -> bool:
        # Neither progress nor log messages travel on a subscription.
        return self._exchange is not None and self._exchange.method == "subscriptions/listen"

    def _wants_log(self, level: LoggingLevel) -> bool:
        if self._is_subscription:
            return False
        accepted = None if self._exchange is None else self._exchange.accepted
        if self._revision.is_modern:
            threshold = None if accepted is None else accepted.log_level
            return threshold is not None and _reaches(level, threshold)
        wanted = self._connection.log_level
        return wanted is None or _reaches(level, wanted)

    async def send_notification(
        self,
        notification: ServerNotification | types.Notification[Any, Any],
        related_request_id: RequestId | None = None,
    ) -> None:
        """Send any notification of the server side.

        One of the protocol is not sent to a client whose revision has no such notification, or
        has it on subscriptions alone: `Context.notify_tools_changed` and its like reach everybody.

        Raises:
          TypeError, ValueError: if it holds what JSON cannot say.
          ConnectionLost: outside of a request, if the client has gone.

        """
        del related_request_id
        params = (
            None if notification.params is None else encode(notification.params, self._revision)
        )
        if notification.method == "notifications/message":
            level: Any = (params or {}).get("level")
            if level in LOG_LEVELS and not self._wants_log(level):
                await trio.lowlevel.checkpoint()
                return
        await self._notify(notification.method, params)

    async def _notify(self, method: str, params: JsonObject | None) -> None:
        if not self._may_tell(method):
            logger.debug("%s is not sent: not at %s", excerpt(method), self._revision)
            await trio.lowlevel.checkpoint()
        elif self._exchange is not None:
            await self._exchange.notify(method, params)
        elif self._connection.link is not None:
            await self._connection.link.notify(method, params)

    def _may_tell(self, method: str) -> bool:
        spec = METHODS.get(method)
        if spec is None:
            return True
        if self._revision.is_modern and (method in _ON_SUBSCRIPTIONS) != self._is_subscription:
            return False
        return spec.may_be_sent_by("server", self._revision)

    async def _notify_session(self, method: str, params: JsonObject | None = None) -> None:
        # The older era pushes changes to the session, outside any request.
        if self._revision.has_handshake and self._connection.link is not None:
            await self._connection.link.notify(method, params)

    async def send_resource_updated(self, uri: str) -> None:
        """Tell an older client that a resource it may have subscribed to has changed.

        Raises:
          ConnectionLost: if the client has gone.

        """
        await self._notify_session("notifications/resources/updated", {"uri": str(uri)})

    async def send_resource_list_changed(self) -> None:
        """Tell an older client that the list of resources has changed.

        Raises:
          ConnectionLost: if the client has gone.

        """
        await self._notify_session("notifications/resources/list_changed")

    async def send_tool_list_changed(self) -> None:
        """Tell an older client that the list of tools has changed.

        Raises:
          ConnectionLost: if the client has gone.

        """
        await self._notify_session("notifications/tools/list_changed")

    async def send_prompt_list_changed(self) -> None:
        """Tell an older client that the list of prompts has changed.

        Raises:
          ConnectionLost: if the client has gone.

        """
        await self._notify_session("notifications/prompts/list_changed")

    async def send_elicit_complete(
        self, elicitation_id: str, related_request_id: RequestId | None = None
    ) -> None:
        """Tell the client that a URL elicitation of it is done (2025-11-25 alone).

        Raises:
          ConnectionLost: outside of a request, if the client has gone.

        """
        del related_request_id
        await self._notify("notifications/elicitation/complete", {"elicitationId": elicitation_id})

    # Questions

    async def send_request(
        self,
        request: ServerRequest | types.Request[Any, Any],
        result_type: type[ResultT],
        request_read_timeout_seconds: float | None = None,
        metadata: Any = None,
        progress_callback: ProgressFn | None = None,
    ) -> ResultT:
        """Ask the client something and wait for its answer.

        Raises:
          NoBackChannelError: if this request or connection cannot carry a question.
          MCPError: if the client answered with an error.
          InvalidResponse: if the answer is not of the result type.

        """
        del metadata
        check_readable("result_type", result_type)
        params = None if request.params is None else encode(request.params, self._revision)
        options = CallOptions(
            on_progress=progress_callback,
            timeout=request_read_timeout_seconds,
            may_cancel=not asks_for_task(request.method, params, self._revision),
        )
        return await self._ask(request.method, params, result_type, options)

    async def _ask(
        self,
        method: str,
        params: JsonObject | None,
        result_type: type[ResultT],
        options: CallOptions = NO_OPTIONS,
    ) -> ResultT:
        link = self._asking_link()
        if link is None or not self._revision.has_server_requests:
            raise NoBackChannelError(method)
        if method != "ping":
            await self._connection.wait_ready()
        result = await link.request(method, params, options)
        try:
            read: ResultT = read_as(result_type, result, self._revision, where="result")
        except ValueError as exc:
            raise InvalidResponse(f"{method}: the client's answer is invalid: {exc}") from exc
        return read

    def _asking_link(self) -> Link | None:
        return self._connection.link if self._exchange is None else self._exchange.link

    async def send_ping(self) -> types.EmptyResult:
        """Ask the client for a sign of life.

        Raises:
          NoBackChannelError, MCPError, InvalidResponse: as `send_request`.

        """
        return await self._ask("ping", None, types.EmptyResult)

    @deprecated(_SAMPLING_IS_DEPRECATED, category=MCPDeprecationWarning)
    @spells_out_sampling_options
    async def create_message(
        self,
        messages: list[SamplingMessage],
        *,
        max_tokens: int,
        related_request_id: RequestId | None = None,
        **options: Unpack[SamplingOptions],
    ) -> CreateMessageResult | CreateMessageResultWithTools:
        """Ask the client's model for a message (sampling, deprecated).

        Raises:
          ValueError: if uses of tools and their results do not match.
          NoBackChannelError, MCPError, InvalidResponse: as `ask`.

        """
        del related_request_id
        answer: Any = await self.ask(sampling_request(messages, max_tokens, options))
        said: CreateMessageResult | CreateMessageResultWithTools = answer
        return said

    @deprecated(_ROOTS_ARE_DEPRECATED, category=MCPDeprecationWarning)
    async def list_roots(self) -> ListRootsResult:
        """Ask the client for its roots (deprecated).

        Raises:
          NoBackChannelError, MCPError, InvalidResponse: as `ask`.

        """
        from trio_mcp.types import ListRootsRequest  # noqa: PLC0415 - most servers never ask

        answer: Any = await self.ask(ListRootsRequest())
        roots: ListRootsResult = answer
        return roots

    async def elicit(
        self,
        message: str,
        requested_schema: ElicitRequestedSchema,
        related_request_id: RequestId | None = None,
    ) -> ElicitResult:
        """Ask the user to fill in a form; `elicit_form` under its first name.

        Raises:
          NoBackChannelError, MCPError, InvalidResponse: as `ask`.

        """
        return await self.elicit_form(message, requested_schema, related_request_id)

    async def elicit_form(
        self,
        message: str,
        requested_schema: ElicitRequestedSchema,
        related_request_id: RequestId | None = None,
    ) -> ElicitResult:
        """Ask the user to fill in a form (elicitation).

        Raises:
          NoBackChannelError, MCPError, InvalidResponse: as `ask`.

        """
        from trio_mcp.types import ElicitRequestFormParams  # noqa: PLC0415 - as above

        del related_request_id
        return await self._elicit(
            ElicitRequestFormParams(message=message, requested_schema=requested_schema)
        )

    async def elicit_url(
        self,
        message: str,
        url: str,
        elicitation_id: str,
        related_request_id: RequestId | None = None,
    ) -> ElicitResult:
        """Ask the user to visit a URL (elicitation, 2025-11-25).

        Raises:
          ValueError: if it is no URL.
          NoBackChannelError, MCPError, InvalidResponse: as `ask`.

        """
        from trio_mcp.types import ElicitRequestURLParams  # noqa: PLC0415 - as above

        del related_request_id
        return await self._elicit(
            ElicitRequestURLParams(message=message, url=url, elicitation_id=elicitation_id)
        )

    async def _elicit(self, params: ElicitRequestParams) -> ElicitResult:
        from trio_mcp.types import ElicitRequest  # noqa: PLC0415 - as above

        answer: Any = await self.ask(ElicitRequest(params=params))
        result: ElicitResult = answer
        return result

    async def ask(self, request: InputRequest, *, required_by: str = "") -> InputResponse:
        """Ask the client one of the three kinds of questions, and wait for its answer.

        Args:
          request: An elicitation, a request for sampling or one for roots.
          required_by: What asks, for the message to a client that cannot answer.

        Raises:
          NoBackChannelError: if this request or connection cannot carry a question.
          MCPError: -32021 if the client did not declare that it can answer; whatever else it
            answered with.
          InvalidResponse: if the answer is none to this question.

        """
        from ._input_required import answer_type, in_older_words  # noqa: PLC0415 - as above

        if self._revision.has_server_requests:
            request = in_older_words(request)
        if self._own_way is not None:
            self.require_for(request, required_by)
            return await self._ask_by(self._own_way, request)
        if self.can_send_request:
            self.require_for(request, required_by)
        answer: InputResponse = await self.send_request(request, answer_type(request))
        mode: object = getattr(request.params, "mode", None)
        # "Omitted for out-of-band mode responses" (schema of ElicitResult).
        return answer.evolve(content=None) if mode == "url" else answer

    async def _ask_by(self, ask: AskFnT, request: InputRequest) -> InputResponse:
        stopped = [*self._stopwatches]
        for each in stopped:
            each.stop()
        try:
            return await ask(request)
        finally:
            for each in stopped:
                each.go_on()

    @contextmanager
    def standing_still(self, stopwatch: Stopwatch) -> Generator[None, None, None]:
        """Have a stopwatch stand still while the client is asked by a way of an extension.

        Args:
          stopwatch: Told of questions that begin within the block.

        """
        self._stopwatches.append(stopwatch)
        try:
            yield
        finally:
            self._stopwatches.remove(stopwatch)

    def require_for(self, request: InputRequest, required_by: str = "") -> None:
        """Refuse this request unless the client declared that it can answer a question.

        Raises:
          MCPError: -32021, with what is required in its data.

        """
        from ._input_required import missing_for  # noqa: PLC0415 - as above

        required = missing_for(request, self.client_capabilities, self._revision)
        if required is not None:
            raise missing_client_capability(required, self._declared() or {}, required_by)


def _reaches(level: str, threshold: str) -> bool:
    return LOG_LEVELS.index(level) >= LOG_LEVELS.index(threshold)


def _whole(capability: types.ClientCapabilities) -> JsonObject:
    # What this request's revision has no word for, its client cannot have declared.
    return {**encode(capability, LATEST_HANDSHAKE), **encode(capability, LATEST_MODERN)}
