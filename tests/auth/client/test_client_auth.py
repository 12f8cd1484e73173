"""`Client(url, auth=…)`, whatever the server is reached by."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio

from trio_mcp import Client, ClientSessionGroup, MCPServer
from trio_mcp.auth import (
    BearerAuth,
    ClientCredentialsOAuthProvider,
    IdentityAssertionOAuthProvider,
    InMemoryTokenStorage,
    OAuth,
    PrivateKeyJWTOAuthProvider,
    WorkloadIdentityOAuthProvider,
)
from trio_mcp.client import (
    CacheConfig,
    InMemoryResponseCacheStore,
    SseServerParameters,
    StreamableHttpParameters,
    WebSocketServerParameters,
    advertise,
)
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.mcpserver import Context  # noqa: TC001 - tools are read at run time
from trio_mcp.transports import (
    Authorizer,
    SignedRequest,
    StdioServerParameters,
    serve_http,
    serve_http_app,
    serve_websocket,
    streamable_http_client,
    websocket_client,
)
from trio_mcp.transports.http._serve_options import ServeOptions
from trio_mcp.types import CallToolResult

from ._town import Person, Seen, Town, as_json, open_town

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable


def make_server() -> MCPServer:
    mcp = MCPServer("guarded")

    @mcp.tool()
    def greet(name: str) -> str:
        return f"Hello, {name}"

    @mcp.tool()
    def declared(ctx: Context) -> list[str]:
        said = ctx.client_capabilities
        return sorted((said and said.extensions) or {})

    return mcp


@pytest.mark.parametrize("auth", [BearerAuth("token-1"), OAuth()])
@pytest.mark.parametrize("make", [Client, StreamableHttpParameters, SseServerParameters])
def test_url_with_a_password_goes_with_no_other_signature(make: Any, auth: Any) -> None:
    with pytest.raises(ValueError, match=r"url: https://town.example/mcp has a name or a pass"):
        make("https://ada:SECRET@town.example/mcp", auth=auth)


async def test_http_client_with_a_signature_of_its_own_does_not_replace_the_token() -> None:
    town = Town()
    town.scopes["token-1"] = ""

    async def handle(request: httpx.Request) -> httpx.Response:
        status, headers, body = await town.handle(
            request.method, request.url.path, request.headers, await request.aread()
        )
        return httpx.Response(status, headers=headers, content=body)

    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(handle), auth=("u", "p")) as http_client,
        Client(
            streamable_http_client(town.url, auth=BearerAuth("token-1"), http_client=http_client)
        ) as client,
    ):
        await client.call_tool("work")
    assert {each.headers["authorization"] for each in town.seen} == {"Bearer token-1"}


async def test_server_that_names_itself_with_a_password_gets_the_token() -> None:
    seen: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        if request.url.path == "/mcp":
            return httpx.Response(307, headers={"location": "https://u:p@town.example/there"})
        return httpx.Response(404)

    async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as http_client:
        auth = BearerAuth("token-1")
        with pytest.raises(MCPError):
            async with Client(
                streamable_http_client(
                    "https://town.example/mcp", auth=auth, http_client=http_client
                )
            ):
                raise AssertionError
    assert set(seen) == {"Bearer token-1"}


@asynccontextmanager
async def guarded(kind: str) -> AsyncGenerator[tuple[str, Town], None]:
    """Serve over one of our carriers what only tokens of a town open."""
    app = make_server().sse_app() if kind == "sse" else make_server().streamable_http_app()
    town = Town()

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        seen = Seen(scope["method"], path, headers, b"")
        if path in {"/mcp", "/sse"} or path.startswith("/messages"):
            town.seen.append(seen)
            if town.scopes.get(seen.bearer or "") is not None:
                await app(scope, receive, send)
                return
            status, fields, body = town.mcp(seen)
            raw = [(name.encode(), value.encode()) for name, value in fields.items()]
            await send({"type": "http.response.start", "status": status, "headers": raw})
            await send({"type": "http.response.body", "body": body})
        else:
            await town(scope, receive, send)

    async def with_lifespan(scope: Any, receive: Any, send: Any) -> None:
        await (app if scope["type"] == "lifespan" else guard)(scope, receive, send)

    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, with_lifespan, ServeOptions(port=0))
        town.base = town.issuer = served.url
        town.url = f"{served.url}/{kind}"
        metadata = {"resource": town.url, "authorization_servers": [town.issuer]}
        town.hooks[f"/.well-known/oauth-protected-resource/{kind}"] = lambda seen: as_json(
            metadata
        )
        yield town.url, town
        nursery.cancel_scope.cancel()


async def greeting(client: Client) -> str | None:
    result = await client.call_tool("greet", {"name": "Ada"})
    return getattr(result.content[0], "text", None)


# What is signed by is declared

CLIENT_CREDENTIALS = "io.modelcontextprotocol/oauth-client-credentials"
ENTERPRISE_MANAGED = "io.modelcontextprotocol/enterprise-managed-authorization"


class ByHand(Authorizer):
    """Signs by an extension of its own."""

    @property
    def extensions(self) -> dict[str, dict[str, Any]]:
        return {"com.example/signatures": {"hash": "sha-256"}}

    async def sign(self, request: SignedRequest) -> dict[str, str]:
        return {"Authorization": "Bearer access-0"}

    async def answered(self, request: SignedRequest, sent: Any, status: int, headers: Any) -> bool:
        return False


async def vouch(*args: str) -> str:
    return "assertion"


def client_credentials(url: str) -> Authorizer:
    return ClientCredentialsOAuthProvider(url, InMemoryTokenStorage(), "me", "secret")


def private_key(url: str) -> Authorizer:
    return PrivateKeyJWTOAuthProvider(url, InMemoryTokenStorage(), "me", vouch)


def identity(url: str) -> Authorizer:
    issuer = url.rpartition("/")[0]
    storage = InMemoryTokenStorage()
    return IdentityAssertionOAuthProvider(url, storage, "me", "secret", issuer, vouch)


def workload(url: str) -> Authorizer:
    return WorkloadIdentityOAuthProvider(url, InMemoryTokenStorage(), vouch)


def person(url: str) -> Authorizer:
    return OAuth(url)


def bearer(url: str) -> Authorizer:
    return BearerAuth("access-0")


def by_hand(url: str) -> Authorizer:
    return ByHand()


AUTHORIZERS: list[tuple[Callable[[str], Authorizer], list[str]]] = [
    (client_credentials, [CLIENT_CREDENTIALS]),
    (private_key, [CLIENT_CREDENTIALS]),
    (identity, [ENTERPRISE_MANAGED]),
    (workload, []),
    (person, []),
    (bearer, []),
    (by_hand, ["com.example/signatures"]),
]


@pytest.mark.req("R-720", "R-721")
@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
@pytest.mark.parametrize(("make", "expected"), AUTHORIZERS)
async def test_extensions_that_sign_requests_are_declared(
    make: Any, expected: list[str], mode: Any
) -> None:
    mcp = make_server()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(partial(serve_http, mcp, port=0))
        async with Client(served.url, auth=make(served.url), mode=mode) as client:
            result = await client.call_tool("declared")
            assert result.structured_content == {"result": expected}
            capabilities = client.session.client_capabilities
            assert list(capabilities.extensions or {}) == expected
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-720")
async def test_extension_is_on_the_wire_of_each_request() -> None:
    town = Town()
    async with Client(town.transport(client_credentials(town.url)), mode="2026-07-28") as client:
        await client.call_tool("work")
    envelopes = [json.loads(each.content)["params"]["_meta"] for each in town.asked("/mcp")]
    declared = [each["io.modelcontextprotocol/clientCapabilities"] for each in envelopes]
    assert len(declared) > 1
    assert all(each == {"extensions": {CLIENT_CREDENTIALS: {}}} for each in declared)


@pytest.mark.req("R-720")
async def test_what_a_client_says_of_an_extension_itself_counts() -> None:
    mine = [advertise(CLIENT_CREDENTIALS, {"mine": True}), advertise("com.example/other")]
    async with trio.open_nursery() as nursery:
        served = await nursery.start(partial(serve_http, make_server(), port=0))
        auth = client_credentials(served.url)
        async with Client(served.url, auth=auth, extensions=mine) as client:
            assert client.session.client_capabilities.extensions == {
                CLIENT_CREDENTIALS: {"mine": True},
                "com.example/other": {},
            }
            result = await client.call_tool("declared")
            expected = ["com.example/other", CLIENT_CREDENTIALS]
            assert result.structured_content == {"result": expected}
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-720")
async def test_extension_is_declared_over_a_websocket() -> None:
    async with trio.open_nursery() as nursery:
        served = await nursery.start(partial(serve_websocket, make_server(), port=0))
        async with Client(served.url, auth=client_credentials(served.url)) as client:
            result = await client.call_tool("declared")
        assert result.structured_content == {"result": [CLIENT_CREDENTIALS]}
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-720")
async def test_extension_is_declared_by_parameters_of_a_group_and_over_http_sse() -> None:
    async with guarded("sse") as (url, _):
        parameters = SseServerParameters(url, auth=client_credentials(url))
        async with ClientSessionGroup() as group:
            session = await group.connect_to_server(parameters)
            result = await session.call_tool("declared")
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"result": [CLIENT_CREDENTIALS]}


@pytest.mark.req("R-031", "R-443", "R-444", "R-466")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_over_streamable_http(mode: str) -> None:
    async with (
        guarded("mcp") as (url, town),
        Client(url, auth=OAuth(callback=Person(town)), mode=mode) as client,
    ):
        assert await greeting(client) == "Hello, Ada"
    assert town.logins == 1
    # A session of the older era ends with a token, too.
    assert [each.bearer for each in town.seen if each.path == "/mcp"][1:] == ["access-1"] * (
        len([each for each in town.seen if each.path == "/mcp"]) - 1
    )


@pytest.mark.req("R-443", "R-444")
async def test_over_http_sse_which_is_tried_at_last() -> None:
    async with (
        guarded("sse") as (url, town),
        Client(url, auth=OAuth(callback=Person(town))) as client,
    ):
        assert await greeting(client) == "Hello, Ada"
    assert town.logins == 1
    assert {each.bearer for each in town.seen if each.path.startswith("/messages")} == {"access-1"}


@pytest.mark.req("R-414")
async def test_over_a_websocket() -> None:
    # The upgrade is asked for, refused, and asked for again with a token.
    heads: list[bytes] = []
    async with open_town() as town, trio.open_nursery() as nursery:
        served = await nursery.start(partial(serve_websocket, make_server(), port=0))
        port = int(served.url.rpartition(":")[2].partition("/")[0])

        async def gate(near: trio.SocketStream) -> None:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await near.receive_some(4096)
            heads.append(head)
            if b"uthorization: Bearer access-" not in head:
                where = f"{town.base}/.well-known/oauth-protected-resource/mcp"
                await near.send_all(
                    b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
                    + f'WWW-Authenticate: Bearer resource_metadata="{where}"\r\n\r\n'.encode()
                )
                await near.aclose()
                return
            async with await trio.open_tcp_stream("127.0.0.1", port) as far:
                own = f"127.0.0.1:{gate_port}".encode()
                await far.send_all(head.replace(own, f"127.0.0.1:{port}".encode()))
                async with trio.open_nursery() as both:
                    both.start_soon(pass_on, near, far)
                    await pass_on(far, near)
                    both.cancel_scope.cancel()

        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        gate_port = listener.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, gate, [listener])
        url = f"ws://127.0.0.1:{gate_port}/mcp"
        town.hooks["/.well-known/oauth-protected-resource/mcp"] = lambda seen: as_json(
            {
                "resource": f"http://127.0.0.1:{gate_port}/mcp",
                "authorization_servers": [town.issuer],
            }
        )
        async with Client(url, auth=OAuth(url, callback=Person(town))) as client:
            assert await greeting(client) == "Hello, Ada"
        nursery.cancel_scope.cancel()
    assert len(heads) == 2
    assert town.logins == 1
    assert town.asked("/token")[0].form["resource"] == f"http://127.0.0.1:{gate_port}/mcp"


async def pass_on(source: trio.SocketStream, target: trio.SocketStream) -> None:
    try:
        while data := await source.receive_some(65_536):
            await target.send_all(data)
        await target.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass


async def test_by_parameters_of_a_group() -> None:
    async with guarded("mcp") as (url, town):
        parameters = StreamableHttpParameters(url, auth=OAuth(callback=Person(town)))
        async with ClientSessionGroup() as group:
            await group.connect_to_server(parameters)
            assert set(group.tools) == {"greet", "declared"}
    assert town.logins == 1


async def test_a_token_of_ones_own() -> None:
    async with guarded("mcp") as (url, town):
        town.scopes["mine-1"] = ""
        async with Client(url, auth=BearerAuth("mine-1")) as client:
            assert await greeting(client) == "Hello, Ada"
        with pytest.raises(ConnectionLost, match="status 401"):
            async with Client(url, auth=BearerAuth("other")):
                pass
    assert town.logins == 0


async def test_a_token_of_ones_own_signs_for_httpx_too() -> None:
    town = Town()
    town.scopes["mine-1"] = ""
    async with town.http_client() as client:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        response = await client.post(town.url, json=message, auth=BearerAuth("mine-1"))
    assert response.status_code == 200


async def test_what_httpx_takes_is_taken() -> None:
    class Own(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Any:
            request.headers["Authorization"] = "Bearer mine-1"
            yield request

    async with guarded("mcp") as (url, town):
        town.scopes["mine-1"] = ""
        async with Client(url, auth=Own()) as client:
            assert await greeting(client) == "Hello, Ada"
        with pytest.raises(ConnectionLost, match="status 401"):
            async with Client(url, auth=("name", "password")):
                pass
        assert town.seen[-1].headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    "server",
    [
        make_server(),
        StdioServerParameters(command="x"),
        StreamableHttpParameters("http://127.0.0.1:1/mcp"),
        websocket_client("ws://127.0.0.1:1/mcp"),
    ],
    ids=["server", "command", "parameters", "transport"],
)
def test_only_a_url_takes_it(server: Any) -> None:
    with pytest.raises(TypeError, match="auth is for a URL"):
        Client(server, auth=BearerAuth("x"))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/mcp", "ws://127.0.0.1:1/mcp"])
@pytest.mark.parametrize("wrong", ["token", BearerAuth, OAuth])
def test_what_cannot_sign_is_told_at_once(url: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match="auth: expected"):
        Client(url, auth=wrong)


def test_a_websocket_takes_ours_alone() -> None:
    for make in (Client, WebSocketServerParameters):
        with pytest.raises(TypeError, match="a WebSocket is opened without httpx"):
            make("ws://127.0.0.1:1/mcp", auth=httpx.BasicAuth("a", "b"))


@pytest.mark.parametrize(
    "kind", [StreamableHttpParameters, SseServerParameters, WebSocketServerParameters]
)
def test_parameters_show_no_secret(kind: Any) -> None:
    shown = repr(kind("http://127.0.0.1:1/mcp", auth=BearerAuth("SECRET")))
    assert "<BearerAuth>" in shown
    assert "SECRET" not in shown
    assert "SECRET" not in repr(BearerAuth("SECRET"))
    with pytest.raises(TypeError, match="auth: expected"):
        kind("http://127.0.0.1:1/mcp", auth="SECRET")
    client = Client("http://127.0.0.1:1/mcp", auth=("name", "SECRET"))
    assert "SECRET" not in repr(client)


@pytest.mark.parametrize("wrong", ["", "Bearer x", "a b", "ü", "a\n"])
def test_a_token_that_cannot_be_one_is_told_without_it(wrong: str) -> None:
    with pytest.raises(ValueError, match="token: expected a token alone") as caught:
        BearerAuth(wrong)
    assert not wrong or wrong not in str(caught.value)


# In whose name an answer came


async def lists_asked(town: Town, client: Client) -> int:
    before = len(town.asked("/mcp"))
    await client.list_tools()
    return len(town.asked("/mcp")) - before


async def test_what_one_person_was_told_is_not_given_to_another() -> None:
    town, store = Town(), InMemoryResponseCacheStore()
    person = Person(town)

    @asynccontextmanager
    async def connected(auth: Any) -> AsyncGenerator[Client, None]:
        cache = CacheConfig(store=store, target_id="town")
        async with Client(town.transport(auth), mode="2026-07-28", cache=cache) as client:
            await client.call_tool("work")
            yield client

    town.scopes["ada"] = town.scopes["bob"] = ""
    async with connected(BearerAuth("ada")) as client:
        assert await lists_asked(town, client) == 1
        assert await lists_asked(town, client) == 0
    async with connected(BearerAuth("ada")) as client:
        assert await lists_asked(town, client) == 0
    async with connected(BearerAuth("bob")) as client:
        assert await lists_asked(town, client) == 1
    oauth = OAuth(town.url, callback=person)
    async with connected(oauth) as client:
        assert await lists_asked(town, client) == 1
        assert await lists_asked(town, client) == 0
        first = oauth.principal
        # A new token of the same login is of the same person; a new login may be of another.
        town.expire()
        await client.call_tool("work")
        assert oauth.principal == first
        assert await lists_asked(town, client) == 0
        town.expire()
        town.refresh_tokens.clear()
        await client.call_tool("work")
        assert oauth.principal not in {"", first}
        assert await lists_asked(town, client) == 1


async def test_what_came_while_somebody_logged_in_is_not_kept() -> None:
    async with (
        open_town() as town,
        Client(town.url, auth=OAuth(callback=Person(town)), mode="2026-07-28") as client,
    ):
        assert await lists_asked(town, client) == 2
        assert await lists_asked(town, client) == 1
        assert await lists_asked(town, client) == 0
