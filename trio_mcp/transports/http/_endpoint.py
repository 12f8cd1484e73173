"""The border to httpx: requests to one URL, and what goes wrong with them as our errors."""

from __future__ import annotations

import functools
import logging
import re
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import urljoin, urlsplit

import attrs

from trio_mcp._checks import check_mapping
from trio_mcp._codec import excerpt
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports._hosts import is_local_host
from trio_mcp.transports._urls import split_url

from ._authorizing import Authorizer, Authorizing, SignedRequest
from ._body import Body, without_generator
from ._headers import in_place_of_others
from ._http_errors import is_http_error, lost_by, quoted, refused_with, shown

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from trio_mcp._rpc._time_limit import TimeLimit

MADE_FOR_ONE: Final = "trio_mcp_made_for_one"
"""Marks a client that fits its own server alone: it may verify no certificates. So requests of
OAuth, which go elsewhere, never go by it, whoever passes it on."""

logger: Final = logging.getLogger("trio_mcp.client")

CONNECT_TIMEOUT: Final = 30.0
"""Seconds to reach the server, and for each part of a request to be taken."""

KEEP_ALIVE_EXPIRY: Final = 4.0
"""Seconds that an idle connection is kept. Servers commonly close it after five: a request
that is sent just then would be lost, and nobody would know whether it was carried out."""

MAX_REDIRECTS: Final = 5
_KEEP_METHOD: Final = frozenset({301, 302, 307, 308})
_PERMANENT: Final = frozenset({301, 308})

MAX_ERROR_BODY: Final = 64 * 1024
"""Bytes that are read of a response that may hold an error."""


@attrs.define(eq=False)
class Endpoint:
    """One URL of a server.

    Args:
      client: An `httpx.AsyncClient`, or what looks like one.
      url: Where requests go.
      headers: What each request carries.
      auth: An `Authorizer`, an `httpx.Auth`, or what the client takes for one.
      connect_timeout: Seconds to reach the server, and for each part of a request to be taken.
      is_own: Whether the client is ours, and no user's.

    """

    _client: Any
    url: str
    _headers: Mapping[str, str]
    _auth: Any = None
    _connect_timeout: float = CONNECT_TIMEOUT
    _is_own: bool = attrs.field(default=True, kw_only=True, alias="is_own")
    _warned: bool = False

    @property
    def auth(self) -> Any:
        """What signs the requests."""
        return self._auth

    async def send(
        self,
        method: str,
        headers: Mapping[str, str | bytes],
        content: bytes | None = None,
        *,
        limit: TimeLimit | None = None,
        may_ask: bool = True,
    ) -> Any:
        """Send a request and return the response, its body not read yet.

        Redirects are followed within the origin alone: elsewhere, neither the credentials nor
        what is asked is anybody's business.

        Args:
          method: Of HTTP.
          headers: Of this request alone.
          content: Its body.
          limit: Of the time of the call, which stands still while a token is fetched.
          may_ask: Whether a person may be asked for a token.

        Raises:
          ConnectionLost: if there is no response, or it leads elsewhere.
          MCPError: what the authorizer raises.

        """
        if not isinstance(self._auth, Authorizer):
            return await self._follow(method, headers, content, None)
        is_own = self._is_own or getattr(self._client, MADE_FOR_ONE, False)
        http_client = None if is_own else self._client
        # On leaving there is no time for a person to answer.
        may_ask = may_ask and method != "DELETE"
        request = SignedRequest(method, self.url, content, headers, http_client, may_ask)
        authorizing = Authorizing(self._auth, request, limit)
        while True:
            response = await self._follow(method, headers, content, authorizing)
            response = await self._read_refusal(response, request)
            try:
                is_again = await authorizing.answered(response.status_code, response.headers)
            except BaseException:
                await self._body(response, request).leave()  # noqa: ASYNC102 - bounded inside
                raise
            if not is_again:
                return response
            await self._body(response, request).leave()

    async def _read_refusal(self, response: Any, request: SignedRequest) -> Any:
        """Take over what a refusal says, so that nothing is open while the authorizer works."""
        if response.status_code < 400:
            return response
        body = self._body(response, request)
        try:
            return _Refusal(response, await body.read_begin(MAX_ERROR_BODY))
        finally:
            await body.leave()  # noqa: ASYNC102 - it shields itself, bounded

    def _body(self, response: Any, request: SignedRequest) -> Body:
        return Body(response, f"{request.method} {shown(request.url)}")

    async def _follow(
        self,
        method: str,
        headers: Mapping[str, str | bytes],
        content: bytes | None,
        authorizing: Authorizing | None,
    ) -> Any:
        url = moved_to = self.url
        for _ in range(MAX_REDIRECTS):
            if authorizing is not None:
                authorizing.request.url = url
                headers = in_place_of_others(await authorizing.sign(), headers)
            response = await self._send(method, url, headers, content)
            status = response.status_code
            location = response.headers.get("location")
            if not 300 <= status < 400 or not location:
                # What is posted goes there from now on; other methods may be served elsewhere.
                if method == "POST" and moved_to != self.url:
                    logger.debug("%s has moved to %s", shown(self.url), shown(moved_to))
                    self.url = moved_to
                return response
            await Body(response, f"{method} {shown(url)}").leave()
            target = _redirected(url, status, location)
            if status in _PERMANENT and moved_to == url:
                moved_to = target
            url = target
        raise ConnectionLost(f"{shown(self.url)} redirects without end")

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str | bytes],
        content: bytes | None,
    ) -> Any:
        auth = _as_it_is if isinstance(self._auth, Authorizer) else self._auth
        options = {} if auth is None else {"auth": auth}
        # No time limit for reading: streams are silent for as long as they like, and callers
        # have time limits of their own. In this form every client of the family takes it.
        limit = self._connect_timeout
        timeouts = {"connect": limit, "write": limit, "read": None, "pool": limit}
        try:
            request = self._client.build_request(
                method,
                url,
                headers={**_without_those_of(headers, self._headers), **headers},
                content=content,
                extensions={"timeout": timeouts},
            )
            request.stream = without_generator(request.stream, content or b"")
            response = await self._client.send(
                request, stream=True, follow_redirects=False, **options
            )
        except Exception as exc:
            if not is_http_error(exc, self._client):
                raise
            raise lost_by(exc, f"{method} {shown(url)}") from exc
        self._check_version(response)
        return response

    def _check_version(self, response: Any) -> None:
        if not self._warned and getattr(response, "http_version", "") == "HTTP/2":
            self._warned = True
            logger.warning(
                "%s is reached over HTTP/2, where a server is not told of a call that is "
                "cancelled: use HTTP/1.1",
                shown(self.url),
            )


@final
class _Refusal:
    """A response whose body has been read, as far as it matters."""

    is_closed = is_stream_consumed = True

    def __init__(self, response: Any, content: bytes) -> None:
        self.status_code = response.status_code
        self.headers = response.headers
        self.request = response.request
        self.content = content


def _as_it_is(request: Any) -> Any:
    """Sign a request no further: a client has ways of its own, which would replace our token."""
    return request


def check_headers(headers: Mapping[str, str]) -> None:
    """Check that headers of the user can be sent.

    Raises:
      TypeError: if they are no strings by strings.
      ValueError: if one cannot be in a request. Its value is not told: it may be a secret.

    """
    check_mapping("headers", headers, str, "a dict of strings")
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"headers: expected names of HTTP headers, got {name!r:.80}")
        if not _VALUE.fullmatch(value):
            raise ValueError(
                f"headers[{name!r}]: expected printable ASCII, without white space around it"
            )


_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")

_OF_THE_PROTOCOL: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "content-length",
        "content-type",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    }
)


def _without_those_of(
    protocol: Mapping[str, str | bytes], headers: Mapping[str, str]
) -> dict[str, str]:
    """Leave out of the headers of a user what the protocol says itself, or not at all."""
    taken = _OF_THE_PROTOCOL.union(name.lower() for name in protocol)
    return {name: value for name, value in headers.items() if name.lower() not in taken}


def _redirected(url: str, status: int, location: str) -> str:
    target = url_within(url, location)
    if status not in _KEEP_METHOD or target is None:
        leads_to = joined(url, location)
        said = quoted(location) if leads_to is None else excerpt(shown(leads_to))
        raise ConnectionLost(
            f"{shown(url)} answered with status {status} and leads to {said}, which is not "
            "followed: give that URL instead, if you trust it",
            status=status,
        )
    return target


async def refused(response: Any, what: str) -> ConnectionLost:
    """Make our error of a response that is none of the protocol; its body is left."""
    body = Body(response, what)
    try:
        data = await body.read_begin(MAX_ERROR_BODY)
    finally:
        await body.leave()  # noqa: ASYNC102 - it shields itself, bounded
    return refused_with(response, what, data)


def url_within(url: str, reference: str) -> str | None:
    """Resolve what a server says of where to go on; None where that is not within its origin.

    Args:
      url: Where the server is.
      reference: A URL, or a part of one, as the server has written it.

    """
    target = joined(url, reference)
    return target if target is not None and _origin_of(target) == _origin_of(url) else None


def joined(url: str, reference: str) -> str | None:
    """Resolve what a server says of where to go on, anywhere; None where that is no URL."""
    try:
        target = urljoin(url, reference)
        _origin_of(target)
    except ValueError:
        return None
    return target


def _origin_of(url: str) -> tuple[str, str, int | None]:
    """Give the origin that a URL belongs to."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port


def check_url(url: str) -> None:
    """Check that a URL can be one of a server.

    Raises:
      ValueError: if it is not.

    """
    split_url(url, ("http", "https"), "url: expected http://host/path or https://…")


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine, where no proxy of the environment is meant."""
    return is_local_host(urlsplit(url).hostname or "")


def make_client(url: str, *, trust_env: bool = True) -> Any:
    """Make an HTTP client for one server; it uses no proxy of the environment unless it may.

    The number of connections is not limited here: a pool that is loses slots for good when
    requests are cancelled while they wait for one.
    """
    import httpx  # noqa: PLC0415 - whoever brings a client need not load it

    local = is_loopback(url)
    # Reading the certificates takes 30 ms, and no TLS is spoken with this machine over http.
    verify = False if local and url.startswith("http:") else _tls_context()
    client: Any = httpx.AsyncClient(
        trust_env=trust_env and not local,
        verify=verify,
        limits=httpx.Limits(
            max_connections=None,
            max_keepalive_connections=None,
            keepalive_expiry=KEEP_ALIVE_EXPIRY,
        ),
    )
    setattr(client, MADE_FOR_ONE, True)
    return client


@functools.cache
def _tls_context() -> ssl.SSLContext:
    import httpx  # noqa: PLC0415 - as above

    return httpx.create_ssl_context()
