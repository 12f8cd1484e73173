"""The client over Streamable HTTP, with servers of the modern era in all moods."""

from __future__ import annotations

import gc
import gzip
import json
import ssl
import weakref
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp import Client
from trio_mcp.client import (
    CacheConfig,
    ClientSession,
    ClientSessionGroup,
    InMemoryResponseCacheStore,
    StreamableHttpParameters,
    connect,
)
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError, RequestTimeout
from trio_mcp.transports import streamable_http_client
from trio_mcp.transports.http import _endpoint
from trio_mcp.transports.http._endpoint import is_loopback
from trio_mcp.types import TextContent

from ._scripted import DONE, TOOLS, OlderScripted, Scripted, Seen, scripted
from ._serving import make_certificate, until

if TYPE_CHECKING:
    from pathlib import Path


def text_of(result: Any) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


# What is sent


@pytest.mark.req("R-101", "R-103", "R-104", "R-120", "R-121")
async def test_request_carries_what_it_asks_in_headers_too():
    server = Scripted()
    async with scripted(server) as url, Client(url) as client:
        assert text_of(await client.call_tool("grüße", {"a": 1})) == "done"
    (call,) = server.asked("tools/call")
    wanted = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?Z3LDvMOfZQ==?=",
    }
    assert {name: call.headers.get(name) for name in wanted} == wanted
    assert "mcp-session-id" not in call.headers
    assert server.story == ["server/discover", "tools/call"]
    assert "mcp-name" not in server.seen[0].headers
    for each in server.seen:
        meta = each.params["_meta"]
        said = meta["io.modelcontextprotocol/protocolVersion"]
        assert each.headers["mcp-protocol-version"] == said
        assert each.headers["mcp-method"] == each.method


@pytest.mark.req("R-102", "R-105", "R-126", "R-127")
@pytest.mark.parametrize(
    ("verb", "arguments", "method", "name"),
    [
        ("read_resource", ["file:///a b"], "resources/read", "file:///a b"),
        ("read_resource", ["file:///ü"], "resources/read", "=?base64?ZmlsZTovLy/DvA==?="),
        ("get_prompt", [" hello"], "prompts/get", "=?base64?IGhlbGxv?="),
        ("get_prompt", ["hello"], "prompts/get", "hello"),
        ("list_tools", [], "tools/list", None),
    ],
)
async def test_name_of_what_is_asked_for_is_mirrored(verb, arguments, method, name):
    class Empty(Scripted):
        async def other(self, seen: Seen) -> None:
            await seen.error(-32602, "nothing", 400)

    server = Empty()
    async with scripted(server) as url, Client(url, mode="2026-07-28") as client:
        if name is None:
            await getattr(client, verb)(*arguments)
        else:
            with pytest.raises(MCPError, match="nothing"):
                await getattr(client, verb)(*arguments)
    (asked,) = server.asked(method)
    assert asked.headers.get("mcp-name") == name


async def test_headers_and_auth_of_the_user_are_sent_with_every_request():
    class Sign(httpx.Auth):
        def auth_flow(self, request):
            request.headers["authorization"] = "Bearer token"
            yield request

    server = Scripted()
    async with scripted(server) as url:
        transport = streamable_http_client(url, headers={"X-Team": "blue"}, auth=Sign())
        async with Client(transport) as client:
            await client.call_tool("x")
    assert [each.headers["x-team"] for each in server.seen] == ["blue", "blue"]
    assert [each.headers["authorization"] for each in server.seen] == ["Bearer token"] * 2


@pytest.mark.parametrize("library", [httpx, httpx2])
async def test_http_client_of_the_user_is_used_and_stays_open(library):
    server = Scripted()
    async with (
        scripted(server) as url,
        library.AsyncClient(headers={"X-Own": "yes"}, trust_env=False) as http_client,
    ):
        async with Client(streamable_http_client(url, http_client=http_client)) as client:
            assert text_of(await client.call_tool("x")) == "done"
        assert server.seen[0].headers["x-own"] == "yes"
        assert not http_client.is_closed
        with pytest.raises(ConnectionLost):
            async with Client(
                streamable_http_client("http://127.0.0.1:1/", http_client=http_client)
            ):
                pytest.fail("nobody is there")


async def test_two_ends_belong_to_a_session():
    async with scripted(Scripted()) as url, streamable_http_client(url) as (read, write):
        async with ClientSession(read, write) as session:
            await session.discover()
            assert text_of(await session.call_tool("x")) == "done"
        with pytest.raises(RuntimeError, match="no stream of messages"):
            await read.receive()


async def test_proxies_of_the_environment_are_not_for_this_machine(monkeypatch):
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with scripted(Scripted()) as url, Client(url) as client:
        assert text_of(await client.call_tool("x")) == "done"


# How it is answered


@pytest.mark.req("R-110", "R-115")
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(["data: MESSAGE\n\n"], id="plain"),
        pytest.param([": hello\n\n", "event: message\ndata: MESSAGE\n\n"], id="comment, name"),
        pytest.param(["data: MESSAGE\r", "\n\r\n"], id="line end cut in two"),
        pytest.param(["event: other\ndata: {}\n\n", "data: MESSAGE\n\n"], id="another event"),
        pytest.param(["id: 7\ndata:\n\n", "data: MESSAGE\n\n"], id="priming event"),
        pytest.param(["da", "ta: MES", "SAGE\n", "\n"], id="pieces"),
    ],
)
async def test_answer_is_read_from_a_stream_however_it_is_written(pieces):
    class Streaming(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            result = {**DONE, "content": [{"type": "text", "text": "a\u2028b\x85c"}]}
            message = {"jsonrpc": "2.0", "id": seen.id, "result": result}
            text = json.dumps(message, ensure_ascii=False)
            if "SAGE\n" in pieces:
                await seen.events("da", "ta: ", text[:5], text[5:], "\n", "\n")
            else:
                await seen.events(*(piece.replace("MESSAGE", text) for piece in pieces))
            await seen.end()

    async with scripted(Streaming()) as url, Client(url) as client:
        assert text_of(await client.call_tool("x")) == "a\u2028b\x85c"


async def test_progress_and_messages_of_a_call_are_told_in_order_before_it_returns():
    class Telling(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            token = seen.params["_meta"]["progressToken"]
            for step in (1, 2):
                params: dict[str, Any] = {"progressToken": token, "progress": step}
                await seen.message({"method": "notifications/progress", "params": params})
                params = {"level": "info", "data": step}
                await seen.message({"method": "notifications/message", "params": params})
            await seen.stream_result(DONE)

    told: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        await trio.lowlevel.checkpoint()
        told.append(("progress", progress))

    async def on_log(params: Any) -> None:
        await trio.lowlevel.checkpoint()
        told.append(("log", params.data))

    async with (
        scripted(Telling()) as url,
        Client(url, logging_callback=on_log, log_level="info") as client,
    ):
        await client.call_tool("x", progress_callback=on_progress)
        assert told == [("progress", 1), ("log", 1), ("progress", 2), ("log", 2)]


@pytest.mark.parametrize("streams", [True, False])
async def test_connection_is_used_again_after_an_answer(streams):
    class Answering(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            await (seen.stream_result if streams else seen.result)(DONE)

    server = Answering()
    async with scripted(server) as url, Client(url) as client:
        for _ in range(3):
            await client.call_tool("x")
    assert len({each.client for each in server.seen}) == 1


@pytest.mark.parametrize("at_once", [True, False])
async def test_what_comes_behind_the_answer_is_heard_and_changes_nothing(at_once):
    class Adding(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            answer = {"jsonrpc": "2.0", "id": seen.id, "result": DONE}
            notice = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            again = {"jsonrpc": "2.0", "id": seen.id, "error": {"code": -1, "message": "no"}}
            events = [f"data: {json.dumps(each)}\n\n" for each in (answer, notice, again)]
            await seen.events(*(["".join(events)] if at_once else events))
            await seen.end()

    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async with scripted(Adding()) as url, Client(url, message_handler=hear) as client:
        assert text_of(await client.call_tool("x")) == "done"
        if at_once:
            assert len(heard) == 1
        await until(lambda: heard)
    assert len(heard) == 1


async def test_answer_is_not_held_up_by_a_stream_that_stays_open(monkeypatch):
    from trio_mcp.transports.http import _body

    monkeypatch.setattr(_body, "LAST_CHUNK_TIMEOUT", 1)

    class Lingering(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.message({"id": seen.id, "result": DONE})
            await seen.gone.wait()

    server = Lingering()
    async with scripted(server) as url, Client(url) as client:
        began = trio.current_time()
        for _ in range(10):
            await client.call_tool("x")
        # Waiting for the end of each would take a second.
        assert trio.current_time() - began < SOON
        with trio.fail_after(SOON):
            for call in server.asked("tools/call"):
                await call.gone.wait()


async def test_connection_is_used_again_once_a_server_ends_its_streams():
    class Changing(Scripted):
        lingers = True

        async def tools_call(self, seen: Seen) -> None:
            await seen.message({"id": seen.id, "result": DONE})
            await (seen.gone.wait() if self.lingers else seen.end())

    server = Changing()
    async with scripted(server) as url, Client(url) as client:
        for _ in range(2):
            await client.call_tool("x")
        server.lingers = False
        for _ in range(5):
            await client.call_tool("x")
            await trio.sleep(0.05)
    assert len({each.client for each in server.asked("tools/call")[3:]}) == 1


@pytest.mark.parametrize("behind", [b"data: " + b"x" * 70_000, b"broken"])
async def test_what_comes_behind_the_answer_cannot_harm_it(behind):
    class Adding(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.message({"id": seen.id, "result": DONE})
            await trio.sleep(0.02)
            await seen.events(behind)

    async with scripted(Adding()) as url:
        transport = streamable_http_client(url, max_sse_event_size=65_536)
        async with Client(transport) as client:
            for _ in range(3):
                assert text_of(await client.call_tool("x")) == "done"
            await trio.sleep(0.05)


@pytest.mark.req("R-106")
async def test_request_of_a_modern_server_is_dropped_with_a_warning(caplog):
    class Asking(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.message({"id": "s", "method": "ping"})
            await seen.stream_result(DONE)

    server = Asking()
    async with scripted(server) as url, Client(url) as client:
        await client.call_tool("x")
    assert server.asked("answer") == []
    assert "does not allow" in caplog.text


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_error_of_the_protocol_is_raised_whatever_its_status(status):
    class Refusing(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.error(-32602, "no such tool", status, {"name": "x"})

    async with scripted(Refusing()) as url, Client(url) as client:
        with pytest.raises(MCPError, match="no such tool") as caught:
            await client.call_tool("x")
    assert (type(caught.value), caught.value.code) == (MCPError, -32602)
    assert caught.value.data == {"name": "x"}


@pytest.mark.parametrize("error_id", [{}, {"id": None}])
async def test_error_without_an_id_is_about_what_was_posted(error_id):
    class Refusing(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            error = {"code": -32600, "message": "bad frame"}
            await seen.json({"jsonrpc": "2.0", **error_id, "error": error}, 400)

    async with scripted(Refusing()) as url, Client(url) as client:
        with pytest.raises(MCPError, match="bad frame"):
            await client.call_tool("x")


# What is no answer


async def answer_401(seen: Seen) -> None:
    await seen.raw(401, b"who are you", www_authenticate='Bearer realm="x"')


async def answer_403_with_json(seen: Seen) -> None:
    await seen.error(-32600, "forbidden here", 403)


async def answer_500(seen: Seen) -> None:
    await seen.raw(500, b"<h1>Oops</h1>", "text/html")


async def answer_503(seen: Seen) -> None:
    await seen.raw(503)


async def answer_413(seen: Seen) -> None:
    await seen.raw(413, b"too much")


async def answer_431(seen: Seen) -> None:
    await seen.raw(431)


async def answer_html(seen: Seen) -> None:
    await seen.raw(200, b"<html>Please log in</html>", "text/html")


async def answer_418(seen: Seen) -> None:
    await seen.raw(418, b"teapot")


@pytest.mark.req("R-172")
@pytest.mark.case("C015")
@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (answer_401, 401, ["401", "who are you", 'Bearer realm="x"']),
        (answer_403_with_json, 403, ["403", "forbidden here"]),
        (answer_500, 500, ["500", "Oops"]),
        (answer_503, 503, ["503"]),
        (answer_html, 200, ["200", "text/html", "log in"]),
        (answer_413, 413, ["413", "too much"]),
        (answer_418, 418, ["418", "teapot"]),
        (answer_431, 431, ["431"]),
    ],
)
@pytest.mark.parametrize("when", ["connecting", "calling"])
async def test_what_is_no_answer_is_one_plain_error_with_its_status(answer, status, words, when):
    class Refusing(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            await answer(seen)

        async def server_discover(self, seen: Seen) -> None:
            if when == "connecting":
                await answer(seen)
            else:
                await super().server_discover(seen)

        async def initialize(self, seen: Seen) -> None:
            await answer(seen)

    async with scripted(Refusing()) as url:
        with pytest.raises(ConnectionLost) as caught:
            async with Client(url) as client:
                await client.call_tool("x")
    lost = caught.value
    assert lost.status == status
    assert lost.again().status == status
    for word in [*words, "/mcp"]:
        assert word in str(lost)


@pytest.mark.case("C015")
async def test_port_with_nobody_is_one_plain_error():
    with pytest.raises(ConnectionLost, match=r"POST http://127\.0\.0\.1:1/mcp") as caught:
        async with Client("http://user:SECRET@127.0.0.1:1/mcp?key=SECRET"):
            pytest.fail("nobody is there")
    assert caught.value.status is None
    assert "SECRET" not in str(caught.value)


@pytest.mark.req("R-117")
@pytest.mark.case("C044")
@pytest.mark.parametrize("begin", [[], [": hello\n\n"], ["data: {}"]])
@pytest.mark.parametrize("ending", ["in good order", "broken"])
async def test_stream_that_ends_before_the_answer_is_lost(begin, ending):
    class Cutting(Scripted):
        cuts = True

        async def tools_call(self, seen: Seen) -> None:
            if not self.cuts:
                await super().tools_call(seen)
                return
            await seen.events(*begin)
            if ending == "in good order":
                await seen.end()

    server = Cutting()
    async with scripted(server) as url, Client(url) as client:
        with trio.fail_after(SOON), pytest.raises(ConnectionLost):
            await client.call_tool("x")
        # Nothing was sent again by itself; whoever calls again makes another request.
        assert len(server.asked("tools/call")) == 1
        server.cuts = False
        assert text_of(await client.call_tool("x")) == "done"
        lost, again = server.asked("tools/call")
        assert again.id != lost.id


@pytest.mark.case("C044")
async def test_connection_that_ends_before_the_head_is_lost():
    async def slam(stream: trio.SocketStream) -> None:
        await stream.receive_some()

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, slam, [listener])
        port = listener.socket.getsockname()[1]
        async with Client(f"http://127.0.0.1:{port}/", mode="2026-07-28") as client:
            with trio.fail_after(SOON), pytest.raises(ConnectionLost, match="POST"):
                await client.call_tool("x")
        nursery.cancel_scope.cancel()


async def garbage(seen: Seen) -> None:
    await seen.raw(200, b"{oops", "application/json")


async def wrong_id(seen: Seen) -> None:
    await seen.json({"jsonrpc": "2.0", "id": str(seen.id), "result": {}})


async def other_id(seen: Seen) -> None:
    await seen.json({"jsonrpc": "2.0", "id": 999, "result": {}})


async def wrong_id_in_stream(seen: Seen) -> None:
    await seen.message({"id": str(seen.id), "result": {}})
    await seen.gone.wait()


async def bad_result_in_stream(seen: Seen) -> None:
    await seen.message({"id": seen.id, "result": 3})
    await seen.gone.wait()


async def batch(seen: Seen) -> None:
    await seen.json([{"jsonrpc": "2.0", "id": seen.id, "result": {}}])


async def accepted(seen: Seen) -> None:
    await seen.raw(202)


async def compressed(seen: Seen) -> None:
    body = gzip.compress(b'{"jsonrpc": "2.0"}')
    await seen.raw(200, body, "application/json", content_encoding="gzip")


async def too_large(seen: Seen) -> None:
    await seen.raw(200, b" " * 70_000, "application/json")


async def too_large_event(seen: Seen) -> None:
    await seen.events("data: " + "x" * 70_000)
    await seen.gone.wait()


@pytest.mark.parametrize(
    "answer",
    [
        garbage,
        wrong_id,
        other_id,
        wrong_id_in_stream,
        bad_result_in_stream,
        batch,
        accepted,
        compressed,
        too_large,
        too_large_event,
    ],
)
async def test_answer_that_is_none_is_invalid(answer, monkeypatch):
    from trio_mcp.transports.http import _client_call

    monkeypatch.setattr(_client_call, "MAX_LINE_SIZE", 65_536)

    class Wrong(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            await answer(seen)

    async with scripted(Wrong()) as url:
        transport = streamable_http_client(url, max_sse_event_size=65_536)
        async with Client(transport) as client:
            with trio.fail_after(SOON), pytest.raises(InvalidResponse, match="tools/call"):
                await client.call_tool("x")
            await client.list_tools()


# Giving up


class Napping(Scripted):
    streams = True

    async def tools_call(self, seen: Seen) -> None:
        if self.streams:
            await seen.events(": asleep\n\n")
        await seen.gone.wait()


@pytest.mark.req("R-205")
@pytest.mark.parametrize("streams", [True, False])
async def test_cancelled_call_closes_its_response_and_says_nothing_else(streams):
    server = Napping()
    server.streams = streams
    async with scripted(server) as url, Client(url) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "x")
            await until(lambda: server.asked("tools/call"))
            await trio.testing.wait_all_tasks_blocked(0.02)
            nursery.cancel_scope.cancel()
        with trio.fail_after(SOON):
            await server.asked("tools/call")[0].gone.wait()
        await client.list_tools()
    assert server.story == ["server/discover", "tools/call", "tools/list"]


async def test_time_limit_of_a_call_closes_its_response():
    server = Napping()
    async with scripted(server) as url, Client(url) as client:
        with pytest.raises(RequestTimeout, match="tools/call"):
            await client.call_tool("x", read_timeout_seconds=0.1)
        with trio.fail_after(SOON):
            await server.asked("tools/call")[0].gone.wait()


async def test_hundreds_of_cancelled_calls_leave_the_client_as_it_was():
    server = Napping()
    async with scripted(server) as url, Client(url) as client:
        for enough in (50, 100, 150):
            async with trio.open_nursery() as nursery:
                for _ in range(100):
                    nursery.start_soon(client.call_tool, "x")
                await until(lambda: len(server.asked("tools/call")) > enough)  # noqa: B023
                nursery.cancel_scope.cancel()
        with trio.fail_after(5):
            await client.list_tools()


async def test_leaving_the_client_fails_calls_of_other_tasks():
    server = Napping()
    errors: list[BaseException] = []

    async def call(client: Client) -> None:
        try:
            await client.call_tool("x")
        except MCPError as exc:
            errors.append(exc)

    async with scripted(server) as url, trio.open_nursery() as nursery, Client(url) as client:
        nursery.start_soon(call, client)
        await until(lambda: server.asked("tools/call"))
    assert [type(error) for error in errors] == [ConnectionLost]


async def test_calls_beyond_the_limit_wait_to_be_sent(monkeypatch):
    from trio_mcp.transports.http import _client_link

    monkeypatch.setattr(_client_link, "MAX_CALLS", 2)
    server = Napping()
    server.streams = False
    async with scripted(server) as url, Client(url) as client, trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(client.call_tool, "x")
        await until(lambda: len(server.asked("tools/call")) == 2)
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert len(server.asked("tools/call")) == 2
        link: Any = client.session._link
        await link.notify("notifications/roots/list_changed")
        nursery.cancel_scope.cancel()


async def test_call_whose_response_is_a_stream_is_in_nobodys_way(monkeypatch):
    from trio_mcp.transports.http import _client_link

    monkeypatch.setattr(_client_link, "MAX_CALLS", 1)
    server = Napping()
    async with scripted(server) as url, Client(url) as client, trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(client.call_tool, "x")
        await until(lambda: len(server.asked("tools/call")) == 3)
        await client.list_tools()
        nursery.cancel_scope.cancel()


async def test_progress_callback_may_call_tools(monkeypatch):
    from trio_mcp.transports.http import _client_link

    monkeypatch.setattr(_client_link, "MAX_CALLS", 1)

    class Telling(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            token = seen.params["_meta"].get("progressToken")
            if token is not None:
                params = {"progressToken": token, "progress": 1}
                await seen.message({"method": "notifications/progress", "params": params})
            await seen.stream_result(DONE)

    answers: list[str] = []

    async with scripted(Telling()) as url, Client(url) as client:

        async def on_progress(*report: Any) -> None:
            answers.append(text_of(await client.call_tool("inner")))

        with trio.fail_after(SOON):
            await client.call_tool("outer", progress_callback=on_progress)
    assert answers == ["done"]


async def test_nothing_is_sent_of_what_is_no_json():
    server = Scripted()
    async with scripted(server) as url, Client(url) as client:
        with pytest.raises(TypeError, match="arguments"):
            await client.call_tool("x", {"a": {1, 2}})
        link: Any = client.session._link
        with pytest.raises(TypeError, match=r"tools/call: params\.a"):
            await link.request("tools/call", {"a": object()})
    assert server.story == ["server/discover"]


# Redirects


class Moved(Scripted):
    status = 307
    location = "/mcp/"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/mcp":
            self.redirects = getattr(self, "redirects", 0) + 1
            headers = [(b"location", self.location.encode())]
            await receive()
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            await send({"type": "http.response.body", "body": b"moved"})
            return
        await super().__call__(scope, receive, send)


@pytest.mark.case("C040")
@pytest.mark.parametrize(("status", "redirects"), [(307, 2), (302, 2), (308, 1), (301, 1)])
async def test_redirect_within_the_origin_is_followed_with_everything(status, redirects):
    server = Moved()
    server.status = status
    async with (
        scripted(server) as url,
        Client(streamable_http_client(url, headers={"X-Key": "k"})) as client,
    ):
        assert text_of(await client.call_tool("x")) == "done"
    assert server.redirects == redirects
    assert [each.verb for each in server.seen] == ["POST", "POST"]
    assert server.seen[-1].headers["x-key"] == "k"


@pytest.mark.parametrize(
    ("status", "location", "words"),
    [
        (307, "http://localhost:1/mcp?SECRET", "leads to http://localhost:1/mcp, which is not"),
        (308, "https://127.0.0.1/mcp", "leads to https://127.0.0.1/mcp"),
        (303, "/mcp/", "is not followed"),
        (307, "/mcp", "redirects without end"),
    ],
)
async def test_redirect_elsewhere_is_not_followed(status, location, words):
    server = Moved()
    server.status, server.location = status, location
    async with scripted(server) as url:
        with pytest.raises(ConnectionLost, match=words) as caught:
            async with Client(url):
                pytest.fail("it leads elsewhere")
    assert "SECRET" not in str(caught.value)
    assert server.seen == []


# Mirrored arguments

REGION = {"type": "string", "x-mcp-header": "Region"}


class Mirroring(Scripted):
    def __init__(self, *lists: list[dict[str, Any]]) -> None:
        super().__init__()
        self.lists = list(lists)
        self.accepts = lambda seen: True

    async def tools_list(self, seen: Seen) -> None:
        tools = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        await seen.result({**TOOLS, "tools": tools})

    async def tools_call(self, seen: Seen) -> None:
        if self.accepts(seen):
            await seen.result(DONE)
        else:
            await seen.error(-32020, "Mcp-Param-Region is missing")


@pytest.mark.req("R-128", "R-129", "R-141", "R-147", "R-153")
async def test_annotated_arguments_are_mirrored():
    nested = {"type": "object", "properties": {"deep": {"type": "integer", "x-mcp-header": "N"}}}
    flag = {"type": "boolean", "x-mcp-header": "Flag"}
    server = Mirroring([tool("t", region=REGION, nested=nested, flag=flag)])
    async with scripted(server) as url, Client(url) as client:
        await client.call_tool("t", {"region": "unlisted"})
        await client.list_tools()
        await client.call_tool("t", {"region": " ü", "nested": {"deep": 42.0}, "flag": False})
        await client.call_tool("other", {"region": "x"})
    mirrored = [
        {k: v for k, v in call.headers.items() if k.startswith("mcp-param-")}
        for call in server.asked("tools/call")
    ]
    everything = {
        "mcp-param-region": "=?base64?IMO8?=",
        "mcp-param-n": "42",
        "mcp-param-flag": "false",
    }
    assert mirrored == [{}, everything, {}]


async def test_a_list_out_of_a_shared_cache_says_what_to_mirror_too():
    class Lasting(Mirroring):
        async def tools_list(self, seen: Seen) -> None:
            await seen.result({**TOOLS, "ttlMs": 60_000, "tools": self.lists[0]})

    server = Lasting([tool("t", region=REGION)])
    cache = CacheConfig(InMemoryResponseCacheStore(), partition="me", target_id="server")
    async with scripted(server) as url:
        for _ in range(2):
            async with Client(url, cache=cache) as client:
                await client.list_tools()
                await client.call_tool("t", {"region": "eu"})
    assert len(server.asked("tools/list")) == 1
    for call in server.asked("tools/call"):
        assert call.headers["mcp-param-region"] == "eu"


@pytest.mark.req("R-154", "R-155")
@pytest.mark.parametrize("arguments", [{"region": None}, {}, None])
async def test_arguments_that_are_null_or_absent_are_not_mirrored(arguments):
    server = Mirroring([tool("t", region=REGION)])
    async with scripted(server) as url, Client(url) as client:
        await client.list_tools()
        await client.call_tool("t", arguments)
    (call,) = server.asked("tools/call")
    assert "mcp-param-region" not in call.headers


@pytest.mark.req("R-170")
async def test_headers_follow_the_schema_that_was_listed_last():
    zone = {"type": "string", "x-mcp-header": "Zone"}
    lists = [[tool("t", place=each)] for each in (REGION, zone, {"type": "string"})]
    server = Mirroring(*lists)
    async with scripted(server) as url, Client(url) as client:
        for _ in lists:
            await client.list_tools()
            await client.call_tool("t", {"place": "x"})
    mirrored = [
        {k: v for k, v in call.headers.items() if k.startswith("mcp-param-")}
        for call in server.asked("tools/call")
    ]
    assert mirrored == [{"mcp-param-region": "x"}, {"mcp-param-zone": "x"}, {}]


def named(name: str, kind: str = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


@pytest.mark.req("R-138", "R-139", "R-140")
@pytest.mark.parametrize(
    "properties",
    [
        *({"n": named("N", kind)} for kind in ("number", "object", "array", "null")),
        *({"n": named(name)} for name in ("", "My Region", "a:b", "Région", "a\tb", "a\n")),
        {"n": {"type": "string", "x-mcp-header": 5}},
        {"n": named("N"), "m": named("N")},
        {"n": named("N"), "m": named("n")},
        {"n": {"type": "array", "items": named("N")}},
        {"n": {"anyOf": [named("N")]}},
    ],
    ids=str,
)
async def test_tools_with_faulty_annotations_are_left_out_with_a_warning(properties, caplog):
    server = Mirroring([tool("good", region=REGION), tool("faulty", **properties)])
    async with scripted(server) as url, Client(url) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["good"]
    (warned,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert "'faulty' is left out" in warned.getMessage()
    # And why.
    assert "x-mcp-header" in warned.getMessage()


async def test_faulty_annotations_do_not_matter_to_older_servers():

    class Older(OlderScripted):
        async def tools_list(self, seen: Seen) -> None:
            await seen.result({"tools": [tool("t", n={"type": "number", "x-mcp-header": "N"})]})

    async with scripted(Older()) as url, Client(url) as client:
        assert [each.name for each in (await client.list_tools()).tools] == ["t"]


@pytest.mark.req("R-148", "R-170", "R-171")
async def test_tool_that_has_changed_is_listed_again_and_called_once_more():
    server = Mirroring([tool("t", region=REGION)])
    server.accepts = lambda seen: seen.headers.get("mcp-param-region") == "eu"
    async with scripted(server) as url, Client(url) as client:
        progress: list[float] = []

        async def on_progress(*report: Any) -> None:
            progress.append(report[0])

        result = await client.call_tool("t", {"region": "eu"}, progress_callback=on_progress)
        assert text_of(result) == "done"
    assert server.story == ["server/discover", "tools/call", "tools/list", "tools/call"]
    first, second = server.asked("tools/call")
    assert first.id != second.id
    assert second.params["_meta"]["progressToken"] == second.id


@pytest.mark.parametrize("names", [["t"], ["t", "u"], ["unlisted"]])
async def test_tools_are_listed_again_once_for_many_calls(names):
    server = Mirroring([tool("t", region=REGION), tool("u", region=REGION)])
    server.accepts = lambda seen: "mcp-param-region" in seen.headers
    results: list[str] = []

    async def call(client: Client, name: str) -> None:
        try:
            results.append(text_of(await client.call_tool(name, {"region": "eu"})))
        except MCPError as exc:
            results.append(exc.message)

    async with scripted(server) as url, Client(url) as client, trio.open_nursery() as nursery:
        for name in names * 10:
            nursery.start_soon(call, client, name)
    expected = "Mcp-Param-Region is missing" if names == ["unlisted"] else "done"
    assert results == [expected] * 10 * len(names)
    assert len(server.asked("tools/list")) == 1


async def test_list_that_is_cancelled_is_asked_for_by_another_call():
    class Slow(Mirroring):
        async def tools_list(self, seen: Seen) -> None:
            if len(self.asked("tools/list")) == 1:
                await seen.gone.wait()
            await super().tools_list(seen)

    server = Slow([tool("t", region=REGION)])
    server.accepts = lambda seen: "mcp-param-region" in seen.headers
    async with scripted(server) as url, Client(url) as client, trio.open_nursery() as nursery:
        first = trio.CancelScope()

        async def leading() -> None:
            with first:
                await client.call_tool("t", {"region": "eu"})

        nursery.start_soon(leading)
        await until(lambda: server.asked("tools/list"))
        nursery.start_soon(client.call_tool, "t", {"region": "eu"})
        await until(lambda: len(server.asked("tools/call")) == 2)
        first.cancel()
    assert len(server.asked("tools/list")) == 2


async def test_tool_that_goes_on_refusing_is_called_no_third_time():
    server = Mirroring([tool("t", region=REGION)])
    server.accepts = lambda seen: False
    async with scripted(server) as url, Client(url) as client:
        with pytest.raises(MCPError, match="Region is missing") as caught:
            await client.call_tool("t", {"region": "eu"})
    assert caught.value.code == -32020
    assert len(server.asked("tools/call")) == 2


# Options


@pytest.mark.parametrize("url", ["ftp://x/", "http://", "/mcp", "localhost:8000/mcp", ""])
def test_what_is_no_url_is_refused_where_it_is_given(url):
    with pytest.raises(ValueError, match="http://"):
        Client(url)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"headers": [("a", "b")]}, TypeError),
        ({"terminate_on_close": "no"}, TypeError),
        ({"max_sse_event_size": 0}, ValueError),
        ({"connect_timeout": 0}, ValueError),
    ],
)
async def test_wrong_option_is_refused(options, error):
    with pytest.raises(error):
        async with streamable_http_client("http://x/", **options):
            pytest.fail("it was taken")


async def test_client_can_be_opened_again():
    async with scripted(Scripted()) as url:
        client = Client(url)
        for _ in range(2):
            async with client:
                assert text_of(await client.call_tool("x")) == "done"


@pytest.mark.parametrize("kind", [Scripted, OlderScripted])
async def test_what_a_closed_client_held_is_freed_at_once(kind):
    async with scripted(kind()) as url:
        gc.collect()
        gc.disable()
        try:
            client = Client(url)
            async with client:
                await client.call_tool("x")
                with trio.move_on_after(0):
                    await client.call_tool("x")
                refs = [weakref.ref(client.session), weakref.ref(client.session._link)]
            refs.append(weakref.ref(client))
            del client
            assert [ref() for ref in refs] == [None, None, None]
        finally:
            gc.enable()


# TLS and HTTP/2


@pytest.fixture
def certificate(tmp_path: Path) -> dict[str, str]:
    return make_certificate(tmp_path)


async def test_certificate_that_nobody_vouches_for_is_one_plain_error(certificate):
    async with scripted(Scripted(), **certificate) as url:
        with pytest.raises(ConnectionLost, match=r"(?i)certificate"):
            async with Client(url):
                pytest.fail("it was trusted")


@pytest.mark.parametrize("http2", [False, True])
async def test_server_with_tls_is_reached_and_http2_earns_a_warning(certificate, http2, caplog):
    context = ssl.create_default_context(cafile=certificate["certfile"])
    async with (
        scripted(Scripted(), **certificate, http2=True) as url,
        httpx.AsyncClient(verify=context, http2=http2, trust_env=False) as http_client,
    ):
        named = url.replace("127.0.0.1", "localhost")
        async with Client(streamable_http_client(named, http_client=http_client)) as client:
            for _ in range(2):
                assert text_of(await client.call_tool("x")) == "done"
    assert caplog.text.count("over HTTP/2") == http2


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost/", True),
        ("http://a.localhost:8000/", True),
        ("https://127.5.5.5/", True),
        ("http://[::1]/", True),
        ("http://10.0.0.1/", False),
        ("http://localhost.example.com/", False),
    ],
)
def test_this_machine_is_known_by_its_names(url, local):
    assert is_loopback(url) is local


async def test_certificates_are_read_once_for_all_clients(monkeypatch):
    made: list[Any] = []
    create = httpx.create_ssl_context
    monkeypatch.setattr(httpx, "create_ssl_context", lambda **o: made.append(o) or create(**o))
    _endpoint._tls_context.cache_clear()
    for _ in range(2):
        await _endpoint.make_client("https://example.com/").aclose()
    assert [each for each in made if not each] == [{}]


# Its end


async def test_link_of_a_closed_client_says_so():
    async with scripted(Scripted()) as url:
        async with Client(url) as client:
            link: Any = client.session._link
            assert not link.lost
        assert link.lost
        lost = await link.wait_lost()
        assert "closed on this side" in str(lost)
        for ask in (link.request("tools/list", {}), link.notify("notifications/x")):
            with pytest.raises(ConnectionLost, match="closed on this side"):
                await ask


async def test_auth_that_fails_raises_its_own_error():
    class Failing(httpx.Auth):
        def auth_flow(self, request):
            raise LookupError("no token")
            yield request

    async with scripted(Scripted()) as url:
        with pytest.raises(LookupError, match="no token"):
            async with Client(streamable_http_client(url, auth=Failing())):
                pytest.fail("it was sent")


async def test_group_and_handle_take_urls():
    class Listing(Scripted):
        async def tools_list(self, seen: Seen) -> None:
            await seen.result({**TOOLS, "tools": [tool("t")]})

    server = Listing()
    async with scripted(server) as url:
        async with ClientSessionGroup() as group:
            await group.connect_to_server(
                StreamableHttpParameters(url=url, headers={"X-Team": "blue"})
            )
            assert set(group.tools) == {"t"}
            assert text_of(await group.call_tool("t", {})) == "done"
        async with trio.open_nursery() as nursery:
            client = await connect(nursery, url)
            assert text_of(await client.call_tool("t")) == "done"
            await client.aclose()
            with pytest.raises(ConnectionLost, match="closed on this side"):
                await client.call_tool("t")
    assert server.seen[0].headers["x-team"] == "blue"
