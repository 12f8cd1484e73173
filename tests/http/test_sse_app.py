"""A server over HTTP with SSE, as clients of 2024-11-05 use it."""

from __future__ import annotations

import json
import logging
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer
from trio_mcp._codec import parse_frame
from trio_mcp._rpc._exchange import Principal, current_principal
from trio_mcp.transports import HttpOptions, SseApp
from trio_mcp.transports.http import _guard
from trio_mcp.transports.http._asgi import PRINCIPAL, HttpRequest

from ._asgi import META, Answer, AsgiClient, open_app


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def make_server(**tools) -> MCPServer:
    mcp = MCPServer("tests")

    @mcp.tool()
    async def add(a: int, b: int) -> int:
        return a + b

    for name, function in tools.items():
        mcp.add_tool(function, name=name)
    return mcp


@attrs.define(eq=False)
class SseClient:
    client: AsgiClient
    stream: Answer
    endpoint: str
    last_id: int = 0

    def post(self, message, **headers) -> Answer:
        path, _, query = self.endpoint.partition("?")
        self.client.scope["query_string"] = query.encode()
        given = {"content-type": "application/json", **headers}
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.client.start("POST", given, body, path=path)

    def ask(self, method, params=None) -> Answer:
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params or {}}
        return self.post(message)

    async def call(self, method, params=None) -> Any:
        answer = await self.ask(method, params).wait_complete()
        assert answer.status == 202
        return await self.stream.next_message()

    async def initialize(self) -> Any:
        params = {
            "protocolVersion": "2024-11-05",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "old", "version": "1"},
        }
        answer = await self.call("initialize", params)
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await self.post(note).wait_complete()).status == 202
        return answer


async def open_stream(client: AsgiClient, path="/sse") -> SseClient:
    stream = client.start("GET", {"accept": "text/event-stream"}, path=path)
    first = await stream.next_event()
    assert first.event == "endpoint"
    return SseClient(client, stream, first.data.decode())


@asynccontextmanager
async def open_sse(app, **options):
    async with open_app(app, **options) as client:
        yield await open_stream(client)


async def test_a_stream_says_where_to_post_and_brings_the_answers():
    async with open_sse(make_server().sse_app()) as sse:
        assert sse.endpoint.startswith("/messages/?session_id=")
        assert sse.stream.headers["content-type"] == "text/event-stream"
        assert sse.stream.headers["x-accel-buffering"] == "no"
        assert (await sse.initialize())["result"]["protocolVersion"] == "2024-11-05"
        result = await sse.call("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        assert result["result"]["content"][0]["text"] == "3"
        listed = await sse.call("tools/list", {"_meta": META})
        assert listed["result"]["resultType"] == "complete"


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_progress_and_questions_travel_on_the_stream():
    async def ask(ctx: Context) -> str:
        await ctx.report_progress(1)
        return str(len(await ctx.list_roots()))

    async with open_sse(make_server(ask=ask).sse_app()) as sse:
        await sse.initialize()
        params = {"name": "ask", "_meta": {"progressToken": 5}}
        progress = await sse.call("tools/call", params)
        assert progress["params"] == {"progressToken": 5, "progress": 1}
        question = await sse.stream.next_message()
        assert question["method"] == "roots/list"
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}
        await sse.post(reply).wait_complete()
        assert (await sse.stream.next_message())["result"]["content"][0]["text"] == "0"


@pytest.mark.parametrize("by_extension", [False, True])
async def test_the_end_of_the_stream_ends_the_session(by_extension):
    ended = []

    async def forever() -> str:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())
        return ""

    app = make_server(forever=forever).sse_app()
    async with open_sse(app, by_extension=by_extension) as sse:
        await sse.initialize()
        other = await open_stream(sse.client)
        await sse.ask("tools/call", {"name": "forever"}).wait_complete()
        await trio.testing.wait_all_tasks_blocked()
        sse.stream.leave()
        await sse.stream.wait_complete()
        assert ended == [pytest.approx(1)]
        assert (await sse.ask("ping").wait_complete()).status == 404
        assert (await other.call("ping"))["result"] == {}
        assert len(app.session_manager._run.channels) == 1


async def test_what_is_posted_to_its_end_only_after_the_stream_has_ended_is_refused():
    async with open_sse(make_server().sse_app()) as sse:
        await sse.initialize()
        path, _, query = sse.endpoint.partition("?")
        sse.client.scope["query_string"] = query.encode()
        parts = [b'{"jsonrpc":"2.0",', 5.0, b'"id":5,"method":"ping"}']
        given = {"content-type": "application/json"}
        answer = sse.client.start("POST", given, path=path, chunks=parts)
        await trio.sleep(1)
        sse.stream.leave()
        await sse.stream.wait_complete()
        assert answer.status is None
        await answer.wait_complete()
        assert answer.status == 404
        assert "no such session" in answer.json()["error"]["message"]


async def test_a_silent_stream_is_kept_alive():
    async with open_sse(make_server().sse_app(keep_alive_interval=5)) as sse:
        await trio.sleep(16)
        assert sse.stream.body.count(b": keep-alive") == 3


async def test_a_run_that_ends_ends_the_streams():
    async with open_sse(make_server().sse_app()) as sse:
        await sse.initialize()
    assert sse.stream.complete


async def test_a_stop_lets_what_runs_be_answered_first():
    async def slow() -> str:
        await trio.sleep(30)
        return "done"

    app = make_server(slow=slow).sse_app()
    async with open_sse(app) as sse:
        await sse.initialize()
        idle = await open_stream(sse.client)
        await sse.ask("tools/call", {"name": "slow"}).wait_complete()
        sse.client.nursery.start_soon(app.session_manager.stop)
        await idle.stream.wait_complete()
        assert trio.current_time() == pytest.approx(0)
        refused = await sse.ask("ping").wait_complete()
        assert refused.status == 503
        answer = await sse.stream.next_message()
        assert answer["result"]["content"][0]["text"] == "done"
        await sse.stream.wait_complete()
        assert trio.current_time() == pytest.approx(30)


async def test_a_stop_does_not_wait_for_a_client_that_leaves_then():
    ended = []

    async def forever() -> str:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())
        return ""

    app = make_server(forever=forever).sse_app()
    async with open_sse(app) as sse:
        await sse.initialize()
        await sse.ask("tools/call", {"name": "forever"}).wait_complete()

        async def leave():
            await trio.sleep(20)
            sse.stream.leave()

        sse.client.nursery.start_soon(leave)
        await app.session_manager.stop()
        assert ended == [pytest.approx(21)]
        assert trio.current_time() == pytest.approx(21)


@pytest.mark.parametrize("make", [MCPServer.streamable_http_app, MCPServer.sse_app])
async def test_a_stop_waits_for_what_runs_over_each_transport_and_may_be_given_up(make):
    ended = []

    async def slow() -> str:
        try:
            await trio.sleep(20)
        except trio.Cancelled:
            ended.append("cancelled")
            raise
        ended.append("done")
        return ""

    app = make(make_server(slow=slow))
    async with open_app(app) as client:
        if make is MCPServer.sse_app:
            sse = await open_stream(client)
            await sse.initialize()
            await sse.ask("tools/call", {"name": "slow"}).wait_complete()
        else:
            client.ask("tools/call", {"name": "slow"})
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(10) as given_up:
            await app.session_manager.stop()
        assert given_up.cancelled_caught
        assert ended == []
        await app.session_manager.stop()
        assert ended == ["done"]
        assert trio.current_time() == 20
        # There is nothing left to wait for.
        await app.session_manager.stop()
    assert trio.current_time() == 20


@pytest.mark.parametrize(
    ("changed", "status", "code", "words"),
    [
        ({"body": b"{"}, 400, -32700, "Parse error"),
        ({"body": b"{}"}, 400, -32600, "jsonrpc"),
        ({"content-type": "text/plain"}, 415, -32600, "text/plain"),
        ({"body": b"x" * 5000}, 413, -32600, "larger"),
        ({"query": ""}, 400, -32600, "session_id"),
        ({"query": "session_id=made-up"}, 404, -32600, "no such session"),
        ({"host": "evil.example"}, 421, -32600, "evil.example"),
        ({"origin": "https://evil.example"}, 403, -32600, "evil.example"),
    ],
)
@pytest.mark.case("C038")
async def test_each_refusal_is_told_and_logged_once(changed, status, code, words, caplog):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with open_sse(make_server().sse_app(max_request_body_size=4000)) as sse:
        changed = dict(changed)
        body = changed.pop("body", b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        endpoint = sse.endpoint
        if "query" in changed:
            sse.endpoint = f"/messages/?{changed.pop('query')}"
        answer = await sse.post(body, **changed).wait_complete()
        sse.endpoint = endpoint
        assert (await sse.call("ping"))["result"] == {}
    assert answer.status == status
    error = answer.json()["error"]
    assert error["code"] == code
    assert words in error["message"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("POST", "/sse", "GET"), ("GET", "/messages", "POST")]
)
async def test_each_endpoint_has_its_method(method, path, allowed):
    async with open_app(make_server().sse_app()) as client:
        answer = await client.start(method, path=path).wait_complete()
    assert answer.status == 405
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(("method", "path"), [("GET", "/sse"), ("POST", "/messages")])
@pytest.mark.req("R-168")
async def test_nobody_serves_it_without_asking_for_it(method, path):
    async with open_app(make_server().streamable_http_app()) as client:
        answer = await client.start(method, path=path).wait_complete()
    assert answer.status == 404


async def test_a_batch_is_refused_on_the_stream_with_the_id_null():
    async with open_sse(make_server().sse_app()) as sse:
        await sse.initialize()
        ping = {"jsonrpc": "2.0", "id": 5, "method": "ping"}
        assert (await sse.post([ping]).wait_complete()).status == 202
        told = await sse.stream.next_message()
        assert told["error"]["code"] == -32600
        assert told["id"] is None


ORIGIN = "https://app.example"


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.case("C046")
async def test_pages_of_other_origins_may_call_where_that_is_asked_for(how, monkeypatch):
    if how == "variable":
        monkeypatch.setenv("MCP_CORS_ORIGINS", ORIGIN)
    app = make_server().sse_app(**({"cors_origins": [ORIGIN]} if how == "option" else {}))
    async with open_app(app) as client:
        for path, method in (("/sse", "GET"), ("/messages/", "POST")):
            asked = {"origin": ORIGIN, "access-control-request-method": method}
            preflight = await client.start("OPTIONS", asked, path=path).wait_complete()
            assert preflight.status == 204
            assert preflight.headers["access-control-allow-origin"] == ORIGIN
            assert preflight.headers["access-control-allow-methods"] == method
        accepted = {"accept": "text/event-stream", "origin": ORIGIN}
        stream = client.start("GET", accepted, path="/sse")
        first = await stream.next_event()
        assert stream.headers["access-control-allow-origin"] == ORIGIN
        sse = SseClient(client, stream, first.data.decode())
        ping = {"jsonrpc": "2.0", "id": 5, "method": "ping"}
        posted = await sse.post(ping, origin=ORIGIN).wait_complete()
        assert posted.status == 202
        assert posted.headers["access-control-allow-origin"] == ORIGIN
        assert (await stream.next_message())["result"] == {}


@pytest.mark.parametrize("allowed", [[], [ORIGIN]])
async def test_pages_of_foreign_origins_may_not_call(allowed):
    async with open_app(make_server().sse_app(cors_origins=allowed)) as client:
        evil = {"origin": "https://evil.example", "access-control-request-method": "GET"}
        answer = await client.start("OPTIONS", evil, path="/sse").wait_complete()
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers


async def test_paths_can_be_chosen_and_the_application_mounted():
    app = make_server().sse_app(sse_path="/in", message_path="/out")
    scope = {"root_path": "/api", "path": "/api/in"}
    async with open_app(app, scope=scope) as client:
        sse = await open_stream(client)
        assert sse.endpoint.startswith("/api/out/?session_id=")
        client.scope["path"] = "/api/out/"
        assert (await sse.call("ping"))["result"] == {}


async def test_a_stream_belongs_to_whoever_opened_it():
    app = make_server().sse_app()
    async with open_app(app, scope={PRINCIPAL: Principal("alice")}) as client:
        sse = await open_stream(client)
        client.scope[PRINCIPAL] = Principal("mallory")
        assert (await sse.ask("ping").wait_complete()).status == 404
        client.scope[PRINCIPAL] = Principal("alice")
        assert (await sse.call("ping"))["result"] == {}


async def test_each_request_is_handled_in_the_name_that_came_with_it():
    seen = {}

    async def who(n: int, ctx: Context) -> str:
        principal = current_principal.get()
        assert principal is not None
        seen[n] = list(principal.scopes), ctx.headers["x-n"]
        return ""

    app = make_server(who=who).sse_app()
    async with open_app(app, scope={PRINCIPAL: Principal("alice")}) as client:
        sse = await open_stream(client)
        await sse.initialize()
        # All have come before the first of them is looked at.
        channel = app.session_manager._run.channels[sse.endpoint.partition("=")[2]]
        for n, scopes in enumerate((["read"], ["read", "admin"], [])):
            scope = {
                "headers": [(b"x-n", b"%d" % n)],
                PRINCIPAL: Principal("alice", scopes=scopes),
            }
            params = {"name": "who", "arguments": {"n": n}}
            message = {"jsonrpc": "2.0", "id": f"n{n}", "method": "tools/call", "params": params}
            request = HttpRequest({"method": "POST", **scope}, trio.sleep_forever)
            assert channel.arrive(parse_frame(json.dumps(message)), request)
        for _ in range(3):
            await sse.stream.next_message()
    assert seen == {0: (["read"], "0"), 1: (["read", "admin"], "1"), 2: ([], "2")}


@pytest.mark.parametrize(
    ("tokens", "ends"),
    [
        ([2_000], 2_000),
        ([2_000, 8_000], 8_000),
        ([2_000, 8_000, 1_000], 8_000),
        ([2_000, 1_000, 8_000, 4_000], 8_000),
        ([2_000, None, 1_000], None),
        ([None, 1_000], None),
    ],
)
async def test_a_stream_ends_with_the_token_that_lasts_longest(tokens, ends, monkeypatch):
    # The wall clock goes by Trio's.
    monkeypatch.setattr(_guard, "time", SimpleNamespace(time=trio.current_time))

    def holding(expires_at):
        return Principal("alice", expires_at=expires_at)

    app = make_server().sse_app()
    async with open_app(app, scope={PRINCIPAL: holding(tokens[0])}) as client:
        sse = await open_stream(client)
        await sse.initialize()
        for seconds in tokens[1:]:
            client.scope[PRINCIPAL] = holding(seconds)
            await sse.call("ping")
        await trio.sleep_until(9_000 if ends is None else ends - 500)
        assert (await sse.call("ping"))["result"] == {}
        if ends is not None:
            await sse.stream.wait_complete()
            assert trio.current_time() == ends
            assert (await sse.ask("ping").wait_complete()).status == 404


async def test_there_may_be_no_more_streams_than_allowed():
    async with open_sse(make_server().sse_app(max_sessions=1)) as sse:
        answer = sse.client.start("GET", {"accept": "text/event-stream"}, path="/sse")
        assert (await answer.wait_complete()).status == 503


@pytest.mark.case("C041")
async def test_a_host_that_forgets_the_lifespan_is_told_the_line_to_add():
    app = SseApp(make_server(), HttpOptions())
    async with trio.open_nursery() as nursery:
        client = AsgiClient(app, nursery, path="/sse")
        answer = await client.start("GET", {"accept": "*/*"}).wait_complete()
    assert answer.status == 503
    assert "session_manager.run()" in answer.json()["error"]["message"]


async def test_it_runs_once_at_a_time_and_may_run_again():
    app = make_server().sse_app()
    for _ in range(2):
        async with open_sse(app) as sse:
            with pytest.raises(RuntimeError, match="runs already"):
                async with app.session_manager.run():
                    pass
            assert (await sse.call("ping"))["result"] == {}
