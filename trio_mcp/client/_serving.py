"""What a client offers its server: answers to questions, and ears for notifications."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._checks import awaited, check_items, check_kind
from trio_mcp._codec import DecodeError, decode, excerpt
from trio_mcp._protocol._ladder import Accepted
from trio_mcp._protocol._refusals import invalid_params, method_not_found
from trio_mcp._protocol._sampling_turns import check_tool_turns
from trio_mcp._rpc._calls import read_progress
from trio_mcp._rpc._repeats import Repeats
from trio_mcp._rpc._service import Connection, Serving
from trio_mcp._rpc._standing import StandingRequests
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.types import INVALID_REQUEST, ErrorData
from trio_mcp.types._methods import METHODS
from trio_mcp.types._revisions import LATEST_HANDSHAKE

from ._callbacks import ClientRequestContext
from ._elicitation import with_defaults
from ._extensions_of_client import DROPPED, read_notification
from ._listeners import Listeners
from ._questions import ask_intercepted, question_of, serve, write_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp._codec import Malformed
    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp._rpc._link import Link
    from trio_mcp._rpc._standing import StandingRequest
    from trio_mcp.types import (
        ClientCapabilities,
        CreateMessageRequestParams,
        ElicitRequestParams,
        InputRequest,
        InputResponse,
        ListRootsResult,
    )
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._callbacks import Callbacks
    from ._extensions_of_client import Extensions
    from ._session import ClientSession

    NotificationListener = Callable[[str, JsonObject], None]
    ProgressListener = Callable[[float, float | None, str | None], None]

logger: Final = logging.getLogger("trio_mcp.client")


@attrs.define(eq=False)
class ClientConnection(Connection):
    """The client's side of a connection: the revision is its session's."""

    _session: ClientSession | None

    @property
    def revision(self) -> Revision | None:
        """The revision that the session adopted."""
        return None if self._session is None else self._session.revision

    def forget(self) -> None:
        """Let go of the session, so that a closed one is freed at once."""
        self._session = None


class ClientServing(Serving):
    """Answers what a server of the older era asks, and hands on what any server tells."""

    __slots__ = (
        "_callbacks",
        "_capabilities",
        "_extensions",
        "_repeats",
        "_session",
        "listeners",
        "progress_listeners",
        "raise_exceptions",
        "standing",
    )

    def __init__(
        self,
        session: ClientSession,
        callbacks: Callbacks,
        capabilities: ClientCapabilities,
        extensions: Extensions,
    ) -> None:
        self._session: ClientSession | None = session
        self.raise_exceptions = False
        self._callbacks = callbacks
        self._capabilities = capabilities
        self._extensions = extensions
        self._repeats = Repeats()
        self.listeners: Listeners[NotificationListener] = Listeners()
        self.progress_listeners: dict[str, ProgressListener] = {}
        self.standing = StandingRequests()

    def connect(self, link: Link | None) -> ClientConnection:
        """See `Serving.connect`."""
        del link
        return ClientConnection(self._session)

    def disconnect(self, connection: Connection) -> None:
        """See `Serving.disconnect`."""
        assert isinstance(connection, ClientConnection)
        connection.forget()

    def forget(self) -> None:
        """Let go of the session, so that a closed one is freed at once."""
        self._session = None

    def standing_requests(self, connection: Connection | None = None) -> list[StandingRequest]:
        """See `Serving.standing_requests`."""
        del connection
        session = self._session
        if session is None or session.revision is None or session.revision.is_modern:
            return []
        return self.standing.requests(logs=session.may_offer("logging"))

    # Questions of the server

    def accept(self, exchange: Exchange) -> bool:
        """See `Serving.accept`. A modern server may ask nothing, and gets no answer."""
        revision = exchange.connection.revision or LATEST_HANDSHAKE
        if revision.is_modern:
            self._repeats.warn(
                logger,
                "The server sent the request %s, which protocol version %s does not allow; "
                "it was dropped",
                excerpt(exchange.method),
                revision.version,
            )
            return False
        spec = METHODS.get(exchange.method)
        is_known = spec is not None and spec.may_be_sent_by("server", revision)
        if not is_known and self._extensions.request_for(exchange.method, revision) is None:
            raise method_not_found(exchange.method)
        exchange.accepted = Accepted(revision, exchange.params.get("_meta") or {})
        return True

    async def handle(self, exchange: Exchange) -> JsonObject:
        """See `Serving.handle`."""
        session = self._session
        assert session is not None
        revision = exchange.accepted.revision
        if exchange.method == "ping":
            return {}
        context = ClientRequestContext(
            session=session, request_id=exchange.id, meta=exchange.accepted.meta or None
        )
        if not session.has_lifespan_states:
            # A server that asks before the handshake, or still asks while this side is leaving.
            raise MCPError(INVALID_REQUEST, "The session is being opened or closed")
        binding = self._extensions.request_for(exchange.method, revision)
        if binding is not None:
            return await serve(binding, context, exchange.params, revision)
        # Whether it is offered comes before whether it is asked for well.
        self._callback(exchange.method)
        params = _read(exchange.method, exchange.params, revision)
        if self._extensions.question_interceptors:
            answer = await self._ask_intercepted(context, exchange.method, params)
        else:
            answer = await self._ask(context, exchange.method, params)
        return write_answer(exchange.method, answer, revision)

    async def ask(
        self, context: ClientRequestContext, method: str, params: Any
    ) -> InputResponse | ErrorData:
        """Have the callback for a question of a modern server answer it.

        Args:
          context: What the callback is told of the question.
          method: ``sampling/createMessage``, ``elicitation/create`` or ``roots/list``.
          params: Of the question, in their type.

        Raises:
          MCPError: if there is no callback for it, or it asks for more than was declared.
          TypeError: if the callback is no async function, or its answer is of another kind.
          ValueError: if a root is no URI of a file.

        """
        if not self._extensions.question_interceptors:
            return await self._ask(context, method, params)
        self._callback(method)
        answer: InputResponse | ErrorData
        given = await self._ask_intercepted(context, method, params)
        # What the callback answered was checked by then.
        answer = _of_kind(method, given, "intercept_request")
        return answer

    async def _ask_intercepted(
        self, context: ClientRequestContext, method: str, params: Any
    ) -> Any:
        async def ask(
            request: InputRequest, changed: ClientRequestContext | None = None, /
        ) -> InputResponse | ErrorData:
            told = context if changed is None else changed
            return await self._ask(told, method, request.params)

        request = question_of(method, params)
        interceptors = self._extensions.question_interceptors
        return await ask_intercepted(interceptors, request, context, ask)

    async def _ask(
        self, context: ClientRequestContext, method: str, params: Any
    ) -> InputResponse | ErrorData:
        callback = self._callback(method)
        answer: InputResponse | ErrorData
        given: object
        if method == "roots/list":
            given = await awaited("list_roots_callback", callback(context))
            answer = _checked_roots(_of_kind(method, given))
        elif method == "sampling/createMessage":
            self._check_sampling(params)
            given = await awaited("sampling_callback", callback(context, params))
            answer = _of_kind(method, given)
        else:
            self._check_elicitation(params)
            given = await awaited("elicitation_callback", callback(context, params))
            answer = with_defaults(params, _of_kind(method, given), self._repeats)
        return answer

    def _callback(self, method: str) -> Callable[..., Awaitable[Any]]:
        callbacks = self._callbacks
        found: Callable[..., Awaitable[Any]] | None = {
            "roots/list": callbacks.list_roots,
            "sampling/createMessage": callbacks.sampling,
            "elicitation/create": callbacks.elicitation,
        }.get(method)
        if found is None:
            raise method_not_found(method)
        return found

    def _check_sampling(self, params: CreateMessageRequestParams) -> None:
        declared = self._capabilities.sampling
        if (params.tools is not None or params.tool_choice is not None) and (
            declared is None or declared.tools is None
        ):
            raise invalid_params("This client did not declare sampling.tools")
        try:
            check_tool_turns(params.messages)
        except ValueError as exc:
            raise invalid_params(f"Invalid params: {exc}") from exc

    def _check_elicitation(self, params: ElicitRequestParams) -> None:
        mode = params.mode or "form"
        declared = self._capabilities.elicitation
        offers = declared is not None and (
            declared.url is not None
            if mode == "url"
            else declared.form is not None or declared.url is None
        )
        if not offers:
            raise invalid_params(f"This client did not declare the {mode} elicitation mode")

    # What the server tells

    def notified(
        self, connection: Connection, method: str, params: JsonObject
    ) -> Callable[[], Awaitable[None]] | None:
        """See `Serving.notified`. What nobody listens to is dropped."""
        for listener in self.listeners:
            listener(method, params)
        if method == "notifications/progress" and self._report(params):
            return None
        binding = self._extensions.binding_for(method)
        if binding is not None:
            read = read_notification(
                binding, params, connection.revision or LATEST_HANDSHAKE, self._repeats
            )
            if read is None:
                return None
            return functools.partial(_call, f"handler of {method}", binding.handler, read)
        callbacks = self._callbacks
        wants_log = method == "notifications/message" and callbacks.logging is not None
        if not wants_log and callbacks.message_handler is None:
            return None
        revision = connection.revision or LATEST_HANDSHAKE
        spec = METHODS.get(method)
        if spec is None or not spec.is_notification:
            logger.debug("An unknown notification was dropped: %s", excerpt(method))
            return None
        try:
            read = decode(spec.params_type(), params, revision, where="params")
        except DecodeError as exc:
            self._repeats.warn(logger, DROPPED, method, excerpt(str(exc)))
            return None
        return functools.partial(_tell, callbacks, method, read)

    def _report(self, params: JsonObject) -> bool:
        token = params.get("progressToken")
        report = read_progress(params)
        listener = self.progress_listeners.get(token) if isinstance(token, str) else None
        if listener is None or report is None:
            return False
        listener(*report)
        return True

    def malformed(
        self, connection: Connection, malformed: Malformed
    ) -> tuple[ErrorData | None, Callable[[], Awaitable[None]] | None]:
        """See `Serving.malformed`. It is logged, and told to the message handler.

        Only what can have been a request is answered, and only in the era in which servers
        send requests; a line that is no message never ends the session.
        """
        self._repeats.warn(
            logger,
            "The server sent what is no message (%s): %s",
            excerpt(malformed.message),
            excerpt(malformed.excerpt or ""),
        )
        handler = self._callbacks.message_handler
        told = None
        if handler is not None:
            wrong = InvalidResponse(malformed.message, malformed.excerpt)
            told = functools.partial(_call, "message_handler", handler, wrong)
        revision = connection.revision
        if malformed.id is None or malformed.is_response or revision is None or revision.is_modern:
            return None, told
        return ErrorData(code=malformed.code, message=malformed.message), told


def _read(method: str, params: JsonObject, revision: Revision) -> Any:
    try:
        return decode(METHODS[method].params_type(), params, revision, where="params")
    except DecodeError as exc:
        raise invalid_params(f"Invalid params: {exc}") from exc


def _of_kind(method: str, answer: object, whose: str | None = None) -> Any:
    """Check that what a callback answered, or somebody else, is an answer to the question."""
    import trio_mcp.types as wire  # noqa: PLC0415 - classes are looked up by name

    callback, *names = _ANSWERS[method]
    kinds = (*(getattr(wire, name) for name in names), ErrorData)
    check_kind(f"the answer of {whose or callback}", answer, kinds)
    return answer


_ANSWERS: Final = {
    "roots/list": ("list_roots_callback", "ListRootsResult"),
    "sampling/createMessage": (
        "sampling_callback",
        "CreateMessageResult",
        "CreateMessageResultWithTools",
    ),
    "elicitation/create": ("elicitation_callback", "ElicitResult"),
}


def _checked_roots(answer: ListRootsResult | ErrorData) -> ListRootsResult | ErrorData:
    from trio_mcp.types import Root  # noqa: PLC0415 - few clients have roots

    if isinstance(answer, ErrorData):
        return answer
    check_items("the roots of list_roots_callback", answer.roots, Root, "a list of Root")
    for root in answer.roots:
        if not root.uri.startswith("file://"):
            raise ValueError(f"list_roots_callback: a root is a file:// URI, got {root.uri!r:.80}")
    return answer


async def _tell(callbacks: Callbacks, method: str, params: Any) -> None:
    if method == "notifications/message" and callbacks.logging is not None:
        await _call("logging_callback", callbacks.logging, params)
    if callbacks.message_handler is not None:
        await _call("message_handler", callbacks.message_handler, _notification(method, params))


async def _call(name: str, callback: Callable[[Any], Awaitable[None]], told: object) -> None:
    await awaited(name, callback(told))


def _notification(method: str, params: Any) -> Any:
    import trio_mcp.types as wire  # noqa: PLC0415 - classes are looked up by name

    return getattr(wire, _NOTIFICATION_CLASSES[method])(params=params)


_NOTIFICATION_CLASSES: Final = {
    "notifications/cancelled": "CancelledNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/elicitation/complete": "ElicitCompleteNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "notifications/tasks/status": "TaskStatusNotification",
}
