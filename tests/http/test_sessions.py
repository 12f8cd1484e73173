"""Sessions of the older era over HTTP."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
import trio
import trio.testing

from trio_mcp import Context, MCPServer, Server
from trio_mcp._rpc._exchange import Principal
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.transports.http._app import HttpApp
from trio_mcp.transports.http._asgi import PRINCIPAL
from trio_mcp.transports.http._event_store import InMemoryEventStore
from trio_mcp.transports.http._left_alone import GRACE_SECONDS, MAX_LEFT
from trio_mcp.transports.http._options import HttpOptions, TransportSecuritySettings
from trio_mcp.types import CallToolResult

from ._asgi import AsgiClient, OlderClient, open_app, open_session
from ._tools import add, steps, wait

OVER_HTTP = ["2025-03-26", "2025-06-18", "2025-11-25"]
EVERY_REVISION = pytest.mark.parametrize("revision", OVER_HTTP)
CAN_ELICIT = {"elicitation": {}, "sampling": {}, "roots": {}}
TOKEN = {"progressToken": "t"}
CLIENT = {"name": "older", "version": "1"}


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def make_app(options=None, /, **tools) -> HttpApp:
    mcp = MCPServer("tests")
    for name, function in {"add": add, "steps": steps, "wait": wait, **tools}.items():
        mcp.add_tool(function, name=name)
    return HttpApp(mcp, options)


def run_of(app) -> Any:
    run = app.session_manager._run
    assert run is not None
    return run


def sessions_of(app) -> Any:
    return run_of(app).older.sessions


def text_of(message):
    return message["result"]["content"][0]["text"]


# The handshake


@EVERY_REVISION
@pytest.mark.req("R-543", "R-564", "R-565")
async def test_a_handshake_opens_a_session(revision):
    async with open_app(make_app()) as client:
        found = set()
        for _ in range(20):
            older = OlderClient(client, revision)
            answer = await older.initialize()
            assert answer.json()["result"]["protocolVersion"] == revision
            assert older.session_id is not None
            assert re.fullmatch(r"[\x21-\x7e]{32,}", older.session_id)
            found.add(older.session_id)
            called = await older.call("add", {"a": 1, "b": 2}).wait_complete()
            assert text_of(called.json()) == "3"
        assert len(found) == 20


@pytest.mark.case("C043")
async def test_a_session_is_there_after_a_good_handshake_alone():
    app = make_app()
    async with open_app(app) as client:
        run = run_of(app)
        for _ in range(50):
            for message, headers, status in [
                ({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}, {}, 200),
                ({"jsonrpc": "2.0", "id": 1, "method": "initialize"}, {"accept": "text/html"}, 406),
                ({"jsonrpc": "2.0", "id": 1, "method": "initialize"}, {"mcp-protocol-version": "x"}, 400),
                ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {}, 400),
                ([], {}, 400),
            ]:  # fmt: skip
                answer = await client.post(message, headers).wait_complete()
                assert answer.status == status
                assert "error" in answer.json()
                assert "mcp-session-id" not in answer.headers
        assert len(run.older.sessions) == 0
        assert not run.serving.connections
        assert len(run.nursery.child_tasks) == 2


@pytest.mark.req("R-568", "R-569")
@pytest.mark.case("C038")
async def test_an_unknown_session_is_404_and_none_is_400():
    async with open_session(make_app()) as older:
        for session_id, status in [("made-up", 404), (None, 400)]:
            older.session_id = session_id
            for answer in [older.ask("ping", None, "a"), older.get(), older.delete()]:
                await answer.wait_complete()
                assert answer.status == status
                assert answer.json()["error"]["code"] == -32600
                # It answers no request: whoever matched ids would take it for the answer.
                assert answer.json()["id"] is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"accept": "text/html"}, 406), ({"content-type": "x/y"}, 415), ({"host": "evil"}, 421)],
)
async def test_refusals_name_no_request_in_the_way_of_the_era(headers, status):
    security = TransportSecuritySettings(allowed_hosts=["127.0.0.1:*"])
    async with open_session(make_app(HttpOptions(transport_security=security))) as older:
        answer = await older.ask("ping", **headers).wait_complete()
        assert answer.status == status
        assert answer.json()["id"] is None
        answer = await older.client.ask("tools/list", headers=headers).wait_complete()
        assert answer.status == status
        assert "id" not in answer.json()


async def test_a_handshake_that_finds_no_place_is_not_answered_in_its_name():
    async with open_app(make_app(HttpOptions(max_sessions=1))) as client:
        held = OlderClient(client)
        await held.initialize()
        await held.ask("ping").wait_complete()
        refused = await OlderClient(client).initialize()
        assert refused.status == 503
        assert refused.json()["id"] is None


@pytest.mark.req("R-569")
@pytest.mark.case("C043")
async def test_a_session_that_was_deleted_is_gone():
    app = make_app()
    async with open_app(app) as client:
        run = run_of(app)
        for _ in range(50):
            older = OlderClient(client)
            await older.initialize()
            stream = older.get()
            await stream.wait_started()
            assert (await older.delete().wait_complete()).status == 200
            await stream.wait_complete()
            for answer in [older.ask("tools/list"), older.get(), older.delete()]:
                assert (await answer.wait_complete()).status == 404
        assert len(run.older.sessions) == 0
        assert not run.serving.connections
        assert len(run.nursery.child_tasks) == 2
        assert not run.older.sessions._idle


async def test_a_session_that_ends_cancels_what_runs_in_it():
    reasons = []

    async def forever(ctx: Context) -> str:
        try:
            await trio.sleep_forever()
        finally:
            reasons.append(ctx.cancel_reason)
        return ""

    async with open_session(make_app(forever=forever)) as older:
        answer = older.call("forever")
        await trio.testing.wait_all_tasks_blocked()
        await older.delete().wait_complete()
        await answer.wait_complete()
        assert reasons == ["its client has ended it"]
        assert answer.body == b""


@pytest.mark.parametrize("other", ["mallory", None])
async def test_a_session_belongs_to_whoever_opened_it(other):
    app = make_app()
    async with trio.open_nursery() as nursery, app.session_manager.run():
        scope = {PRINCIPAL: Principal("alice")}
        alice = OlderClient(AsgiClient(app, nursery, scope=scope))
        await alice.initialize()
        scope = {PRINCIPAL: Principal(other)} if other else {}
        stranger = OlderClient(AsgiClient(app, nursery, scope=scope), session_id=alice.session_id)
        for answer in [stranger.ask("tools/list"), stranger.get(), stranger.delete()]:
            assert (await answer.wait_complete()).status == 404
        assert (await alice.ask("tools/list").wait_complete()).status == 200


# Limits


@pytest.mark.case("C042")
async def test_sessions_whose_clients_never_say_goodbye_are_forgotten():
    app = make_app(HttpOptions(session_idle_timeout=1))
    async with open_app(app) as client:
        for _ in range(1000):
            await OlderClient(client).initialize()
        assert len(sessions_of(app)) == 1000
        await trio.sleep(1.1)
        assert len(sessions_of(app)) == 0
        assert not run_of(app).serving.connections
        assert len(run_of(app).nursery.child_tasks) == 2


async def test_handshakes_that_nobody_follows_up_keep_nobody_out():
    app = make_app(HttpOptions(max_sessions=3))
    async with open_app(app) as client:
        used, others = OlderClient(client), [OlderClient(client) for _ in range(5)]
        await used.initialize()
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
        for each in others:
            answer = await client.post(each.request("initialize", hello)).wait_complete()
            each.session_id = answer.headers.get("mcp-session-id")
            assert len(sessions_of(app)) <= 3
            await trio.sleep(2)
        # They are given a moment: the second of these asked too soon.
        missing = [each.session_id is None for each in others]
        assert missing == [False, False, True, False, False]
        clients = [used, others[0], others[1], others[3], others[4]]
        found = [(await each.ask("ping").wait_complete()).status for each in clients]
        assert found == [200, 404, 404, 200, 200]
        # All are used by now.
        assert (await OlderClient(client).initialize()).status == 503


@pytest.mark.case("C042")
async def test_a_session_that_was_never_used_is_forgotten_sooner():
    app = make_app()
    async with open_app(app) as client:
        used = OlderClient(client)
        await used.initialize()
        await trio.sleep(100)
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
        await client.post(used.request("initialize", hello)).wait_complete()
        await trio.sleep(59)
        assert len(sessions_of(app)) == 2
        await trio.sleep(62)
        assert len(sessions_of(app)) == 1
        assert (await used.ask("ping").wait_complete()).status == 200
        assert not sessions_of(app)._unused


async def test_a_session_is_not_idle_while_its_client_is_connected():
    app = make_app(HttpOptions(session_idle_timeout=10))
    async with open_session(app) as older:
        await trio.sleep(9)
        stream = older.get()
        await trio.sleep(100)
        stream.leave()
        await stream.wait_complete()
        await trio.sleep(9)
        answer = older.call("wait", {"seconds": 60})
        await answer.wait_complete()
        await trio.sleep(9)
        assert (await older.ask("ping").wait_complete()).status == 200
        await trio.sleep(11)
        assert (await older.ask("ping").wait_complete()).status == 404


async def test_sessions_may_stay_for_ever():
    app = make_app(HttpOptions(session_idle_timeout=None))
    async with open_session(app) as older:
        await trio.sleep(80_000)
        assert (await older.ask("ping").wait_complete()).status == 200


@pytest.mark.case("C042")
async def test_more_sessions_than_there_may_be_are_503():
    app = make_app(HttpOptions(max_sessions=2))
    async with open_app(app) as client:
        first, second, third = (OlderClient(client) for _ in range(3))
        await first.initialize()
        await second.initialize()
        refused = await third.initialize()
        assert refused.status == 503
        assert refused.headers["retry-after"]
        assert "2 sessions" in refused.json()["error"]["message"]
        assert (await second.ask("ping").wait_complete()).status == 200
        await first.delete().wait_complete()
        assert (await third.initialize()).status == 200


# Requests


@EVERY_REVISION
@pytest.mark.req("R-109", "R-113", "R-549", "R-550")
async def test_a_request_is_answered_as_json_or_as_a_stream(revision):
    async with open_session(make_app(), revision) as older:
        quick = await older.call("add", {"a": 1, "b": 2}).wait_complete()
        assert quick.headers["content-type"] == "application/json"
        assert text_of(quick.json()) == "3"
        stream = older.call("steps", meta=TOKEN)
        *progress, last = await stream.messages()
        assert stream.headers["content-type"] == "text/event-stream"
        assert stream.headers["x-accel-buffering"] == "no"
        assert [each["params"]["progress"] for each in progress] == [1, 2, 3]
        assert last["id"] == older.last_id
        slow = older.call("wait", {"seconds": 40})
        assert text_of(await slow.next_message()) == "waited"
        assert slow.body.count(b": keep-alive") == 2


async def test_errors_of_a_session_are_answers_of_http():
    async with open_session(make_app()) as older:
        for method, params, code in [
            ("unknown/method", None, -32601),
            ("tools/call", {"name": "no such tool"}, -32602),
            ("initialize", {}, -32600),
        ]:
            answer = await older.ask(method, params).wait_complete()
            assert answer.status == 200
            assert answer.json()["error"]["code"] == code


async def test_an_id_that_is_in_flight_may_not_come_again():
    async with open_session(make_app()) as older:
        first = older.call("wait", {"seconds": 1}, request_id="same")
        await trio.testing.wait_all_tasks_blocked()
        second = await older.call("add", {"a": 1, "b": 2}, request_id="same").wait_complete()
        assert second.json()["error"]["code"] == -32600
        assert text_of((await first.wait_complete()).json()) == "waited"
        again = await older.call("add", {"a": 1, "b": 2}, request_id="same").wait_complete()
        assert text_of(again.json()) == "3"


@pytest.mark.req("R-551")
@pytest.mark.parametrize("by_extension", [False, True])
async def test_a_client_that_goes_has_not_cancelled(by_extension):
    done = []

    async def work(ctx: Context) -> str:
        await ctx.report_progress(1)
        await trio.sleep(5)
        await ctx.report_progress(2)
        done.append(trio.current_time())
        return "done"

    async with open_session(make_app(work=work), by_extension=by_extension) as older:
        answer = older.call("work", meta=TOKEN)
        await answer.next_message()
        answer.leave()
        await answer.wait_complete()
        assert trio.current_time() == 0
        await trio.sleep(6)
        assert done == [5]
        assert (await older.ask("ping").wait_complete()).status == 200


async def test_a_notice_cancels_a_request_which_is_not_answered():
    reasons = []

    async def forever(ctx: Context) -> str:
        try:
            await trio.sleep_forever()
        finally:
            reasons.append(ctx.cancel_reason)
        return ""

    async with open_session(make_app(forever=forever)) as older:
        silent = older.call("forever", request_id=50)
        await trio.testing.wait_all_tasks_blocked()
        note = older.tell("notifications/cancelled", {"requestId": 50, "reason": "enough"})
        assert (await note.wait_complete()).status == 202
        await silent.wait_complete()
        assert silent.status == 200
        assert silent.body == b""
        assert reasons == ["enough"]


async def test_a_handler_that_fails_while_it_is_cancelled_harms_nobody(caplog):
    async def breaks() -> str:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("while being cancelled")

    async with open_app(make_app(breaks=breaks)) as client:
        older, other = OlderClient(client), OlderClient(client)
        for each in (older, other):
            await each.initialize()
        silent = older.call("breaks", request_id=50)
        await trio.testing.wait_all_tasks_blocked()
        await older.tell("notifications/cancelled", {"requestId": 50}).wait_complete()
        await silent.wait_complete()
        for each in (older, other):
            assert (await each.ask("ping").wait_complete()).status == 200
    assert "while being cancelled" in caplog.text


async def test_a_client_that_reads_slowly_holds_up_its_own_handler_alone():
    reported = []

    async def chatty(ctx: Context) -> str:
        for done in range(1000):
            await ctx.report_progress(done)
            reported.append(done)
        return "done"

    app = make_app(chatty=chatty)
    async with open_session(app) as older:
        older.client.hold_reading = trio.Event()
        answer = older.call("chatty", meta=TOKEN)
        await trio.testing.wait_all_tasks_blocked()
        assert 0 < len(reported) < 200
        older.client.hold_reading.set()
        assert len(await answer.messages()) == 1001


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b'{"jsonrpc":"2.0","id":1}', -32600), (b"[]", -32600)]
)
@pytest.mark.req("R-108", "R-544")
async def test_what_is_no_message_is_400(body, code):
    async with open_session(make_app()) as older:
        for headers in (older.headers, {}):
            answer = await older.client.post(body, headers).wait_complete()
            assert answer.status == 400
            assert answer.json()["error"]["code"] == code


# The version header


@pytest.mark.parametrize(
    ("version", "status"),
    [("2025-11-25", 200), ("2025-06-18", 200), (None, 200), ("2024-01-01", 400), ("", 400)],
)
@pytest.mark.req("R-573", "R-574")
async def test_the_version_header_of_a_session(version, status):
    async with open_session(make_app()) as older:
        header = {"mcp-protocol-version": version}
        answer = older.ask("tools/list", **header)
        assert (await answer.wait_complete()).status == status
        stream = older.get(**header)
        await stream.wait_started()
        assert stream.status == status
        deleted = older.client.start("DELETE", {**older.headers, **header})
        assert (await deleted.wait_complete()).status == status


@pytest.mark.parametrize("version", ["2024-01-01", "", "2025-11-25", None])
@pytest.mark.req("R-574")
async def test_the_version_header_means_nothing_before_there_was_one(version):
    async with open_session(make_app(), "2025-03-26") as older:
        header = {"mcp-protocol-version": version}
        answer = await older.ask("tools/list", **header).wait_complete()
        assert answer.json()["result"]["tools"]
        stream = older.get(**header)
        await stream.wait_started()
        assert stream.status == 200
        deleted = older.client.start("DELETE", {**older.headers, **header})
        assert (await deleted.wait_complete()).status == 200


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_is_nothing_to_get_or_delete_in_the_modern_era(revision, method):
    async with open_session(make_app(), revision) as older:
        headers = {**older.headers, "accept": "*/*", "mcp-protocol-version": "2026-07-28"}
        answer = await older.client.start(method, headers).wait_complete()
        assert answer.status == 405
        assert answer.headers["allow"] == "POST"


# Batches


@pytest.mark.req("R-544")
async def test_a_batch_is_answered_where_there_are_batches():
    async with open_session(make_app(), "2025-03-26") as older:
        batch = [
            older.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}}),
            {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
            older.request("initialize", {}),
            older.request("ping"),
            {"jsonrpc": "2.0", "id": 99},
            5,
        ]
        answer = await older.post(batch).wait_complete()
        found = {each["id"]: each for each in answer.json()}
        assert set(found) == {batch[0]["id"], batch[2]["id"], batch[3]["id"], 99, None}
        assert found[None]["error"]["code"] == -32600
        assert text_of(found[batch[0]["id"]]) == "2"
        assert found[batch[2]["id"]]["error"]["code"] == -32600
        assert found[batch[3]["id"]]["result"] == {}
        assert found[99]["error"]["code"] == -32600


@pytest.mark.parametrize("json_response", [False, True])
async def test_a_batch_of_nothing_but_faults_is_answered_by_their_errors(json_response):
    async with open_session(
        make_app(HttpOptions(json_response=json_response)), "2025-03-26"
    ) as older:
        answer = await older.post([{"jsonrpc": "2.0", "id": 99}, 5]).wait_complete()
        assert answer.status == 200
        assert [(each["id"], each["error"]["code"]) for each in answer.json()] == [
            (99, -32600),
            (None, -32600),
        ]


async def test_a_batch_of_too_many_is_one_refusal():
    async with open_session(make_app(), "2025-03-26") as older:
        answer = await older.post([1] * 1001).wait_complete()
        assert answer.status == 400
        assert "1000 at most" in answer.json()["error"]["message"]


async def test_a_batch_with_progress_is_one_stream_with_all_answers():
    async with open_session(make_app(), "2025-03-26") as older:
        ask = {"name": "steps", "_meta": {"progressToken": 1}}
        batch = [older.request("ping"), older.request("tools/call", ask)]
        messages = await older.post(batch).messages()
        assert {each["id"] for each in messages if "id" in each} == {
            batch[0]["id"],
            batch[1]["id"],
        }
        assert len(messages) == 5


async def test_a_repeated_id_in_a_batch_costs_no_other_answer():
    async with open_session(make_app(), "2025-03-26") as older:
        slow = {"name": "wait", "arguments": {"seconds": 1}}
        batch = [older.request("tools/call", slow, 5), older.request("ping", None, 5)]
        first, second = (await older.post(batch).wait_complete()).json()
        assert first["error"]["code"] == -32600
        assert text_of(second) == "waited"
        assert first["id"] == second["id"] == 5


async def test_a_batch_may_cancel_what_it_asked_for_before():
    async with open_session(make_app(), "2025-03-26") as older:
        call = {"name": "wait", "arguments": {"seconds": 100}}
        notice = {"method": "notifications/cancelled", "params": {"requestId": 5}}
        batch = [
            older.request("tools/call", call, 5),
            older.request("ping", None, 6),
            {"jsonrpc": "2.0", **notice},
        ]
        (answer,) = (await older.post(batch).wait_complete()).json()
        assert answer["id"] == 6
        assert trio.current_time() == 0


async def test_a_batch_of_notifications_is_accepted():
    async with open_session(make_app(), "2025-03-26") as older:
        note = {"jsonrpc": "2.0", "method": "notifications/x"}
        answer = await older.post([note, note]).wait_complete()
        assert answer.status == 202
        assert answer.body == b""


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
@pytest.mark.req("R-544")
async def test_a_batch_is_refused_where_there_are_none(revision):
    async with open_session(make_app(), revision) as older:
        answer = await older.post([older.request("ping")]).wait_complete()
        assert answer.status == 400
        assert answer.json()["error"]["code"] == -32600


# Questions to the client


async def question(ctx: Any, params: Any) -> CallToolResult:
    answer = await ctx.session.list_roots()
    return CallToolResult(content=[], structured_content={"roots": len(answer.roots)})


def asking_app(handler=question, options=None) -> HttpApp:
    return HttpApp(Server("asking", on_call_tool=handler), options)


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
@EVERY_REVISION
@pytest.mark.req("R-550", "R-558", "R-559")
async def test_a_question_travels_with_its_request_and_another_post_answers_it(revision):
    async with open_session(asking_app(), revision, CAN_ELICIT) as older:
        standalone = older.get()
        first, second = older.call("x"), older.call("x")
        asked = [await each.next_message() for each in (first, second)]
        assert [each["method"] for each in asked] == ["roots/list", "roots/list"]
        assert asked[0]["id"] != asked[1]["id"]
        for place, each in enumerate(asked):
            roots = [{"uri": "file:///x"}] * place
            answered = await older.respond(each, {"roots": roots}).wait_complete()
            assert answered.status == 202
        for place, each in enumerate((first, second)):
            (last,) = await each.messages()
            assert last["result"].get("structuredContent", {"roots": place}) == {"roots": place}
        await trio.testing.wait_all_tasks_blocked()
        assert standalone._pending == []


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"error": {"code": -32601, "message": "no roots"}}, "no roots"),
        ({"result": {}}, "invalid"),
        ({"result": 5}, "Invalid"),
    ],
)
async def test_a_question_may_be_answered_badly(reply, words):
    told = []

    async def handler(ctx, params):
        try:
            await ctx.session.list_roots()
        except MCPError as exc:
            told.append(str(exc))
        return CallToolResult(content=[])

    async with open_session(asking_app(handler), capabilities=CAN_ELICIT) as older:
        answer = older.call("x")
        asked = await answer.next_message()
        posted = older.post({"jsonrpc": "2.0", "id": asked["id"], **reply})
        assert (await posted.wait_complete()).status == (400 if reply == {"result": 5} else 202)
        await answer.wait_complete()
    assert len(told) == 1
    assert words in told[0]


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_a_question_that_is_given_up_is_told_to_the_client():
    async def handler(ctx, params):
        with trio.move_on_after(3):
            await ctx.session.list_roots()
        await trio.sleep(1)
        return CallToolResult(content=[])

    async with open_session(asking_app(handler), capabilities=CAN_ELICIT) as older:
        asked, notice, _ = await older.call("x").messages()
        assert notice["method"] == "notifications/cancelled"
        assert notice["params"] == {"requestId": asked["id"], "reason": "a deadline passed"}
        late = await older.respond(asked, {"roots": []}).wait_complete()
        assert late.status == 202


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
@pytest.mark.parametrize("store", [None, InMemoryEventStore()], ids=["plain", "kept"])
async def test_that_a_question_is_given_up_is_told_before_the_answer_ends_the_stream(store):
    async def handler(ctx, params):
        with trio.move_on_after(3):
            await ctx.session.list_roots()
        return CallToolResult(content=[])

    app = asking_app(handler, HttpOptions(event_store=store))
    async with open_session(app, capabilities=CAN_ELICIT) as older:
        messages = await older.call("x").messages()
    told = [each.get("method", "answer") for each in messages]
    assert told == ["roots/list", "notifications/cancelled", "answer"]


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_progress_of_a_question_comes_to_whoever_asked():
    from trio_mcp.types import ListRootsRequest, ListRootsResult

    reports = []

    async def on_progress(progress, total, message):
        reports.append((progress, total, message))

    async def handler(ctx, params):
        await ctx.session.send_request(
            ListRootsRequest(), ListRootsResult, progress_callback=on_progress
        )
        return CallToolResult(content=[])

    async with open_session(asking_app(handler), capabilities=CAN_ELICIT) as older:
        answer = older.call("x")
        asked = await answer.next_message()
        token = asked["params"]["_meta"]["progressToken"]
        for done in (1, 2):
            params = {"progressToken": token, "progress": done}
            await older.tell("notifications/progress", params).wait_complete()
        await older.respond(asked, {"roots": []}).wait_complete()
        await answer.wait_complete()
    assert reports == [(1, None, None), (2, None, None)]


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_a_question_to_a_client_that_has_left_its_stream_fails_at_once():
    failed = []

    async def handler(ctx, params):
        await trio.sleep(1)
        try:
            await ctx.session.list_roots()
        except ConnectionLost as exc:
            failed.append((trio.current_time(), str(exc)))
        return CallToolResult(content=[])

    async with open_session(asking_app(handler), capabilities=CAN_ELICIT) as older:
        answer = older.call("x")
        await trio.testing.wait_all_tasks_blocked()
        answer.leave()
        await trio.sleep(2)
    assert failed == [(1, "The client has left the stream on which it could be asked")]


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_the_end_of_a_session_fails_its_questions(caplog):
    failed = []

    async def handler(ctx, params):
        with trio.CancelScope(shield=True):
            try:
                await ctx.session.list_roots()
            except ConnectionLost as exc:
                failed.append(str(exc))
                with pytest.raises(ConnectionLost):
                    await ctx.session.list_roots()
        return CallToolResult(content=[])

    async with open_session(asking_app(handler), capabilities=CAN_ELICIT) as older:
        answer = older.call("x")
        await answer.next_message()
        await older.delete().wait_complete()
        await answer.wait_complete()
    assert failed == ["The session has ended: its client has ended it"]


# The stream of what belongs to no request


@pytest.mark.req("R-543", "R-554", "R-555", "R-556")
async def test_changes_travel_on_the_stream_of_a_get():
    app = make_app()
    async with open_session(app) as older:
        stream = older.get()
        await stream.wait_started()
        assert stream.headers["content-type"] == "text/event-stream"
        assert stream.headers["x-accel-buffering"] == "no"
        answer = older.call("wait", {"seconds": 1})
        mcp: Any = app.session_manager._server
        mcp.add_tool(lambda: "x", name="new")
        told = await stream.next_message()
        assert told["method"] == "notifications/tools/list_changed"
        await answer.wait_complete()
        assert not answer.is_stream
        await trio.testing.wait_all_tasks_blocked()
        assert stream._pending == []


@pytest.mark.case("C048")
async def test_a_silent_stream_is_kept_alive_by_comments():
    async with open_session(make_app(HttpOptions(keep_alive_interval=5))) as older:
        stream = older.get()
        await trio.sleep(16)
        assert stream.body.count(b": keep-alive") == 4


@pytest.mark.req("R-558", "R-559")
@pytest.mark.case("C051")
async def test_a_new_stream_takes_over_from_the_one_before():
    app = make_app()
    async with open_session(app) as older:
        first = older.get()
        await first.wait_started()
        second = older.get()
        await second.wait_started()
        assert second.status == 200
        await first.wait_complete()
        mcp: Any = app.session_manager._server
        mcp.add_tool(lambda: "x", name="new")
        assert (await second.next_message())["method"] == "notifications/tools/list_changed"
        assert await first.messages() == []


async def test_a_stream_that_is_taken_over_ends_in_good_order():
    app = make_app()
    async with open_session(app) as older:
        session = next(iter(sessions_of(app)._by_id.values()))
        first = older.get()
        await trio.testing.wait_all_tasks_blocked()
        # What the first one has not written yet goes out on the second.
        older.client.hold_reading = trio.Event()
        for number in range(3):
            await session.connection.link.notify("notifications/x", {"n": number})
            await trio.testing.wait_all_tasks_blocked()
        second = older.get()
        await trio.testing.wait_all_tasks_blocked()
        older.client.hold_reading.set()
        await first.wait_complete()
        assert first.complete
        told = [(await first.next_message())["params"]["n"]]
        told += [(await second.next_message())["params"]["n"] for _ in range(2)]
        assert told == [0, 1, 2]


async def test_what_is_told_before_there_is_a_stream_waits_for_it_within_bounds():
    app = make_app()
    async with open_session(app) as older:
        session = next(iter(sessions_of(app)._by_id.values()))
        for number in range(100):
            await session.connection.link.notify("notifications/x", {"n": number})
        stream = older.get()
        told = [(await stream.next_message())["params"]["n"] for _ in range(64)]
        assert told == list(range(36, 100))


@pytest.mark.req("R-553")
@pytest.mark.parametrize("accept", ["application/json", "text/html", ""])
async def test_a_stream_has_to_be_acceptable(accept):
    async with open_session(make_app()) as older:
        answer = await older.get(accept=accept).wait_complete()
        assert answer.status == 406


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS"])
async def test_other_methods_are_405(method):
    async with open_session(make_app()) as older:
        answer = await older.client.start(method, older.headers).wait_complete()
        assert answer.status == 405
        assert answer.headers["allow"] == "GET, POST, DELETE"


@pytest.mark.case("C049")
async def test_a_run_that_ends_closes_streams_at_once():
    async with open_session(make_app()) as older:
        stream = older.get()
        await trio.sleep(1)
    assert stream.complete
    assert trio.current_time() == 1


# JSON mode


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_in_json_mode_nobody_can_be_asked_and_reports_are_left_out():
    told = []

    async def handler(ctx, params):
        await ctx.session.report_progress(1)
        try:
            await ctx.session.list_roots()
        except MCPError as exc:
            told.append(type(exc).__name__)
        await trio.sleep(60)
        return CallToolResult(content=[])

    app = asking_app(handler, HttpOptions(json_response=True))
    async with open_session(app, capabilities=CAN_ELICIT) as older:
        answer = await older.call("x", meta=TOKEN).wait_complete()
        assert answer.json()["result"]["content"] == []
    assert told == ["NoBackChannelError"]


async def test_in_json_mode_a_cancelled_request_gets_some_answer():
    async with open_session(make_app(HttpOptions(json_response=True))) as older:
        answer = older.call("wait", {"seconds": 9}, request_id=5)
        await trio.testing.wait_all_tasks_blocked()
        await older.tell("notifications/cancelled", {"requestId": 5}).wait_complete()
        told = (await answer.wait_complete()).json()
        assert told["error"]["code"] == -32800
        assert told["id"] == 5


# Without sessions


def stateless(**tools) -> HttpApp:
    return make_app(HttpOptions(stateless_http=True), **tools)


@EVERY_REVISION
@pytest.mark.case("C047")
async def test_without_sessions_each_request_stands_alone(revision):
    app = stateless()
    async with open_app(app) as client:
        older = OlderClient(client, revision)
        answer = await older.initialize()
        assert "mcp-session-id" not in answer.headers
        assert answer.json()["result"]["protocolVersion"] == revision
        for _ in range(100):
            called = await older.call("add", {"a": 1, "b": 2}).wait_complete()
            assert text_of(called.json()) == "3"
        stream = older.call("steps", meta=TOKEN)
        *progress, last = await stream.messages()
        assert len(progress) == 3
        assert text_of(last) == "done"
        await stream.wait_complete()
        run = run_of(app)
        assert not run.serving.connections
        assert len(run.older.sessions) == 0
        assert len(run.nursery.child_tasks) == 2


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_without_sessions_there_is_nothing_to_get_or_delete(method):
    async with open_app(stateless()) as client:
        answer = await client.start(method, {"accept": "text/event-stream"}).wait_complete()
        assert answer.status == 405
        assert answer.headers["allow"] == "POST"


@pytest.mark.req("R-573")
async def test_without_sessions_and_header_a_request_speaks_2025_03_26():
    seen = []

    async def look(ctx: Context) -> str:
        seen.append(ctx.protocol_version)
        return ""

    async with open_app(stateless(look=look)) as client:
        await OlderClient(client, "2025-03-26").call("look").wait_complete()
        await OlderClient(client, "2025-11-25").call("look").wait_complete()
        batch = [OlderClient(client, "2025-03-26").request("ping")]
        assert (await client.post(batch).wait_complete()).json()[0]["result"] == {}
        answer = await client.post(batch, {"mcp-protocol-version": "2025-11-25"}).wait_complete()
        assert answer.status == 400
    assert seen == ["2025-03-26", "2025-11-25"]


async def test_without_sessions_a_client_that_goes_has_not_cancelled():
    done = []

    async def work() -> str:
        await trio.sleep(5)
        done.append(trio.current_time())
        return ""

    app = stateless(work=work)
    async with open_app(app) as client:
        answer = OlderClient(client).call("work")
        await trio.testing.wait_all_tasks_blocked()
        answer.leave()
        await trio.sleep(6)
        assert done == [5]
        assert answer.returned
        assert not run_of(app).serving.connections


async def test_without_sessions_handlers_do_not_run_on_for_ever():
    reasons = []

    async def forever(ctx: Context) -> str:
        try:
            await trio.sleep_forever()
        finally:
            reasons.append((trio.current_time(), ctx.cancel_reason))
        return ""

    app = stateless(forever=forever)
    async with open_app(app) as client:
        for number in range(MAX_LEFT + 2):
            answer = OlderClient(client).call("forever")
            await trio.testing.wait_all_tasks_blocked()
            answer.leave()
            await trio.testing.wait_all_tasks_blocked()
            # The ones that were left first make room.
            assert len(reasons) == max(0, number - MAX_LEFT + 1)
        crowd = [OlderClient(client).call("forever") for _ in range(5)]
        await trio.testing.wait_all_tasks_blocked()
        for each in crowd:
            each.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert len(reasons) == 7
        stays = OlderClient(client).call("forever")
        await trio.sleep(GRACE_SECONDS + 1)
        assert len(reasons) == MAX_LEFT + 7
        assert {when for when, _ in reasons} == {0, GRACE_SECONDS}
        assert {why for _, why in reasons} == {
            "its client has gone, and could not fetch an answer"
        }
        assert not stays.returned
        assert len(run_of(app).older._left) == 0


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_without_sessions_nobody_can_be_asked():
    async def handler(ctx, params):
        assert not ctx.session.can_send_request
        return CallToolResult(content=[])

    app = asking_app(handler, HttpOptions(stateless_http=True))
    async with open_app(app) as client:
        answer = await OlderClient(client).call("x").wait_complete()
        assert "result" in answer.json()


async def test_without_sessions_answers_and_notices_are_accepted():
    async with open_app(stateless()) as client:
        older = OlderClient(client)
        for message in [
            {"jsonrpc": "2.0", "id": 1, "result": {}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        ]:
            assert (await older.post(message).wait_complete()).status == 202


# Both eras at once


async def test_both_eras_use_one_endpoint_at_the_same_time():
    async with open_session(make_app()) as older:
        slow = older.call("wait", {"seconds": 1})
        assert (await older.client.call("add", {"a": 1, "b": 2}))["result"]["resultType"]
        # A modern request stands alone, wherever its client has a session.
        answer = await older.client.call("add", {"a": 1, "b": 2}, headers={"mcp-session-id": "?"})
        assert answer["result"]["resultType"] == "complete"
        assert "resultType" not in (await slow.wait_complete()).json()["result"]


async def test_refusals_of_sessions_are_logged_once(caplog):
    caplog.set_level(logging.INFO, "trio_mcp.http")
    async with open_app(make_app()) as client:
        older = OlderClient(client, session_id="secret-session")
        await older.ask("tools/list").wait_complete()
    (record,) = caplog.records
    assert "refused with 404" in record.getMessage()
    assert "secret-session" not in record.getMessage()
