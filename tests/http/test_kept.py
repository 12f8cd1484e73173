"""How much a client can have a server keep for as long as its session or stream lasts."""

from __future__ import annotations

import pytest
import trio.testing

from trio_mcp import MCPServer
from trio_mcp.server._kept import MAX_KEPT_SIZE, MAX_URI_LENGTH, MAX_URIS_LENGTH

from ._asgi import OlderClient, open_app, open_session


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


def make_app(**options):
    mcp = MCPServer("tests")

    @mcp.resource("a://one")
    async def one() -> str:
        return "1"

    return mcp.streamable_http_app(**options)


async def subscribe(older, uri):
    answer = await older.ask("resources/subscribe", {"uri": uri}).wait_complete()
    return answer.json().get("error", {}).get("code")


async def test_a_uri_that_is_subscribed_to_has_a_bounded_length():
    longest = "a://".ljust(MAX_URI_LENGTH, "x")
    async with open_session(make_app()) as older:
        assert await subscribe(older, longest) is None
        assert await subscribe(older, longest + "x") == -32602


async def test_all_uris_that_one_session_subscribes_to_have_a_bounded_length():
    async with open_session(make_app()) as older:
        most = MAX_URIS_LENGTH // MAX_URI_LENGTH
        uris = [f"a://{number}/".ljust(MAX_URI_LENGTH, "x") for number in range(most + 1)]
        assert [await subscribe(older, each) for each in uris] == [None] * most + [-32603]
        # One that is subscribed to already is no more.
        assert await subscribe(older, uris[0]) is None
        answer = older.ask("resources/unsubscribe", {"uri": uris[0]})
        assert (await answer.wait_complete()).json()["result"] == {}
        assert await subscribe(older, uris[-1]) is None


@pytest.mark.parametrize("member", ["clientInfo", "capabilities", "_meta"])
@pytest.mark.parametrize("stateless", [False, True])
async def test_what_a_client_says_of_itself_is_bounded(member, stateless):
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "older", "version": "1"},
    }
    much = {"experimental": {"x": {"y": "z" * MAX_KEPT_SIZE}}, "websiteUrl": "x" * MAX_KEPT_SIZE}
    params[member] = {**params.get(member, {}), **much}
    async with open_app(make_app(stateless_http=stateless)) as client:
        older = OlderClient(client)
        answer = await older.ask("initialize", params).wait_complete()
        assert answer.json()["error"]["code"] == -32602
        assert str(MAX_KEPT_SIZE) in answer.json()["error"]["message"]
        assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("where", ["resourceSubscriptions", "meta", "id"])
async def test_what_asks_for_a_stream_of_notifications_is_bounded(where):
    text = "x" * MAX_KEPT_SIZE
    filters = {"resourceSubscriptions": [f"a://{text}"]} if where.startswith("res") else {}
    async with open_app(make_app()) as client:
        answer = await client.ask(
            "subscriptions/listen",
            {"notifications": {"resourcesListChanged": True, **filters}},
            request_id=text if where == "id" else 1,
            meta={"x": text} if where == "meta" else None,
        ).wait_complete()
        assert answer.json()["error"]["code"] == -32602
