"""State that a handler gives its client along, through `RequestStateBoundary`."""

from __future__ import annotations

import json
import logging
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from trio_mcp import MCPServer
from trio_mcp._rpc._exchange import Principal
from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.server import (
    RequestStateBoundary,
    RequestStateSecurity,
    Server,
    ServerRequestContext,
    authenticated_principal,
)
from trio_mcp.types import (
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    ReadResourceResult,
    TextContent,
)

KEYS = [b"k" * 32]


def counting(security: RequestStateSecurity, *, audience: str | None = "counter") -> Server:
    """A server that answers each call with one more than its state says."""

    async def call_tool(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        count = int(params.request_state or 0)
        if count < 3:
            return InputRequiredResult(request_state=str(count + 1))
        return CallToolResult(content=[TextContent(text=f"after {count}")])

    async def get_prompt(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        if params.request_state is None:
            return {"resultType": "input_required", "requestState": "p"}
        assert params.request_state == "p"
        return GetPromptResult(messages=[])

    async def read_resource(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        if params.request_state is None:
            return InputRequiredResult(request_state="r")
        assert params.request_state == "r"
        return ReadResourceResult(contents=[])

    server = Server(
        "counter",
        on_call_tool=call_tool,
        on_get_prompt=get_prompt,
        on_read_resource=read_resource,
    )
    server.middleware.append(RequestStateBoundary(security, default_audience=audience))
    return server


async def first_state(client: Client, name: str = "count", **arguments: Any) -> str:
    result = await client.session.call_tool(name, arguments, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    assert result.request_state is not None
    return result.request_state


async def send_back(client: Client, state: Any, name: str = "count", **arguments: Any) -> Any:
    return await client.session.call_tool(
        name, arguments, request_state=state, allow_input_required=True
    )


async def refused(client: Client, state: Any, name: str = "count", **arguments: Any) -> None:
    with pytest.raises(MCPError) as caught:
        await send_back(client, state, name, **arguments)
    assert caught.value.code == -32602
    assert caught.value.message == "Invalid or expired requestState"
    assert caught.value.data == {"reason": "invalid_request_state"}


@pytest.mark.req("R-181")
async def test_the_client_holds_what_it_cannot_read(autojump_clock: object) -> None:
    server = counting(RequestStateSecurity(keys=KEYS))
    async with Client(server) as client:
        state = await first_state(client)
        assert state != "1"
        following = await send_back(client, state)
        assert following.request_state not in (None, state)
        assert (await client.call_tool("count")).content == [TextContent(text="after 3")]
        assert (await client.get_prompt("p")).messages == []
        assert (await client.read_resource("a://b")).contents == []


@pytest.mark.req("R-182", "R-183", "R-195")
@pytest.mark.parametrize("change", [lambda s: s[:-3] + "AAA", lambda s: "2", lambda s: s + "A"])
async def test_a_changed_state_is_refused(change: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with Client(counting(RequestStateSecurity(keys=KEYS))) as client:
        state = await first_state(client)
        with caplog.at_level(logging.WARNING):
            await refused(client, change(state))
        [record] = caplog.records
        assert "was refused" in record.getMessage()
        # The seal says nothing about whether the state itself was good.
        assert (await send_back(client, state)).request_state is not None


@pytest.mark.req("R-184")
async def test_a_state_is_for_one_request_alone() -> None:
    async with Client(counting(RequestStateSecurity(keys=KEYS))) as client:
        state = await first_state(client, path="a", deep={"x": 1, "y": 2})
        await refused(client, state, path="b", deep={"x": 1, "y": 2})
        await refused(client, state)
        await refused(client, state, name="other", path="a", deep={"x": 1, "y": 2})
        with pytest.raises(MCPError, match="requestState"):
            await client.session.get_prompt("count", request_state=state)
        # The order of members is none of JSON's business.
        assert await send_back(client, state, deep={"y": 2, "x": 1}, path="a")


@pytest.mark.req("R-184")
async def test_a_state_expires(mock_clock: trio.testing.MockClock) -> None:
    server = counting(RequestStateSecurity(keys=KEYS, clock=trio.current_time))
    async with Client(server) as client:
        state = await first_state(client)
        mock_clock.jump(599)
        assert await send_back(client, state)
        mock_clock.jump(1)
        await refused(client, state)


async def test_the_time_can_be_set(mock_clock: trio.testing.MockClock) -> None:
    server = counting(RequestStateSecurity(keys=KEYS, ttl=5, clock=trio.current_time))
    async with Client(server) as client:
        state = await first_state(client)
        mock_clock.jump(5)
        await refused(client, state)


async def test_clocks_may_differ_by_a_minute() -> None:
    now = 1000.0
    ahead = counting(RequestStateSecurity(keys=KEYS, clock=lambda: now + 59))
    far_ahead = counting(RequestStateSecurity(keys=KEYS, clock=lambda: now + 61))
    here = counting(RequestStateSecurity(keys=KEYS, clock=lambda: now))
    async with Client(ahead) as a, Client(far_ahead) as b, Client(here) as client:
        assert await send_back(client, await first_state(a))
        await refused(client, await first_state(b))


@pytest.mark.req("R-028", "R-030")
async def test_servers_with_the_same_keys_and_name_share_their_clients() -> None:
    one, two = (counting(RequestStateSecurity(keys=KEYS)) for _ in range(2))
    other_name = counting(RequestStateSecurity(keys=KEYS), audience="other")
    named = counting(RequestStateSecurity(keys=KEYS, audience="counter"), audience="other")
    nameless = counting(RequestStateSecurity(keys=KEYS), audience=None)
    async with (
        Client(one) as a,
        Client(two) as b,
        Client(other_name) as c,
        Client(named) as d,
        Client(nameless) as e,
    ):
        state = await first_state(a)
        assert await send_back(b, state)
        assert await send_back(d, state)
        await refused(c, state)
        await refused(e, state)


async def test_an_ephemeral_key_dies_with_its_object() -> None:
    async with (
        Client(counting(RequestStateSecurity.ephemeral())) as a,
        Client(counting(RequestStateSecurity.ephemeral())) as b,
    ):
        await refused(b, await first_state(a))


@pytest.mark.req("R-184", "R-360", "R-352")
async def test_a_state_of_one_principal_is_worth_nothing_to_another() -> None:
    server = counting(RequestStateSecurity(keys=KEYS))
    who: list[str | None] = ["ann"]

    async def log_in(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        assert ctx.exchange is not None
        ctx.exchange.principal = None if who[0] is None else Principal(who[0])
        assert authenticated_principal(ctx) == who[0]
        return await call_next(ctx)

    server.middleware.insert(0, log_in)
    async with Client(server) as client:
        state = await first_state(client)
        for other in ("bob", None, ""):
            who[0] = other
            await refused(client, state)
        who[0] = "ann"
        assert await send_back(client, state)
        who[0] = None
        state = await first_state(client)
        who[0] = "ann"
        await refused(client, state)


async def test_who_is_asked_by_another_rule_or_not_at_all() -> None:
    who = ["ann"]
    bound = counting(RequestStateSecurity(keys=KEYS, bind_principal=lambda ctx: who[0]))
    free = counting(RequestStateSecurity(keys=KEYS, bind_principal=None))
    async with Client(bound) as a, Client(free) as b:
        state, free_state = await first_state(a), await first_state(b)
        who[0] = "bob"
        await refused(a, state)
        assert await send_back(b, free_state)


async def test_what_fails_in_the_authors_rule_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: list[Any] = ["ann"]

    def name(ctx: ServerRequestContext[Any, Any]) -> Any:
        return answers.pop(0)

    async with Client(counting(RequestStateSecurity(keys=KEYS, bind_principal=name))) as client:
        state = await first_state(client)
        answers[:] = [7]
        await refused(client, state)
        assert "bind_principal returned int" in caplog.text
        answers[:] = []
        await refused(client, state)
        with pytest.raises(MCPError, match="Internal server error") as caught:
            await first_state(client)
        assert caught.value.code == -32603


@pytest.mark.req("R-185")
async def test_a_state_for_a_single_use(mock_clock: trio.testing.MockClock) -> None:
    security = RequestStateSecurity(keys=KEYS, single_use=True, clock=trio.current_time)
    async with Client(counting(security)) as client:
        state, other = await first_state(client), await first_state(client)
        assert await send_back(client, state)
        await refused(client, state)
        assert await send_back(client, other)
        mock_clock.jump(700)
        assert await send_back(client, await first_state(client))


async def test_another_way_of_sealing() -> None:
    class Reversed:
        def seal(self, payload: bytes) -> str:
            return payload.decode()[::-1]

        def unseal(self, token: str) -> bytes:
            return token[::-1].encode()

    async with Client(counting(RequestStateSecurity(codec=Reversed()))) as client:
        state = await first_state(client)
        claims = json.loads(state[::-1])
        assert claims["s"] == "1"
        assert await send_back(client, state)
        for name in ("s", "id", "iat", "exp", "v", "m"):
            lacking = {key: value for key, value in claims.items() if key != name}
            await refused(client, json.dumps(lacking)[::-1])
        await refused(client, json.dumps({**claims, "exp": float("nan")})[::-1])
        await refused(client, json.dumps({**claims, "p": "zz"})[::-1])
        await refused(client, "[]"[::-1])
        await refused(client, "no json")


async def test_a_codec_that_fails_is_no_way_round(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def seal(self, payload: bytes) -> str:
            raise RuntimeError("no secret told")

        def unseal(self, token: str) -> bytes:
            raise RuntimeError("no secret told")

    async with Client(counting(RequestStateSecurity(codec=Broken()))) as client:
        with pytest.raises(MCPError) as caught:
            await first_state(client)
        assert "secret" not in caught.value.message
        await refused(client, "anything")
        assert caplog.text.count("RuntimeError: no secret told") == 2


async def test_other_methods_and_results_pass_untouched() -> None:
    async def list_tools(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        assert ctx.params == {**(ctx.params or {}), "requestState": "mine"}
        return {"tools": []}

    server = counting(RequestStateSecurity(keys=KEYS))
    server.add_request_handler("tools/list", dict, list_tools)

    async def add_state(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        params = {**(ctx.params or {}), "requestState": "mine"}
        return await call_next(attrs.evolve(ctx, params=params))

    server.middleware.insert(0, add_state)
    async with Client(server) as client:
        assert (await client.list_tools()).tools == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either keys= or codec="),
        ({"keys": KEYS, "codec": object()}, "either keys= or codec="),
        ({"keys": KEYS, "ttl": 0}, "ttl"),
        ({"keys": KEYS, "ttl": float("inf")}, "ttl"),
        ({"keys": KEYS, "ttl": float("nan")}, "ttl"),
    ],
)
def test_options_that_will_not_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RequestStateSecurity(**options)


def test_a_server_with_shared_keys_needs_a_name() -> None:
    security = RequestStateSecurity(keys=KEYS)
    with pytest.raises(ValueError, match="needs a name"):
        MCPServer(request_state_security=security)
    MCPServer("named", request_state_security=security)
    MCPServer(request_state_security=RequestStateSecurity(keys=KEYS, audience="here"))
