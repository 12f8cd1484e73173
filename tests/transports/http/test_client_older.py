"""The client over Streamable HTTP, with servers of the older era: sessions and their streams."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp import Client
from trio_mcp._rpc import _standing
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError, RequestTimeout
from trio_mcp.transports import streamable_http_client
from trio_mcp.types import ElicitResult

from ._scripted import CAPABILITIES, DONE, OlderScripted, Seen, scripted
from ._serving import until

VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    from trio_mcp.transports.http import _client_retry

    monkeypatch.setattr(_client_retry, "DEFAULT_RETRY_SECONDS", 0.02)
    monkeypatch.setattr(_client_retry, "LEAST_RETRY_SECONDS", 0.01)


# Which era


@pytest.mark.req("R-164")
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b"", None),
        (400, b"Bad Request: no session", "text/plain"),
        (404, b"<h1>Not Found</h1>", "text/html"),
        (405, b"", None),
        (406, b"", None),
        (
            400,
            b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"m"}}',
            "application/json",
        ),
        (
            200,
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}',
            "application/json",
        ),
        (202, b"", None),
        (200, b"nonsense", "application/json"),
    ],
)
async def test_server_that_does_not_know_the_probe_is_an_older_one(status, body, kind):
    class Older(OlderScripted):
        async def server_discover(self, seen: Seen) -> None:
            await seen.raw(status, body, kind)

    server = Older()
    async with scripted(server) as url, Client(url) as client:
        assert client.protocol_version == "2025-11-25"
    assert server.story[:3] == ["server/discover", "initialize", "notifications/initialized"]


@pytest.mark.parametrize("status", [401, 403, 407, 421, 429, 500, 503])
async def test_status_that_says_nothing_of_the_era_ends_the_attempt(status):
    class Guarded(OlderScripted):
        async def server_discover(self, seen: Seen) -> None:
            await seen.raw(status)

    server = Guarded()
    async with scripted(server) as url:
        with pytest.raises(ConnectionLost) as caught:
            async with Client(url):
                pytest.fail("it was refused")
    assert caught.value.status == status
    assert server.story == ["server/discover"]


@pytest.mark.req("R-067", "R-164")
@pytest.mark.parametrize("offered", ["2025-06-18", "2025-03-26"])
async def test_server_that_names_an_older_version_is_asked_for_that(offered):
    class Naming(OlderScripted):
        async def server_discover(self, seen: Seen) -> None:
            await seen.error(-32022, "Unsupported", 400, {"supported": [offered]})

    async with scripted(Naming()) as url, Client(url) as client:
        assert client.protocol_version == offered


@pytest.mark.parametrize("code", [-32020, -32021])
@pytest.mark.parametrize("status", [400, 200])
async def test_server_that_is_modern_and_refuses_is_not_asked_to_initialize(code, status):
    class Refusing(OlderScripted):
        async def server_discover(self, seen: Seen) -> None:
            await seen.error(code, "Not like this", status)

    server = Refusing()
    async with scripted(server) as url:
        with pytest.raises(MCPError, match="Not like this") as caught:
            async with Client(url):
                pytest.fail("it refuses")
    assert caught.value.code == code
    assert server.story == ["server/discover"]


async def test_what_is_found_out_is_kept_for_the_next_time():
    server = OlderScripted()
    async with scripted(server) as url:
        client = Client(url)
        for _ in range(2):
            async with client:
                pass
    assert server.story.count("server/discover") == 1


# The session


@pytest.mark.req("R-538", "R-567", "R-571", "R-572")
@pytest.mark.parametrize("version", VERSIONS)
async def test_session_and_version_go_with_every_later_request(version):
    server = OlderScripted()
    async with scripted(server) as url, Client(url, mode=version) as client:
        await client.call_tool("x")
        await until(lambda: server.asked("GET"))
    by_method = {each.method: each.headers for each in server.seen}
    assert "mcp-session-id" not in by_method["initialize"]
    expected = None if version == "2025-03-26" else version
    for method in ("notifications/initialized", "tools/call", "GET", "DELETE"):
        assert by_method[method]["mcp-session-id"] == "session-1"
        assert by_method[method].get("mcp-protocol-version") == expected
        assert "mcp-method" not in by_method[method]
    assert server.story[-1] == "DELETE"


@pytest.mark.req("R-158")
@pytest.mark.parametrize("spell", [str.upper, str.lower, str.title])
async def test_id_of_a_session_is_found_however_its_header_is_spelled(spell):
    class Spelling(OlderScripted):
        async def initialize(self, seen: Seen) -> None:
            result = {
                "protocolVersion": seen.params["protocolVersion"],
                "capabilities": CAPABILITIES,
                "serverInfo": {"name": "scripted", "version": "1"},
            }
            await seen.result(result, **{spell("mcp-session-id"): "mine"})

    server = Spelling()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        await client.call_tool("x")
    (call,) = server.asked("tools/call")
    assert call.headers["mcp-session-id"] == "mine"


async def test_server_without_sessions_gets_no_id_and_no_goodbye():
    class Stateless(OlderScripted):
        async def initialize(self, seen: Seen) -> None:
            result = {
                "protocolVersion": seen.params["protocolVersion"],
                "capabilities": CAPABILITIES,
                "serverInfo": {"name": "scripted", "version": "1"},
            }
            await seen.result(result)

    server = Stateless()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        await client.call_tool("x")
    assert all("mcp-session-id" not in each.headers for each in server.seen)
    assert "DELETE" not in server.story


async def test_session_may_be_kept_for_later():
    server = OlderScripted()
    async with scripted(server) as url:
        transport = streamable_http_client(url, terminate_on_close=False)
        async with Client(transport, mode="legacy"):
            pass
    assert "DELETE" not in server.story


async def test_leaving_does_not_wait_for_a_server_that_does_not_let_go():
    class Clinging(OlderScripted):
        async def DELETE(self, seen: Seen) -> None:  # noqa: N802
            await seen.gone.wait()

    server = Clinging()
    async with scripted(server) as url:
        with trio.fail_after(SOON):
            async with Client(url, mode="legacy"):
                before = trio.current_time()
    assert trio.current_time() - before >= 2


@pytest.mark.parametrize("status", [405, 404, 500])
async def test_server_that_does_not_want_a_goodbye_is_left_all_the_same(status):
    class Rude(OlderScripted):
        async def DELETE(self, seen: Seen) -> None:  # noqa: N802
            await seen.raw(status)

    server = Rude()
    async with scripted(server) as url, Client(url, mode="legacy"):
        pass
    assert server.story[-1] == "DELETE"


async def test_session_is_ended_although_everything_is_cancelled():
    server = OlderScripted()
    async with scripted(server) as url:
        with trio.CancelScope() as scope:
            async with Client(url, mode="legacy"):
                scope.cancel()
                await trio.sleep_forever()
        assert server.story[-1] == "DELETE"


async def test_id_that_is_none_is_refused():
    class Odd(OlderScripted):
        async def initialize(self, seen: Seen) -> None:
            await seen.result({}, mcp_session_id="a b")

    async with scripted(Odd()) as url:
        with pytest.raises(InvalidResponse, match="visible ASCII"):
            async with Client(url, mode="legacy"):
                pytest.fail("it has no session")


# When the server forgets it


class Forgetful(OlderScripted):
    """Forgets the session when told to; ``status`` and ``body`` are how it says so."""

    body: Any = None
    forgotten = False

    async def tools_call(self, seen: Seen) -> None:
        if (
            self.forgotten and self.is_current(seen) and self.sessions == 1
        ) or not self.is_current(seen):
            await self.refuse(seen)
        else:
            await seen.result(DONE)

    async def refuse(self, seen: Seen) -> None:
        if self.body is None:
            await seen.raw(404)
        elif isinstance(self.body, str):
            await seen.raw(404, self.body.encode(), "text/html")
        elif self.body.get("id") == "the call's":
            await seen.json({**self.body, "id": seen.id}, 404)
        else:
            await seen.json(self.body, 404)


SESSION_ERROR = {"code": -32600, "message": "Session not found"}


@pytest.mark.req("R-570")
@pytest.mark.case("C037")
@pytest.mark.parametrize(
    "body",
    [
        None,
        {"jsonrpc": "2.0", "id": None, "error": SESSION_ERROR},
        {"jsonrpc": "2.0", "id": "server-error", "error": SESSION_ERROR},
        {"jsonrpc": "2.0", "error": SESSION_ERROR},
        # As this package's own server says it.
        {"jsonrpc": "2.0", "id": "the call's", "error": SESSION_ERROR},
        {"jsonrpc": "2.0", "id": "the call's", "error": {"code": -32001, "message": "gone"}},
        "<html>" + 100_000 * "x",
    ],
)
async def test_lost_session_is_replaced_and_the_call_sent_again(body):
    server = Forgetful()
    server.body = body
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        await client.call_tool("x")
        server.forgotten = True
        await client.call_tool("x")
        await client.call_tool("x")
    calls = [each.headers["mcp-session-id"] for each in server.asked("tools/call")]
    assert calls == ["session-1", "session-1", "session-2", "session-2"]
    first, second = server.asked("initialize")
    assert "mcp-session-id" not in second.headers
    assert second.params == first.params
    assert second.id != first.id
    told = [each.headers["mcp-session-id"] for each in server.asked("notifications/initialized")]
    assert told == ["session-1", "session-2"]


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
@pytest.mark.parametrize("refused", [False, True])
async def test_what_was_said_in_a_lost_session_is_said_in_the_new_one(refused, caplog):
    class Keeping(Forgetful):
        capabilities: ClassVar = {"logging": {}, "resources": {"subscribe": True}, "tools": {}}

        async def logging_setLevel(self, seen: Seen) -> None:  # noqa: N802 - after the method
            if refused and self.sessions == 2:
                await seen.error(-32602, "not that one")
            else:
                await seen.result({})

        async def resources_subscribe(self, seen: Seen) -> None:
            await seen.result({})

    server = Keeping()
    async with scripted(server) as url, Client(url, mode="legacy", log_level="info") as client:
        await client.subscribe_resource("a://1")
        server.forgotten = True
        await client.call_tool("x")
    for method, params in (
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": "a://1"}),
    ):
        said = server.asked(method)
        assert [each.headers["mcp-session-id"] for each in said] == ["session-1", "session-2"]
        assert [each.params for each in said] == [params, params]
    # Side by side, and before the call that waits.
    story = [each for each in server.story if each != "GET"]
    assert sorted(story[-4:-2]) == ["logging/setLevel", "resources/subscribe"]
    assert story[-2] == "tools/call"
    assert ("not that one" in caplog.text) is refused


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_what_a_new_session_does_not_answer_in_time_holds_up_no_call(monkeypatch, caplog):
    class Silent(Forgetful):
        capabilities: ClassVar = {"resources": {"subscribe": True}, "tools": {}}

        async def resources_subscribe(self, seen: Seen) -> None:
            if self.sessions == 2:
                await trio.sleep_forever()
            await seen.result({})

    monkeypatch.setattr(_standing, "STANDING_TIMEOUT", 0.2)
    server = Silent()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        for number in range(3):
            await client.subscribe_resource(f"a://{number}")
        server.forgotten = True
        with trio.fail_after(SOON):
            await client.call_tool("x")
    assert "and 2 more: no answer within 0.2 s" in caplog.text


@pytest.mark.case("C037")
async def test_many_calls_lead_to_one_new_session():
    server = Forgetful()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        server.forgotten = True
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(client.call_tool, "x")
    assert server.sessions == 2


async def test_error_404_that_answers_the_call_is_no_lost_session():
    class Answering(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.error(-32601, "Method not found", 404)

    server = Answering()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with pytest.raises(MCPError, match="Method not found"):
            await client.call_tool("x")
    assert server.sessions == 1


async def test_error_that_answers_in_the_new_session_is_the_answer():
    class Without(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.error(-32602, "no such tool", 404)

    server = Without()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with pytest.raises(MCPError, match="no such tool") as caught:
            await client.call_tool("x")
    assert caught.value.code == -32602
    assert server.sessions == 2


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
async def test_notification_that_meets_a_lost_session_is_sent_in_a_new_one():
    class Forgetting(Forgetful):
        async def notify_roots_list_changed(self, seen: Seen) -> None:
            await seen.raw(202 if self.is_current(seen) and self.sessions == 2 else 404)

    async def no_roots(context: Any) -> Any:
        pytest.fail("nobody asks")

    server = Forgetting()
    async with (
        scripted(server) as url,
        Client(url, mode="legacy", list_roots_callback=no_roots) as client,
    ):
        await client.send_roots_list_changed()
    notices = server.asked("notifications/roots/list_changed")
    assert [each.headers["mcp-session-id"] for each in notices] == ["session-1", "session-2"]


async def test_time_limit_of_a_call_covers_the_renewal_of_its_session():
    class Slow(Forgetful):
        async def initialize(self, seen: Seen) -> None:
            if self.sessions:
                await trio.sleep(1.8)
            await super().initialize(seen)

        async def tools_call(self, seen: Seen) -> None:
            if self.is_current(seen) and self.sessions == 2:
                await seen.gone.wait()
            await seen.raw(404)

    async with scripted(Slow()) as url, Client(url, mode="legacy") as client:
        began = trio.current_time()
        with pytest.raises(RequestTimeout):
            await client.call_tool("x", read_timeout_seconds=2)
        assert trio.current_time() - began < 1.8 + 2


async def test_session_that_is_lost_at_once_again_is_an_error_of_that_call():
    class Hopeless(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.raw(404)

    server = Hopeless()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with pytest.raises(ConnectionLost, match="404") as caught:
            await client.call_tool("x")
    assert caught.value.status == 404
    assert server.sessions == 2


async def test_failed_attempt_is_told_to_all_who_wait_and_the_next_call_tries_again():
    class Closing(Forgetful):
        closed = False

        async def initialize(self, seen: Seen) -> None:
            if self.closed:
                await trio.sleep(0.05)
                await seen.raw(503, b"closed")
            else:
                await super().initialize(seen)

    server = Closing()
    errors: list[MCPError] = []

    async def call(client: Client) -> None:
        try:
            await client.call_tool("x")
        except ConnectionLost as exc:
            errors.append(exc)

    async with scripted(server) as url, Client(url, mode="legacy") as client:
        server.forgotten = server.closed = True
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(call, client)
        assert [error.status for error in errors] == [503] * 5
        assert len({id(error) for error in errors}) == 5
        assert len(server.asked("initialize")) == 2
        server.closed = False
        await client.call_tool("x")


async def test_error_that_answers_the_attempt_is_told_to_all_who_wait():
    class Refusing(Forgetful):
        async def initialize(self, seen: Seen) -> None:
            if self.sessions:
                await trio.sleep(0.05)
                await seen.error(-32602, "not again", 200)
            else:
                await super().initialize(seen)

    server = Refusing()
    errors: list[MCPError] = []

    async def call(client: Client) -> None:
        try:
            await client.call_tool("x")
        except MCPError as exc:
            errors.append(exc)

    async with scripted(server) as url, Client(url, mode="legacy") as client:
        server.forgotten = True
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(call, client)
    assert [(each.code, each.message) for each in errors] == [(-32602, "not again")] * 3


async def test_another_task_takes_over_when_the_one_that_renews_is_cancelled():
    class Slow(Forgetful):
        async def initialize(self, seen: Seen) -> None:
            if len(self.asked("initialize")) == 2:
                await seen.gone.wait()
            else:
                await super().initialize(seen)

    server = Slow()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        server.forgotten = True
        with trio.fail_after(SOON):
            async with trio.open_nursery() as nursery:
                first = trio.CancelScope()

                async def leading() -> None:
                    with first:
                        await client.call_tool("x")

                nursery.start_soon(leading)
                await until(lambda: len(server.asked("initialize")) == 2)
                nursery.start_soon(client.call_tool, "x")
                await until(lambda: len(server.asked("tools/call")) == 2)
                first.cancel()
    assert len(server.asked("initialize")) == 3
    assert server.asked("notifications/cancelled") == []


async def test_server_that_comes_back_with_another_revision_is_an_error():
    class Changing(Forgetful):
        async def initialize(self, seen: Seen) -> None:
            if self.sessions:
                seen.body["params"]["protocolVersion"] = "2025-03-26"
            await super().initialize(seen)

    server = Changing()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        server.forgotten = True
        with pytest.raises(InvalidResponse, match="2025-03-26"):
            await client.call_tool("x")


# Cancelling


@pytest.mark.req("R-552", "R-575")
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("everything", [True, False])
async def test_cancelled_call_is_told_by_a_notice(streams, everything):
    class Napping(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            if streams:
                await seen.events(": asleep\n\n")
            await seen.gone.wait()

    server = Napping()
    async with scripted(server) as url:
        with trio.CancelScope() as outer:
            async with Client(url, mode="legacy") as client:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(client.call_tool, "x")
                    await until(lambda: server.asked("tools/call"))
                    scope = outer if everything else nursery.cancel_scope
                    scope.cancel(reason="the user pressed stop")
                await client.list_tools()
                # A request that was not answered yet may come behind its notice.
                wanted = 1 if streams else 2
                await until(lambda: len(server.asked("notifications/cancelled")) == wanted)
        (call,) = server.asked("tools/call")
        notices = server.asked("notifications/cancelled")
        assert len(notices) == (1 if everything or streams else 2)
        for notice in notices:
            assert notice.params == {"requestId": call.id, "reason": "the user pressed stop"}
            assert notice.headers["mcp-session-id"] == "session-1"
        assert server.story[-1] == "DELETE"


@pytest.mark.req("R-576")
async def test_initialize_is_never_cancelled_by_a_notice():
    class Slow(OlderScripted):
        async def initialize(self, seen: Seen) -> None:
            await seen.gone.wait()

    server = Slow()
    async with scripted(server) as url, trio.open_nursery() as nursery:

        async def connect() -> None:
            async with Client(url, mode="legacy"):
                pytest.fail("it does not answer")

        nursery.start_soon(connect)
        await until(lambda: server.asked("initialize"))
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await server.asked("initialize")[0].gone.wait()
    assert server.story == ["initialize"]


# Streams that are cut


@pytest.mark.req("R-546", "R-548", "R-553", "R-562")
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("ending", ["in good order", "broken"])
async def test_cut_stream_is_taken_up_again_where_it_was(times, ending):
    class Polling(OlderScripted):
        rounds = 0

        async def tools_call(self, seen: Seen) -> None:
            self.asking = seen.id
            await seen.events("id: e0\nretry: 10\ndata:\n\n")
            if ending == "in good order":
                await seen.end()

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if "last-event-id" not in seen.headers:
                await seen.raw(405)
                return
            assert seen.headers["last-event-id"] == f"e{self.rounds}"
            assert seen.headers["accept"] == "text/event-stream"
            assert seen.headers["mcp-session-id"] == "session-1"
            self.rounds += 1
            if self.rounds == times:
                await seen.message({"id": self.asking, "result": DONE}, id="last")
                await seen.end()
            else:
                await seen.events(f"id: e{self.rounds}\ndata:\n\n")
                await seen.end()

    server = Polling()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with trio.fail_after(SOON):
            await client.call_tool("x")
    assert server.rounds == times
    assert len(server.asked("tools/call")) == 1


@pytest.mark.case("C044")
async def test_cut_stream_without_ids_is_lost():
    class Cutting(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.events(": hello\n\n")
            await seen.end()

    server = Cutting()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with trio.fail_after(SOON), pytest.raises(ConnectionLost, match="before the answer"):
            await client.call_tool("x")
    assert server.asked("notifications/cancelled") == []


@pytest.mark.case("C044")
@pytest.mark.parametrize("status", [404, 405, 500])
async def test_stream_that_cannot_be_taken_up_again_is_lost(status, monkeypatch):
    from trio_mcp.transports.http import _client_retry

    monkeypatch.setattr(_client_retry, "LONGEST_PAUSE", 0.02)

    class Cutting(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.events("id: 1\nretry: 1\ndata:\n\n")
            await seen.end()

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.raw(status)

    server = Cutting()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with (
            trio.fail_after(SOON),
            pytest.raises(ConnectionLost, match="taken up again") as caught,
        ):
            await client.call_tool("x")
    assert caught.value.status == status


async def test_cancelled_while_waiting_to_take_up_a_stream_is_told():
    ended = trio.Event()

    class Cutting(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.events("id: 1\nretry: 100000\ndata:\n\n")
            await seen.end()
            ended.set()

    server = Cutting()
    async with (
        scripted(server) as url,
        Client(url, mode="legacy") as client,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(client.call_tool, "x")
        await ended.wait()
        await trio.testing.wait_all_tasks_blocked(0.05)
        nursery.cancel_scope.cancel()
    assert len(server.asked("notifications/cancelled")) == 1


# What the server asks


async def elicit(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": params.message})


QUESTION = {
    "method": "elicitation/create",
    "params": {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}},
}


@pytest.mark.req("R-544")
@pytest.mark.parametrize("where", ["on the call's stream", "on the session's stream"])
async def test_questions_are_answered_by_a_post_in_the_session(where):
    class Asking(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.events(": hello\n\n")
            self.call = seen
            if where == "on the call's stream":
                await seen.message({"id": "q", **QUESTION})
            await seen.gone.wait()

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if where == "on the session's stream":
                await until(lambda: self.asked("tools/call"))
                await seen.message({"id": "q", **QUESTION})
            await seen.gone.wait()

        async def answer(self, seen: Seen) -> None:
            await seen.raw(202)
            await self.call.stream_result(DONE)

    server = Asking()
    async with (
        scripted(server) as url,
        Client(url, mode="legacy", elicitation_callback=elicit) as client,
    ):
        with trio.fail_after(SOON):
            await client.call_tool("x")
    (answer,) = server.asked("answer")
    assert answer.body["id"] == "q"
    assert answer.body["result"] == {"action": "accept", "content": {"name": "who?"}}
    assert answer.headers["mcp-session-id"] == "session-1"


async def test_question_is_answered_while_as_many_calls_wait_as_may(monkeypatch):
    from trio_mcp.transports.http import _client_link

    monkeypatch.setattr(_client_link, "MAX_CALLS", 1)

    class Asking(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            self.call = seen
            await seen.message({"id": "q", **QUESTION})
            await seen.gone.wait()

        async def answer(self, seen: Seen) -> None:
            await seen.raw(202)
            await self.call.stream_result(DONE)

    async with (
        scripted(Asking()) as url,
        Client(url, mode="legacy", elicitation_callback=elicit) as client,
    ):
        with trio.fail_after(SOON):
            await client.call_tool("x")


async def test_question_that_is_taken_back_is_not_answered():
    cancelled = trio.Event()

    async def never(context: Any, params: Any) -> ElicitResult:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    class Asking(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.message({"id": "q", **QUESTION})
            await seen.message({"method": "notifications/cancelled", "params": {"requestId": "q"}})
            await until(cancelled.is_set)
            await seen.stream_result(DONE)

    server = Asking()
    async with (
        scripted(server) as url,
        Client(url, mode="legacy", elicitation_callback=never) as client,
    ):
        with trio.fail_after(SOON):
            await client.call_tool("x")
    assert server.asked("answer") == []


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"id": "q", "method": "roots/list"}, -32601),
        ({"id": "q", "method": "tools/list"}, -32601),
        ({"id": "q", "method": 7}, -32600),
    ],
)
async def test_question_that_cannot_be_answered_is_refused(asked, code):
    class Asking(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.message(asked)
            await until(lambda: self.asked("answer"))
            await seen.stream_result(DONE)

    server = Asking()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with trio.fail_after(SOON):
            await client.call_tool("x")
    (answer,) = server.asked("answer")
    assert answer.body["error"]["code"] == code


async def test_answer_that_does_not_reach_the_server_harms_nobody(caplog):
    class Asking(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.message({"id": "q", "method": "ping"})
            await until(lambda: self.asked("answer"))
            await seen.stream_result(DONE)

        async def answer(self, seen: Seen) -> None:
            await seen.raw(500)

    async with scripted(Asking()) as url, Client(url, mode="legacy") as client:
        with trio.fail_after(SOON):
            await client.call_tool("x")
        await until(lambda: "did not reach the server" in caplog.text)


async def test_progress_of_a_call_may_come_on_the_session_stream():
    class Pushing(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            self.call = seen
            await seen.events(": hello\n\n")
            await seen.gone.wait()

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await until(lambda: self.asked("tools/call"))
            token = self.call.params["_meta"]["progressToken"]
            params = {"progressToken": token, "progress": 1}
            await seen.message({"method": "notifications/progress", "params": params})
            await until(lambda: reports)
            await self.call.stream_result(DONE)
            await seen.gone.wait()

    reports: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        reports.append(progress)

    async with scripted(Pushing()) as url, Client(url, mode="legacy") as client:
        with trio.fail_after(SOON):
            await client.call_tool("x", progress_callback=on_progress)
    assert reports == [1]


# Batches


class Batching(OlderScripted):
    async def tools_call(self, seen: Seen) -> None:
        notice = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        answer = {"jsonrpc": "2.0", "id": seen.id, "result": DONE}
        await seen.json([notice, answer])


async def test_batch_is_read_in_the_revision_that_has_them():
    async with scripted(Batching()) as url, Client(url, mode="2025-03-26") as client:
        await client.call_tool("x")


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_batch_is_no_answer_in_others(version):
    async with scripted(Batching()) as url, Client(url, mode=version) as client:
        with pytest.raises(InvalidResponse, match="batch"):
            await client.call_tool("x")


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25"])
async def test_batch_of_too_many_is_no_answer(version):
    class Flooding(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.json([1] * 1001)

    async with scripted(Flooding()) as url, Client(url, mode=version) as client:
        with pytest.raises(InvalidResponse, match="sent JSON, but no answer"):
            await client.call_tool("x")


async def test_silent_server_ends_a_keep_alive_connection():
    class Silent(OlderScripted):
        async def ping(self, seen: Seen) -> None:
            await seen.gone.wait()

        async def tools_call(self, seen: Seen) -> None:
            await seen.gone.wait()

    async with (
        scripted(Silent()) as url,
        Client(url, mode="legacy", ping_interval=0.1) as client,
    ):
        with trio.fail_after(SOON), pytest.raises(ConnectionLost):
            await client.call_tool("x")
        with pytest.raises(ConnectionLost):
            await client.list_tools()
