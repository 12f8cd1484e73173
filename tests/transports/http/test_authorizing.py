"""What signs the requests of a client, whatever they go by."""

from __future__ import annotations

import functools
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from trio_mcp import Client, MCPServer
from trio_mcp._rpc._link import CallOptions
from trio_mcp._rpc._time_limit import TimeLimit
from trio_mcp.cli._wire_http import open_told_client
from trio_mcp.errors import ConnectionLost, MCPError, OAuthFlowError
from trio_mcp.transports import (
    Authorizer,
    SignedRequest,
    serve_http_app,
    serve_websocket,
    sse_client,
    streamable_http_client,
    websocket_client,
)
from trio_mcp.transports.http._authorizing import Authorizing
from trio_mcp.transports.http._serve_options import ServeOptions

from ._scripted import OlderScripted, Scripted, Seen, scripted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping


class Badges(Authorizer):
    """Signs by a badge, which the server may ask to be renewed."""

    def __init__(self, first: int = 1, renewals: int = 100) -> None:
        self.badge = first
        self.renewals = renewals
        self.signed: list[tuple[str, str]] = []
        self.heard: list[int] = []
        self.listened = trio.Event()
        self.may_ask: dict[str, bool] = {}

    async def sign(self, request: SignedRequest) -> Mapping[str, str]:
        await trio.lowlevel.checkpoint()
        self.signed.append((request.method, request.url))
        self.may_ask[request.method] = request.may_ask
        return {"Authorization": f"Badge {self.badge}"}

    async def answered(
        self, request: SignedRequest, sent: Mapping[str, str], status: int, headers: Any
    ) -> bool:
        self.heard.append(status)
        if request.method == "GET":
            self.listened.set()
        if status == 401 and self.renewals:
            assert headers.get("WWW-Authenticate") == "Badge"
            await trio.lowlevel.checkpoint()
            self.renewals -= 1
            self.badge += 1
            return True
        return False


def client_of(url: str, badges: Badges) -> Client:
    return Client(streamable_http_client(url, auth=badges))


def guarded(kind: type[Scripted], least: int) -> Scripted:
    class Guarded(kind):  # type: ignore[misc, valid-type]
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            headers = dict(scope["headers"])
            badge = headers.get(b"authorization", b"Badge 0").decode().split()[1]
            if int(badge) < least:
                await Seen(scope["method"], "", {}, None, ("", 0), trio.Event(), send).raw(
                    401, b"{}", "application/json", www_authenticate="Badge"
                )
            else:
                await super().__call__(scope, receive, send)

    return Guarded()


@pytest.mark.req("R-443", "R-444")
@pytest.mark.parametrize("kind", [Scripted, OlderScripted])
async def test_every_request_is_signed_whatever_its_method(kind: type[Scripted]) -> None:
    server, badges = guarded(kind, 1), Badges()
    async with scripted(server) as url, client_of(url, badges) as client:
        await client.call_tool("t")
        if kind is OlderScripted:
            with trio.fail_after(10):
                await badges.listened.wait()
    assert {each.headers["authorization"] for each in server.seen} == {"Badge 1"}
    assert len(badges.signed) == len(badges.heard) == len(server.seen)
    if kind is OlderScripted:
        assert {"POST", "GET", "DELETE"} <= {verb for verb, _ in badges.signed}
        # A session ends in two seconds, with nobody to be asked.
        assert badges.may_ask == {"POST": True, "GET": True, "DELETE": False}


async def test_a_refused_request_is_signed_anew_and_sent_again() -> None:
    server, badges = guarded(Scripted, 3), Badges()
    async with scripted(server) as url, client_of(url, badges) as client:
        result = await client.call_tool("t")
    assert result.content[0].text == "done"  # type: ignore[union-attr]
    assert badges.heard[:3] == [401, 401, 200]
    assert badges.badge == 3


async def test_what_the_authorizer_lets_stand_is_an_answer_like_any() -> None:
    async with scripted(guarded(Scripted, 5)) as url:
        transport = streamable_http_client(url, auth=Badges(renewals=1))
        with pytest.raises(ConnectionLost, match=r"status 401 \(WWW-Authenticate: Badge\) '{}'"):
            async with Client(transport):
                pass


async def test_a_server_that_is_never_content_is_given_up() -> None:
    async with scripted(guarded(Scripted, 1000)) as url:
        with pytest.raises(ConnectionLost, match="sent 8 times, and never authorized"):
            async with Client(streamable_http_client(url, auth=Badges())):
                pass


async def test_a_header_of_the_user_does_not_take_the_place_of_a_signature() -> None:
    server = guarded(Scripted, 1)
    async with scripted(server) as url:
        headers = {"authorization": "Badge 0", "X-Team": "blue"}
        async with Client(streamable_http_client(url, headers=headers, auth=Badges())) as client:
            await client.call_tool("t")
    assert {each.headers["authorization"] for each in server.seen} == {"Badge 1"}
    assert {each.headers["x-team"] for each in server.seen} == {"blue"}


async def test_a_refusal_says_what_it_says_without_an_authorizer() -> None:
    class Forgetful(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            if not self.is_current(seen):
                await seen.raw(404)
            elif seen.params["name"] == "unknown":
                await seen.error(-32602, "no such tool", 400, {"tool": "unknown"})
            else:
                await seen.result({"content": [{"type": "text", "text": "done"}]})

    server, badges = guarded(Forgetful, 1), Badges()
    async with scripted(server) as url, client_of(url, badges) as client:
        server.sessions += 1  # it has forgotten the session, and gives another one
        result = await client.call_tool("t")
        assert getattr(result.content[0], "text", None) == "done"
        with pytest.raises(MCPError, match="no such tool") as caught:
            await client.call_tool("unknown")
    assert caught.value.data == {"tool": "unknown"}
    assert 404 in badges.heard


async def test_what_the_authorizer_raises_is_the_error_of_the_call() -> None:
    class Hopeless(Badges):
        async def answered(
            self, request: SignedRequest, sent: Mapping[str, str], status: int, headers: Any
        ) -> bool:
            await super().answered(request, sent, status, headers)
            raise OAuthFlowError("there is no hope")

    async with scripted(guarded(Scripted, 5)) as url:
        with pytest.raises(OAuthFlowError, match="no hope"):
            async with Client(streamable_http_client(url, auth=Hopeless())):
                pass


async def test_each_step_of_a_redirect_is_signed_for_where_it_goes() -> None:
    class Moving(Scripted):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] != "/new":
                seen = Seen(scope["method"], "", {}, None, ("", 0), trio.Event(), send)
                await seen.raw(308, location="/new")
            else:
                await super().__call__(scope, receive, send)

    badges = Badges()
    async with scripted(Moving()) as url, client_of(url, badges) as client:
        await client.call_tool("t")
    assert badges.signed[0] == ("POST", url)
    assert {where for _, where in badges.signed[1:]} == {url.replace("/mcp", "/new")}


async def test_no_time_of_a_call_passes_while_a_token_is_fetched() -> None:
    class Slow(Badges):
        async def answered(
            self, request: SignedRequest, sent: Mapping[str, str], status: int, headers: Any
        ) -> bool:
            is_again = await super().answered(request, sent, status, headers)
            if is_again:
                deadlines.append(trio.current_effective_deadline())
            return is_again

    deadlines: list[float] = []
    server = guarded(Scripted, 2)
    async with scripted(server) as url:
        transport = streamable_http_client(url, auth=Slow())
        async with Client(transport, mode="2026-07-28", read_timeout_seconds=5) as client:
            await client.call_tool("t")
    assert deadlines == [float("inf")]


@pytest.mark.parametrize("longest", [None, 60.0])
async def test_time_begins_anew_only_when_a_request_is_sent_again(
    autojump_clock: trio.testing.MockClock, longest: float | None
) -> None:
    class Slow(Badges):
        async def sign(self, request: SignedRequest) -> Mapping[str, str]:
            await trio.sleep(10)
            return await super().sign(request)

        async def answered(
            self, request: SignedRequest, sent: Mapping[str, str], status: int, headers: Any
        ) -> bool:
            await trio.sleep(10)
            return status == 401

    left: list[float] = []
    with trio.CancelScope() as scope:
        limit = TimeLimit(CallOptions(timeout=5, max_total_timeout=longest), scope)
        limit.arm()
        limit.start()
        authorizing = Authorizing(Slow(), SignedRequest("POST", "http://h/mcp"), limit)
        await authorizing.sign()
        for status in (401, 403, 200):
            await trio.sleep(2)
            await authorizing.answered(status, {})
            left.append(scope.deadline - trio.current_time())
    # It is sent again after the first of them.
    assert left == pytest.approx([5, 3, 1])


@pytest.mark.parametrize("wrong", ["token", b"token"])
async def test_a_word_is_no_authorization(wrong: Any) -> None:
    for open_road in (streamable_http_client, sse_client):
        with pytest.raises(TypeError, match=r"BearerAuth\(token\)"):
            async with open_road("http://127.0.0.1:9/mcp", auth=wrong):
                pass
    with pytest.raises(TypeError, match=r"expected Badges\(…\), got the class itself"):
        async with streamable_http_client("http://127.0.0.1:9/mcp", auth=Badges):
            pass
    with pytest.raises(TypeError, match="auth: expected"):
        async with websocket_client("ws://127.0.0.1:9/mcp", auth=wrong):
            pass


# The other carriers


def make_server() -> MCPServer:
    mcp = MCPServer("guarded")

    @mcp.tool()
    def greet(name: str) -> str:
        return f"Hello, {name}"

    return mcp


@asynccontextmanager
async def guarded_sse(least: int) -> AsyncGenerator[tuple[str, list[bytes]], None]:
    app = make_server().sse_app()
    seen: list[bytes] = []

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        badge = dict(scope["headers"]).get(b"authorization", b"Badge 0")
        seen.append(badge)
        if int(badge.split()[1]) < least:
            seen_ = Seen(scope["method"], "", {}, None, ("", 0), trio.Event(), send)
            await seen_.raw(401, www_authenticate="Badge")
        else:
            await app(scope, receive, send)

    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, guard, ServeOptions(port=0))
        yield f"{served.url}/sse", seen
        nursery.cancel_scope.cancel()


async def test_the_stream_and_each_post_of_http_sse_are_signed() -> None:
    badges = Badges()
    async with guarded_sse(2) as (url, seen), Client(sse_client(url, auth=badges)) as client:
        result = await client.call_tool("greet", {"name": "Ada"})
    assert result.content[0].text == "Hello, Ada"  # type: ignore[union-attr]
    assert seen[0] == b"Badge 1"
    assert set(seen[1:]) == {b"Badge 2"}
    assert {verb for verb, _ in badges.signed} == {"GET", "POST"}


async def test_the_upgrade_to_a_websocket_is_signed_until_it_is_granted() -> None:
    from trio_mcp.transports.websocket import _client

    request = _client._request_of("wss://example.com/mcp?x=1")
    assert (request.method, request.url) == ("GET", "https://example.com/mcp?x=1")
    badges = Badges()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(functools.partial(serve_websocket, make_server(), port=0))
        async with Client(websocket_client(served.url, auth=badges)) as client:
            await client.call_tool("greet", {"name": "Ada"})
        nursery.cancel_scope.cancel()
    assert badges.signed == [("GET", f"http{served.url[2:]}")]


async def answer_once(stream: trio.SocketStream, heads: list[bytes]) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive_some()
    heads.append(head)
    await stream.send_all(
        b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Badge\r\ncontent-length: 0\r\n\r\n"
    )
    await stream.aclose()


@pytest.mark.parametrize(("renewals", "heads"), [(0, 1), (2, 3)])
async def test_a_refused_upgrade_is_asked_for_again(renewals: int, heads: int) -> None:
    seen: list[bytes] = []
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            trio.serve_listeners, functools.partial(answer_once, heads=seen), [listener]
        )
        url = f"ws://127.0.0.1:{port}/mcp"
        with pytest.raises(ConnectionLost, match="status 401, and no WebSocket") as caught:
            async with websocket_client(url, auth=Badges(renewals=renewals)):
                pass
        nursery.cancel_scope.cancel()
    assert caught.value.status == 401
    assert len(seen) == heads
    assert f"badge {heads}".encode() in seen[-1].lower()


@pytest.mark.parametrize("whose", ["of the transport", "of the command line", "of the user"])
async def test_a_client_that_fits_its_server_alone_is_none_for_other_requests(whose: str) -> None:
    # It may verify no certificates, and has connections to this server only.
    seen: list[Any] = []
    told: list[str] = []

    class Noting(Badges):
        async def sign(self, request: SignedRequest) -> Mapping[str, str]:
            seen.append(request.http_client)
            return await super().sign(request)

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(scripted(Scripted()))
        http_client: Any = None
        if whose == "of the command line":
            http_client = await stack.enter_async_context(open_told_client(url, told.append))
        elif whose == "of the user":
            http_client = await stack.enter_async_context(httpx.AsyncClient())
        transport = streamable_http_client(url, auth=Noting(), http_client=http_client)
        async with Client(transport) as client:
            await client.list_tools()
    assert set(seen) == {http_client if whose == "of the user" else None}
