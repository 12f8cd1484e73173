"""Requests to parties that somebody else has named."""

from __future__ import annotations

import socket
import ssl
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from trio_mcp.auth import _fetch
from trio_mcp.auth._addresses import AddressRefused, is_private_host, literal, refusal_of
from trio_mcp.auth._fetch import fetch
from trio_mcp.auth.server._documents import Documents, Unavailable
from trio_mcp.errors import ConnectionLost, OAuthFlowError
from trio_mcp.transports import serve_http_app
from trio_mcp.transports.http._serve_options import ServeOptions

from ._resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine


class Site:
    """Answers by its path, and remembers what it was sent."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        message = await receive()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.seen.append((scope["method"], scope["path"], headers, message.get("body", b"")))
        status, fields, body = self.answers.get(scope["path"], (404, {}, b""))
        raw = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def open_site() -> AsyncGenerator[tuple[str, Site], None]:
    site = Site()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, site, ServeOptions(port=0))
        yield served.url, site
        nursery.cancel_scope.cancel()


# Addresses

PUBLIC = [
    "93.184.216.34",
    "2606:2800:220:1:248:1893:25c8:1946",
    "64:ff9b::5db8:d822",
    "::ffff:0:8.8.8.8",
]
PRIVATE = [
    "127.0.0.1",
    "127.8.9.10",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "198.18.0.1",
    "::1",
    "fd12::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "2001:0:5ef5:79fd:0:0:f5ff:fffe",
    "64:ff9b:1::808:808",
    "64:ff9b:1:a00:0:100::",
    "::10.0.0.1",
    "::ffff:0:10.0.0.1",
    "fec0::1",
    "5f00::1",
    "3fff::1",
    "192.88.99.1",
]
NEVER = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "fe80::1",
    "fd00:ec2::254",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "::169.254.169.254",
    "::ffff:0:169.254.169.254",
    "64:ff9b:1::a9fe:a9fe",
    "64:ff9b:1:a9fe:a9:fe00::",
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "224.0.0.1",
    "ff02::1",
    "255.255.255.255",
    "240.0.0.1",
]


@pytest.mark.req("R-521")
@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_may_be_asked(text: str) -> None:
    assert refusal_of(ip_address(text), allow_private=False) is None


@pytest.mark.req("R-521")
@pytest.mark.parametrize("text", PRIVATE)
def test_private_addresses_may_be_asked_where_that_is_allowed(text: str) -> None:
    assert "private" in (refusal_of(ip_address(text), allow_private=False) or "")
    assert refusal_of(ip_address(text), allow_private=True) is None


@pytest.mark.req("R-521")
@pytest.mark.parametrize("text", NEVER)
@pytest.mark.parametrize("allow_private", [False, True])
def test_some_addresses_may_never_be_asked(text: str, allow_private: bool) -> None:
    assert refusal_of(ip_address(text), allow_private=allow_private) is not None


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("example.com", None),
        ("localhost", None),
        ("", None),
        (".", None),
        ("ü", None),
    ],
)
def test_addresses_are_known_however_they_are_written(host: str, address: str | None) -> None:
    assert literal(host) == (None if address is None else ip_address(address))


async def test_a_host_is_private_by_its_addresses() -> None:
    assert await is_private_host("localhost", 80, "the server")
    assert await is_private_host("10.1.2.3", 80, "the server")
    assert not await is_private_host("93.184.216.34", 80, "the server")
    names = {
        "inside.example": ["10.1.2.3", "192.168.0.1"],
        "both.example": ["93.184.216.34", "127.0.0.1"],
        "none.example": [],
    }
    trio.socket.set_custom_hostname_resolver(Resolver(names))
    assert await is_private_host("inside.example", 80, "the server")
    assert not await is_private_host("both.example", 80, "the server")
    assert not await is_private_host("none.example", 80, "the server")
    trio.socket.set_custom_hostname_resolver(Resolver({}))
    with pytest.raises(ConnectionLost, match=r"the server: the host 'nowhere.invalid' has no a"):
        await is_private_host("nowhere.invalid", 80, "the server")


@pytest.mark.req("R-521")
@pytest.mark.parametrize(
    ("url", "names", "refusal"),
    [
        ("https://10.0.0.1/x", {}, "private: allow_private_addresses=True"),
        ("https://[::ffff:10.0.0.1]/x", {}, "private"),
        ("https://169.254.169.254/latest/meta-data", {}, "link-local"),
        ("http://127.0.0.1:8080/admin", {}, "private"),
        ("http://localhost/admin", {}, "'localhost' is this machine"),
        ("https://evil.example/x", {"evil.example": ["192.168.0.1"]}, "has the address 192.168"),
        ("https://evil.example/x", {"evil.example": ["93.184.216.34", "10.0.0.1"]}, "10.0.0.1"),
        ("https://2130706433/x", {}, "private"),
    ],
)
async def test_a_remote_party_leads_nobody_into_a_private_network(
    url: str, names: dict[str, list[str]], refusal: str
) -> None:
    trio.socket.set_custom_hostname_resolver(Resolver(names))
    with pytest.raises(AddressRefused, match=refusal):
        await fetch(url, what="the metadata")


@pytest.mark.req("R-500", "R-518", "R-521")
@pytest.mark.parametrize(
    "url", ["http://example.com/x", "ftp://example.com/x", "https://a:b@example.com/", "x", ""]
)
async def test_only_https_is_asked_except_on_this_machine(url: str) -> None:
    with pytest.raises(OAuthFlowError, match="the metadata must be an https URL"):
        await fetch(url, what="the metadata", allow_private=True)


ODD_HOSTS = [
    "a..b", "a" * 64 + ".invalid", ".", "[1.2.3.4]", "[1::2::3]", "[:]", "[.]", "%41", "a_b.invalid", "xn--a",
    "xn--999999999", "1.2.3.4.5", "!$&'()*+,;=", "a,b.invalid", "a" * 300, "256.256.256.256", "0x1g", "a.", "-",
    "a:0", "a:65536", "a:99999", "a:999999999999999999999", "a:", "127.0.0.1.", "1.1.1.1:70000", "~", "`", "^",
]  # fmt: skip


@pytest.mark.parametrize("host", ODD_HOSTS)
@pytest.mark.parametrize("is_ours", [True, False])
async def test_host_that_is_none_is_our_error(host: str, is_ours: bool) -> None:
    async def handle(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody")

    class Local(Resolver):
        async def getaddrinfo(self, host: Any, *args: Any, **more: Any) -> list[Any]:  # type: ignore[override]
            # As trio's own, which asks the system.
            (host if isinstance(host, bytes) else host.encode("idna")).decode("ascii")
            return await super().getaddrinfo(host, *args, **more)

    trio.socket.set_custom_hostname_resolver(Local({}))
    client = None if is_ours else mocked(handle)
    with pytest.raises((OAuthFlowError, ConnectionLost)):
        await fetch(f"https://{host}/x", http_client=client, timeout=5)


@pytest.mark.parametrize(
    "host", ["a..b", ".a", "a" * 64 + ".example", "a" * 5000, "[1::2::3]", "xn--a", "a:99999"]
)
@pytest.mark.parametrize("is_ours", [True, False])
async def test_host_that_cannot_be_looked_up_is_refused_whoever_asks(
    host: str, is_ours: bool
) -> None:
    client = None if is_ours else mocked(unreachable)
    with pytest.raises(OAuthFlowError, match=r"no URL that can be asked|must be an https URL"):
        await fetch(f"https://{host}/x", http_client=client, what="the metadata")


async def unreachable(request: httpx.Request) -> httpx.Response:
    raise AssertionError(request.url)


async def test_http_client_that_is_closed_is_our_error() -> None:
    client = mocked(unreachable)
    await client.aclose()
    with pytest.raises(ConnectionLost, match=r"the metadata: GET .*\(http_client\) was closed"):
        await fetch("https://as.example/x", http_client=client, what="the metadata")


async def test_answer_of_the_resolver_that_is_no_address_is_our_error() -> None:
    trio.socket.set_custom_hostname_resolver(Resolver({"odd.example": ["somewhere"]}))
    with pytest.raises(ConnectionLost, match="has no address"):
        await fetch("https://odd.example/x")


async def test_what_is_checked_is_what_is_connected_to() -> None:
    # The name is looked up once: a second answer could be another one.
    async with open_site() as (url, site):
        resolver = Resolver({"sub.localhost": ["127.0.0.1"]})
        trio.socket.set_custom_hostname_resolver(resolver)
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listener.socket.getsockname()[1]
        heads: list[bytes] = []

        async def take(stream: trio.SocketStream) -> None:
            heads.append(await stream.receive_some(10_000))
            await stream.aclose()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, take, [listener])
            with pytest.raises(ConnectionLost):
                await fetch(f"https://sub.localhost:{port}/x", allow_private=True)
            nursery.cancel_scope.cancel()
        assert resolver.asked == ["sub.localhost"]
        assert b"sub.localhost" in heads[0]  # in the hello of TLS
    assert url
    assert not site.seen


async def test_the_next_address_is_tried_where_one_is_not_reached() -> None:
    async with open_site() as (url, site):
        port = url.rpartition(":")[2]
        names = {"localhost": ["::1", "127.0.0.1"]}
        trio.socket.set_custom_hostname_resolver(Resolver(names))
        site.answers["/x"] = (200, {}, b"found")
        answer = await fetch(f"http://localhost:{port}/x", allow_private=True)
    assert (answer.status, answer.content) == (200, b"found")
    assert site.seen[0][2]["host"] == f"localhost:{port}"


# Redirects, sizes, encodings


async def test_an_answer_is_given_whatever_its_status() -> None:
    async with open_site() as (url, site):
        site.answers["/x"] = (418, {"x-kind": "teapot"}, b"short and stout")
        answer = await fetch(f"{url}/x", allow_private=True)
    assert (answer.status, answer.content) == (418, b"short and stout")
    assert answer.headers.get("X-Kind") == "teapot"
    assert site.seen[0][2]["accept-encoding"] == "identity"


@pytest.mark.req("R-521")
async def test_redirects_are_followed_within_the_origin_alone() -> None:
    async with open_site() as (url, site):
        site.answers["/a"] = (302, {"location": "/b"}, b"")
        site.answers["/b"] = (200, {}, b"here")
        for elsewhere in ("http://169.254.169.254/", url.replace("http:", "https:"), "http://[/"):
            site.answers["/off"] = (302, {"location": elsewhere}, b"")
            answer = await fetch(f"{url}/off", allow_private=True)
            assert answer.status == 302
        assert (await fetch(f"{url}/a", allow_private=True)).content == b"here"
        site.answers["/loop"] = (302, {"location": "/loop"}, b"")
        with pytest.raises(OAuthFlowError, match="redirects without end"):
            await fetch(f"{url}/loop", allow_private=True)


async def test_what_carries_secrets_follows_no_redirect() -> None:
    async with open_site() as (url, site):
        site.answers["/token"] = (307, {"location": "/other"}, b"")
        answer = await fetch(f"{url}/token", method="POST", content=b"code=1", allow_private=True)
    assert answer.status == 307
    assert [(verb, path) for verb, path, *_ in site.seen] == [("POST", "/token")]
    assert site.seen[0][3] == b"code=1"


async def test_an_answer_that_is_too_long_is_not_read() -> None:
    async with open_site() as (url, site):
        site.answers["/x"] = (200, {}, b"x" * 2000)
        with pytest.raises(
            OAuthFlowError, match=r"the metadata: http://.*: an answer of more than"
        ):
            await fetch(f"{url}/x", limit=1000, allow_private=True, what="the metadata")
        assert (await fetch(f"{url}/x", limit=2000, allow_private=True)).status == 200


async def test_a_compressed_answer_is_refused() -> None:
    async with open_site() as (url, site):
        site.answers["/x"] = (200, {"content-encoding": "gzip"}, b"\x1f\x8b")
        with pytest.raises(
            OAuthFlowError, match="in the encoding 'gzip', which was not asked for"
        ):
            await fetch(f"{url}/x", allow_private=True)


async def test_a_party_that_is_silent_is_not_waited_for() -> None:
    async with open_site() as (url, _):
        with pytest.raises(ConnectionLost, match="did not answer within 0 s"):
            await fetch(f"{url}/x", allow_private=True, timeout=0, what="the metadata")


async def test_a_party_that_is_not_there_is_told() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        with pytest.raises(ConnectionLost, match=rf"the metadata: GET http://127\.0\.0\.1:{port}"):
            await fetch(f"http://127.0.0.1:{port}/x", allow_private=True, what="the metadata")


# The user's own client


def mocked(
    handle: Callable[[httpx.Request], Coroutine[None, None, httpx.Response]], **options: Any
) -> Any:
    return httpx.AsyncClient(transport=httpx.MockTransport(handle), **options)


async def test_a_client_of_the_user_adds_no_secrets_of_other_servers() -> None:
    seen: list[httpx.Request] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        await trio.lowlevel.checkpoint()
        seen.append(request)
        return httpx.Response(200, content=b"{}")

    client = mocked(
        handle,
        headers={"Authorization": "Bearer other", "X-Key": "secret"},
        cookies={"session": "secret"},
        auth=("user", "password"),
    )
    async with client:
        answer = await fetch(
            "https://auth.example.com/x", http_client=client, headers={"accept": "text/x"}
        )
    assert answer.content == b"{}"
    assert {"authorization", "x-key", "cookie"}.isdisjoint(seen[0].headers)
    assert seen[0].headers["accept"] == "text/x"


async def test_a_client_of_the_user_is_led_to_no_private_address_either() -> None:
    async def handle(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request)

    async with mocked(handle) as client:
        for url in ("https://192.168.0.1/x", "http://localhost/x", "http://169.254.169.254/"):
            with pytest.raises(OAuthFlowError):
                await fetch(url, http_client=client)


async def test_defects_of_a_client_leave_as_they_are() -> None:
    async def handle(request: httpx.Request) -> httpx.Response:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError

    async with mocked(handle) as client:
        with pytest.raises(ZeroDivisionError):
            await fetch("https://auth.example.com/x", http_client=client)


# Proxies and TLS


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    asked: list[bytes] = []

    async def refuse(stream: trio.SocketStream) -> None:
        asked.append(await stream.receive_some(10_000))
        await stream.send_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, refuse, [listener])
        with pytest.raises(ConnectionLost, match="403"):
            await fetch("https://auth.example.com/x")
        nursery.cancel_scope.cancel()
    assert asked[0].startswith(b"CONNECT auth.example.com:443")


async def test_what_strangers_name_goes_to_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    trio.socket.set_custom_hostname_resolver(Resolver({"in.example": ["10.0.0.1"]}))
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        await fetch("https://in.example/x", use_proxy=False)
    with pytest.raises(Unavailable):
        await Documents("key set", limit=1000).get("https://in.example/x")


async def test_the_certificate_has_to_be_of_the_name_and_not_of_the_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names: list[Any] = []

    class Watched(ssl.SSLContext):
        def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
            names.append(options.get("server_hostname"))
            return super().wrap_bio(*args, **options)

    def make(url: str, *, trust_env: bool = True) -> Any:
        assert not trust_env
        return httpx.AsyncClient(verify=Watched(ssl.PROTOCOL_TLS_CLIENT))

    monkeypatch.setattr(_fetch, "make_client", make)
    trio.socket.set_custom_hostname_resolver(Resolver({"sub.localhost": ["127.0.0.1"]}))
    async with open_site() as (url, _):
        port = url.rpartition(":")[2]
        with pytest.raises(ConnectionLost):
            await fetch(f"https://sub.localhost:{port}/x", allow_private=True)
    assert names == [b"sub.localhost"]
