"""What one has begun, another cannot go on with."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest
import trio
import trio.testing

from tests.http._asgi import AsgiClient, open_app
from trio_mcp import Context, MCPServer
from trio_mcp.auth import AccessToken, Principal, principal_components
from trio_mcp.auth.server._principal import principal_of
from trio_mcp.transports.http import _guard
from trio_mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
)

from ._protected import TOKENS, Verifier, bearer, make_server, older, open_protected, token


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


KNOWN = {
    "ada": token(subject="ada", claims={"iss": "https://a.example"}),
    "ada later": token(subject="ada", claims={"iss": "https://a.example"}, expires_at=10**10),
    "bob": token(subject="bob", claims={"iss": "https://a.example"}),
    "ada elsewhere": token(subject="ada", claims={"iss": "https://b.example"}),
    "ada by another": token(subject="ada", client_id="other", claims={"iss": "https://a.example"}),
    "the client": token(claims={"iss": "https://a.example"}),
    "unsaid": token(subject="ada"),
}


def verifier() -> Verifier:
    known = {name.replace(" ", "-"): each for name, each in KNOWN.items()}
    return Verifier(known)


def who(name: str) -> dict[str, str]:
    return bearer(name.replace(" ", "-"))


STRANGERS = ["bob", "ada elsewhere", "ada by another", "the client", "unsaid"]


def test_client_issuer_and_subject_tell_principals_apart():
    keys = {name: principal_of(each).key for name, each in KNOWN.items()}
    assert keys["ada"] == keys["ada later"]
    assert len({keys[name] for name in ["ada", *STRANGERS]}) == 6
    assert principal_components(KNOWN["ada"]) == ("client", "https://a.example", "ada")
    # Texts cannot be put together so that one looks like another.
    odd = AccessToken(token="", client_id='a","b', scopes=[], subject="c")
    even = AccessToken(token="", client_id="a", scopes=[], subject='b","c')
    assert principal_of(odd).key != principal_of(even).key
    assert Principal("ada").key == "ada"


@pytest.mark.req("R-522", "R-523", "R-174", "R-590")
async def test_session_belongs_to_who_opened_it():
    async with open_protected(make_server(verifier())) as client:
        session = older(client, "ada")
        await session.initialize(headers=who("ada"))
        headers = session.headers
        ping = session.request("ping")
        for name in STRANGERS:
            answer = await client.post(ping, {**headers, **who(name)}).wait_complete()
            assert answer.status == 404
            for method in ("GET", "DELETE"):
                given = {"accept": "text/event-stream", **headers, **who(name)}
                answer = await client.start(method, given).wait_complete()
                assert answer.status == 404
        # A session id is no token.
        assert (await client.post(ping, headers).wait_complete()).status == 401
        for name in ("ada", "ada later"):
            answer = await client.post(ping, {**headers, **who(name)}).wait_complete()
            assert answer.status == 200


@pytest.mark.req("R-522", "R-523")
async def test_stream_of_http_with_sse_belongs_to_who_opened_it():
    async with open_app(make_server(verifier()).sse_app()) as client:
        stream = client.start("GET", {"accept": "text/event-stream", **who("ada")}, path="/sse")
        endpoint = (await stream.next_event()).data.decode()
        path, _, query = endpoint.partition("?")

        async def post(name: str | None, message: dict) -> int:
            client.scope["query_string"] = query.encode()
            given = {"content-type": "application/json", **(who(name) if name else {})}
            answer = client.start("POST", given, json.dumps(message).encode(), path=path)
            return (await answer.wait_complete()).status

        def asked(number: int, method: str, **params) -> dict:
            return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

        opening = {
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        assert await post("ada", asked(1, "initialize", **opening)) == 202
        assert (await stream.next_message())["id"] == 1
        for name in STRANGERS:
            assert await post(name, asked(2, "ping")) == 404
        assert await post(None, asked(2, "ping")) == 401
        assert await post("ada later", asked(3, "tools/call", name="whoami", arguments={})) == 202
        told = await stream.next_message()
        assert told["id"] == 3
        assert json.loads(told["result"]["content"][0]["text"])["subject"] == "ada"
        # The POST is where a status can be told.
        assert await post("ada", asked(4, "tools/call", name="change", arguments={})) == 403
        stream.leave()


async def test_handler_sees_the_token_of_its_own_request():
    """And not the one with which the session was opened, which may allow something else."""
    known = {"narrow": token(subject="ada"), "wide": token(subject="ada", scopes=["use", "x"])}
    async with open_protected(make_server(Verifier(known))) as client:
        session = older(client, "narrow")
        await session.initialize(headers=bearer("narrow"))
        for name, scopes in {"narrow": ["use"], "wide": ["use", "x"]}.items():
            params = {"name": "whoami", "arguments": {}}
            answer = session.ask("tools/call", params, **bearer(name))
            await answer.wait_complete()
            assert answer.json()["result"]["structuredContent"]["scopes"] == scopes


@pytest.mark.req("R-522")
async def test_request_state_is_worth_nothing_to_another():
    mcp = make_server(verifier())

    @mcp.tool()
    async def ask(ctx: Context) -> str | InputRequiredResult:
        if ctx.request_state is None:
            form = ElicitRequestFormParams(
                message="?", requested_schema={"type": "object", "properties": {}}
            )
            return InputRequiredResult(
                input_requests={"q": ElicitRequest(params=form)}, request_state="mine"
            )
        return ctx.request_state

    async with open_protected(mcp) as client:
        meta = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
        params = {"name": "ask", "arguments": {}}

        async def round_of(client: AsgiClient, name: str, **more):
            answer = client.ask("tools/call", {**params, **more}, headers=who(name), meta=meta)
            return (await answer.wait_complete()).json()

        first = await round_of(client, "ada")
        state = first["result"]["requestState"]
        answered = {"inputResponses": {"q": {"action": "decline"}}, "requestState": state}
        for name in STRANGERS:
            told = await round_of(client, name, **answered)
            assert told["error"]["code"] == -32602
        for name in ("ada", "ada later"):
            told = await round_of(client, name, **answered)
            assert told["result"]["structuredContent"] == {"result": "mine"}


@pytest.mark.req("R-174")
async def test_subscription_ends_in_good_order_with_its_token():
    soon = int(time.time()) + 3600
    known = {"short": token(expires_at=soon), "long": token()}
    async with open_protected(make_server(Verifier(known))) as client:
        wanted = {"notifications": {"toolsListChanged": True}}
        for name, ends in {"short": True, "long": False}.items():
            answer = client.ask("subscriptions/listen", wanted, headers=bearer(name))
            first = await answer.next_message()
            assert first["method"] == "notifications/subscriptions/acknowledged"
            with trio.move_on_after(3_700) as limit:
                last = await answer.next_message()
                assert last["result"]["resultType"] == "complete"
            assert limit.cancelled_caught != ends
            answer.leave()


@pytest.mark.req("R-174")
async def test_stream_of_http_with_sse_ends_with_the_newest_token_that_was_posted(monkeypatch):
    now = int(time.time())
    begun = trio.current_time()
    clock = SimpleNamespace(time=lambda: now + trio.current_time() - begun)
    monkeypatch.setattr(_guard, "time", clock)
    known = {"first": token(expires_at=now + 600), "next": token(expires_at=now + 3600)}
    async with open_app(make_server(Verifier(known)).sse_app()) as client:
        given = {"accept": "text/event-stream", **bearer("first")}
        stream = client.start("GET", given, path="/sse")
        path, _, query = (await stream.next_event()).data.decode().partition("?")
        client.scope["query_string"] = query.encode()

        async def ping(name: str) -> int:
            message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            headers = {"content-type": "application/json", **bearer(name)}
            answer = client.start("POST", headers, json.dumps(message).encode(), path=path)
            return (await answer.wait_complete()).status

        await trio.sleep(500)
        assert await ping("next") == 202
        await trio.sleep(500)
        assert not stream.complete
        assert await ping("next") == 202
        await trio.sleep(2_700)
        assert stream.complete
        assert await ping("next") == 404


@pytest.mark.req("R-174")
async def test_stream_of_an_older_session_ends_with_its_token_and_is_opened_again():
    soon = int(time.time()) + 3600
    known = {"short": token(expires_at=soon), "long": token()}
    async with open_protected(make_server(Verifier(known))) as client:
        session = older(client, "short")
        await session.initialize(headers=bearer("short"))
        for name, ends in {"short": True, "long": False}.items():
            stream = session.get(**bearer(name))
            await stream.wait_started()
            assert stream.status == 200
            with trio.move_on_after(3_700) as limit:
                await stream.wait_complete()
            assert limit.cancelled_caught != ends
            stream.leave()
            await stream.wait_complete()


def test_settings_of_a_server_say_how_it_is_protected():
    mcp = make_server()
    assert mcp.settings.auth is not None
    assert mcp.settings.auth.required_scopes == ["use"]
    assert MCPServer("open").settings.auth is None
    assert TOKENS["ada"].subject == "ada"
