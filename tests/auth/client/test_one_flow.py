"""One flow at a time, and who cannot wait for it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import trio

from trio_mcp import Client
from trio_mcp.auth import InMemoryTokenStorage, OAuth, WorkloadIdentityOAuthProvider
from trio_mcp.auth.client._storage import TokenStore
from trio_mcp.errors import MCPError, OAuthFlowError
from trio_mcp.transports import SignedRequest

from ._town import Person, Town, as_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.auth.client._storage import TokenStorage


@asynccontextmanager
async def connected(town: Town, auth: Any) -> AsyncGenerator[Client, None]:
    async with Client(town.transport(auth), mode="2026-07-28") as client:
        yield client


class ReadOnly(TokenStore):
    """A store that cannot write."""

    async def read(self, server_url: str) -> dict[str, Any]:
        await trio.lowlevel.checkpoint()
        return {}

    async def write(self, server_url: str, member: Any, document: Any) -> None:
        await trio.lowlevel.checkpoint()
        raise OSError("read-only")


@pytest.mark.parametrize("store", [InMemoryTokenStorage(), ReadOnly()], ids=["works", "fails"])
async def test_a_failure_is_that_of_who_was_told_late_whatever_the_store_does(
    store: TokenStorage,
) -> None:
    town = Town()
    person = Person(town)
    asked: list[str] = []

    def refuse(url: str) -> str:
        asked.append(url)
        query = parse_qs(urlsplit(url).query)
        answer = f"error=access_denied&iss={town.issuer}&state={query['state'][0]}"
        return f"{query['redirect_uri'][0]}?{answer}"

    oauth = OAuth(town.url, callback=person, storage=store)
    challenge = httpx.Headers({"www-authenticate": "Bearer"})
    async with town.http_client() as http_client:

        async def signed() -> SignedRequest:
            request = SignedRequest("POST", town.url, http_client=http_client)
            await oauth.sign(request)
            return request

        person.answer = town.log_in
        assert await oauth.answered(await signed(), {}, 401, challenge)
        town.refresh_tokens.clear()
        person.answer = refuse
        early, late = await signed(), await signed()
        with pytest.raises(OAuthFlowError, match="access_denied"):
            await oauth.answered(early, {}, 401, challenge)
        # Signing has a store that cannot write try again, which changes nothing about that.
        await signed()
        with pytest.raises(OAuthFlowError, match="access_denied"):
            await oauth.answered(late, {}, 401, challenge)
    assert len(asked) == 1


@pytest.mark.parametrize("is_other", [False, True])
async def test_who_is_asked_for_an_assertion_cannot_wait_for_the_token(is_other: bool) -> None:
    town, store = Town(), InMemoryTokenStorage()
    clients: list[Client] = []

    async def assertion(audience: str) -> str:
        if clients:
            await clients[-1].call_tool("work")
        return f"assertion for {audience}"

    async def other_assertion(audience: str) -> str:
        return f"other assertion for {audience}"

    provider = WorkloadIdentityOAuthProvider(town.url, store, assertion)
    other = WorkloadIdentityOAuthProvider(town.url, store, other_assertion)
    async with connected(town, provider) as client, connected(town, other) as another:
        await client.call_tool("work")
        await another.call_tool("work")
        clients.append(another if is_other else client)
        town.expire()
        with trio.fail_after(30), pytest.raises(MCPError, match="by what is called to get one"):
            await client.call_tool("work")
        clients.clear()
        await client.call_tool("work")


async def test_what_a_flow_has_begun_is_not_taken_for_it_later() -> None:
    town = Town()
    person = Person(town)
    oauth = OAuth(callback=person)
    begin = trio.Event()
    async with connected(town, oauth) as client, trio.open_nursery() as nursery:

        async def later() -> None:
            await begin.wait()
            await client.call_tool("work")

        async def think() -> None:
            nursery.start_soon(later)

        person.think = think
        await client.call_tool("work")
        person.think = trio.lowlevel.checkpoint
        town.expire()
        begin.set()
    assert town.story.count("token") == 2


async def test_one_provider_is_not_for_two_runs_at_the_same_time() -> None:
    town = Town()
    person = Person(town)
    oauth = OAuth(callback=person)

    async def use() -> None:
        async with connected(town, oauth) as client:
            await client.call_tool("work")

    async def think() -> None:
        with pytest.raises(RuntimeError, match=r"two trio.run\(\) at the same time"):
            # In a context of its own: nobody can tell that this one waits for it.
            await trio.to_thread.run_sync(lambda: Context().run(lambda: trio.run(use)))

    person.think = think
    await use()
    # One after the other is no trouble.
    await trio.to_thread.run_sync(trio.run, use)
    assert town.logins == 1


def slow_documents(town: Town, seconds: float) -> None:
    """Have each document come late, and those that are looked for first not at all."""
    handle = town.handle

    async def handle_late(method: str, path: str, headers: Any, content: bytes) -> Any:
        if "well-known" in path:
            await trio.sleep(seconds)
            if path.endswith("/mcp"):
                return 404, {}, b""
        return await handle(method, path, headers, content)

    town.handle = handle_late  # type: ignore[method-assign]


async def test_a_flow_comes_to_an_end_however_slow_each_answer_is(autojump_clock: Any) -> None:
    town = Town()
    slow_documents(town, 29)
    where = f'Bearer resource_metadata="{town.base}/.well-known/elsewhere"'
    town.hooks["/mcp"] = lambda seen: (401, {"www-authenticate": where}, b"")
    oauth = OAuth(callback=Person(town))
    begun = trio.current_time()
    with pytest.raises(OAuthFlowError, match=r"No token was got for .* within 90 s"):
        async with connected(town, oauth) as client:
            await client.call_tool("work", read_timeout_seconds=2)
    assert trio.current_time() - begun == 90
    # Nothing is left behind.
    del town.hooks["/mcp"]
    town.handle = Town.handle.__get__(town)  # type: ignore[method-assign]
    async with connected(town, oauth) as client:
        await client.call_tool("work")


@pytest.mark.parametrize("who", ["a person", "a function"])
async def test_what_people_take_does_not_count(autojump_clock: Any, who: str) -> None:
    town = Town()
    slow_documents(town, 20)
    provider: Any
    if who == "a person":
        person = Person(town)
        person.think = partial(trio.sleep, 250)
        provider = OAuth(callback=person)
    else:

        async def assertion(audience: str) -> str:
            await trio.sleep(250)
            return f"assertion for {audience}"

        provider = WorkloadIdentityOAuthProvider(town.url, InMemoryTokenStorage(), assertion)
    town.hooks["/.well-known/oauth-protected-resource"] = lambda seen: as_json(
        {"resource": town.url, "authorization_servers": [town.issuer]}
    )
    begun = trio.current_time()
    async with connected(town, provider) as client:
        await client.call_tool("work")
    assert trio.current_time() - begun > 250 + 2 * 20


async def test_a_registration_is_seen_through_when_its_caller_is_cancelled(
    autojump_clock: Any,
) -> None:
    town, scope = Town(), trio.CancelScope()
    handle = town.handle

    async def handle_slowly(method: str, path: str, headers: Any, content: bytes) -> Any:
        found = await handle(method, path, headers, content)
        if path == "/register":
            scope.cancel()
            await trio.sleep(1)
        return found

    town.handle = handle_slowly  # type: ignore[method-assign]
    oauth = OAuth(callback=Person(town))
    with scope:
        async with connected(town, oauth) as client:
            await client.call_tool("work")
    assert scope.cancelled_caught
    async with connected(town, oauth) as client:
        await client.call_tool("work")
    assert (town.registrations, town.logins) == (1, 1)
