"""The client over HTTP+SSE, and how it is found out that a server knows nothing newer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import trio

from trio_mcp import Client
from trio_mcp.client import SseServerParameters
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports import sse_client
from trio_mcp.types import ElicitResult, TextContent

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
            with trio.fail_after(2):
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
        with trio.fail_after(2), pytest.raises(ConnectionLost, match="ended the stream"):
            await client.call_tool("x")


async def test_post_that_is_refused_loses_the_connection_with_its_status():
    class Refusing(Old):
        async def tools_call(self, seen: Seen) -> None:
            await seen.raw(404, b"no session")

    server = Refusing()
    async with scripted(server) as url, Client(sse_client(url), mode="legacy") as client:
        with trio.fail_after(4), pytest.raises(ConnectionLost, match="no session") as caught:
            await client.call_tool("x")
    assert caught.value.status == 404


@pytest.mark.parametrize("endpoint", ["http://localhost:1/messages", "//evil.example/x"])
async def test_messages_are_posted_within_the_origin_alone(endpoint):
    server = Old()
    server.endpoint = endpoint
    async with scripted(server) as url:
        with pytest.raises(ConnectionLost, match="another origin"):
            async with sse_client(url):
                pytest.fail("it was taken")


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


@pytest.mark.parametrize("mode", ["auto", "legacy", "2024-11-05"])
async def test_refused_post_leads_there_even_if_a_json_rpc_error_says_so(mode):
    class Wordy(Old):
        async def other(self, seen: Seen) -> None:
            if seen.path == "/messages":
                await super().other(seen)
                return
            error = {"code": -32600, "message": "'POST' is not served here"}
            text = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
            await seen.raw(405, text, "application/json")

        server_discover = tools_call = initialize = other

    async with scripted(Wordy()) as url, Client(url, mode=mode) as client:
        assert client.protocol_version == ("2024-11-05" if mode == "2024-11-05" else "2025-11-25")


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
