"""A server as an ASGI application: alone, mounted, with other routes, and its lifespan."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio
import trio.testing
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from trio_mcp import Context, MCPServer, Server
from trio_mcp.transports import (
    EventStore,
    HttpApp,
    HttpOptions,
    InMemoryEventStore,
    ServeOptions,
    StreamableHTTPSessionManager,
    TransportSecuritySettings,
)
from trio_mcp.transports.http._guard import EVERYBODY, Protection
from trio_mcp.transports.http._routes import make_route

from ._asgi import AsgiClient, OlderClient, open_app, open_session


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def make_server(**options) -> MCPServer:
    mcp = MCPServer("tests", **options)

    @mcp.tool()
    async def add(a: int, b: int) -> int:
        return a + b

    return mcp


@asynccontextmanager
async def live(app):
    """Run an application's lifespan as a server would; yields a client, and the nursery."""
    to_app, from_test = trio.open_memory_channel[str](1)
    to_test, from_app = trio.open_memory_channel[Any](2)

    async def receive():
        return {"type": await from_test.receive()}

    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            app, {"type": "lifespan", "asgi": {}, "state": {}}, receive, to_test.send
        )
        await to_app.send("lifespan.startup")
        assert (await from_app.receive())["type"] == "lifespan.startup.complete"
        yield AsgiClient(app, nursery)
        await to_app.send("lifespan.shutdown")
        assert (await from_app.receive())["type"] == "lifespan.shutdown.complete"
        nursery.cancel_scope.cancel()


# Paths


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("served", ["/mcp", "/mcp/", "mcp"])
@pytest.mark.case("C040")
async def test_the_endpoint_answers_with_and_without_a_slash(path, served):
    app = make_server().streamable_http_app(streamable_http_path=served)
    async with live(app) as client:
        client.path = path
        assert (await client.call("add", {"a": 1, "b": 2}))["result"]
        older = OlderClient(client)
        await older.initialize()
        stream = older.get()
        await stream.wait_started()
        assert stream.status == 200


@pytest.mark.parametrize(
    ("mount", "own"), [("/api", "/mcp"), ("/mcp", "/"), ("/", "/mcp"), ("/a/b", "/c/d")]
)
@pytest.mark.case("C040", "C041")
async def test_it_can_be_mounted_anywhere(mount, own):
    mcp = make_server()

    @asynccontextmanager
    async def lifespan(app):
        async with mcp.session_manager.run():
            yield

    mounted = mcp.streamable_http_app(streamable_http_path=own)
    host = Starlette(routes=[Mount(mount, app=mounted)], lifespan=lifespan)
    async with live(host) as client:
        whole = "/" + f"{mount}/{own}".replace("//", "/").strip("/")
        for path in (whole, whole + "/"):
            client.path = path
            answer = await client.ask("tools/list").wait_complete()
            if path == mount:
                # Starlette itself sends those to the other spelling who leave out the slash.
                assert answer.status in {200, 307}
            else:
                assert answer.status == 200, path


@pytest.mark.case("C041")
async def test_a_host_that_forgets_the_lifespan_is_told_the_line_to_add(caplog):
    mcp = make_server()
    host = Starlette(routes=[Mount("/", app=mcp.streamable_http_app())])
    async with live(host) as client:
        for _ in range(2):
            answer = await client.ask("tools/list").wait_complete()
            assert answer.status == 503
            assert "async with mcp.session_manager.run():" in answer.json()["error"]["message"]
    assert [each.levelno for each in caplog.records] == [logging.ERROR] * 2


@pytest.mark.case("C041")
async def test_a_manager_runs_once_at_a_time_and_may_run_again():
    mcp = make_server()
    app = mcp.streamable_http_app()
    for _ in range(2):
        async with open_app(app) as client:
            with pytest.raises(RuntimeError, match="runs already"):
                async with mcp.session_manager.run():
                    pass
            assert (await client.call("add", {"a": 1, "b": 2}))["result"]


def test_there_is_no_manager_before_there_is_an_application():
    mcp = make_server()
    with pytest.raises(RuntimeError, match="streamable_http_app"):
        _ = mcp.session_manager
    app = mcp.streamable_http_app()
    assert mcp.session_manager is app.session_manager
    assert mcp.lowlevel_server.session_manager is app.session_manager


async def test_other_paths_are_404(caplog):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with live(make_server().streamable_http_app()) as client:
        answer = await client.start("GET", path="/other").wait_complete()
    assert answer.status == 404
    assert len(caplog.records) == 1
    assert "'/other'" in caplog.text


# Other routes


async def test_functions_and_applications_are_served_beside_the_endpoint():
    mcp = make_server()

    @mcp.custom_route("/health", methods=["GET"])
    async def health(request: Any) -> Any:
        return PlainTextResponse(f"{request.method} {request.path} {request.headers['x-key']}")

    @mcp.custom_route("/raw", ["POST"], name="raw", include_in_schema=False)
    async def raw(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("raw", status_code=201)(scope, receive, send)

    async with live(mcp.streamable_http_app()) as client:
        answer = await client.start("GET", {"x-key": "k"}, path="/health").wait_complete()
        assert (answer.status, answer.body) == (200, b"GET /health k")
        assert (
            await client.start("HEAD", {"x-key": "k"}, path="/health/").wait_complete()
        ).status == 200
        answer = await client.start("POST", path="/raw").wait_complete()
        assert (answer.status, answer.body) == (201, b"raw")
        answer = await client.start("POST", path="/health").wait_complete()
        assert answer.status == 405
        assert answer.headers["allow"] == "GET, HEAD"
        assert (await client.call("add", {"a": 1, "b": 2}))["result"]


async def test_routes_of_starlette_can_be_handed_to_a_server():
    async def health(request: Any) -> Any:
        return PlainTextResponse("ok")

    server = Server("routes")
    app = server.streamable_http_app(custom_starlette_routes=[Route("/health", health)])
    async with live(app) as client:
        answer = await client.start("GET", path="/health").wait_complete()
    assert (answer.status, answer.body) == (200, b"ok")


@pytest.mark.parametrize(
    ("path", "methods", "fn", "error", "words"),
    [
        ("health", ["GET"], health := (lambda request: None), ValueError, "begins with '/'"),
        ("/{x}", ["GET"], health, ValueError, "without variables"),
        (5, ["GET"], health, TypeError, "path"),
        ("/x", "GET", health, TypeError, "methods"),
        ("/x", ["GET"], lambda: None, TypeError, "takes 0 arguments"),
        ("/x", ["GET"], lambda a, b: None, TypeError, "takes 2 arguments"),
    ],
)
def test_a_wrong_route_is_refused_when_it_is_registered(path, methods, fn, error, words):
    mcp = make_server()
    with pytest.raises(error, match=words):
        mcp.custom_route(path, methods)(fn)


def ok(request: Any) -> Any: ...


@pytest.mark.parametrize(
    ("path", "methods", "is_refused"),
    [
        ("/a", ["GET"], True),
        ("/a/", ["POST", "GET"], True),
        ("//a//", ["head"], True),
        ("/a", ["POST"], False),
        ("/a/b", ["GET"], False),
    ],
)
def test_a_route_that_would_never_be_asked_is_refused_when_it_is_registered(
    path, methods, is_refused
):
    mcp = make_server()
    mcp.custom_route("/a", ["GET"])(ok)
    if not is_refused:
        mcp.custom_route(path, methods)(ok)
        mcp.streamable_http_app()
        return
    with pytest.raises(ValueError, match="another route answers"):
        mcp.custom_route(path, methods)(ok)
    mcp.streamable_http_app()


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_a_route_where_the_endpoint_is_is_refused_when_the_application_is_made(path):
    mcp = make_server()
    mcp.custom_route(path, ["PUT"])(ok)
    with pytest.raises(ValueError, match="that of an endpoint"):
        mcp.streamable_http_app()
    mcp.streamable_http_app(streamable_http_path="/elsewhere")
    mcp.sse_app()
    for options in ({"sse_path": "/mcp"}, {"message_path": "/mcp"}):
        with pytest.raises(ValueError, match="that of an endpoint"):
            mcp.sse_app(**options)


def test_a_route_where_authorization_is_described_is_refused():
    described = "/.well-known/oauth-protected-resource/mcp"
    protection = Protection(EVERYBODY.guard, routes=(make_route(described, ["GET"], ok, None),))
    own = make_route(described, ["GET"], ok, None)
    with pytest.raises(ValueError, match="another route answers GET and HEAD"):
        HttpApp(make_server(), protection=protection, routes=[own])


@pytest.mark.parametrize("message_path", ["/x", "/x/"])
def test_two_endpoints_have_two_paths(message_path):
    with pytest.raises(ValueError, match="are the same, for two endpoints"):
        make_server().sse_app(sse_path="/x", message_path=message_path)


def test_what_is_no_route_is_refused():
    with pytest.raises(TypeError, match="ASGI app"):
        Server("x").streamable_http_app(custom_starlette_routes=["/health"])


# The lifespan


async def test_the_lifespan_of_the_server_is_that_of_the_application():
    told = []

    @asynccontextmanager
    async def lifespan(server):
        told.append("in")
        yield {"key": "value"}
        told.append("out")

    mcp = make_server(lifespan=lifespan)

    @mcp.tool()
    async def look(ctx: Context) -> str:
        state: str = ctx.request_context.lifespan_context["key"]
        return state

    async with live(mcp.streamable_http_app()) as client:
        for _ in range(2):
            answer = await client.call("look")
            assert answer["result"]["content"][0]["text"] == "value"
            assert told == ["in"]
    assert told == ["in", "out"]


@pytest.mark.parametrize("phase", ["startup", "shutdown"])
@pytest.mark.case("C019")
async def test_a_lifespan_that_fails_says_so_and_raises(phase):
    @asynccontextmanager
    async def lifespan(server):
        if phase == "startup":
            raise OSError("no database")
        yield {}
        raise OSError("no database")

    app = make_server(lifespan=lifespan).streamable_http_app()
    told = []

    async def receive():
        await trio.lowlevel.checkpoint()
        return {"type": "lifespan.startup"}

    async def send(message):
        await trio.lowlevel.checkpoint()
        told.append(message)

    with pytest.raises(OSError, match="no database"):
        await app({"type": "lifespan"}, receive, send)
    assert told[-1]["type"] == f"lifespan.{phase}.failed"
    assert "no database" in told[-1]["message"]


def test_a_server_without_trio_is_told_what_to_use():
    app = make_server().streamable_http_app()
    called = app({"type": "http"}, None, None)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="hypercorn"):
        called.send(None)


async def test_other_kinds_of_scopes():
    app = make_server().streamable_http_app()
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    await app({"type": "websocket"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1000}]
    with pytest.raises(ValueError, match="carrier pigeon"):
        await app({"type": "carrier pigeon"}, receive, send)


# Options


@pytest.mark.req("R-099")
def test_nothing_but_this_machine_reaches_a_server_by_itself():
    assert (ServeOptions().host, ServeOptions().binds) == ("127.0.0.1", ())
    manager = make_server().streamable_http_app().session_manager
    assert manager.options.transport_security == TransportSecuritySettings.for_host("127.0.0.1")


@pytest.mark.case("C045")
async def test_by_itself_a_loopback_address_is_protected_and_another_one_is_not():
    async with open_app(make_server().streamable_http_app()) as client:
        answer = await client.ask("tools/list", headers={"host": "app.example"}).wait_complete()
        assert answer.status == 421
    async with open_app(make_server().streamable_http_app(host="0.0.0.0")) as client:
        answer = await client.ask("tools/list", headers={"host": "app.example"}).wait_complete()
        assert answer.status == 200
    security = TransportSecuritySettings(allowed_hosts=["app.example"])
    app = make_server().streamable_http_app(transport_security=security)
    async with open_app(app) as client:
        answer = await client.ask("tools/list", headers={"host": "app.example"}).wait_complete()
        assert answer.status == 200


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"json_response": 1}, TypeError),
        ({"stateless_http": "yes"}, TypeError),
        ({"retry_interval": -1}, ValueError),
        ({"max_request_body_size": 0}, ValueError),
        ({"session_idle_timeout": -1}, ValueError),
        ({"max_sessions": 0}, ValueError),
        ({"transport_security": {}}, TypeError),
        ({"event_store": object()}, TypeError),
        ({"keep_alive_interval": "15"}, TypeError),
        ({"keep_alive_interval": 0}, ValueError),
        ({"body_timeout": None}, TypeError),
        ({"cors_origins": "https://x"}, TypeError),
        ({"streamable_http_path": 5}, TypeError),
    ],
)
def test_a_wrong_option_is_refused_by_name(options, error):
    (name,) = options
    name = "path" if name == "streamable_http_path" else name
    with pytest.raises(error, match=name):
        make_server().streamable_http_app(**options)


async def test_a_manager_can_be_made_by_hand():
    store = InMemoryEventStore()
    assert isinstance(store, EventStore)
    manager = StreamableHTTPSessionManager(make_server(), store, retry_interval=5)
    assert manager.options == HttpOptions(event_store=store, retry_interval=5)
    async with trio.open_nursery() as nursery, manager.run():
        client = AsgiClient(manager.handle_request, nursery, path="/anywhere")
        assert (await client.call("add", {"a": 1, "b": 2}))["result"]


async def test_one_server_may_have_several_applications():
    mcp = make_server()
    one, two = mcp.streamable_http_app(), mcp.streamable_http_app(stateless_http=True)
    async with open_session(one) as older, open_app(two) as client:
        assert (await older.ask("ping").wait_complete()).status == 200
        assert (await client.call("add", {"a": 1, "b": 2}))["result"]


async def test_a_server_that_stops_takes_no_more_requests():
    mcp = make_server()
    async with open_app(mcp.streamable_http_app()) as client:
        listening = client.ask(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        await listening.next_message()
        older = OlderClient(client)
        await older.initialize()
        stream = older.get()
        await stream.wait_started()
        await mcp.session_manager.stop()
        assert (await listening.next_message())["result"]["resultType"] == "complete"
        await stream.wait_complete()
        answer = await client.ask("tools/list").wait_complete()
        assert answer.status == 503
        assert answer.headers["connection"] == "close"


async def test_a_defect_of_the_application_is_a_bare_500(caplog, monkeypatch):
    app = make_server().streamable_http_app()

    def fails(*args, **options):
        raise KeyError("secret")

    monkeypatch.setattr("trio_mcp.transports.http._manager.parse_frame", fails)
    async with open_app(app) as client:
        answer = await client.ask("tools/list").wait_complete()
    assert answer.status == 500
    assert answer.json()["error"] == {"code": -32603, "message": "Internal server error"}
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info


async def test_a_server_that_cannot_send_any_more_ends_the_request():
    mcp = make_server()

    @mcp.tool()
    async def report(ctx: Context) -> str:
        for done in range(100):
            await ctx.report_progress(done)
        return ""

    app = mcp.streamable_http_app()
    async with open_app(app) as client:
        client.app = BrokenAfter(app, 3)
        answer = client.ask("tools/call", {"name": "report"}, meta={"progressToken": 1})
        await answer.wait_complete()
        assert len(answer.parts) <= 2
        client.app = app
        assert (await client.call("add", {"a": 1, "b": 2}))["result"]


class BrokenAfter:
    def __init__(self, app, messages):
        self.app, self.left = app, messages

    async def __call__(self, scope, receive, send):
        async def broken(message):
            self.left -= 1
            if self.left < 0:
                raise OSError("the client has gone")
            await send(message)

        await self.app(scope, receive, broken)


# Browsers

ORIGIN = "https://app.example"


@pytest.mark.parametrize("allowed", [[ORIGIN], ["*"]])
@pytest.mark.case("C046")
async def test_pages_of_other_origins_may_call_where_that_is_asked_for(allowed):
    app = make_server().streamable_http_app(cors_origins=allowed)
    async with open_app(app) as client:
        asked = "content-type, mcp-protocol-version, mcp-param-region, last-event-id, x-evil"
        preflight = await client.start(
            "OPTIONS",
            {
                "origin": ORIGIN,
                "access-control-request-method": "POST",
                "access-control-request-headers": asked,
            },
        ).wait_complete()
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-origin"] == ORIGIN
        assert preflight.headers["access-control-allow-methods"] == "GET, POST, DELETE"
        assert preflight.headers["access-control-allow-headers"] == asked.removesuffix(", x-evil")
        assert "origin" in preflight.headers["vary"]
        older = OlderClient(client)
        answer = await older.initialize(headers={"origin": ORIGIN})
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        exposed = answer.headers["access-control-expose-headers"].lower()
        assert "mcp-session-id" in exposed
        assert "www-authenticate" in exposed
        plain = await client.ask("tools/list").wait_complete()
        assert "access-control-allow-origin" not in plain.headers


@pytest.mark.case("C046")
async def test_pages_of_foreign_origins_may_not_call():
    async with open_app(make_server().streamable_http_app(cors_origins=[ORIGIN])) as client:
        evil = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        answer = await client.start("OPTIONS", evil).wait_complete()
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers
    async with open_app(make_server().streamable_http_app()) as client:
        asked = {"origin": "http://localhost:1", "access-control-request-method": "POST"}
        answer = await client.start("OPTIONS", asked).wait_complete()
        assert answer.status == 405
        assert "access-control-allow-origin" not in answer.headers


def test_the_application_is_of_a_public_class():
    assert type(make_server().streamable_http_app()) is HttpApp


async def test_an_event_store_keeps_nothing_of_what_is_raised_while_it_is_open():
    class Greedy(InMemoryEventStore):
        @asynccontextmanager
        async def open(self):
            with suppress(OSError):
                yield

    manager = StreamableHTTPSessionManager(make_server(), Greedy())
    mine = OSError("the host's own")
    with pytest.raises(OSError, match="own") as caught:
        async with manager.run():
            raise mine
    assert caught.value is mine
