"""What a client over HTTP does about streams that end: that of a session, and those of calls."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp import Client
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports import streamable_http_client
from trio_mcp.types import ToolListChangedNotification

from ._scripted import DONE, OlderScripted, Seen, scripted
from ._serving import until

CHANGED: dict[str, Any] = {"method": "notifications/tools/list_changed"}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    from trio_mcp.transports.http import _client_retry

    monkeypatch.setattr(_client_retry, "DEFAULT_RETRY_SECONDS", 0.02)
    monkeypatch.setattr(_client_retry, "LEAST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(_client_retry, "LONGEST_PAUSE", 0.02)


# What the server says unasked


async def test_notifications_come_on_the_stream_of_the_session():
    class Pushing(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.message({"method": "notifications/tools/list_changed"})
            await seen.gone.wait()

    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async with scripted(Pushing()) as url, Client(url, mode="legacy", message_handler=hear):
        with trio.fail_after(SOON):
            await until(lambda: heard)
    assert isinstance(heard[0], ToolListChangedNotification)


async def test_stream_of_the_session_is_open_before_anything_is_asked():
    class Listened(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            # What would be sent before this is lost: not every server keeps it.
            await trio.testing.wait_all_tasks_blocked()
            self.is_open = True
            await seen.events()
            await seen.gone.wait()

        async def tools_call(self, seen: Seen) -> None:
            self.was_open = self.is_open
            await seen.result(DONE)

    server = Listened()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        await client.session.call_tool("any", {})
    assert server.was_open


async def test_server_that_does_not_open_the_stream_is_asked_all_the_same():
    class Silent(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.gone.wait()

        async def tools_call(self, seen: Seen) -> None:
            await seen.result(DONE)

    async with scripted(Silent()) as url, Client(url, mode="legacy") as client:
        result = await client.session.call_tool("any", {})
        assert not result.is_error


async def test_stream_of_the_session_is_opened_again_where_it_was():
    class Pushing(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            number = len(self.asked("GET"))
            await seen.message({"method": "notifications/tools/list_changed"}, id=f"e{number}")
            if number < 3:
                await seen.end()
            else:
                await seen.gone.wait()

    server = Pushing()
    async with scripted(server) as url, Client(url, mode="legacy"):
        with trio.fail_after(SOON):
            await until(lambda: len(server.asked("GET")) == 3)
        await trio.testing.wait_all_tasks_blocked(0.02)
    assert [each.headers.get("last-event-id") for each in server.asked("GET")] == [
        None,
        "e1",
        "e2",
    ]


@pytest.mark.parametrize("status", [405, 404, 401, 200])
async def test_server_without_a_stream_of_the_session_is_asked_once(status):
    class Without(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.raw(status, b"hello", "text/html")

    server = Without()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        await until(lambda: server.asked("GET"))
        await trio.sleep(0.1)
        await client.list_tools()
    assert len(server.asked("GET")) == 1


async def test_stream_that_brings_nothing_is_asked_for_again_and_warned_of_once(caplog):
    class Empty(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if len(self.asked("GET")) == 9:
                await seen.message(CHANGED)
                await seen.gone.wait()
            await seen.events()
            await seen.end()

    async with scripted(Empty()) as url:
        await hear_a_change(url)
    assert caplog.text.count("does not keep its stream") == 1


async def hear_a_change(url: Any) -> None:
    """Wait until a notification has come on the stream of the session."""
    heard = trio.Event()

    async def hear(message: Any) -> None:
        heard.set()

    with trio.fail_after(5):
        async with Client(url, mode="legacy", message_handler=hear):
            await heard.wait()


@pytest.mark.parametrize("begin", [": here\n\n", "id: 1\ndata:\n\n", "event: x\ndata: 1\n\n"])
@pytest.mark.parametrize("ending", ["in good order", "broken"])
async def test_stream_that_is_cut_again_and_again_is_kept_open(begin, ending, caplog):
    class Cutting(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if len(self.asked("GET")) == 9:
                await seen.message(CHANGED)
                await seen.gone.wait()
            await seen.events(begin)
            if ending == "in good order":
                await seen.end()

    async with scripted(Cutting()) as url:
        await hear_a_change(url)
    assert "does not keep" not in caplog.text


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503])
@pytest.mark.parametrize("first", [True, False])
async def test_refusal_that_passes_does_not_end_the_listening(status, first):
    class Busy(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            number = len(self.asked("GET"))
            if number == 1 and not first:
                await seen.events(": here\n\n")
                await seen.end()
            elif number < 8:
                await seen.raw(status)
            else:
                await seen.message(CHANGED)
                await seen.gone.wait()

    async with scripted(Busy()) as url:
        await hear_a_change(url)


@pytest.mark.req("R-570")
async def test_session_that_the_listener_finds_lost_is_replaced():
    class Forgetting(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if not self.is_current(seen):
                await seen.raw(404)
            elif self.sessions == 1:
                await seen.events(": here\n\n")
                self.sessions += 1
                await seen.end()
            else:
                await seen.message(CHANGED)
                await seen.gone.wait()

    server = Forgetting()
    async with scripted(server) as url:
        await hear_a_change(url)
    assert len(server.asked("initialize")) == 2
    told = server.asked("notifications/initialized")
    assert [each.headers["mcp-session-id"] for each in told] == ["session-1", "session-3"]


async def test_renewal_that_the_listener_wants_is_tried_until_it_works():
    class Restarting(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if self.sessions == 2:
                await seen.message(CHANGED)
                await seen.gone.wait()
            elif len(self.asked("GET")) > 1:
                await seen.raw(404)
            else:
                await seen.events(": here\n\n")
                await seen.end()

        async def initialize(self, seen: Seen) -> None:
            if 1 < len(self.asked("initialize")) < 8:
                await seen.raw(503)
            else:
                await super().initialize(seen)

    server = Restarting()
    async with scripted(server) as url:
        await hear_a_change(url)
    assert len(server.asked("initialize")) == 8


async def test_renewal_that_is_refused_is_left_to_the_next_call(caplog):
    class Refusing(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if len(self.asked("GET")) > 1:
                await seen.raw(404)
            else:
                await seen.events(": here\n\n")
                await seen.end()

        async def initialize(self, seen: Seen) -> None:
            if len(self.asked("initialize")) == 2:
                await seen.error(-32602, "not now")
            else:
                await super().initialize(seen)

        async def tools_call(self, seen: Seen) -> None:
            await (seen.raw(404) if self.sessions == 1 else seen.result(DONE))

    server = Refusing()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with trio.fail_after(SOON):
            await until(lambda: "not now" in caplog.text)
            await client.call_tool("x")
    assert len(server.asked("initialize")) == 3


async def test_event_that_the_server_has_forgotten_is_not_asked_for_again():
    class Forgetting(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if "last-event-id" in seen.headers:
                await seen.raw(400)
            elif len(self.asked("GET")) == 1:
                await seen.events("id: 7\ndata:\n\n")
                await seen.end()
            else:
                await seen.message(CHANGED)
                await seen.gone.wait()

    server = Forgetting()
    async with scripted(server) as url:
        await hear_a_change(url)
    assert [each.headers.get("last-event-id") for each in server.asked("GET")] == [None, "7", None]


async def test_event_beyond_the_limit_is_lost_and_no_other(caplog):
    class Large(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if len(self.asked("GET")) == 1:
                await seen.events("id: 1\ndata:\n\n", "id: 2\ndata: " + 2_000 * "x")
            elif "last-event-id" not in seen.headers:
                await seen.message(CHANGED)
            await seen.gone.wait()

    async with scripted(Large()) as url:
        await hear_a_change(streamable_http_client(url, max_sse_event_size=1_000))
    assert "longer than 1000 bytes (max_sse_event_size)" in caplog.text


async def test_junk_on_the_stream_of_the_session_is_told_a_few_times(caplog):
    class Rambling(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.events("data: junk\n\n" * 150)
            await seen.message(CHANGED)
            await seen.gone.wait()

    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async with scripted(Rambling()) as url, Client(url, mode="legacy", message_handler=hear):
        with trio.fail_after(5):
            await until(lambda: len(heard) == 151)
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert ["junk" in each for each in told] == [True] * 3


async def test_answers_that_do_not_reach_the_server_are_told_a_few_times(caplog):
    class Asking(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            for number in range(1, 51):
                await seen.message({"id": number, "method": "ping"})
                await until(lambda number=number: len(self.asked("answer")) == number)
            await seen.message(CHANGED)
            await seen.gone.wait()

        async def answer(self, seen: Seen) -> None:
            await seen.raw(500)

    async with scripted(Asking()) as url:
        await hear_a_change(url)
        await until(lambda: "(10 times by now)" in caplog.text)
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert ["did not reach the server" in each for each in told] == [True] * 2


class Signing(httpx.Auth):
    """Fails for what a method of its name says."""

    def __init__(self, verb: str, text: bytes = b"") -> None:
        self.verb = verb
        self.text = text

    def auth_flow(self, request):
        if request.method == self.verb and self.text in request.content:
            raise LookupError("no token")
        yield request


async def test_listening_that_ends_is_told(caplog):
    class Ending(OlderScripted):
        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if len(self.asked("GET")) > 1:
                await seen.raw(403, b"no more")
            else:
                await seen.events(": here\n\n")
                await seen.end()

    server = Ending()
    async with scripted(server) as url, Client(url, mode="legacy") as client:
        with trio.fail_after(SOON):
            await until(lambda: "not listened to any more" in caplog.text)
        await client.call_tool("x")
    assert len(server.asked("GET")) == 2
    assert "no more" in caplog.text


async def test_what_fails_at_the_end_harms_nobody(caplog):
    async with scripted(OlderScripted()) as url:
        transport = streamable_http_client(url, auth=Signing("DELETE"))
        async with Client(transport, mode="legacy") as client:
            await client.call_tool("x")
    assert "not told that the session is over" in caplog.text


async def test_what_fails_while_listening_harms_no_call(caplog):
    server = OlderScripted()
    async with scripted(server) as url:
        transport = streamable_http_client(url, auth=Signing("GET"))
        async with Client(transport, mode="legacy") as client:
            await until(lambda: "not listened to any more" in caplog.text)
            await client.call_tool("x")
    assert "no token" in caplog.text


async def test_what_fails_while_answering_or_telling_harms_no_call(caplog):
    class Asking(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.message({"id": "q", "method": "ping"})
            await until(lambda: "no token" in caplog.text)
            await seen.stream_result(DONE)

        async def tools_list(self, seen: Seen) -> None:
            await seen.gone.wait()

    server = Asking()
    async with scripted(server) as url:
        transport = streamable_http_client(url, auth=Signing("POST", b'"id":"q"'))
        async with Client(transport, mode="legacy") as client:
            with trio.fail_after(SOON):
                await client.call_tool("x")
        transport = streamable_http_client(url, auth=Signing("POST", b"notifications/cancelled"))
        async with Client(transport, mode="legacy") as client:
            with trio.move_on_after(0.1):
                await client.list_tools()
            await until(lambda: "not told of a cancelled call" in caplog.text)
            await client.call_tool("x")


# Ids of events


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (b"e-1", b"e-1"),
        ("\u00e91 \u4e16".encode(), "\u00e91 \u4e16".encode()),
        (b"\xff\xfe", b"\xff\xfe"),
        (b"  spaced ", b"spaced"),
        (b"", None),
        (b"   ", None),
        (b"a\x01b", None),
    ],
)
@pytest.mark.parametrize("where", ["call", "session"])
async def test_id_of_an_event_is_sent_back_as_it_came(given, sent, where):
    class Cutting(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            self.asking = seen.id
            await self.cut(seen)

        async def cut(self, seen: Seen) -> None:
            await seen.events("id: 0\ndata:\n\n", b"id: " + given + b"\ndata:\n\n")
            await seen.end()

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if where == "session" and len(self.asked("GET")) == 1:
                await self.cut(seen)
            elif where == "session":
                await seen.message(CHANGED)
                await seen.gone.wait()
            elif "last-event-id" in seen.headers:
                await seen.message({"id": self.asking, "result": DONE})
                await seen.end()
            else:
                await seen.raw(405)

    server = Cutting()
    async with scripted(server) as url:
        if where == "session":
            await hear_a_change(url)
        else:
            async with Client(url, mode="legacy") as client:
                with trio.fail_after(SOON):
                    if sent is None:
                        with pytest.raises(ConnectionLost, match="before the answer"):
                            await client.call_tool("x")
                    else:
                        await client.call_tool("x")
    named = [each.headers.get("last-event-id") for each in server.asked("GET")]
    expected = None if sent is None else sent.decode("latin-1")
    assert expected is None or expected in named
    assert set(named) <= {None, expected}


async def test_id_that_is_taken_back_while_a_call_goes_on_loses_it():
    class Cutting(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.events("id: 1\ndata:\n\n")
            await seen.end()

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            await seen.events("id\ndata:\n\n")
            await seen.end()

    async with scripted(Cutting()) as url, Client(url, mode="legacy") as client:
        with trio.fail_after(SOON), pytest.raises(ConnectionLost, match="taken back where"):
            await client.call_tool("x")


# Calls whose stream is cut again and again


@pytest.mark.parametrize("ending", ["in good order", "broken"])
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_call_whose_stream_brings_nothing_is_lost_unless_the_server_may_poll(
    ending, version
):
    class Cutting(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            self.asking = seen.id
            await seen.events("id: 1\ndata:\n\n")
            await seen.end()

        async def GET(self, seen: Seen) -> None:  # noqa: N802
            if "last-event-id" not in seen.headers:
                await seen.raw(405)
                return
            self.times = getattr(self, "times", 0) + 1
            if self.times == 8:
                await seen.message({"id": self.asking, "result": DONE})
                await seen.end()
            await seen.events(": nothing new\n\n")
            if ending == "in good order":
                await seen.end()

    server = Cutting()
    async with scripted(server) as url, Client(url, mode=version) as client:
        with trio.fail_after(SOON):
            if version == "2025-11-25" and ending == "in good order":
                await client.call_tool("x")
            else:
                with pytest.raises(ConnectionLost, match="ends again and again"):
                    await client.call_tool("x")
                assert server.times == 5


@pytest.mark.parametrize("ending", ["in good order", "broken"])
async def test_stream_of_a_call_that_lasts_may_be_cut_however_often(ending, autojump_clock):
    class Lasting(httpx.AsyncByteStream):
        async def __aiter__(self):
            yield b"id: 1\ndata:\n\n"
            await trio.sleep(3)
            if ending == "broken":
                raise httpx.ReadError("cut")

    resumed: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else {}
        if request.method == "GET" and "last-event-id" in request.headers:
            resumed.append(trio.current_time())
            if len(resumed) == 20:
                message = {"jsonrpc": "2.0", "id": asked[0], "result": DONE}
                return stream_of(f"data: {json.dumps(message)}\n\n")
        elif request.method == "GET":
            return httpx.Response(405)
        elif body.get("method") == "tools/call":
            asked.append(body["id"])
        else:
            return answer_of(body)
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, stream=Lasting())

    asked: list[int] = []
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http_client:
        transport = streamable_http_client("http://x/mcp", http_client=http_client)
        async with Client(transport, mode="2025-06-18") as client:
            await client.call_tool("x")
    assert len(resumed) == 20


# How often


@pytest.mark.req("R-548")
@pytest.mark.parametrize(
    ("retry", "stream", "most"),
    [
        ("retry: 0\n", "", 6),
        ("retry: 0\n", ": hi\n\n", 6),
        ("retry: 0\n", "id: {n}\ndata:\n\n", 6),
        ("retry: 0\n", 'data: {{"jsonrpc":"2.0","method":"notifications/x"}}\n\n', 21),
        ("", ": hi\n\n", 6),
        ("retry: 1500\n", "id: {n}\ndata:\n\n", 4),
    ],
)
@pytest.mark.parametrize("where", ["call", "session"])
async def test_stream_is_not_asked_for_without_a_pause(
    retry, stream, most, where, monkeypatch, autojump_clock
):
    from trio_mcp.transports.http import _client_retry

    monkeypatch.undo()  # the pauses of `quick`
    assert _client_retry.DEFAULT_RETRY_SECONDS == 1
    asked: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else {}
        if request.method == "GET" and (where == "session") != (
            "last-event-id" in request.headers
        ):
            asked.append(trio.current_time())
        elif request.method == "GET":
            return httpx.Response(405)
        if request.method == "GET" or body.get("method") == "tools/call":
            begin = f"id: 0\n{retry}data:\n\n" if not asked else ""
            return stream_of(begin + stream.format(n=len(asked)))
        return answer_of(body)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http_client:
        transport = streamable_http_client("http://x/mcp", http_client=http_client)
        async with Client(transport, mode="legacy") as client:
            with trio.move_on_after(2.05):
                await client.call_tool("x") if where == "call" else await trio.sleep_forever()
    assert 1 <= len(asked) <= most


@pytest.mark.parametrize(
    ("after", "pause"),
    [("7", 7), ("999999999", 300), ("0", 1), ("Wed, 21 Oct 2026", 1), ("-5", 1)],
)
async def test_refusal_says_when_to_ask_again(after, pause, monkeypatch, autojump_clock):
    monkeypatch.undo()  # the pauses of `quick`
    asked: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            asked.append(trio.current_time())
            return httpx.Response(429, headers={"retry-after": after})
        return answer_of(json.loads(request.content))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http_client:
        transport = streamable_http_client("http://x/mcp", http_client=http_client)
        async with Client(transport, mode="legacy"):
            await trio.sleep(pause + 0.5)
    assert [round(each - asked[0]) for each in asked] == [0, pause]


def stream_of(text: str) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=text)


def answer_of(body: Any) -> httpx.Response:
    if body.get("method") != "initialize":
        return httpx.Response(202)
    info = {"name": "s", "version": "1"}
    version = body["params"]["protocolVersion"]
    result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
    return httpx.Response(200, json={"jsonrpc": "2.0", "id": body["id"], "result": result})
