"""Requests of the modern era over HTTP: JSON first, a stream when there is more to say."""

from __future__ import annotations

import gc
from typing import Annotated, Any

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer, Server
from trio_mcp.errors import MCPError, NoBackChannelError
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._options import HttpOptions
from trio_mcp.types import (
    CallToolResult,
    ClientCapabilities,
    SamplingCapability,
    TextContent,
)

from ._asgi import LATEST, META, open_app
from ._tools import add, steps, wait

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def make_server(**tools) -> MCPServer:
    mcp = MCPServer("tests")
    for name, function in {"add": add, **tools}.items():
        mcp.add_tool(function, name=name)
    return mcp


WITH_TOKEN = {"progressToken": "t"}


async def raw(**handlers):
    async def call_tool(ctx, params):
        return await handlers[params.name](ctx, params)

    return Server("raw", on_call_tool=call_tool)


# JSON, and streams


@pytest.mark.req("R-096", "R-109")
async def test_a_quick_answer_is_json_in_one_piece():
    async with open_app(HttpApp(make_server())) as client:
        answer = client.ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        await answer.wait_complete()
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-length"] == str(len(answer.body))
    assert len(answer.parts) == 1
    assert answer.json()["result"]["structuredContent"] == {"result": 3}


@pytest.mark.req("R-109", "R-111", "R-113", "R-114")
@pytest.mark.case("C048")
async def test_an_answer_with_progress_before_it_is_a_stream():
    async with open_app(HttpApp(make_server(steps=steps))) as client:
        answer = client.ask("tools/call", {"name": "steps"}, meta=WITH_TOKEN)
        messages = await answer.messages()
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-accel-buffering"] == "no"
        assert "no-cache" in answer.headers["cache-control"]
        assert "mcp-session-id" not in answer.headers
    assert [each["params"]["progress"] for each in messages[:-1]] == [1, 2, 3]
    assert messages[-1]["id"] == 1
    assert messages[-1]["result"]["content"][0]["text"] == "done"
    assert b"\nid:" not in answer.body


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
@pytest.mark.req("R-323")
async def test_log_messages_go_to_the_one_who_asked():
    async def speak(word: str, ctx: Context) -> str:
        for _ in range(3):
            await ctx.info(word)
            await trio.sleep(1)
        return word

    level = {"io.modelcontextprotocol/logLevel": "info"}
    async with open_app(HttpApp(make_server(speak=speak))) as client:

        def ask(word, meta):
            call = {"name": "speak", "arguments": {"word": word}}
            return client.ask("tools/call", call, meta=meta)

        one, silent, other = ask("one", level), ask("silent", {}), ask("other", level)
        for word, answer in (("one", one), ("other", other)):
            *told, last = await answer.messages()
            assert [each["params"]["data"] for each in told] == [word] * 3
            assert last["result"]["structuredContent"] == {"result": word}
        await silent.wait_complete()
        assert silent.json()["result"]["structuredContent"] == {"result": "silent"}


@pytest.mark.req("R-111")
async def test_what_is_sent_goes_to_the_one_who_asked():
    async with open_app(HttpApp(make_server(steps=steps))) as client:
        answers = [
            client.ask("tools/call", {"name": "steps"}, request_id=7, meta={"progressToken": each})
            for each in range(5)
        ]
        for token, answer in enumerate(answers):
            *progress, last = await answer.messages()
            assert {each["params"]["progressToken"] for each in progress} == {token}
            assert last["id"] == 7


@pytest.mark.parametrize(("seconds", "is_stream"), [(14.9, False), (15.1, True)])
async def test_an_answer_becomes_a_stream_after_fifteen_seconds(seconds, is_stream):
    async with open_app(HttpApp(make_server(wait=wait))) as client:
        answer = client.ask("tools/call", {"name": "wait", "arguments": {"seconds": seconds}})
        await answer.wait_complete()
        assert trio.current_time() == pytest.approx(seconds)
        assert answer.is_stream is is_stream


@pytest.mark.case("C048")
async def test_a_long_silence_is_broken_by_comments():
    async with open_app(HttpApp(make_server(wait=wait))) as client:
        answer = client.ask("tools/call", {"name": "wait", "arguments": {"seconds": 50}})
        await answer.wait_started()
        assert trio.current_time() == pytest.approx(15)
        assert await answer.next_message()
        assert answer.body.count(b": keep-alive\n\n") == 3


async def test_the_interval_of_comments_can_be_set():
    options = HttpOptions(keep_alive_interval=2)
    async with open_app(HttpApp(make_server(wait=wait), options)) as client:
        answer = client.ask("tools/call", {"name": "wait", "arguments": {"seconds": 9}})
        await answer.wait_complete()
        assert answer.body.count(b": keep-alive\n\n") == 4


async def test_many_requests_share_one_clock():
    async with open_app(HttpApp(make_server(wait=wait))) as client:
        answers = []
        for _ in range(20):
            answers.append(
                client.ask("tools/call", {"name": "wait", "arguments": {"seconds": 20}})
            )
            await client.call("add", {"a": 1, "b": 1})
            await trio.sleep(1)
        for start, answer in enumerate(answers):
            await answer.wait_complete()
            assert trio.current_time() == pytest.approx(start + 20)
            assert answer.is_stream


async def test_in_json_mode_what_comes_before_the_answer_is_left_out():
    app = HttpApp(make_server(steps=steps, wait=wait), HttpOptions(json_response=True))
    async with open_app(app) as client:
        for call in ({"name": "steps"}, {"name": "wait", "arguments": {"seconds": 60}}):
            answer = client.ask(
                "tools/call", call, meta=WITH_TOKEN, headers={"accept": "application/json"}
            )
            await answer.wait_complete()
            assert answer.status == 200
            assert answer.json()["id"] == 1


async def test_a_client_that_reads_slowly_holds_up_its_own_handler_alone():
    reported = []

    async def chatty(ctx: Context) -> str:
        for done in range(1000):
            await ctx.report_progress(done)
            reported.append(done)
        return "done"

    async with open_app(HttpApp(make_server(chatty=chatty))) as client:
        client.hold_reading = trio.Event()
        answer = client.ask("tools/call", {"name": "chatty"}, meta=WITH_TOKEN)
        await trio.testing.wait_all_tasks_blocked()
        assert 0 < len(reported) < 200
        client.hold_reading.set()
        assert len(await answer.messages()) == 1001


async def test_an_author_who_gives_up_a_report_leaves_the_stream_whole():
    async def impatient(ctx: Context) -> str:
        for done in range(500):
            with trio.move_on_after(0.001):
                await ctx.report_progress(done)
        return "done"

    async with open_app(HttpApp(make_server(impatient=impatient))) as client:
        client.hold_reading = trio.Event()
        answer = client.ask("tools/call", {"name": "impatient"}, meta=WITH_TOKEN)
        await trio.sleep(1)
        client.hold_reading.set()
        *progress, last = await answer.messages()
    assert progress == sorted(progress, key=lambda each: each["params"]["progress"])
    assert last["result"]["content"][0]["text"] == "done"


# The end of a request


BOTH_WAYS = pytest.mark.parametrize("by_extension", [False, True], ids=["receive", "extension"])


@BOTH_WAYS
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.req("R-116", "R-118", "R-119", "R-208")
@pytest.mark.case("C049")
async def test_a_client_that_goes_cancels_its_handler(by_extension, streaming):
    ended = []

    async def forever(ctx: Context) -> str:
        if streaming:
            await ctx.report_progress(1)
        try:
            await trio.sleep_forever()
        finally:
            ended.append((trio.current_time(), ctx.cancel_reason))
        return ""

    app = HttpApp(make_server(forever=forever))
    async with open_app(app, by_extension=by_extension) as client:
        answer = client.ask("tools/call", {"name": "forever"}, meta=WITH_TOKEN)
        bystander = client.ask("tools/call", {"name": "forever"}, meta=WITH_TOKEN)
        await trio.sleep(3)
        answer.leave()
        await answer.wait_complete()
        assert ended == [(3, "the client closed the stream of its answer")]
        assert answer.complete is False
        assert not bystander.returned
        bystander.leave()
        await bystander.wait_complete()


async def test_a_handler_that_fails_while_its_client_goes_is_answered_by_nothing(caplog):
    async def stubborn() -> str:
        try:
            await trio.sleep_forever()
        finally:
            raise RuntimeError("secret")

    async with open_app(HttpApp(make_server(stubborn=stubborn))) as client:
        answer = client.ask("tools/call", {"name": "stubborn"})
        await trio.testing.wait_all_tasks_blocked()
        answer.leave()
        await answer.wait_complete()
        assert answer.status is None
        assert (await client.call("add", {"a": 1, "b": 1}))["result"]


async def test_a_run_that_ends_lets_requests_answer_and_cancels_the_rest():
    reasons = []

    async def forever(ctx: Context) -> str:
        try:
            await trio.sleep_forever()
        finally:
            reasons.append(trio.current_time())
        return ""

    app = HttpApp(make_server(wait=wait, forever=forever))
    async with open_app(app) as client:
        quick = client.ask("tools/call", {"name": "wait", "arguments": {"seconds": 0.5}})
        slow = client.ask("tools/call", {"name": "forever"})
        await trio.testing.wait_all_tasks_blocked()
    assert quick.json()["result"]["content"][0]["text"] == "waited"
    assert slow.returned
    assert slow.status == 500
    assert "stopped" in slow.json()["error"]["message"]
    assert reasons == [pytest.approx(1)]


# Errors


async def broken() -> str:
    raise ValueError("secret")


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("unknown/method", {}, 404, -32601),
        ("ping", {}, 404, -32601),
        ("completion/complete", {}, 404, -32601),
        ("logging/setLevel", {"level": "info"}, 404, -32601),
        ("initialize", {"protocolVersion": LATEST}, 404, -32601),
        ("tools/call", {"name": "no such tool"}, 400, -32602),
        ("tools/call", {"arguments": {}}, 400, -32602),
        ("tools/list", {"cursor": "made up"}, 400, -32602),
    ],
)
@pytest.mark.req("R-124")
async def test_the_status_of_an_error_is_the_specifications(method, params, status, code):
    async with open_app(HttpApp(make_server())) as client:
        answer = await client.ask(method, params).wait_complete()
    assert answer.status == status
    assert answer.json()["error"]["code"] == code
    assert answer.json()["id"] == 1


@pytest.mark.parametrize("missing", list(META))
@pytest.mark.req("R-051", "R-125")
async def test_a_request_that_is_not_whole_is_400(missing):
    async with open_app(HttpApp(make_server())) as client:
        meta = {key: value for key, value in META.items() if key != missing}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
        named = {"mcp-protocol-version": LATEST, "mcp-method": "tools/list"}
        answer = await client.post(message, named).wait_complete()
        assert answer.status == 400
        assert answer.json()["error"]["code"] == -32602
        assert missing in answer.json()["error"]["message"]
        # A body that names its version is modern, and its header has to name it, too.
        message["params"] = {"_meta": META}
        answer = await client.post(message, {"mcp-method": "tools/list"}).wait_complete()
        assert answer.status == 400
        assert answer.json()["error"]["code"] == -32020
        assert "MCP-Protocol-Version is missing" in answer.json()["error"]["message"]


@pytest.mark.req("R-055")
async def test_what_needs_a_capability_of_the_client_is_400():
    async def needs(ctx, params):
        ctx.session.require_client_capability(ClientCapabilities(sampling=SamplingCapability()))
        return CallToolResult(content=[])

    async with open_app(HttpApp(await raw(x=needs))) as client:
        answer = await client.ask("tools/call", {"name": "x"}).wait_complete()
        assert answer.status == 400
        assert answer.json()["error"]["code"] == -32021
        assert answer.json()["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
        can = {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}
        answer = await client.ask("tools/call", {"name": "x"}, meta=can).wait_complete()
        assert answer.status == 200


async def test_an_error_of_a_handler_is_no_error_of_http():
    async def answers(ctx, params):
        raise MCPError(1234, "own words", {"more": 1})

    app = HttpApp(await raw(x=answers))
    async with open_app(app) as client:
        answer = await client.ask("tools/call", {"name": "x"}).wait_complete()
    assert answer.status == 200
    assert answer.json()["error"] == {"code": 1234, "message": "own words", "data": {"more": 1}}


async def test_a_defect_of_a_handler_is_told_without_its_text(caplog):
    async def fails(ctx, params):
        raise RuntimeError("secret")

    async with open_app(HttpApp(await raw(x=fails))) as client:
        answer = await client.ask("tools/call", {"name": "x"}).wait_complete()
    assert answer.status == 200
    assert answer.json()["error"] == {"code": -32603, "message": "Internal server error"}
    assert [record.exc_info is not None for record in caplog.records] == [True]


async def test_an_error_that_comes_after_something_else_is_the_last_event():
    async def late(ctx, params):
        await ctx.session.report_progress(1)
        raise MCPError(-32602, "too late for a status")

    async with open_app(HttpApp(await raw(x=late))) as client:
        answer = client.ask("tools/call", {"name": "x"}, meta=WITH_TOKEN)
        *_, last = await answer.messages()
    assert answer.status == 200
    assert last["error"]["code"] == -32602


async def test_an_answer_that_is_no_json_is_an_error(caplog):
    async def unwritable(ctx, params):
        return CallToolResult(
            content=[TextContent(text="x")], structured_content={"x": float("nan")}
        )

    async with open_app(HttpApp(await raw(x=unwritable))) as client:
        answer = await client.ask("tools/call", {"name": "x"}).wait_complete()
    assert answer.json()["error"]["code"] == -32603


async def test_a_notification_that_is_no_json_is_the_handlers_mistake():
    async def unwritable(ctx, params):
        with pytest.raises((TypeError, ValueError), match=r"params\.x"):
            await ctx.exchange.notify("notifications/x", {"x": object()})
        with pytest.raises((TypeError, ValueError), match=r"params\.x"):
            await ctx.exchange.notify("notifications/x", {"x": float("nan")})
        await ctx.exchange.notify("notifications/x", {"x": None})
        return CallToolResult(content=[])

    async with open_app(HttpApp(await raw(x=unwritable))) as client:
        note, last = await client.ask("tools/call", {"name": "x"}).messages()
    assert note["params"] == {"x": None}
    assert "result" in last


# What is refused


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.req("R-165", "R-166", "R-167")
async def test_there_is_nothing_to_get_or_delete(method):
    async with open_app(HttpApp(make_server())) as client:
        headers = {"mcp-protocol-version": LATEST, "mcp-session-id": "x", "last-event-id": "y"}
        answer = await client.start(method, headers).wait_complete()
    assert answer.status == 405
    assert answer.headers["allow"] == "POST"
    assert "mcp-session-id" not in answer.headers


@pytest.mark.req("R-166")
async def test_the_id_of_a_session_is_ignored():
    async with open_app(HttpApp(make_server())) as client:
        answer = await client.ask("tools/list", headers={"mcp-session-id": "x"}).wait_complete()
    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize(
    ("version", "status"), [(LATEST, 202), ("2099-01-01", 400)], ids=["served", "unknown"]
)
@pytest.mark.req("R-107", "R-108")
async def test_a_notification_is_accepted_and_changes_nothing(version, status):
    async with open_app(HttpApp(make_server())) as client:
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        answer = await client.post(note, {"mcp-protocol-version": version}).wait_complete()
    assert answer.status == status
    assert answer.body == b"" if status == 202 else answer.json()["error"]["code"] == -32022


@pytest.mark.case("C050")
async def test_a_body_without_an_end_is_cut_off_at_the_limit():
    async with open_app(
        HttpApp(make_server(), HttpOptions(max_request_body_size=10_000))
    ) as client:
        headers = {"content-type": "application/json", "accept": "*/*"}
        answer = client.start("POST", headers, chunks=[*[b"x" * 1000] * 100])
        await answer.wait_complete()
    assert answer.status == 413
    assert answer.headers["connection"] == "close"


async def test_a_body_that_is_announced_too_large_is_not_read():
    async with open_app(HttpApp(make_server())) as client:
        headers = {"content-type": "application/json", "accept": "*/*", "content-length": "9" * 12}
        answer = client.start("POST", headers, chunks=[3600.0])
        await answer.wait_complete()
        assert trio.current_time() == 0
    assert answer.status == 413
    assert answer.headers["connection"] == "close"


async def test_a_slow_body_is_given_up():
    async with open_app(HttpApp(make_server(), HttpOptions(body_timeout=5))) as client:
        headers = {"content-type": "application/json", "accept": "*/*"}
        answer = client.start("POST", headers, chunks=[b"{", 3600.0, b"}"])
        await answer.wait_complete()
        assert trio.current_time() == pytest.approx(5)
    assert answer.status == 408


async def test_a_client_that_goes_amid_its_body_is_forgotten(caplog):
    async with open_app(HttpApp(make_server())) as client:
        headers = {"content-type": "application/json", "accept": "*/*"}
        answer = client.start("POST", headers, chunks=[b"{", b"", 1.0, b""])
        answer.leave()
        await answer.wait_complete()
    assert caplog.records == []


# Arguments in headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Mcp-Param-Region": "eu"}, 200),
        ({"Mcp-Param-Region": "=?base64?ZXU=?="}, 200),
        ({"Mcp-Param-Region": "eu", "Mcp-Param-Other": "x"}, 200),
        ({"Mcp-Param-Region": "us"}, 400),
        ({}, 400),
    ],
)
@pytest.mark.req("R-151", "R-152", "R-157", "R-159")
async def test_a_tools_arguments_are_compared_with_their_headers(headers, status):
    async def where(region: Annotated[str, {"x-mcp-header": "Region"}]) -> str:
        return region

    async with open_app(HttpApp(make_server(where=where))) as client:
        call = {"name": "where", "arguments": {"region": "eu"}}
        answer = await client.ask("tools/call", call, headers=headers).wait_complete()
    assert answer.status == status
    if status == 400:
        assert answer.json()["error"]["code"] == -32020


# What handlers see


async def test_a_handler_sees_the_request():
    async def look(ctx: Context) -> dict[str, Any]:
        request: Any = ctx.request_context.request
        assert ctx.headers is not None
        return {"key": ctx.headers["X-Key"], "path": request.path, "method": request.method}

    async with open_app(
        HttpApp(make_server(look=look)), scope={"path": "/a/mcp", "root_path": "/a"}
    ) as client:
        answer = await client.call("look", headers={"X-Key": "k"})
    assert answer["result"]["structuredContent"] == {"key": "k", "path": "/mcp", "method": "POST"}


@pytest.mark.req("R-112")
async def test_a_modern_request_carries_no_question():
    async def ask(ctx, params):
        assert not ctx.session.can_send_request
        await ctx.session.report_progress(1)
        with pytest.raises(NoBackChannelError):
            await ctx.session.elicit_form("Sure?", {"type": "object", "properties": {}})
        await ctx.session.report_progress(2)
        return CallToolResult(content=[])

    async with open_app(HttpApp(await raw(x=ask))) as client:
        answer = client.ask("tools/call", {"name": "x"}, meta=WITH_TOKEN)
        *notices, last = await answer.messages()
    assert answer.headers["content-type"] == "text/event-stream"
    assert [each["method"] for each in notices] == ["notifications/progress"] * 2
    assert not any("id" in each for each in notices)
    assert last["result"]["resultType"] == "complete"


async def test_nothing_is_left_of_a_request():
    mcp = make_server()
    app = HttpApp(mcp)
    async with open_app(app) as client:
        run = app.session_manager._run
        for _ in range(20):
            await client.call("add", {"a": 1, "b": 2})
        assert run is not None
        assert not run.serving.connections
        assert not len(run.active)
        assert not run.heart._due


@pytest.mark.parametrize("tool", ["add", "steps", "nothing"])
async def test_a_request_leaves_nothing_to_the_garbage_collector(tool):
    async with open_app(HttpApp(make_server(steps=steps))) as client:
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            answer = client.ask("tools/call", {"name": tool}, meta=WITH_TOKEN)
            await answer.wait_complete()
            await trio.testing.wait_all_tasks_blocked()
            del answer
            gc.collect()
            left = {type(each).__name__ for each in gc.garbage if is_of_http(each)}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert left == set()


def is_of_http(thing: object) -> bool:
    return type(thing).__module__.startswith("trio_mcp.transports.http")


# Subscriptions


FILTER = {"notifications": {"toolsListChanged": True}}


@pytest.mark.req("R-111")
async def test_a_subscription_is_a_stream_that_ends_when_the_run_does():
    mcp = make_server()
    app = HttpApp(mcp, HttpOptions(json_response=True))
    async with open_app(app) as client:
        answer = client.ask("subscriptions/listen", FILTER, request_id="s")
        acknowledged = await answer.next_message()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["_meta"] == {SUBSCRIPTION: "s"}
        mcp.add_tool(wait)
        changed = await answer.next_message()
        assert changed["method"] == "notifications/tools/list_changed"
        started = trio.current_time()
        await trio.sleep(20)
        assert b": keep-alive" in answer.body
    last = await answer.next_message()
    assert last["id"] == "s"
    assert last["result"]["resultType"] == "complete"
    assert await answer.next_message() is None
    assert answer.complete
    assert trio.current_time() == pytest.approx(started + 20)


async def test_a_subscription_ends_with_its_client():
    mcp = make_server()
    app = HttpApp(mcp)
    async with open_app(app) as client:
        answer = client.ask("subscriptions/listen", FILTER)
        await answer.next_message()
        answer.leave()
        await answer.wait_complete()
        assert app.session_manager._run is not None
        assert not app.session_manager._run.serving.connections


async def test_discovery_says_what_every_request_may_rely_on():
    async with open_app(HttpApp(make_server())) as client:
        answer = await client.ask("server/discover").wait_complete()
    result = answer.json()["result"]
    assert result["supportedVersions"] == [LATEST]
    assert result["_meta"][SERVER_INFO]["name"] == "tests"


async def test_listening_in_json_mode_needs_a_client_that_takes_streams():
    app = HttpApp(make_server(), HttpOptions(json_response=True))
    async with open_app(app) as client:
        headers = {"accept": "application/json"}
        answer = client.ask("subscriptions/listen", FILTER, headers=headers)
        await answer.wait_complete()
        assert answer.status == 406
        assert "text/event-stream" in answer.json()["error"]["message"]
