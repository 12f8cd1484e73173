"""A client that gets its tokens by itself."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest
import trio

from tests.auth._resolver import Resolver
from trio_mcp import Client
from trio_mcp.auth import (
    AuthorizationCallback,
    AuthorizationCodeResult,
    InMemoryTokenStorage,
    OAuth,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthToken,
    OAuthTokenError,
    OpenCallback,
)
from trio_mcp.auth.client import _driver
from trio_mcp.auth.client._callbacks import read_redirect
from trio_mcp.errors import ConnectionLost, RequestTimeout
from trio_mcp.testing import cancel_everywhere
from trio_mcp.transports import Authorizer, SignedRequest

from ._town import Answer, Person, Seen, Town, as_json, open_town

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

REDIRECT_URI = "http://127.0.0.1:7777/callback"


@asynccontextmanager
async def connected(town: Town, auth: Any) -> AsyncGenerator[Client, None]:
    """Connect a client to a town without a network."""
    async with Client(town.transport(auth), mode="2026-07-28") as client:
        yield client


async def call(client: Client, name: str = "work") -> str:
    result = await client.call_tool(name)
    text = getattr(result.content[0], "text", None)
    assert isinstance(text, str)
    return text


def expired(town: Town) -> OAuthToken:
    """Make a token that has expired, and that its town can refresh."""
    town.refresh_tokens["refresh-0"] = 0
    return OAuthToken(
        access_token="access-0",
        refresh_token="refresh-0",
        expires_in=3600,
        extra={"expires_at": time.time() - 1, "issuer": town.issuer},
    )


async def keep(storage: InMemoryTokenStorage, town: Town, tokens: OAuthToken) -> None:
    part = storage.for_server(town.url)
    await part.set_tokens(tokens)
    await part.set_client_info(
        OAuthClientInformationFull(
            client_id="client-0", issuer=town.issuer, redirect_uris=[REDIRECT_URI]
        )
    )


# The whole way


@pytest.mark.req("R-418", "R-443", "R-444", "R-445", "R-509")
async def test_a_person_logs_in_and_the_client_goes_on() -> None:
    async with open_town() as town, Client(town.url, auth=OAuth(callback=Person(town))) as client:
        assert await call(client) == "done"
        assert await call(client) == "done"
    assert (town.logins, town.registrations, town.issued) == (1, 1, 1)
    assert town.story == [
        "mcp",
        "mcp",  # the well-known path of the metadata
        "oauth-authorization-server",
        "register",
        "token",
        "mcp",
        "mcp",
        "mcp",
    ]
    assert [each.bearer for each in town.asked("/mcp")] == [None, *["access-1"] * 3]
    assert not any("access" in each.path for each in town.seen)


async def test_the_functions_of_mcp_do_as_well() -> None:
    town = Town()
    came: list[str] = []

    async def redirect(url: str) -> None:
        came.append(town.log_in(url))

    async def callback() -> AuthorizationCodeResult:
        query = httpx.URL(came[-1]).params
        return AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query["iss"])

    storage = InMemoryTokenStorage()
    provider = OAuthClientProvider(
        town.url,
        OAuthClientMetadata(client_name="Agent", redirect_uris=[REDIRECT_URI], scope="all"),
        storage,
        redirect,
        callback,
    )
    async with connected(town, provider) as client:
        assert await call(client) == "done"
    assert httpx.URL(came[0]).path == "/callback"
    assert town.asked("/token")[0].form["resource"] == town.url
    kept = await storage.for_server(town.url).get_tokens()
    assert kept is not None
    assert (kept.access_token, kept.refresh_token) == ("access-1", "refresh-1")
    info = await storage.for_server(town.url).get_client_info()
    assert info is not None
    assert (info.client_id, info.issuer) == ("client-1", town.issuer)


async def test_a_client_of_httpx_is_signed_too() -> None:
    town = Town()
    async with town.http_client() as inner:
        provider = OAuth(town.url, callback=Person(town), http_client=inner)
        async with town.http_client() as outer:
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}
            for _ in range(2):
                response = await outer.post(town.url, json=message, auth=provider)
                assert response.json()["result"]["content"][0]["text"] == "done"
        with pytest.raises(RuntimeError, match=r"OAuth needs an httpx\.AsyncClient, run by Trio"):
            provider.sync_auth_flow(httpx.Request("GET", town.url))
    assert town.logins == 1


async def test_a_client_of_httpx_sends_no_token_that_is_gone() -> None:
    town = Town()
    sent: list[str | None] = []

    async def handle(request: httpx.Request) -> httpx.Response:
        await trio.lowlevel.checkpoint()
        sent.append(request.headers.get("authorization"))
        return httpx.Response(401)

    class Forgetful(OAuth):
        async def sign(self, request: SignedRequest) -> dict[str, str]:
            await trio.lowlevel.checkpoint()
            return {"Authorization": "Bearer x"} if request.attempts == 1 else {}

        async def answered(
            self, request: SignedRequest, sent: Any, status: int, headers: Any
        ) -> bool:
            await trio.lowlevel.checkpoint()
            return request.attempts == 1

    async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as client:
        await client.post(town.url, auth=Forgetful(town.url))
    assert sent == ["Bearer x", None]


async def test_what_is_kept_saves_the_next_login() -> None:
    town, storage = Town(), InMemoryTokenStorage()
    for _ in range(2):
        oauth = OAuth(town.url, callback=Person(town), storage=storage)
        async with connected(town, oauth) as client:
            await call(client)
    assert (town.logins, town.registrations) == (1, 1)


@pytest.mark.req("R-449", "R-450")
async def test_a_token_goes_to_the_origin_of_its_server_alone() -> None:
    town = Town()
    oauth = OAuth(town.url, callback=Person(town))
    async with connected(town, oauth) as client:
        await call(client)
    elsewhere = SignedRequest("POST", "https://elsewhere.example/mcp")
    assert await oauth.sign(elsewhere) == {}
    assert not await oauth.answered(elsewhere, {}, 200, httpx.Headers())
    assert not await oauth.answered(elsewhere, {}, 403, httpx.Headers())
    with pytest.raises(OAuthFlowError, match="each server needs one of its own"):
        await oauth.answered(elsewhere, {}, 401, httpx.Headers())


async def test_without_somebody_to_ask_the_error_says_what_is_missing() -> None:
    town = Town()
    metadata = OAuthClientMetadata(redirect_uris=[REDIRECT_URI])
    provider = OAuthClientProvider(town.url, metadata, InMemoryTokenStorage())
    with pytest.raises(OAuthFlowError, match="redirect_handler and callback_handler are missing"):
        async with connected(town, provider) as client:
            await call(client)


# Refreshing


@pytest.mark.case("C055")
@pytest.mark.req("R-442", "R-454", "R-499")
@pytest.mark.parametrize("how", ["by its time", "by the server's answer"])
async def test_many_calls_with_an_expired_token_refresh_it_once(how: str) -> None:
    town, storage = Town(), InMemoryTokenStorage()
    oauth = OAuth(town.url, callback=Person(town), storage=storage)
    if how == "by its time":
        await keep(storage, town, expired(town))
    async with connected(town, oauth) as client:
        if how == "by its time":
            # A fresh process learns of the server from its challenge.
            assert await call(client) == "done"
            assert [each.form["grant_type"] for each in town.asked("/token")] == ["refresh_token"]
            kept = oauth._driver
            assert kept is not None
            kept.memory.expires_at = 0
        else:
            assert await call(client) == "done"
            town.expire()
        before = len(town.asked("/token"))
        results: list[str] = []

        async def one() -> None:
            results.append(await call(client))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(one)
    assert results == ["done"] * 20
    assert len(town.asked("/token")) == before + 1
    assert not town.punished
    kept_tokens = await storage.for_server(town.url).get_tokens()
    assert kept_tokens is not None
    assert kept_tokens.refresh_token == f"refresh-{town.issued}"


@pytest.mark.case("C055")
async def test_what_another_process_has_refreshed_is_used() -> None:
    town, storage = Town(), InMemoryTokenStorage()
    one, other = (OAuth(town.url, callback=Person(town), storage=storage) for _ in range(2))
    async with connected(town, one) as client, connected(town, other) as another:
        await call(client)
        await call(another)
        town.expire()
        await call(client)
        await call(another)
    assert town.logins == 1
    kinds = [each.form["grant_type"] for each in town.asked("/token")]
    assert kinds == ["authorization_code", "refresh_token"]
    assert not town.punished


@pytest.mark.case("C055")
@pytest.mark.req("R-454")
async def test_the_old_refresh_token_stays_where_none_is_sent() -> None:
    town, storage = Town(), InMemoryTokenStorage()

    def without(seen: Seen) -> Answer | None:
        if seen.form["grant_type"] != "refresh_token":
            return None
        assert seen.form["refresh_token"] == "refresh-1"
        town.issued += 1
        town.scopes[f"access-{town.issued}"] = ""
        return as_json({"access_token": f"access-{town.issued}", "token_type": "bearer"})

    town.hooks["/token"] = without
    async with connected(town, OAuth(callback=Person(town), storage=storage)) as client:
        for _ in range(3):
            await call(client)
            town.expire()
    kept = await storage.for_server(town.url).get_tokens()
    assert kept is not None
    assert kept.refresh_token == "refresh-1"
    assert town.logins == 1


@pytest.mark.req("R-442")
@pytest.mark.parametrize("trouble", ["status", "network", "html"])
async def test_tokens_stay_where_a_refresh_fails_for_now(trouble: str) -> None:
    town, storage = Town(), InMemoryTokenStorage()
    oauth = OAuth(callback=Person(town), storage=storage)

    def fail(seen: Seen) -> Answer | None:
        if trouble == "network":
            raise httpx.ConnectError("the line is cut")
        return (503, {}, b"") if trouble == "status" else (200, {}, b"<html>")

    async with connected(town, oauth) as client:
        await call(client)
        town.expire()
        town.hooks["/token"] = fail
        error = ConnectionLost if trouble == "network" else OAuthTokenError
        with pytest.raises(error):
            await call(client)
        kept = await storage.for_server(town.url).get_tokens()
        assert kept is not None
        assert kept.refresh_token == "refresh-1"
        town.hooks.clear()
        assert await call(client) == "done"
    assert town.logins == 1


async def test_a_refresh_token_that_is_refused_leads_to_a_login() -> None:
    town = Town()
    async with connected(town, OAuth(callback=Person(town))) as client:
        await call(client)
        town.expire()
        town.refresh_tokens.clear()
        assert await call(client) == "done"
    assert town.logins == 2


# Many at once


async def test_many_calls_without_a_token_cause_one_login() -> None:
    town = Town()
    person = Person(town)
    async with connected(town, OAuth(callback=person)) as client, trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(call, client)
    assert (len(person.asked), town.logins, town.registrations) == (1, 1, 1)


async def test_a_login_that_fails_is_the_failure_of_all_who_waited() -> None:
    town = Town()
    person = Person(town)
    person.answer = lambda url: (
        f"{REDIRECT_URI}?"
        + str(httpx.QueryParams(error="access_denied", state=state_of(url), iss=town.issuer))
    )
    errors: list[str] = []

    async def one(client: Client) -> None:
        with pytest.raises(OAuthFlowError) as caught:
            await call(client)
        errors.append(str(caught.value))

    async with connected(town, OAuth(callback=person)) as client:
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(one, client)
        assert len(person.asked) == 1
        assert len(set(errors)) == 1
        assert "access_denied" in errors[0]
        # Who calls later tries again.
        person.answer = town.log_in
        assert await call(client) == "done"
    assert len(person.asked) == 2


async def test_a_failure_is_also_that_of_who_was_told_late() -> None:
    town = Town()
    person = Person(town)
    oauth = OAuth(town.url, callback=person)
    challenge = httpx.Headers({"www-authenticate": "Bearer"})

    def deny(url: str) -> str:
        query = httpx.QueryParams(error="access_denied", state=state_of(url), iss=town.issuer)
        return f"{REDIRECT_URI}?{query}"

    async def ask(request: SignedRequest) -> bool:
        return await oauth.answered(request, {}, 401, challenge)

    person.answer = deny
    async with town.http_client() as client:

        async def signed() -> SignedRequest:
            request = SignedRequest("POST", town.url, http_client=client)
            await oauth.sign(request)
            return request

        early, late = await signed(), await signed()
        for request in (early, late):
            with pytest.raises(OAuthFlowError, match="access_denied"):
                await ask(request)
        assert len(person.asked) == 1
        person.answer = town.log_in
        assert await ask(await signed())
        # What failed before is over, for those who are told even later, too.
        assert await ask(late)
    assert len(person.asked) == 2


def state_of(url: str) -> str:
    return str(httpx.URL(url).params["state"])


async def test_when_the_one_who_logs_in_is_cancelled_another_takes_over() -> None:
    town = Town()
    person = Person(town)
    first = trio.CancelScope()

    async def give_up(client: Client) -> None:
        with first:
            await call(client)

    async def take_over(client: Client) -> None:
        done.append(await call(client))

    person.think = trio.sleep_forever
    done: list[str] = []
    async with connected(town, OAuth(callback=person)) as client, trio.open_nursery() as nursery:
        nursery.start_soon(give_up, client)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            nursery.start_soon(take_over, client)
        await trio.testing.wait_all_tasks_blocked()
        person.think = trio.lowlevel.checkpoint
        first.cancel()
    assert first.cancelled_caught
    assert done == ["done"] * 3
    assert (len(person.asked), town.logins) == (2, 1)


# Cancellation


class Subject:
    """A client that has to log in, or to refresh, with what it is connected to."""

    def __init__(self, begin: str) -> None:
        self.begin = begin
        self.towns: list[Town] = []

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Client, None]:
        town, storage = Town(), InMemoryTokenStorage()
        self.towns.append(town)
        async with connected(town, OAuth(callback=Person(town), storage=storage)) as client:
            if self.begin == "refresh":
                await call(client)
                town.expire()
            yield client


@pytest.mark.limit(120)
@pytest.mark.parametrize("begin", ["login", "refresh"])
async def test_a_flow_that_is_cancelled_anywhere_leaves_the_next_call_alone(begin: str) -> None:
    subject = Subject(begin)

    async def once(client: Client) -> None:
        assert await call(client) == "done"

    checkpoints = await cancel_everywhere(subject.open, once)
    assert checkpoints >= (10 if begin == "login" else 5)
    assert not any(town.punished for town in subject.towns)
    if begin == "refresh":
        # What was refreshed is never lost: nobody has to log in twice.
        assert {town.logins for town in subject.towns} == {1}


@pytest.mark.limit(120)
async def test_connecting_over_a_socket_may_be_cancelled_anywhere() -> None:
    @asynccontextmanager
    async def open_subject() -> AsyncGenerator[tuple[Town, OAuth], None]:
        async with open_town() as town:
            yield town, OAuth(callback=Person(town))

    async def connect_and_call(subject: tuple[Town, OAuth]) -> None:
        town, oauth = subject
        async with Client(town.url, auth=oauth) as client:
            assert await call(client) == "done"
        assert not town.punished

    assert await cancel_everywhere(open_subject, connect_and_call) >= 30


async def test_a_refresh_is_seen_through_when_its_caller_is_cancelled() -> None:
    town, storage = Town(), InMemoryTokenStorage()
    scope = trio.CancelScope()

    def cancel(seen: Seen) -> Answer | None:
        if seen.form["grant_type"] == "refresh_token":
            scope.cancel()
        return None

    async with connected(town, OAuth(callback=Person(town), storage=storage)) as client:
        await call(client)
        town.expire()
        town.hooks["/token"] = cancel
        with scope:
            await call(client)
        assert scope.cancelled_caught
        kept = await storage.for_server(town.url).get_tokens()
        assert kept is not None
        assert kept.refresh_token == "refresh-2"
        assert await call(client) == "done"
    assert town.logins == 1


async def test_a_token_endpoint_that_is_silent_is_left_in_the_end(autojump_clock: Any) -> None:
    class Silent(Town):
        async def handle(self, method: str, path: str, headers: Any, content: bytes) -> Answer:
            if path == "/token":
                await trio.sleep_forever()
            return await super().handle(method, path, headers, content)

    town = Silent()
    async with connected(town, OAuth(callback=Person(town))) as client:
        began = trio.current_time()
        with trio.move_on_after(1) as scope:
            await call(client)
        assert scope.cancelled_caught
        assert trio.current_time() - began == 1 + _driver.TOKEN_SECONDS


# What the application says that a person has brought


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        (None, "got NoneType"),
        (("SECRET", "state"), "got tuple"),
        ({"code": "SECRET"}, "got dict"),
        ("SECRET", "got str"),
        (AuthorizationCodeResult(code=cast("Any", None)), "got a code that is|state"),
        (AuthorizationCodeResult(code=cast("Any", b"SECRET")), "got a code that is bytes"),
        (AuthorizationCodeResult(code="SECRET", state=cast("Any", 5)), "got a state that is int"),
        (AuthorizationCodeResult(code="SECRET\udc80", state="s"), "got a code that is no text"),
    ],
)
async def test_callback_handler_that_returns_something_else_is_told(
    returned: Any, error: str
) -> None:
    async def redirect(url: str) -> None:
        pass

    async def wait() -> Any:
        return returned

    town = Town()
    provider = OAuthClientProvider(
        town.url,
        OAuthClientMetadata(redirect_uris=[REDIRECT_URI]),
        InMemoryTokenStorage(),
        redirect,
        wait,
    )
    async with connected(town, provider) as client:
        with pytest.raises((TypeError, OAuthFlowError), match=error) as caught:
            await call(client)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("which", ["redirect_handler", "callback_handler"])
async def test_handler_that_is_no_coroutine_is_told(which: str) -> None:
    async def redirect(url: str) -> None:
        pass

    handlers: dict[str, Any] = {"redirect_handler": redirect, "callback_handler": redirect}
    handlers[which] = print
    town = Town()
    metadata = OAuthClientMetadata(redirect_uris=[REDIRECT_URI])
    provider = OAuthClientProvider(town.url, metadata, InMemoryTokenStorage(), **handlers)
    async with connected(town, provider) as client:
        with pytest.raises(TypeError, match=f"{which}: expected an async function"):
            await call(client)


async def test_callback_of_the_application_that_answers_nothing_is_told() -> None:
    class Nothing(OpenCallback):
        redirect_uri = REDIRECT_URI

        async def ask(self, url: str, state: str) -> Any:
            return None

    class Forgetful(AuthorizationCallback):
        @asynccontextmanager
        async def open(self, redirect_uris: list[str]) -> AsyncGenerator[OpenCallback, None]:
            yield Nothing()

    async with connected(Town(), OAuth(callback=Forgetful())) as client:
        with pytest.raises(TypeError, match=r"Nothing\.ask: expected an AuthorizationCodeResult"):
            await call(client)


# Stores


class Broken:
    """A store that fails where it is told to."""

    def __init__(self, *failing: str) -> None:
        self.inner = InMemoryTokenStorage()
        self.failing = set(failing)

    async def get_tokens(self) -> OAuthToken | None:
        self._fail("get_tokens")
        return await self.inner.get_tokens()

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._fail("set_tokens")
        await self.inner.set_tokens(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        self._fail("get_client_info")
        return await self.inner.get_client_info()

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._fail("set_client_info")
        await self.inner.set_client_info(client_info)

    def _fail(self, name: str) -> None:
        if name in self.failing:
            raise OSError(f"{name}: the disk is gone")


async def test_a_store_that_cannot_be_read_is_taken_for_empty(
    caplog: pytest.LogCaptureFixture,
) -> None:
    town = Town()
    oauth = OAuth(callback=Person(town), storage=Broken("get_tokens"))
    async with connected(town, oauth) as client:
        assert await call(client) == "done"
    assert "The store of tokens could not be read" in caplog.text


@pytest.mark.parametrize("failing", ["set_tokens", "set_client_info"])
async def test_what_cannot_be_kept_is_used_all_the_same(
    failing: str, caplog: pytest.LogCaptureFixture
) -> None:
    town, storage = Town(), Broken(failing)
    async with connected(town, OAuth(callback=Person(town), storage=storage)) as client:
        assert await call(client) == "done"
        assert "Tokens are not kept: the store failed" in caplog.text
        assert "access-1" not in caplog.text
        # As soon as that works again, it is written.
        storage.failing.clear()
        assert await call(client) == "done"
    assert (town.logins, town.registrations) == (1, 1)
    kept = await storage.inner.get_tokens()
    info = await storage.inner.get_client_info()
    assert kept is not None
    assert info is not None
    assert (kept.access_token, info.client_id) == ("access-1", "client-1")


async def test_a_store_that_hangs_is_not_waited_for(
    autojump_clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Hanging(Broken):
        async def set_tokens(self, tokens: OAuthToken) -> None:
            await trio.sleep_forever()

    town = Town()
    async with connected(town, OAuth(callback=Person(town), storage=Hanging())) as client:
        assert await call(client) == "done"
    assert "the store took more than 5 s" in caplog.text


@pytest.mark.parametrize("hanging", ["get_tokens", "get_client_info"])
async def test_a_store_that_is_not_read_is_not_waited_for(
    autojump_clock: Any, hanging: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Hanging(Broken):
        pass

    async def hang(store: Broken) -> Any:
        await trio.sleep_forever()

    setattr(Hanging, hanging, hang)
    town = Town()
    began = trio.current_time()
    async with connected(town, OAuth(callback=Person(town), storage=Hanging())) as client:
        assert await call(client) == "done"
    assert "The store of tokens was not read within 5 s" in caplog.text
    assert trio.current_time() - began < 60


async def test_tokens_are_used_though_the_registration_cannot_be_read(autojump_clock: Any) -> None:
    town, storage = Town(), Broken("get_client_info")
    town.scopes["access-0"] = ""
    await storage.set_tokens(OAuthToken(access_token="access-0"))
    async with connected(town, OAuth(callback=Person(town), storage=storage)) as client:
        assert await call(client) == "done"
    assert town.logins == 0


@pytest.mark.parametrize(
    "given",
    [
        {"get_tokens": {"access_token": "SECRET-1"}},
        {"get_tokens": "SECRET-1"},
        {"get_tokens": OAuthToken(access_token=cast("Any", ["SECRET-1"]))},
        {"get_tokens": OAuthToken(access_token="SECRET-1", refresh_token="\udc80")},
        {"get_tokens": OAuthToken(access_token="SECRET-1", expires_in=cast("Any", "x"))},
        {"get_tokens": OAuthToken(access_token="SECRET-tök")},
        {"get_tokens": OAuthToken(access_token="SECRET-1\n")},
        {"get_client_info": {"client_id": "c"}},
        {"get_client_info": OAuthToken(access_token="SECRET-1")},
        {"get_client_info": OAuthClientInformationFull(client_id=cast("Any", 5))},
    ],
)
async def test_what_a_store_should_not_have_given_costs_no_call(
    given: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    class Junk(Broken):
        async def get_tokens(self) -> Any:
            return given.get("get_tokens")

        async def get_client_info(self) -> Any:
            return given.get("get_client_info")

    town = Town()
    async with connected(town, OAuth(callback=Person(town), storage=Junk())) as client:
        assert await call(client) == "done"
    assert town.logins == 1
    assert "SECRET" not in caplog.text


async def test_a_store_whose_methods_are_plain_functions_costs_no_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*args: Any) -> Any:
        raise OSError("the disk is gone")

    class Plain:
        get_tokens = set_tokens = get_client_info = set_client_info = fail

    town = Town()
    storage: Any = Plain()
    async with connected(town, OAuth(callback=Person(town), storage=storage)) as client:
        assert await call(client) == "done"
    assert "Tokens are not kept: the store failed" in caplog.text


@pytest.mark.parametrize(
    ("signed", "error"),
    [
        ({"Authorization": "Bearer SECRET-tök"}, "Own.sign: expected printable ASCII for 'Auth"),
        ({"X": "SECRET\n"}, "Own.sign: expected printable ASCII for 'X'"),
        ({"X": b"SECRET"}, "Own.sign: expected a dict of strings, got one with bytes"),
        ("Bearer SECRET", "Own.sign: expected a dict of strings, got str"),
        (None, "Own.sign: expected a dict of strings, got NoneType"),
    ],
)
async def test_headers_that_cannot_be_sent_are_told_without_what_they_hold(
    signed: Any, error: str
) -> None:
    class Own(Authorizer):
        async def sign(self, request: SignedRequest) -> Any:
            return signed

        async def answered(
            self, request: SignedRequest, sent: Any, status: int, headers: Any
        ) -> bool:
            raise AssertionError

    async with connected(Town(), Own()) as client:
        with pytest.raises((TypeError, ValueError), match=error) as caught:
            await call(client)
    assert "SECRET" not in repr(caught.value)


# Time


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_person_may_take_their_time(autojump_clock: Any, mode: str) -> None:
    town = Town()
    person = Person(town)
    person.think = partial(trio.sleep, 250)
    oauth = OAuth(callback=person)
    began = trio.current_time()
    if mode == "legacy":
        town.hooks["/mcp"] = partial(older, town)
    # Ten seconds of silence would pass for an older server, and five for none at all.
    transport = town.transport(oauth)
    async with Client(transport, mode=mode, read_timeout_seconds=5) as client:
        assert trio.current_time() - began == 250
        assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
        if mode == "auto":
            assert await call(client) == "done"
    methods = [json.loads(each.content)["method"] for each in town.asked("/mcp") if each.content]
    first = "server/discover" if mode == "auto" else "initialize"
    assert methods[:2] == [first, first]
    assert len(person.asked) == 1


def older(town: Town, seen: Seen) -> Answer | None:
    """Answer as a server of the older era does."""
    if seen.method != "POST" or town.scopes.get(seen.bearer or "") is None:
        return None if seen.method == "POST" else (405, {}, b"")
    message = json.loads(seen.content)
    if message["method"] != "initialize":
        return 202, {}, b""
    result = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "town", "version": "1"},
    }
    return as_json({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def test_a_time_for_all_of_a_call_goes_on(autojump_clock: Any) -> None:
    town = Town()
    person = Person(town)
    person.think = partial(trio.sleep, 250)
    async with connected(town, OAuth(callback=person)) as client:
        began = trio.current_time()
        with pytest.raises(RequestTimeout, match="no answer within 30 s in all"):
            await client.call_tool("work", max_total_timeout=30)
        assert trio.current_time() - began == 30


# More scopes


@pytest.mark.case("C054")
@pytest.mark.req("R-425", "R-461", "R-462", "R-463")
async def test_a_tool_that_needs_more_is_called_once_that_was_granted() -> None:
    town = Town()
    town.needed = {"write": "files:write"}
    person = Person(town)
    oauth = OAuth(callback=person, scopes=["files:read"])
    async with connected(town, oauth) as client:
        assert await call(client) == "done"
        assert await call(client, "write") == "done"
        assert await call(client) == "done"
    asked = [httpx.URL(each).params["scope"] for each in person.asked]
    assert asked == ["files:read", "files:read files:write"]


@pytest.mark.req("R-464")
async def test_a_server_that_always_wants_more_is_given_up() -> None:
    town = Town()

    def want(seen: Seen) -> Answer | None:
        if seen.bearer is None:
            return None
        return 403, {"www-authenticate": 'Bearer error="insufficient_scope", scope="more"'}, b""

    town.hooks["/mcp"] = want
    person = Person(town)
    async with connected(town, OAuth(callback=person)) as client:
        for _ in range(3):
            with pytest.raises(OAuthFlowError, match="which did not suffice although"):
                await call(client)
    assert 1 <= len(person.asked) <= 3


async def test_more_scopes_may_be_needed_by_what_is_no_call() -> None:
    town = Town()

    def want(seen: Seen) -> Answer | None:
        if seen.bearer is None:
            return None
        if "more" not in town.scopes.get(seen.bearer, ""):
            challenge = 'Bearer error="insufficient_scope", scope="more"'
            return 403, {"www-authenticate": challenge}, b""
        return 200, {}, b"page"

    town.hooks["/mcp"] = want
    async with town.http_client() as client:
        oauth = OAuth(town.url, callback=Person(town), http_client=client)
        for content in (b"", b"text", b"[]"):
            response = await client.post(town.url, content=content, auth=oauth)
            assert response.text == "page"
    assert town.logins == 2


async def test_a_refusal_that_is_not_about_scopes_is_the_answer() -> None:
    town = Town()
    town.hooks["/mcp"] = lambda seen: None if seen.bearer is None else (403, {}, b"not for you")
    person = Person(town)
    async with connected(town, OAuth(callback=person)) as client:
        with pytest.raises(ConnectionLost, match="status 403 'not for you'"):
            await call(client)
    assert len(person.asked) == 1


# What a server must not do


@pytest.mark.req("R-521")
@pytest.mark.parametrize(
    "where", ["https://10.0.0.1", "https://169.254.169.254", "http://localhost"]
)
async def test_a_remote_server_names_no_private_address(where: str) -> None:
    town = Town("https://93.184.216.34")
    town.hooks["/.well-known/oauth-protected-resource/mcp"] = lambda seen: as_json(
        {"resource": town.url, "authorization_servers": [where]}
    )
    async with connected(town, OAuth(callback=Person(town))) as client:
        with pytest.raises(OAuthFlowError, match="the host"):
            await call(client)
    assert town.story == ["mcp", "mcp"]


@pytest.mark.parametrize("base", ["https://10.1.2.3", "https://town.example"])
async def test_a_server_in_a_private_network_names_its_neighbours(base: str) -> None:
    # It is known by its address, or by that of its name.
    trio.socket.set_custom_hostname_resolver(Resolver({"town.example": ["192.168.7.7"]}))
    town = Town(base)
    town.issuer = "https://10.0.0.1"
    async with connected(town, OAuth(callback=Person(town))) as client:
        assert await call(client) == "done"


async def test_a_private_address_beside_a_public_one_makes_no_server_private() -> None:
    resolver = Resolver({"town.example": ["93.184.216.34", "192.168.7.7"]})
    trio.socket.set_custom_hostname_resolver(resolver)
    town = Town()
    town.issuer = "https://10.0.0.1"
    async with connected(town, OAuth(callback=Person(town))) as client:
        with pytest.raises(OAuthFlowError, match="which is private"):
            await call(client)
        # What its owner says of a name counts for as long as it is said.
        resolver.names["town.example"] = ["192.168.7.7"]
        assert await call(client) == "done"
        town.expire()
        town.refresh_tokens.clear()
        resolver.names["town.example"] = ["93.184.216.34"]
        with pytest.raises(OAuthFlowError, match="which is private"):
            await call(client)


async def test_a_server_whose_name_is_not_known_here_is_taken_for_a_public_one() -> None:
    trio.socket.set_custom_hostname_resolver(Resolver({}))
    town = Town()
    town.issuer = "https://10.0.0.1"
    async with connected(town, OAuth(callback=Person(town))) as client:
        with pytest.raises(OAuthFlowError, match="which is private"):
            await call(client)


async def test_private_addresses_may_be_allowed_but_for_those_of_clouds() -> None:
    town = Town()
    servers = ["https://10.0.0.1"]
    town.hooks["/.well-known/oauth-protected-resource/mcp"] = lambda seen: as_json(
        {"resource": town.url, "authorization_servers": servers}
    )
    town.issuer = "https://10.0.0.1"
    oauth = OAuth(callback=Person(town), allow_private_addresses=True)
    async with connected(town, oauth) as client:
        assert await call(client) == "done"
        town.expire()
        servers[0] = "https://169.254.169.254"
        with pytest.raises(OAuthFlowError, match=r"169\.254\.169\.254"):
            await call(client)


async def test_a_server_of_this_machine_names_an_authorization_server_there() -> None:
    town = Town("http://127.0.0.1:5001")
    async with connected(town, OAuth(callback=Person(town))) as client:
        assert await call(client) == "done"
    refusing = OAuth(callback=Person(town), allow_private_addresses=False)
    async with connected(town, refusing) as client:
        assert await call(client) == "done"  # its own origin is no other place


@pytest.mark.req("R-500")
@pytest.mark.parametrize("is_secure", [True, False])
async def test_what_a_server_without_tls_publishes_is_read_and_its_secrets_are_not_sent(
    is_secure: bool,
) -> None:
    trio.socket.set_custom_hostname_resolver(Resolver({}))
    town = Town("http://town.example")
    town.issuer = "https://auth.example" if is_secure else town.base
    town.metadata = {
        "token_endpoint": f"{town.issuer}/token",
        "registration_endpoint": f"{town.issuer}/register",
    }
    person = Person(town)
    town.metadata["authorization_endpoint"] = f"{town.issuer}/authorize"
    person.answer = lambda url: town.log_in(url.replace(town.issuer, town.base))
    async with connected(town, OAuth(callback=person)) as client:
        if is_secure:
            assert await call(client) == "done"
        else:
            with pytest.raises(OAuthFlowError, match="https"):
                await call(client)
    assert len(town.asked("/.well-known/oauth-protected-resource/mcp")) == 1
    assert len(town.asked("/token")) == is_secure


async def test_the_application_may_judge_what_a_server_calls_itself() -> None:
    town = Town()
    judged: list[tuple[str, str | None]] = []

    async def judge(server_url: str, resource: str | None) -> None:
        await trio.lowlevel.checkpoint()
        judged.append((server_url, resource))
        if len(judged) == 1:
            raise ValueError("not that one")

    async def nobody(url: str) -> None:
        raise AssertionError(url)

    metadata = OAuthClientMetadata(redirect_uris=[REDIRECT_URI])
    provider = OAuthClientProvider(
        town.url, metadata, InMemoryTokenStorage(), nobody, validate_resource_url=judge
    )
    async with connected(town, provider) as client:
        with pytest.raises(ValueError, match="not that one"):
            await call(client)
        with pytest.raises(OAuthFlowError, match="callback_handler"):
            await call(client)
    assert judged == [(town.url, town.url)] * 2


async def test_what_is_sent_on_leaving_asks_nobody() -> None:
    town = Town()
    person = Person(town)
    oauth = OAuth(town.url, callback=person)
    leaving = SignedRequest("DELETE", town.url, may_ask=False)
    async with town.http_client() as client:
        leaving.http_client = client
        assert await oauth.sign(leaving) == {}
        assert not await oauth.answered(leaving, {}, 401, httpx.Headers())
    assert person.asked == []


# Registration


@pytest.mark.req("R-453", "R-488", "R-489", "R-507")
async def test_what_is_registered_is_where_people_come_back_to() -> None:
    town = Town()
    async with connected(town, OAuth(callback=Person(town), client_name="Agent")) as client:
        await call(client)
    (request,) = town.asked("/register")
    registered = json.loads(request.content)
    assert registered["redirect_uris"] == [REDIRECT_URI]
    assert registered["application_type"] == "native"
    assert registered["client_name"] == "Agent"
    assert "refresh_token" in registered["grant_types"]


async def test_a_client_is_registered_anew_where_people_come_back_elsewhere() -> None:
    town, storage = Town(), InMemoryTokenStorage()
    for port in (7001, 7002, 7002):
        person = Person(town, f"http://127.0.0.1:{port}/callback")
        async with connected(town, OAuth(town.url, callback=person, storage=storage)) as client:
            town.expire()
            town.refresh_tokens.clear()
            await call(client)
    assert (town.registrations, town.logins) == (2, 3)


@pytest.mark.req("R-490", "R-491")
async def test_a_registration_that_is_refused_is_told() -> None:
    town = Town()
    town.hooks["/register"] = lambda seen: as_json(
        {"error": "invalid_client_metadata", "error_description": "no robots"}, 400
    )
    async with connected(town, OAuth(callback=Person(town))) as client:
        with pytest.raises(OAuthRegistrationError, match=r"invalid_client_metadata \(no robots\)"):
            await call(client)


@pytest.mark.req("R-479", "R-487")
async def test_a_client_that_is_known_does_not_register() -> None:
    town = Town()
    oauth = OAuth(callback=Person(town), client_id="mine", client_secret="secret")
    async with connected(town, oauth) as client:
        await call(client)
    assert town.registrations == 0
    assert town.asked("/token")[0].headers["authorization"].startswith("Basic ")


@pytest.mark.req("R-479", "R-487")
async def test_a_client_that_is_in_the_store_does_not_register() -> None:
    town, storage = Town(), InMemoryTokenStorage()
    await storage.set_client_info(OAuthClientInformationFull(client_id="mine"))
    async with connected(town, OAuth(callback=Person(town), storage=storage)) as client:
        await call(client)
    assert town.registrations == 0
    assert town.asked("/token")[0].form["client_id"] == "mine"


# Arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"server_url": 1}, "server_url: expected str"),
        ({"server_url": "example.com"}, "url: expected http"),
        ({"scopes": "read"}, "scopes: expected a list of scopes"),
        ({"client_name": None}, "client_name: expected str"),
        ({"storage": "tokens.json"}, "storage: expected a TokenStorage"),
        ({"callback": print}, "callback: expected"),
        ({"client_secret": "s"}, "client_secret: it is that of a client_id"),
        ({"client_id": 1}, "client_id: expected str"),
        ({"issuer": 1}, "issuer: expected str"),
        ({"client_metadata": {}}, "client_metadata: expected"),
        ({"client_metadata_url": "http://example.com/x"}, "client_metadata_url: expected https"),
        ({"dpop": "yes"}, "dpop: expected"),
        ({"allow_private_addresses": 1}, "allow_private_addresses: expected"),
        ({"choose_issuer": 1}, "choose_issuer: expected"),
        ({"allow_unlisted_pkce": 1}, "allow_unlisted_pkce: expected"),
    ],
)
def test_wrong_options_are_told_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        OAuth(**options)


def test_it_shows_no_secret() -> None:
    url = "https://me:secret@example.com/mcp?key=secret"
    oauth = OAuth(url, client_id="me", client_secret="secret")
    assert repr(oauth) == "<OAuth for https://example.com/mcp>"
    assert repr(OAuth()) == "<OAuth for the first server that it is used with>"


@pytest.mark.parametrize(
    ("query", "is_ours"),
    [
        ("code=c&state=s", True),
        ("code=c&state=other", False),
        ("code=c", False),
        ("state=s", False),
        ("code=&state=s", False),
        ("code=c&code=d&state=s", False),
        ("error=access_denied&state=s", True),
        ("error=access_denied&state=t", False),
        ("code=%ff&state=s", False),
        ("x=1&" * 60 + "code=c&state=s", False),
    ],
)
def test_a_redirect_is_ours_by_its_state(query: str, is_ours: bool) -> None:
    assert (read_redirect(query, "s") is not None) is is_ours
