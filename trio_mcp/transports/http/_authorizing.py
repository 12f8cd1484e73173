"""What signs the requests of a client: the interface between the carriers and `trio_mcp.auth`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, cast, final
from urllib.parse import urlsplit

import attrs

from trio_mcp.errors import ConnectionLost

from ._http_errors import shown

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from trio_mcp._rpc._time_limit import TimeLimit

MAX_ATTEMPTS: Final = 8
"""How often one request is sent at most. An authorizer has limits of its own, which are lower."""


@final
@attrs.define(eq=False)
class SignedRequest:
    """One request, over all attempts to have it answered.

    Attributes:
      method: Of HTTP.
      url: Where it goes; another one, within the origin, once the server has sent it there.
      content: Its body.
      headers: Of the protocol, as they are sent; those of the user are not among them.
      http_client: What sends it, if that is the user's: an ``httpx.AsyncClient``, or what looks
          like one.
      may_ask: Whether a person may be asked for it. Not for what is done on leaving.
      attempts: How often it has been sent.
      notes: What the authorizer wants to know at the next attempt.

    """

    method: str
    url: str
    content: bytes | None = attrs.field(default=None, repr=False)
    headers: Mapping[str, str | bytes] = attrs.field(factory=dict[str, "str | bytes"], repr=False)
    http_client: Any = attrs.field(default=None, repr=False)
    may_ask: bool = True
    attempts: int = 0
    notes: dict[str, Any] = attrs.Factory(dict[str, Any])


class Authorizer(ABC):
    """Signs each request of a client, whatever it goes by, and says what to do if that fails.

    ``Client(url, auth=…)`` takes one, and so do `streamable_http_client`, `sse_client` and
    `websocket_client`. Any number of requests may be under way at once, so both methods may be
    called at any time.
    """

    @abstractmethod
    async def sign(self, request: SignedRequest) -> Mapping[str, str]:
        """Return the headers that are put into a request, in place of others of their name.

        It may wait, as for a new token.

        Raises:
          MCPError: if the request cannot be signed; whoever made it is told.

        """

    @abstractmethod
    async def answered(
        self, request: SignedRequest, sent: Mapping[str, str], status: int, headers: Any
    ) -> bool:
        """Look at the head of an answer; return whether to sign and send the request again.

        An answer without an error is open meanwhile, so nothing should be waited for then.

        Args:
          request: What is answered.
          sent: What `sign` gave for this attempt.
          status: Of the answer.
          headers: Of the answer, a mapping that does not mind the case of names; those of one
              name are joined by ``", "``.

        Raises:
          MCPError: if there is no hope; whoever made the request is told this and not the answer.

        """

    @property
    def principal(self) -> str:
        """In whose name requests are signed: a name that tells people apart, and is no secret.

        What a server has told one is not given to another. The empty one is nobody's.
        """
        return ""

    @property
    def extensions(self) -> Mapping[str, Mapping[str, Any]]:
        """The extensions of MCP by which requests are signed, with their settings.

        A client declares them to its server (``capabilities.extensions``). It asks when it is
        made, and when it agrees with a server on a revision.
        """
        return {}


@attrs.define(eq=False)
class Authorizing:
    """One request and its authorizer, for a carrier that sends it until it is through.

    Args:
      authorizer: What signs it.
      request: What is sent.
      limit: Of its time, which stands still meanwhile, and begins anew when it is sent again.

    """

    _authorizer: Authorizer
    request: SignedRequest
    _limit: TimeLimit | None = None
    _sent: Mapping[str, str] = attrs.field(factory=dict[str, str])

    async def sign(self) -> Mapping[str, str]:
        """Give the headers of the next attempt."""
        if self.request.attempts >= MAX_ATTEMPTS:
            raise ConnectionLost(
                f"{self.request.method} {shown(self.request.url)}: sent {MAX_ATTEMPTS} times, and "
                "never authorized"
            )
        self.request.attempts += 1
        with self._paused():
            signed = await self._authorizer.sign(self.request)
        _check_signed(self._authorizer, signed)
        self._sent = signed
        return signed

    async def answered(self, status: int, headers: Any) -> bool:
        """Return whether it is to be sent again."""
        with self._paused():
            is_again = await self._authorizer.answered(self.request, self._sent, status, headers)
        if is_again and self._limit is not None:
            self._limit.start()
        return is_again

    def _paused(self) -> AbstractContextManager[None]:
        return nullcontext() if self._limit is None else self._limit.paused()


def _check_signed(authorizer: Authorizer, signed: Any) -> None:
    # An HTTP client would say what is wrong with a header by an error that holds all of it.
    who = f"{type(authorizer).__name__}.sign"
    if not isinstance(signed, Mapping):
        raise TypeError(f"{who}: expected a dict of strings, got {type(signed).__name__}")
    for name, value in cast("Mapping[object, object]", signed).items():
        if not isinstance(name, str) or not isinstance(value, str):
            kind = type(value if isinstance(name, str) else name).__name__
            raise TypeError(f"{who}: expected a dict of strings, got one with {kind}")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"{who}: expected printable ASCII for {name!r:.80}")


def check_auth(auth: Any, url: str = "", *, only_ours: bool = False) -> None:
    """Check what is to sign requests.

    Args:
      auth: An `Authorizer`, or what an HTTP client takes for its ``auth``.
      url: Where they go.
      only_ours: Whether no HTTP client will see it.

    Raises:
      TypeError: if it cannot: a word, say.
      ValueError: if the URL signs them, too.

    """
    if isinstance(auth, Authorizer) and "@" in urlsplit(url).netloc:
        raise ValueError(
            f"url: {shown(url)} has a name or a password before it, and auth= signs requests, "
            "too: give one of both"
        )
    if isinstance(auth, (str, bytes)):
        raise TypeError(
            "auth: expected OAuth(…), BearerAuth(token), an httpx.Auth, or a name and a password, "
            "got a string, which may be a token: BearerAuth(token)"
        )
    if isinstance(auth, type):
        raise TypeError(f"auth: expected {auth.__name__}(…), got the class itself")
    if only_ours and auth is not None and not isinstance(auth, Authorizer):
        raise TypeError(
            "auth: a WebSocket is opened without httpx, so it takes OAuth(…), BearerAuth(token) "
            f"or another Authorizer, got {type(auth).__name__}"
        )
