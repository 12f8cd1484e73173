"""Client extensions: what a client declares, understands and hears beyond the core protocol."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

import attrs

from trio_mcp import types
from trio_mcp._checks import (
    check_callable,
    check_class,
    check_mapping,
    check_text,
    check_versions,
)
from trio_mcp._codec._reading import check_readable
from trio_mcp._protocol._meta import check_extension_id
from trio_mcp.errors import LocalError
from trio_mcp.types import (
    CORE_RESULT_TYPES,
    HANDSHAKE_PROTOCOL_VERSIONS,
    INTERNAL_ERROR,
    MODERN_PROTOCOL_VERSIONS,
)
from trio_mcp.types._base import JsonObject, WireModel
from trio_mcp.types._methods import is_core_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.types import InputRequest
    from trio_mcp.types._revisions import Revision

    from ._callbacks import ClientRequestContext
    from ._session import ClientSession
    from ._tool_calls import ToolCallAnswer, ToolCallContext, ToolCallNext


ClaimedT = TypeVar("ClaimedT", bound="types.Result")
NotifyParamsT = TypeVar("NotifyParamsT", bound=WireModel)
RequestParamsT = TypeVar("RequestParamsT")

RequestAnswer: TypeAlias = WireModel | JsonObject | types.ErrorData
"""What a request of the server is answered with: a result, as a type or as JSON, or an error."""


class RequestNext(Protocol):
    """Has a question answered by what stands inside of an extension."""

    def __call__(
        self, request: InputRequest, context: ClientRequestContext | None = None, /
    ) -> Awaitable[RequestAnswer]:
        """Give the answer to a question; the callback is told what it was, unless otherwise."""
        ...


@attrs.frozen(kw_only=True, eq=False)
class ClaimContext:
    """What the resolver of a `ResultClaim` works with.

    Attributes:
      session: Sends what it takes to finish the call.
      tool_name: The tool that was called.
      read_timeout_seconds: What the call was given.

    """

    session: ClientSession
    tool_name: str
    read_timeout_seconds: float | None


@attrs.frozen(kw_only=True, eq=False)
class ResultClaim(Generic[ClaimedT]):
    """One more shape that the result of a tool call may have, told apart by ``resultType``.

    It is in force while its extension is declared, at modern revisions.

    Args:
      result_type: The value of ``resultType``; none of the core protocol's own.
      model: What such a result is read into: a class of `trio_mcp.types.Result`.
      resolve: Finishes the call: takes the result, and returns the tool's own.
      method: What may be answered so.
      protocol_versions: The modern revisions at which it is in force; None for all.

    Raises:
      ValueError: if one of these cannot be.

    """

    result_type: str
    model: type[ClaimedT]
    resolve: Callable[[ClaimedT, ClaimContext], Awaitable[types.CallToolResult]]
    method: Literal["tools/call"] = "tools/call"
    protocol_versions: frozenset[str] | None = None

    def __attrs_post_init__(self) -> None:
        check_text("result_type", self.result_type)
        check_callable("resolve", self.resolve)
        if self.method != "tools/call":
            raise ValueError(f"a claim is on the results of tools/call, not of {self.method!r}")
        if not self.result_type or self.result_type in CORE_RESULT_TYPES:
            raise ValueError(f"the resultType {self.result_type!r} belongs to the core protocol")
        if not (isinstance(self.model, type) and issubclass(self.model, types.Result)):  # pyright: ignore[reportUnnecessaryIsInstance]  # users without a type checker
            raise ValueError(f"{self.model!r} is no class of trio_mcp.types.Result")  # noqa: TRY004 - as in `mcp`
        if issubclass(self.model, (types.CallToolResult, types.InputRequiredResult)):
            raise ValueError(f"{self.model.__name__} is one of the core protocol's")  # noqa: TRY004
        check_versions("protocol_versions", self.protocol_versions, MODERN_PROTOCOL_VERSIONS)

    def is_in_force(self, revision: Revision) -> bool:
        """Whether a session that speaks this revision understands such results."""
        if not revision.has_result_type:
            return False
        return self.protocol_versions is None or revision.version in self.protocol_versions


class UnexpectedClaimedResult(LocalError, RuntimeError):
    """A tool call was answered with an extension's result that its caller did not ask for.

    Call through `Client`, which has the extension finish it, or with ``allow_claimed=True``.

    Attributes:
      result: What came. The server may keep something for it that has to be let go.

    """

    __module__ = "trio_mcp.client"

    CODE: ClassVar[int] = INTERNAL_ERROR

    def __init__(self, result: types.Result) -> None:
        super().__init__(
            f"The server answered with a result of an extension ({type(result).__name__}); call "
            "through Client(extensions=[...]), or pass allow_claimed=True to finish it by hand"
        )
        self.result = result
        self.args = (result,)


@attrs.frozen(kw_only=True, eq=False)
class NotificationBinding(Generic[NotifyParamsT]):
    """Hands notifications that an extension defines to a function, in order, one at a time.

    Args:
      method: The name on the wire. What the core protocol defines never comes here.
      params_type: What the params are read into; notifications that do not fit are logged.
      handler: Awaited with each. It runs behind the connection's reader, and one that lags
          10,000 notifications behind loses the oldest.

    """

    method: str
    params_type: type[NotifyParamsT]
    handler: Callable[[NotifyParamsT], Awaitable[None]]

    def __attrs_post_init__(self) -> None:
        check_text("method", self.method)
        check_class("params_type", self.params_type, WireModel)
        check_callable("handler", self.handler)


@attrs.frozen(kw_only=True, eq=False)
class RequestBinding(Generic[RequestParamsT]):
    """A request of an older server that an extension serves; since 2026-07-28 servers send none.

    Args:
      method: The name on the wire. None of the core protocol's own: what callbacks answer is
          wrapped by `ClientExtension.intercept_request`.
      params_type: What the params are read into: a wire type, a pydantic model, or dict.
      handler: Awaited with the context and the params. It runs in a task of its own, which is
          cancelled when the server no longer waits for the answer, and returns the result: a
          wire type, an object of JSON, or `ErrorData`.
      protocol_versions: The revisions at which it is served; None for all with a handshake.

    Raises:
      ValueError: if the method is the core protocol's, or could never be served.

    """

    method: str
    params_type: type[RequestParamsT]
    handler: Callable[[ClientRequestContext, RequestParamsT], Awaitable[RequestAnswer]]
    protocol_versions: frozenset[str] | None = None

    def __attrs_post_init__(self) -> None:
        check_text("method", self.method)
        check_readable("params_type", self.params_type)
        check_callable("handler", self.handler)
        if is_core_request(self.method):
            raise ValueError(
                f"{self.method!r} belongs to the core protocol: an extension serves others. Use "
                "intercept_request to stand round what callbacks answer"
            )
        argument = f"{self.method}: protocol_versions"
        check_versions(argument, self.protocol_versions, HANDSHAKE_PROTOCOL_VERSIONS)

    def is_in_force(self, revision: Revision) -> bool:
        """Whether it is served in a session that speaks this revision."""
        return self.protocol_versions is None or revision.version in self.protocol_versions


class ClientExtension:
    """An extension that a client may be given; override what it needs.

    What it brings is asked for once, when the `Client` is made; `capabilities` for each session.

    Attributes:
      identifier: A prefix in the manner of a reversed domain, a slash, and a name.
      protocol_versions: The revisions at which it is declared, and its claims are in force; all
        when None.

    """

    identifier: str
    protocol_versions: frozenset[str] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        identifier = cls.__dict__.get("identifier")
        if identifier is not None:
            check_extension_id(identifier, cls.__name__)

    def settings(self) -> dict[str, Any]:
        """Return the settings to declare under ``capabilities.extensions``.

        An extension with claims is declared only where one of them is in force.
        """
        return {}

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Return the results it understands."""
        return ()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """Return the notifications it listens to."""
        return ()

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: ToolCallContext, call_next: ToolCallNext
    ) -> ToolCallAnswer:
        """Stand round every tool call: look on, refuse, change what is sent, or answer instead.

        The first extension of a client is the outermost. It runs in the task of the caller, once
        for each request: where a server asks before it answers, each round is one.

        Args:
          params: Of the call, after they were checked.
          ctx: What else is known of it.
          call_next: Awaited with the params to send, for the same tool, gives what the server
            answered, as it wrote it, or what an extension further in returned. It may be awaited
            more than once.

        Returns:
          The same, or another answer: as the server would have written it, as a `CallToolResult`,
          or as the model of a claim of the extension, at any revision. A result of the tool is
          checked against its output schema.

        Raises:
          Exception: leaves the call as it is.

        """
        del ctx
        return await call_next(params)

    def capabilities(self, declared: types.ClientCapabilities) -> types.ClientCapabilities:
        """Return what the client declares with it, besides what is in `settings`.

        Each revision is told what it has a word for, and members of `extra` in all.

        Args:
          declared: What is declared without it, by which callbacks there are.

        """
        return declared

    def requests(self) -> Sequence[RequestBinding[Any]]:
        """Return the requests of older servers that it serves."""
        return ()

    async def intercept_request(
        self, request: InputRequest, context: ClientRequestContext, call_next: RequestNext
    ) -> RequestAnswer:
        """Stand round every question that a callback answers: look on, change it, or answer.

        That is ``sampling/createMessage``, ``elicitation/create`` and ``roots/list``, if there is
        a callback for it: as a request of an older server, or within an `InputRequiredResult` or
        a task of a modern one. The first extension of a client is the outermost.

        Args:
          request: The question, with its params.
          context: What the callback is told of it.
          call_next: Awaited with the question, and a changed copy of the context if need be,
              gives the answer. It may be called later, and in another task, while the session is
              open.

        Returns:
          The answer. Requests of older servers may be answered with any other result, too, which
          is how an extension of theirs puts something in its place.

        """
        del context
        return await call_next(request)

    def lifespan(self, session: ClientSession) -> AbstractAsyncContextManager[Any]:
        """Return a block round the life of each session.

        It is entered when there is a connection, and before the two sides agree on a revision;
        it is left before the connection is closed. For what the extension runs meanwhile: a
        nursery, say. What the block yields is in ``session.lifespan_states[identifier]``. A
        restarted server is talked to in the same session (`ClientSession.on_reconnect`).

        What fails in the session leaves as it is, and is not raised in the block, which is left
        as at a good end. So a nursery in it is cancelled by whoever opened it: after the
        ``yield``. A cancellation of the session does go through it.

        An extension may be given to several clients: what belongs to one is kept there, and not
        in the extension.

        Args:
          session: The way to the server.

        """
        del session
        return nullcontext()


class _Declaration(ClientExtension):
    def __init__(self, identifier: str, settings: dict[str, Any]) -> None:
        self.identifier = identifier
        self._settings = settings

    def settings(self) -> dict[str, Any]:
        return self._settings


def advertise(identifier: str, settings: dict[str, Any] | None = None) -> ClientExtension:
    """Declare an extension, and nothing else: the application itself carries it out.

    Args:
      identifier: As in `ClientExtension`.
      settings: What to declare of it.

    Raises:
      ValueError: if the identifier does not follow the grammar.

    """
    check_extension_id(identifier, "advertise")
    if settings is not None:
        check_mapping("settings", settings)
    return _Declaration(identifier, settings or {})
