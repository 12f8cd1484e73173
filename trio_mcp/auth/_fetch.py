"""Requests to parties that somebody else has named, with the care that this takes.

They go to https, or to http on this machine; to no private address unless that is allowed; no
further than the origin that was named; and no answer is read that is longer than documents are.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import attrs
import trio

from trio_mcp.errors import ConnectionLost, InvalidResponse, OAuthFlowError
from trio_mcp.transports._hosts import literal
from trio_mcp.transports._urls import check_host
from trio_mcp.transports.http._body import Body, without_generator
from trio_mcp.transports.http._endpoint import is_loopback, make_client, url_within
from trio_mcp.transports.http._http_errors import is_http_error, lost_by, shown

from ._addresses import AddressRefused, addresses_of, check_addresses
from ._identifiers import check_https, split_url, told_url
from ._step_types import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from trio_mcp.transports._hosts import Address

MAX_DOCUMENT_SIZE: Final = 1024 * 1024
"""Bytes of an answer. Metadata and key sets take some tens of thousands at most."""

FETCH_TIMEOUT: Final = 30.0
"""Seconds for one request, with its redirects."""

CONNECT_TIMEOUT: Final = 10.0
"""Seconds to reach one address of a host."""

MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

MAX_ADDRESSES: Final = 4
"""Addresses of a host that are tried, one after the other."""

SECRET_EXTENSION: Final = "trio_mcp.secret"  # noqa: S105 - a name
"""An extension of requests of httpx whose bodies and answers are shown to nobody."""

_OURS: Final = frozenset(
    {"accept", "connection", "content-length", "content-type", "host", "user-agent"}
)
"""Headers that an HTTP client of the user may add. Others of its are for its own servers: keys of
an interface, say, and cookies."""


async def fetch(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    limit: int = MAX_DOCUMENT_SIZE,
    timeout: float = FETCH_TIMEOUT,  # noqa: ASYNC109 - of one request, and no other can set it
    allow_private: bool = False,
    allow_http: bool = False,
    follow_redirects: bool = True,
    http_client: Any = None,
    use_proxy: bool = True,
    what: str = "request",
) -> HttpAnswer:
    """Send one request, and return its answer, whatever its status.

    Redirects of a GET are followed within the origin; others are the answer, as are all those of
    what carries secrets.

    Args:
      url: ``https://…``, or ``http://…`` on this machine.
      method: Of HTTP.
      headers: Of the request.
      content: Its body.
      limit: Of the answer, in bytes.
      timeout: Seconds for all of it.
      allow_private: Whether addresses of this machine and of private networks may be asked.
      allow_http: Whether ``http://…`` is as good as ``https://…``: for what a server that is
          reached so publishes itself.
      follow_redirects: Whether those of a GET are followed.
      http_client: An ``httpx.AsyncClient`` of the user, or what looks like one. It looks up
          names itself, so only addresses that are written in the URL are checked then.
      use_proxy: Whether a proxy of the environment is used where there is one. It looks up names
          itself, and they are not checked here: not for what strangers name.
      what: What is wanted, for errors.

    Raises:
      OAuthFlowError: if the URL may not be asked, or its answer is too long.
      ConnectionLost: if there is no answer.

    Cancellation:
      The server may have acted on the request.

    """
    order = _Order(
        url,
        method,
        {"accept-encoding": "identity", **(headers or {})},
        content,
        limit,
        allow_private,
        allow_http,
        http_client,
        use_proxy,
        what,
    )
    with trio.move_on_after(timeout):
        for _ in range(MAX_REDIRECTS):
            answer = await _send(order)
            location = answer.headers.get("location")
            target = url_within(order.url, location) if location else None
            is_redirect = method == "GET" and answer.status in _REDIRECTS
            if target is None or not is_redirect or not follow_redirects:
                return answer
            order = attrs.evolve(order, url=target)
        raise OAuthFlowError(f"{what}: {shown(url)} redirects without end")
    raise ConnectionLost(f"{what}: {shown(url)} did not answer within {timeout:g} s")


@attrs.frozen
class _Order:
    """A request, and what may become of it; see `fetch`."""

    url: str
    method: str
    headers: Mapping[str, str]
    content: bytes | None
    limit: int
    allow_private: bool
    allow_http: bool
    http_client: Any
    use_proxy: bool
    what: str


async def _send(order: _Order) -> HttpAnswer:
    url, what, http_client = order.url, order.what, order.http_client
    parts = split_url(url)
    if not order.allow_http or parts is None:
        check_https(what, url)
    assert parts is not None
    _check_readable(order)
    host, port = parts.host, parts.port or 443
    written = literal(host)
    if written is not None:
        check_addresses(host, [written], what, allow_private=order.allow_private)
    elif is_loopback(url) and not order.allow_private:
        raise AddressRefused(
            f"{what}: the host {host!r:.200} is this machine: allow_private_addresses=True "
            "permits that"
        )
    if http_client is not None:
        return await _exchange(http_client, order, None)
    if order.use_proxy and _has_proxy(url, host):
        # It looks up names itself, and is the network's own guard.
        async with make_client(url) as client:
            return await _exchange(client, order, None)
    addresses = await addresses_of(host, port, what)
    check_addresses(host, addresses, what, allow_private=order.allow_private)
    return await _try_each(addresses, order)


def _check_readable(order: _Order) -> None:
    # There are hosts and ports that one library has no objection to, and another raises at.
    import httpx  # noqa: PLC0415 - whoever brings a client need not load it

    try:
        check_host("host", urlsplit(order.url).hostname or "")
        urlsplit(order.url).port  # noqa: B018 - it is read there
        is_loopback(order.url)
        httpx.URL(order.url).host  # noqa: B018 - it is decoded there
    except (ValueError, httpx.InvalidURL):
        raise OAuthFlowError(
            f"{order.what}: {told_url(order.url)} is no URL that can be asked"
        ) from None


def _has_proxy(url: str, host: str) -> bool:
    if is_loopback(url):
        return False
    proxies = getproxies()
    is_meant = bool(proxies.get(url.partition(":")[0].lower()) or proxies.get("all"))
    return is_meant and not proxy_bypass(host)


async def _try_each(addresses: list[Address], order: _Order) -> HttpAnswer:
    lost: ConnectionLost | None = None
    for address in addresses[:MAX_ADDRESSES]:
        # Each its own client: in a pool, what was encrypted for one name would serve another
        # with the same address.
        async with make_client(order.url, trust_env=False) as client:
            try:
                return await _exchange(client, order, address)
            except ConnectionLost as exc:
                if not _is_not_reached(exc):
                    raise
                lost = exc
    assert lost is not None
    try:
        raise lost
    finally:
        del lost  # its traceback refers to this frame


def _is_not_reached(lost: ConnectionLost) -> bool:
    kinds = {each.__name__ for each in type(lost.__cause__).__mro__}
    return bool(kinds & {"ConnectError", "ConnectTimeout"})


async def _exchange(client: Any, order: _Order, address: Address | None) -> HttpAnswer:
    async with _response(client, order, address) as response:
        who = f"{order.what}: {shown(order.url)}"
        encoding = response.headers.get("content-encoding") or "identity"
        if encoding.strip().lower() != "identity":
            raise OAuthFlowError(
                f"{who} answers in the encoding {encoding!r:.80}, which was not asked for"
            )
        body = Body(response, who)
        try:
            data = await body.read(order.limit)
        except InvalidResponse as exc:
            raise OAuthFlowError(exc.message) from None
        finally:
            await body.leave()  # noqa: ASYNC102 - it shields itself, bounded
        return HttpAnswer(response.status_code, response.headers, data)


@asynccontextmanager
async def _response(
    client: Any, order: _Order, address: Address | None
) -> AsyncGenerator[Any, None]:
    limit = CONNECT_TIMEOUT
    extensions: dict[str, Any] = {
        SECRET_EXTENSION: True,
        "timeout": {"connect": limit, "write": limit, "read": None, "pool": limit},
    }
    own = {*_OURS, *(name.lower() for name in order.headers)}
    try:
        request = client.build_request(
            order.method,
            order.url,
            headers=dict(order.headers),
            content=order.content,
            extensions=extensions,
        )
        for name in [name for name in request.headers if name.lower() not in own]:
            del request.headers[name]
        if address is not None:
            _direct(request, address)
        request.stream = without_generator(request.stream, order.content or b"")
        response = await client.send(request, stream=True, follow_redirects=False, auth=None)
    except Exception as exc:
        if not is_http_error(exc, client):
            raise
        raise lost_by(exc, f"{order.what}: {order.method} {shown(order.url)}") from exc
    try:
        yield response
    finally:
        if not response.is_closed:
            await Body(response, order.what).leave()  # noqa: ASYNC102 - it shields itself, bounded


def _direct(request: Any, address: Address) -> None:
    """Have a request go to one address, and still mean the host of its URL."""
    host: str = request.url.raw_host.decode("ascii")
    request.extensions["sni_hostname"] = host
    request.url = request.url.copy_with(host=str(address))
