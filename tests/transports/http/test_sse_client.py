"""The client over HTTP+SSE, and how it is found out that a server knows nothing newer."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import httpx
import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp import Client
from trio_mcp.client import SseServerParameters
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.transports import sse_client
from trio_mcp.types import ElicitResult, JSONRPCNotification, TextContent

from ._scripted import CAPABILITIES, Scripted, Seen, scripted
from ._serving import until

DONE = {"content": [{"type": "text", "text": "done"}]}


class Old(Scripted):
    """One stream at a time; what is posted is answered on it."""

    endpoint = "/messages?session_id=abc"

    async def GET(self, seen: Seen) -> None:  # noqa: N802
        self.stream = seen
        await seen.events(f"event: endpoint\ndata: {self.endpoint}\n\n")
        await seen.gone.wait()

    async def other(self, seen: Seen) -> None:
        if seen.path != "/messages":
            await seen.raw(405)
            return
        await seen.raw(202)
        result: Any = DONE
        if seen.method == "initialize":
            result = {
                "protocolVersion": seen.params["protocolVersion"],
                "capabilities": CAPABILITIES,
                "serverInfo": {"name": "old", "version": "1"},
            }
        if seen.method == "tools/call" and seen.params["name"] == "ask":
            question = {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}
            await self.tell({"id": "q", "method": "elicitation/create", "params": question})
            await until(lambda: self.asked("answer"))
        if "id" in seen.body and "method" in seen.body:
            await self.tell({"id": seen.id, "result": result})

    async def tell(self, message: dict[str, Any]) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message})
        await self.stream.events(f"event: message\ndata: {text}\n\n")

    server_discover = tools_call = initialize = other


async def elicit(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={})


@pytest.mark.parametrize("mode", ["auto", "legacy", "2024-11-05"])
async def test_server_that_knows_nothing_newer_is_found_out_once(mode):
    server = Old()
    async with scripted(server) as url:
        client = Client(url, mode=mode)
        for _ in range(2):
            async with client:
                result = await client.call_tool("x")
                assert isinstance(result.content[0], TextContent)
    refused = [each.method for each in server.seen if each.path == "/mcp" and each.verb == "POST"]
    assert refused == (["server/discover"] if mode == "auto" else []) + ["initialize"]
    assert len(server.asked("GET")) == 2
    assert server.stream.gone.is_set()


async def test_questions_are_answered_by_posts():
    server = Old()
    async with scripted(server) as url:
        transport = sse_client(url)
        async with Client(transport, mode="2025-06-18", elicitation_callback=elicit) as client:
            with trio.fail_after(SOON):
                await client.call_tool("ask")
    (answer,) = server.asked("answer")
    assert answer.body["result"] == {"action": "accept", "content": {}}


async def test_cancelled_call_is_told_by_a_notice():
    class Napping(Old):
        async def tools_call(self, seen: Seen) -> None:
            await seen.raw(202)

    server = Napping()
    async with scripted(server) as url, Client(sse_client(url), mode="legacy") as client:
        with trio.move_on_after(0.1):
            await client.call_tool("x")
        await until(lambda: server.asked("notifications/cancelled"))


async def test_options_reach_the_server():
    sessions: list[str] = []
    made: list[Any] = []

    def make(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx.AsyncClient:
        client = httpx.AsyncClient(headers=headers, auth=auth, trust_env=False)
        made.append(client)
        return client

    server = Old()
    async with scripted(server) as url:
        transport = sse_client(
            url,
            {"X-Team": "blue"},
            httpx_client_factory=make,
            auth=("ada", "pw"),
            on_session_created=sessions.append,
        )
        async with Client(transport, mode="legacy"):
            pass
    assert sessions == ["abc"]
    assert made[0].is_closed
    assert {each.headers["x-team"] for each in server.seen} == {"blue"}
    assert all("authorization" in each.headers for each in server.seen)


async def test_parameters_of_a_group_are_taken():
    server = Old()
    async with scripted(server) as url:
        parameters = SseServerParameters(url=url, headers={"X-Team": "blue"})
        async with Client(parameters, mode="legacy") as client:
            await client.call_tool("x")
    assert server.seen[0].headers["x-team"] == "blue"


async def test_stream_that_ends_loses_the_connection():
    server = Old()
    async with scripted(server) as url, Client(sse_client(url), mode="legacy") as client:
        await server.stream.end()
        with trio.fail_after(SOON), pytest.raises(ConnectionLost, match="ended the stream"):
            await client.call_tool("x")


@pytest.mark.parametrize("status", [404, 413, 500])
async def test_post_that_is_refused_fails_its_own_call_with_its_status(status):
    class Refusing(Old):
        async def tools_call(self, seen: Seen) -> None:
            if seen.params["name"] == "refused":
                await seen.raw(status, b"not this one")
                return
            await seen.raw(202)
            if seen.params["name"] == "slow":
                await until(lambda: len(self.asked("tools/call")) == 3)
            await self.tell({"id": seen.id, "result": DONE})

    server = Refusing()
    async with scripted(server) as url, Client(sse_client(url), mode="legacy") as client:
        with trio.fail_after(SOON):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(client.call_tool, "slow")
                with pytest.raises(ConnectionLost, match="not this one") as caught:
                    await client.call_tool("refused")
                await client.call_tool("x")
    assert caught.value.status == status


async def test_post_that_nobody_takes_fails_its_own_call():
    class Slamming(Old):
        async def tools_call(self, seen: Seen) -> None:
            if seen.params["name"] == "x":
                raise LookupError("the server fails")
            await super().other(seen)

    async with scripted(Slamming()) as url, Client(sse_client(url), mode="legacy") as client:
        with trio.fail_after(SOON), pytest.raises(ConnectionLost):
            await client.call_tool("x")
        await client.call_tool("y")


class Holding(Old):
    """Takes the POST of a call only when its question was answered, or never."""

    async def tools_call(self, seen: Seen) -> None:
        if seen.params["name"] == "ask":
            await self.tell({"id": "q", "method": "ping"})
            await until(lambda: self.asked("answer"))
        if seen.params["name"] == "hang":
            await seen.gone.wait()
        await super().other(seen)


async def test_post_may_be_kept_open_until_a_question_is_answered():
    async with scripted(Holding()) as url, Client(sse_client(url), mode="legacy") as client:
        with trio.fail_after(SOON):
            await client.call_tool("ask")


async def test_post_that_is_kept_open_holds_up_no_other_call_and_no_notice():
    server = Holding()
    async with scripted(server) as url, Client(sse_client(url), mode="legacy") as client:
        with trio.fail_after(SOON):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(client.call_tool, "hang")
                await until(lambda: server.asked("tools/call"))
                await client.call_tool("x")
                nursery.cancel_scope.cancel()
            await server.asked("tools/call")[0].gone.wait()
            await until(lambda: len(server.asked("notifications/cancelled")) == 2)
    (hanging, _) = server.asked("tools/call")
    for notice in server.asked("notifications/cancelled"):
        assert notice.params["requestId"] == hanging.id


@pytest.mark.parametrize("everything", [True, False])
async def test_notice_of_a_cancelled_call_is_sent_although_the_client_is_left(everything):
    server = Holding()
    async with scripted(server) as url:
        with trio.fail_after(SOON), trio.CancelScope() as outer:
            async with (
                Client(sse_client(url), mode="legacy") as client,
                trio.open_nursery() as nursery,
            ):
                nursery.start_soon(client.call_tool, "hang")
                await until(lambda: server.asked("tools/call"))
                (outer if everything else nursery.cancel_scope).cancel()
        assert len(server.asked("notifications/cancelled")) == 1


@pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")
@pytest.mark.parametrize("taken", [True, False])
async def test_nothing_overtakes_the_end_of_the_handshake(taken, monkeypatch):
    from trio_mcp.transports.http import _sse_posts

    monkeypatch.setattr(_sse_posts, "INITIALIZED_TIMEOUT", 60 if taken else 0.1)

    class Slow(Old):
        ready = False

        async def notify_initialized(self, seen: Seen) -> None:
            with trio.move_on_after(0.05 if taken else 60):
                await seen.gone.wait()
            self.ready = True
            await seen.raw(202)

        async def tools_call(self, seen: Seen) -> None:
            assert self.ready is taken
            await super().other(seen)

    async with scripted(Slow()) as url, Client(sse_client(url), mode="legacy") as client:
        with trio.fail_after(SOON):
            await client.call_tool("x")


async def test_notifications_arrive_in_order():
    class Uneven(Old):
        async def notify_progress(self, seen: Seen) -> None:
            await trio.sleep(0.05 / seen.params["progress"])
            steps.append(seen.params["progress"])
            await seen.raw(202)

    steps: list[int] = []
    async with scripted(Uneven()) as url, sse_client(url) as channel:
        for step in (1, 2, 3):
            params = {"progressToken": "t", "progress": step}
            await channel.send(
                [JSONRPCNotification(method="notifications/progress", params=params)]
            )
        with trio.fail_after(SOON):
            await until(lambda: steps == [1, 2, 3])


async def test_notifications_that_nobody_takes_make_whoever_notifies_wait(monkeypatch):
    from trio_mcp.transports.http import _sse_posts

    monkeypatch.setattr(_sse_posts, "MAX_NOTIFICATIONS", 2)
    free = trio.Event()

    class Stuck(Old):
        async def other(self, seen: Seen) -> None:
            await free.wait()
            await seen.raw(202)

    notice = JSONRPCNotification(method="notifications/x")
    server = Stuck()
    async with scripted(server) as url, sse_client(url) as channel:
        with trio.fail_after(SOON):
            await channel.send([notice, notice])
        with trio.move_on_after(0.1) as scope:
            await channel.send([notice])
        assert scope.cancelled_caught
        free.set()
        with trio.fail_after(SOON):
            await channel.send([notice])


async def test_nothing_is_posted_of_messages_that_cannot_all_be_written():
    server = Old()
    async with scripted(server) as url, sse_client(url) as channel:
        messages = [
            JSONRPCNotification(method="notifications/x"),
            JSONRPCNotification(method="notifications/x", params={"a": object()}),
        ]
        with pytest.raises(TypeError):
            await channel.send([*messages])
        await trio.testing.wait_all_tasks_blocked(0.02)
    assert server.asked("notifications/x") == []


async def test_what_fails_while_posting_fails_its_own_call(caplog):
    class Failing(httpx.Auth):
        def auth_flow(self, request):
            if b"oops" in request.content:
                raise LookupError("no token")
            yield request

    server = Old()
    async with scripted(server) as url:
        transport = sse_client(url, auth=Failing())
        async with Client(transport, mode="legacy") as client:
            with trio.fail_after(SOON):
                with pytest.raises(LookupError, match="no token"):
                    await client.call_tool("oops")
                await client.call_tool("x")
        async with sse_client(url, auth=Failing()) as channel:
            await channel.send([JSONRPCNotification(method="notifications/oops")])
            await until(lambda: "notifications/oops did not reach" in caplog.text)


@pytest.mark.parametrize("connections", [1, 2])
async def test_client_with_too_few_connections_is_told_so(connections):
    def make(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=connections)
        return httpx.AsyncClient(headers=headers, auth=auth, trust_env=False, limits=limits)

    async with scripted(Holding()) as url:
        transport = sse_client(url, timeout=1, httpx_client_factory=make)
        with trio.fail_after(SOON):
            if connections == 1:
                with pytest.raises(ConnectionLost, match="max_connections"):
                    async with Client(transport, mode="legacy"):
                        pytest.fail("nothing can be posted")
                return
            async with Client(transport, mode="legacy") as client:
                await client.call_tool("x")
                with pytest.raises(ConnectionLost, match="max_connections"):
                    await client.call_tool("ask")


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (
            "http://localhost:1/messages?SECRET",
            "to 'http://localhost:1/messages', which leads to 'http://localhost:1/messages', of",
        ),
        (
            "//evil.example/x?SECRET",
            "to '//evil.example/x', which leads to 'http://evil.example/x', of another origin",
        ),
        ("/\t/evil.example/x", "which leads to 'http://evil.example/x', of another origin"),
        ("//me:SECRET@evil.example/x", "to '//evil.example/x', which leads to"),
        ("https:messages", "to 'https:messages', which leads to "),
        ("http://[::1?SECRET", "to 'http://[::1', which is no URL"),
        ("//me:SECRET@[x#SECRET", "to '//[x', which is no URL"),
        ("http://127.0.0.1:99999/x", "to 'http://127.0.0.1:99999/x', which is no URL"),
        ("javascript:alert(1)", "to 'javascript:alert(1)', which leads to 'javascript:alert(1)'"),
        ("//evil.example/\u202e\x1b", "to '//evil.example/\\u202e\\x1b', which leads"),
        ("//evil.example/" + 100_000 * "x", "of another origin"),
    ],
)
async def test_messages_are_posted_within_the_origin_alone(endpoint, words):
    server = Old()
    server.endpoint = endpoint
    async with scripted(server) as url:
        with pytest.raises(ConnectionLost) as caught:
            async with sse_client(url):
                pytest.fail("it was taken")
    assert words in caught.value.message
    assert "SECRET" not in caught.value.message
    assert len(caught.value.message) < 1000
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "endpoint",
    [
        "///evil.example/x",
        "http:///evil.example/x",
        "http:\\\\evil.example/x",
        "/\\evil.example/x",
    ],
)
async def test_what_only_looks_like_another_host_is_a_path_of_the_origin(endpoint):
    server = Old()
    server.endpoint = endpoint
    async with scripted(server) as url, sse_client(url) as channel:
        await channel.send([JSONRPCNotification(method="notifications/x")])
        with trio.fail_after(5):
            await until(lambda: [each for each in server.seen if each.verb == "POST"])
    assert "evil.example/x" in server.seen[-1].path


async def test_address_for_messages_is_read_from_where_a_redirect_led():
    class Moved(Old):
        endpoint = "messages"

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if seen.path == "/mcp":
                await seen.raw(307, location="/deep/sse")
            else:
                await super().GET(seen)

        async def other(self, seen: Seen) -> None:
            seen.path = seen.path.removeprefix("/deep")
            await super().other(seen)

        server_discover = tools_call = initialize = other

    server = Moved()
    async with scripted(server) as url, Client(sse_client(url), mode="legacy") as client:
        await client.call_tool("x")


class Silent(Old):
    async def GET(self, seen: Seen) -> None:  # noqa: N802
        await seen.events(": nothing\n\n")
        await seen.gone.wait()


class Ending(Old):
    async def GET(self, seen: Seen) -> None:  # noqa: N802
        await seen.events(": nothing\n\n")
        await seen.end()


class Plain(Old):
    async def GET(self, seen: Seen) -> None:  # noqa: N802
        await seen.raw(200, b"hello", "text/plain")


@pytest.mark.parametrize(
    ("kind", "words"),
    [(Silent, "within 0.2 s"), (Ending, "has not said where"), (Plain, "text/plain")],
)
async def test_server_that_does_not_say_where_to_post_is_refused(kind, words):
    async with scripted(kind()) as url:
        with pytest.raises(ConnectionLost, match=words):
            async with sse_client(url, timeout=0.2):
                pytest.fail("it was taken")


class Wordy(Old):
    """Refuses what is posted to the stream by an error of JSON-RPC."""

    status = 405
    error: ClassVar[dict[str, Any]] = {"code": -32600, "message": "'POST' is not served here"}
    with_id = False

    async def other(self, seen: Seen) -> None:
        if seen.path == "/messages":
            await super().other(seen)
            return
        error_id = seen.body.get("id") if self.with_id else None
        await seen.json({"jsonrpc": "2.0", "id": error_id, "error": self.error}, self.status)

    server_discover = tools_call = initialize = other


@pytest.mark.parametrize("mode", ["auto", "legacy", "2024-11-05"])
@pytest.mark.parametrize("status", [400, 404, 405])
@pytest.mark.parametrize("with_id", [True, False])
@pytest.mark.parametrize("code", [-32000, -32600, -32602])
async def test_refused_post_leads_there_even_if_a_json_rpc_error_says_so(
    mode, status, with_id, code
):
    server = Wordy()
    server.status, server.with_id = status, with_id
    server.error = {"code": code, "message": "no"}  # type: ignore[misc]
    async with scripted(server) as url, Client(url, mode=mode) as client:
        assert client.protocol_version == ("2024-11-05" if mode == "2024-11-05" else "2025-11-25")


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, -32020), (400, -32021), (400, -32022), (404, -32601), (200, -32602), (500, -32603)],
)
async def test_error_of_a_newer_server_leads_nowhere_else(status, code):
    server = Wordy()
    server.status, server.with_id = status, True
    server.error = {"code": code, "message": "the reason"}  # type: ignore[misc]
    async with scripted(server) as url:
        with pytest.raises(MCPError, match="the reason") as caught:
            async with Client(url, mode="legacy"):
                pytest.fail("it was taken")
    assert caught.value.code == code
    assert server.asked("GET") == []


async def test_first_error_is_told_where_nothing_is_found_there():
    class Refusing(Wordy):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.raw(405)

    server = Refusing()
    async with scripted(server) as url:
        with pytest.raises(MCPError, match="is not served here") as caught:
            async with Client(url):
                pytest.fail("it was taken")
    assert type(caught.value) is MCPError
    assert len(server.asked("GET")) == 1


async def test_error_of_the_server_that_is_found_there_is_told():
    class Closed(Wordy):
        async def initialize(self, seen: Seen) -> None:
            if seen.path != "/messages":
                await self.other(seen)
                return
            await seen.raw(202)
            await self.tell({"id": seen.id, "error": {"code": -32603, "message": "closed today"}})

    async with scripted(Closed()) as url:
        with pytest.raises(MCPError, match="closed today"):
            async with Client(url):
                pytest.fail("it was taken")


async def test_last_resort_hides_no_error_of_the_first_attempt():
    async with scripted(Ending()) as url:
        with pytest.raises(ConnectionLost, match=r"initialize: POST .* status 405") as caught:
            async with Client(url):
                pytest.fail("it was taken")
    assert caught.value.status == 405


async def test_closed_channel_says_so():
    async with scripted(Old()) as url, sse_client(url) as channel:
        await channel.aclose()
        await channel.aclose()
        with pytest.raises(trio.ClosedResourceError):
            await channel.receive()
        with pytest.raises(trio.ClosedResourceError):
            await channel.send([])
