"""Everything this package raises on purpose.

::

    MCPError                        an error answer of the peer; a handler may raise it
    ├── LocalError                  no peer said so: it happened on this side
    │   ├── ConnectionLost          the connection ended before the answer
    │   ├── RequestTimeout          ``read_timeout_seconds`` passed
    │   ├── InvalidResponse         the peer's answer is not what its method says
    │   └── OAuthFlowError          no token could be got for the server
    │       ├── OAuthTokenError         the authorization server gave none
    │       └── OAuthRegistrationError  it did not register this client
    ├── InsufficientScopeError      who asks is not allowed to
    ├── NoBackChannelError          this connection has no way to ask the client
    └── UrlElicitationRequiredError -32042, with the elicitations               (2025-11-25)

    MCPServerError                  what a server author's code may raise
    ├── ToolError                   its text becomes a result with ``is_error``
    │   └── UnexpectedToolError     a tool raised something else
    └── ResourceError
        ├── ResourceNotFoundError
        └── UnexpectedResourceError

    InvalidSignature (ValueError)   a function that cannot be published
    MCPDeprecationWarning           a feature that the specification will remove

A local failure never comes out of an answer, whatever code the peer sends: ``except
ConnectionLost`` means that this side lost the connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from trio_mcp._checks import check_scope_names, check_text, check_whole
from trio_mcp.types import (
    AUTHORIZATION_FAILED,
    CONNECTION_CLOSED,
    INSUFFICIENT_SCOPE,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    REQUEST_TIMEOUT,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    ErrorData,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trio_mcp.types import ElicitRequestURLParams, JSONRPCError

__all__ = [
    "ConnectionLost",
    "InsufficientScopeError",
    "InvalidResponse",
    "InvalidSignature",
    "LocalError",
    "MCPDeprecationWarning",
    "MCPError",
    "MCPServerError",
    "NoBackChannelError",
    "OAuthFlowError",
    "OAuthRegistrationError",
    "OAuthTokenError",
    "RequestTimeout",
    "ResourceError",
    "ResourceNotFoundError",
    "ToolError",
    "UnexpectedResourceError",
    "UnexpectedToolError",
    "UrlElicitationRequiredError",
    "WrongVariable",
]


class MCPError(Exception):
    """An error of the protocol: what the peer answered, or what a handler wants answered.

    Args:
      code: A JSON-RPC error code. Own codes lie outside -32768..-32000.
      message: One short sentence.
      data: Any JSON value with details, or None for none.

    Raises:
      TypeError: if the code is no int, or the message no str: peers take neither for an error.

    """

    error: ErrorData

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        check_whole("code", code)
        check_text("message", message)
        super().__init__(code, message, data)
        self.error = ErrorData(code=code, message=message, data=data)

    @property
    def code(self) -> int:
        return self.error.code

    @property
    def message(self) -> str:
        return self.error.message

    @property
    def data(self) -> Any:
        return self.error.data

    @classmethod
    def from_jsonrpc_error(cls, error: JSONRPCError) -> MCPError:
        """Make the exception for an error message as it was received."""
        return cls.from_error_data(error.error)

    @classmethod
    def from_error_data(cls, error: ErrorData) -> MCPError:
        """Make the exception for the ``error`` member of an answer.

        The result is a plain `MCPError` for every code but -32042: no answer of a peer can
        be taken for a failure on this side.
        """
        if error.code == URL_ELICITATION_REQUIRED:
            return UrlElicitationRequiredError.from_error(error)
        return MCPError(error.code, error.message, error.data)

    @property
    def is_resource_not_found(self) -> bool:
        """Whether this says that there is no resource at the URI that was asked for.

        A modern server answers -32602 with the URI as data, an older one -32002.
        """
        if self.code == INVALID_PARAMS:
            return "uri" in _members(self.data)
        return self.code == RESOURCE_NOT_FOUND

    def __str__(self) -> str:
        return self.message


class LocalError(MCPError):
    """A failure on this side of the wire. The code serves people who switch on codes.

    Never raised itself, and never what an answer of the peer becomes.
    """

    CODE: ClassVar[int]

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(self.CODE, message, data)
        # Exception.__reduce__ passes `args` to __init__ when the error is unpickled.
        self.args = (message, data)


class ConnectionLost(LocalError):
    """The connection ended before the answer came, or was already gone.

    Attributes:
      exit_status: Of a server process that ended: its status, negative for a signal.
      stderr: The end of what such a process wrote to stderr, where it was kept.
      status: Of an HTTP response that was none of the protocol: its status.
      close_code: Of a WebSocket: the code that it was closed with (RFC 6455, section 7.4); 1006
        where it broke.

    """

    CODE = CONNECTION_CLOSED

    def __init__(
        self,
        message: str = "Connection closed",
        data: Any = None,
        *,
        exit_status: int | None = None,
        stderr: str | None = None,
        status: int | None = None,
        close_code: int | None = None,
    ) -> None:
        super().__init__(message, data)
        self.exit_status = exit_status
        self.stderr = stderr
        self.status = status
        self.close_code = close_code

    def again(self) -> ConnectionLost:
        """Make a fresh copy, since each waiting call raises its own."""
        copy = ConnectionLost(
            self.message,
            self.data,
            exit_status=self.exit_status,
            stderr=self.stderr,
            status=self.status,
            close_code=self.close_code,
        )
        copy.__cause__ = self.__cause__
        return copy


class RequestTimeout(LocalError):
    """No answer came within ``read_timeout_seconds``; the peer was told to stop."""

    CODE = REQUEST_TIMEOUT


class InvalidResponse(LocalError):
    """The peer answered, but not with what the method says."""

    CODE = INTERNAL_ERROR


class OAuthFlowError(LocalError):
    """No token could be got for a server that wants one. The request was not served.

    The message says in one sentence what was wrong, and shows no secret.
    """

    CODE = AUTHORIZATION_FAILED


class OAuthTokenError(OAuthFlowError):
    """The token endpoint of the authorization server gave no token.

    Attributes:
      error_code: What it answered, such as ``"invalid_grant"``, if it answered one.

    """

    def __init__(self, message: str, data: Any = None, *, error: str | None = None) -> None:
        super().__init__(message, data)
        self.error_code = error


class OAuthRegistrationError(OAuthFlowError):
    """The authorization server did not register this client, or not in a way that is of use."""


class NoBackChannelError(MCPError):
    """A handler wants to ask the client, and this connection cannot carry a question."""

    def __init__(self, method: str) -> None:
        super().__init__(
            INVALID_REQUEST,
            f"{method}: this connection has no way for the server to ask the client; "
            "return an InputRequiredResult instead",
        )
        self.method = method
        self.args = (method,)


class InsufficientScopeError(MCPError):
    """Who asks is not allowed to; tells which scopes it takes, so that a client can get them.

    ``required_scopes`` of a tool, resource or prompt says so beforehand. A handler raises it where
    that depends on more. As long as nothing of the answer was sent, a modern client over HTTP gets
    403 with a challenge; where that is too late, it is an error like others.

    Args:
      scopes: All that the operation takes, and not only those that are missing.
      message: One sentence; made of the scopes when None.

    Attributes:
      scopes: The same.

    Raises:
      TypeError: if they are no strings, or one string.
      ValueError: if one is no name of a scope (RFC 6749, section 3.3), which no challenge can say.

    """

    def __init__(self, scopes: Iterable[str], message: str | None = None) -> None:
        self.scopes: list[str] = scopes if isinstance(scopes, str) else list(scopes)  # type: ignore[assignment]
        check_scope_names("scopes", self.scopes)
        super().__init__(
            INSUFFICIENT_SCOPE,
            f"This takes the scopes {', '.join(self.scopes)}" if message is None else message,
            {"requiredScopes": self.scopes},
        )
        self.args = (self.scopes, message)


class UrlElicitationRequiredError(MCPError):
    """-32042 of 2025-11-25: the request can go on once the user has visited these URLs.

    A client that speaks 2026-07-28 must not be sent it: to that one a handler returns an
    `InputRequiredResult`, and raising this is a defect that is logged.

    Args:
      elicitations: The URL elicitations to carry out, each with its ``elicitation_id``.
      message: One sentence; made from the number of elicitations when None.

    """

    def __init__(
        self, elicitations: Sequence[ElicitRequestURLParams], message: str | None = None
    ) -> None:
        if message is None:
            noun = "elicitation" if len(elicitations) == 1 else "elicitations"
            message = f"{len(elicitations)} URL {noun} required"
        super().__init__(
            URL_ELICITATION_REQUIRED,
            message,
            {"elicitations": [_elicitation_to_json(each) for each in elicitations]},
        )
        self.elicitations: list[ElicitRequestURLParams] = list(elicitations)
        self.args = (self.elicitations, message)

    @classmethod
    def from_error(cls, error: ErrorData) -> UrlElicitationRequiredError:
        """Read the elicitations out of an error answer; those that are none are left out."""
        listed: Any = _members(error.data).get("elicitations")
        items: Iterable[Any] = listed if listed.__class__ is list else ()
        found = [_elicitation_from_json(_members(each)) for each in items]
        made = cls([each for each in found if each is not None], error.message)
        made.error = error
        return made


def _members(value: Any) -> dict[str, Any]:
    # Whoever only wants the errors does not load what all wire types are made of.
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _elicitation_to_json(params: ElicitRequestURLParams) -> dict[str, Any]:
    return {
        "mode": "url",
        "message": params.message,
        "url": params.url,
        "elicitationId": params.elicitation_id,
    }


def _elicitation_from_json(value: dict[str, Any]) -> ElicitRequestURLParams | None:
    from trio_mcp.types import ElicitRequestURLParams  # noqa: PLC0415 - loads on first use

    message, url, identifier = (value.get(key) for key in ("message", "url", "elicitationId"))
    if not (isinstance(message, str) and isinstance(url, str)):
        return None
    return ElicitRequestURLParams(
        message=message,
        url=url,
        elicitation_id=identifier if isinstance(identifier, str) else None,
    )


class MCPServerError(Exception):
    """Base of what a server author's code raises for the peer to read."""


class ToolError(MCPServerError):
    """A tool could not do what was asked; the text is shown to the model."""


class UnexpectedToolError(ToolError):
    """A tool raised something that is no `ToolError`; the cause is chained, and not shown."""


class ResourceError(MCPServerError):
    """A resource could not be read; the text is shown to the client."""


class ResourceNotFoundError(ResourceError):
    """There is no resource at this URI."""


class UnexpectedResourceError(ResourceError):
    """Reading a resource raised something else; the cause is chained, and not shown."""


class InvalidSignature(ValueError):
    """A function cannot be published: a parameter or its result has no JSON Schema."""


class WrongVariable(ValueError):
    """A variable of the environment, ``MCP_…``, has a value that its option cannot have."""


class MCPDeprecationWarning(UserWarning):
    """The specification has deprecated this feature; it still works."""
