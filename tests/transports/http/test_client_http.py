"""The border between the client and HTTP: what goes out, what comes back, and what is in between."""

from __future__ import annotations

import json
from typing import Any

import httpx
import httpx2
import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp import Client
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports import sse_client, streamable_http_client
from trio_mcp.types import ElicitResult

from ._scripted import DISCOVERY, DONE, OlderScripted, Scripted, Seen, scripted
from ._serving import until

BOTH = pytest.mark.parametrize("library", [httpx, httpx2])


def answer_of(request: Any) -> dict[str, Any]:
    body = json.loads(request.content)
    result = DISCOVERY if body["method"] == "server/discover" else DONE
    return {"jsonrpc": "2.0", "id": body["id"], "result": result}


# What goes out


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    "name",
    [
        "Content-Type",
        "ACCEPT",
        "MCP-Protocol-Version",
        "mcp-session-id",
        "Mcp-Name",
        "CONTENT-length",
    ],
)
async def test_what_the_protocol_says_in_headers_wins(name, mode):
    server = OlderScripted() if mode == "legacy" else Scripted()
    async with scripted(server) as url:
        transport = streamable_http_client(url, headers={name: "7", "X-Own": "yes"})
        async with Client(transport, mode=mode) as client:
            await client.call_tool("x")
    for each in server.seen:
        assert each.headers.get(name.lower()) != "7"
        assert each.headers["x-own"] == "yes"


async def test_argument_that_is_mirrored_wins_over_a_header_of_the_user():
    class Mirroring(Scripted):
        async def tools_list(self, seen: Seen) -> None:
            region = {"type": "string", "x-mcp-header": "Region"}
            schema = {"type": "object", "properties": {"region": region}}
            tools = [{"name": "t", "inputSchema": schema}]
            page = {"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}
            await seen.result(page)

    server = Mirroring()
    async with scripted(server) as url:
        transport = streamable_http_client(url, headers={"mcp-param-REGION": "us"})
        async with Client(transport) as client:
            await client.list_tools()
            await client.call_tool("t", {"region": "eu"})
    (call,) = server.asked("tools/call")
    assert call.headers["mcp-param-region"] == "eu"


@pytest.mark.parametrize("client", [streamable_http_client, sse_client])
@pytest.mark.parametrize(
    ("headers", "error", "words"),
    [
        ({"x-\u00e9": "1"}, ValueError, "names of HTTP headers"),
        ({"": "1"}, ValueError, "names of HTTP headers"),
        ({"Authorization": "Bearer SECRET\n"}, ValueError, r"headers\['Authorization'\]"),
        ({"x": "SECRET\u00e9"}, ValueError, "printable ASCII"),
        ({"x": "SECRET\r\nb: c"}, ValueError, "printable ASCII"),
        ({"x": 1}, TypeError, "str"),
    ],
)
async def test_header_that_cannot_be_sent_is_refused_where_it_is_given(
    client, headers, error, words
):
    with pytest.raises(error, match=words) as caught:
        async with client("http://127.0.0.1:1/", headers=headers):
            pytest.fail("it was taken")
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://[x/", "http://127.0.0.1:99999/", "http://:80/"])
@pytest.mark.parametrize("client", [streamable_http_client, sse_client])
async def test_what_can_be_no_url_is_refused_where_it_is_given(client, url):
    with pytest.raises(ValueError, match=r"url: expected (http://host/path|a port)"):
        async with client(url):
            pytest.fail("it was taken")


class SlowTransport(httpx.AsyncBaseTransport):
    """Takes what is sent at a steady pace."""

    bytes_per_second = 100_000
    size = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        limit = request.extensions["timeout"]["write"]
        content = b""
        assert isinstance(request.stream, httpx.AsyncByteStream)
        async for piece in request.stream:
            with trio.move_on_after(limit) as scope:
                await trio.sleep(len(piece) / self.bytes_per_second)
            if scope.cancelled_caught:
                raise httpx.WriteTimeout("too slow")
            content += piece
        assert content == request.content
        self.size = max(self.size, len(content))
        return httpx.Response(200, json=answer_of(request))


async def test_time_limit_of_sending_is_for_each_piece(autojump_clock):
    sender = SlowTransport()
    async with httpx.AsyncClient(transport=sender) as http_client:
        transport = streamable_http_client(
            "http://x/mcp", http_client=http_client, connect_timeout=1
        )
        async with Client(transport) as client:
            began = trio.current_time()
            await client.call_tool("x", {"text": 3_000_000 * "a"})
            assert trio.current_time() - began > 29
            sender.bytes_per_second = 1_000
            with pytest.raises(ConnectionLost, match="too slow"):
                await client.call_tool("x", {"text": 3_000_000 * "a"})
    assert sender.size > 3_000_000


# What comes back


@BOTH
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("reader", ["auth", "hook"])
async def test_response_that_was_read_before_is_taken_as_it_is(library, mode, reader):
    class Reading(library.Auth):
        requires_response_body = True

        def auth_flow(self, request):
            response = yield request
            if response.status_code == 401:
                request.headers["authorization"] = response.json()["token"]
                yield request

    class Guarded(OlderScripted if mode == "legacy" else Scripted):  # type: ignore[misc]
        async def tools_call(self, seen: Seen) -> None:
            if reader == "auth" and "authorization" not in seen.headers:
                await seen.json({"token": "Bearer t"}, 401)
            else:
                await seen.stream_result(DONE)

        async def tools_list(self, seen: Seen) -> None:
            await seen.raw(418, b"teapot")

    async def read(response: Any) -> None:
        await response.aread()

    hooks = {"response": [read]} if reader == "hook" else {}
    async with (
        scripted(Guarded()) as url,
        library.AsyncClient(trust_env=False, event_hooks=hooks) as http_client,
    ):
        auth = Reading() if reader == "auth" else None
        transport = streamable_http_client(url, http_client=http_client, auth=auth)
        async with Client(transport, mode=mode) as client:
            await client.call_tool("x")
            with pytest.raises(ConnectionLost, match="teapot"):
                await client.list_tools()


async def test_response_that_was_read_and_thrown_away_is_one_plain_error():
    async def waste(response: httpx.Response) -> None:
        async for _ in response.aiter_raw():
            pass

    async with (
        scripted(Scripted()) as url,
        httpx.AsyncClient(trust_env=False, event_hooks={"response": [waste]}) as http_client,
    ):
        with pytest.raises(ConnectionLost, match="server/discover: POST"):
            async with Client(streamable_http_client(url, http_client=http_client)):
                pytest.fail("nothing came")


@pytest.mark.parametrize("status", [400, 401, 413, 500, 502])
@pytest.mark.parametrize("body", ["large", "endless", "cut"])
async def test_error_page_may_be_of_any_size_and_end_anywhere(status, body, monkeypatch):
    from trio_mcp.transports.http import _body

    monkeypatch.setattr(_body, "REFUSAL_TIMEOUT", 0.1)

    class Refusing(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            if body == "large":
                await seen.raw(status, b"<html>Oops" + 200_000 * b"x", "text/html")
                return
            await seen._start(status, {"content-type": "text/html", "content-length": "90000"})
            part = {"type": "http.response.body", "body": b"<html>Oops", "more_body": True}
            await seen._send(part)
            if body == "endless":
                await seen.gone.wait()

    async with scripted(Refusing()) as url, Client(url) as client:
        with trio.fail_after(SOON), pytest.raises(ConnectionLost, match="Oops") as caught:
            await client.call_tool("x")
        assert caught.value.status == status
        assert len(str(caught.value)) < 500
        await client.list_tools()


# Redirects


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("//[x/", "leads to '//\\[x/', which is not"),
        ("http://[::1", "location"),
        ("http://127.0.0.1:99999/", "99999"),
        ("http://127.0.0.1:x/", "location"),
        ("javascript:alert(1)", "POST"),
        ("http:///", "redirects without end"),
    ],
)
@pytest.mark.parametrize("verb", ["POST", "GET"])
async def test_redirect_to_what_is_no_url_is_one_plain_error(location, words, verb):
    class Moving(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            if verb == "POST":
                await seen.raw(307, location=location)
            else:
                await seen.result(DONE)

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.raw(307, location=location)

    server = Moving()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        await until(lambda: server.asked("GET"))
        await trio.testing.wait_all_tasks_blocked(0.02)
        if verb == "GET":
            await client.call_tool("x")
        else:
            with pytest.raises(ConnectionLost, match=words):
                await client.call_tool("x")
        await client.list_tools()


@pytest.mark.parametrize("status", [301, 308])
async def test_redirect_of_another_method_moves_no_post(status):
    class Moving(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if seen.path == "/mcp":
                await seen.raw(status, location="/docs")
            else:
                await seen.raw(200, b"<html>", "text/html")

    server = Moving()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        await until(lambda: len(server.asked("GET")) == 2)
        await client.call_tool("x")
    assert [each.path for each in server.seen if each.verb != "GET"] == ["/mcp"] * 4


async def test_post_moves_as_far_as_redirects_are_permanent_and_lead_somewhere():
    class Moving(Scripted):
        loops = False

        async def tools_call(self, seen: Seen) -> None:
            if self.loops:
                await seen.raw(308, location="/nowhere")
            elif seen.path == "/mcp":
                await seen.raw(308, location="/a")
            elif seen.path == "/a":
                await seen.raw(307, location="/b")
            else:
                await seen.result(DONE)

    server = Moving()
    async with scripted(server) as url, Client(url) as client:
        server.loops = True
        with pytest.raises(ConnectionLost, match="without end"):
            await client.call_tool("x")
        server.loops = False
        server.seen.clear()
        for _ in range(2):
            await client.call_tool("x")
    assert [each.path for each in server.seen] == ["/mcp", "/a", "/b", "/a", "/b"]


# A client of the user with few connections


async def elicit(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={})


class Asking(OlderScripted):
    async def GET(self, seen: Seen) -> None:  # noqa: N802
        await seen.events(": here\n\n")
        await seen.gone.wait()

    async def tools_call(self, seen: Seen) -> None:
        if seen.params["name"] == "ask":
            schema = {"type": "object", "properties": {}}
            question = {"message": "who?", "requestedSchema": schema}
            await seen.message({"id": "q", "method": "elicitation/create", "params": question})
            await until(lambda: self.asked("answer"))
        await seen.stream_result(DONE)


@BOTH
@pytest.mark.parametrize(("connections", "name"), [(2, "ask"), (1, "x")])
async def test_client_with_too_few_connections_is_told_so(library, connections, name):
    server = Asking()
    limits = library.Limits(max_connections=connections)
    async with (
        scripted(server) as url,
        library.AsyncClient(trust_env=False, limits=limits) as http_client,
    ):
        transport = streamable_http_client(url, http_client=http_client, connect_timeout=1)
        async with Client(transport, mode="legacy", elicitation_callback=elicit) as client:
            await until(lambda: server.asked("GET"))
            with trio.fail_after(SOON), pytest.raises(ConnectionLost, match="max_connections"):
                await client.call_tool(name)
            if connections > 1:
                await client.call_tool("x")


async def test_answer_that_no_call_waits_for_fails_none(caplog):
    class Pinging(Asking):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await until(lambda: self.asked("tools/call"))
            await seen.message({"id": "q", "method": "ping"})
            await seen.gone.wait()

        async def tools_call(self, seen: Seen) -> None:
            await seen.events(": here\n\n")
            await until(lambda: "did not reach the server" in caplog.text)
            await seen.stream_result(DONE)

    limits = httpx.Limits(max_connections=2)
    async with (
        scripted(Pinging()) as url,
        httpx.AsyncClient(trust_env=False, limits=limits) as http_client,
    ):
        transport = streamable_http_client(url, http_client=http_client, connect_timeout=1)
        async with Client(transport, mode="legacy") as client:
            with trio.fail_after(SOON):
                await client.call_tool("x")


async def test_client_with_enough_connections_answers():
    server = Asking()
    async with (
        scripted(server) as url,
        httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=3)) as http_client,
    ):
        transport = streamable_http_client(url, http_client=http_client, connect_timeout=SOON)
        async with Client(transport, mode="legacy", elicitation_callback=elicit) as client:
            await until(lambda: server.asked("GET"))
            with trio.fail_after(SOON):
                await client.call_tool("ask")


# How large an answer may be


@pytest.mark.parametrize("streams", [True, False])
async def test_answer_may_be_as_large_in_a_stream_as_elsewhere(streams):
    class Large(Scripted):
        async def tools_call(self, seen: Seen) -> None:
            text = 3_000_000 * "x"
            result = {"resultType": "complete", "content": [{"type": "text", "text": text}]}
            await (seen.stream_result if streams else seen.result)(result)

    async with scripted(Large()) as url, Client(url) as client:
        (block,) = (await client.call_tool("x")).content
        assert block.type == "text"
        assert len(block.text) == 3_000_000
