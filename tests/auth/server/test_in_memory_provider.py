"""The authorization server in memory: what is good once, what ends together, what is bounded."""

from __future__ import annotations

from functools import partial

import pytest
import trio
import trio.testing

from tests.auth.server._authorization_server import (
    BASIC,
    ISSUER,
    PASSWORD,
    PUBLIC,
    REDIRECT,
    RESOURCE,
    Clock,
    answer_in,
    authorization_server,
    error_of,
)
from trio_mcp.auth import (
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    OAuthClientInformationFull,
    ProviderTokenVerifier,
    TokenError,
)
from trio_mcp.auth.server import _grants

OTHER = PUBLIC.evolve(client_id="other")


def provider(**options):
    return InMemoryOAuthProvider(
        **{"auto_approve": "alice", "clients": [PUBLIC, BASIC, OTHER], **options}
    )


@pytest.mark.req("R-496")
async def test_code_that_comes_again_revokes_what_was_issued_for_it():
    async with authorization_server() as server:
        code = await server.code()
        tokens = (await server.redeem(code)).json()
        assert await server.is_good(tokens["access_token"])
        assert error_of(await server.redeem(code)) == "invalid_grant"
        assert not await server.is_good(tokens["access_token"])
        assert error_of(await server.refresh(tokens["refresh_token"])) == "invalid_grant"


async def test_code_that_comes_again_after_a_refresh_revokes_that_too():
    async with authorization_server() as server:
        code = await server.code()
        tokens = (await server.redeem(code)).json()
        fresh = (await server.refresh(tokens["refresh_token"])).json()
        await server.redeem(code)
        assert not await server.is_good(fresh["access_token"])


@pytest.mark.req("R-499", "R-496")
async def test_refresh_token_that_comes_again_ends_the_login():
    async with authorization_server() as server:
        first = await server.log_in()
        second = (await server.refresh(first["refresh_token"])).json()
        third = (await server.refresh(second["refresh_token"])).json()
        assert error_of(await server.refresh(first["refresh_token"])) == "invalid_grant"
        assert error_of(await server.refresh(third["refresh_token"])) == "invalid_grant"
        assert not await server.is_good(third["access_token"])


async def test_one_login_that_ends_leaves_the_others():
    async with authorization_server() as server:
        first, second = await server.log_in(), await server.log_in()
        await server.refresh(first["refresh_token"])
        await server.refresh(first["refresh_token"])
        assert (await server.refresh(second["refresh_token"])).status_code == 200


@pytest.mark.parametrize("times", [2, 5])
async def test_of_those_who_come_with_a_code_at_the_same_time_one_gets_it(times):
    async with authorization_server() as server:
        code = await server.code()
        answers = []

        async def redeem():
            answers.append(await server.redeem(code))

        async with trio.open_nursery() as nursery:
            for _ in range(times):
                nursery.start_soon(redeem)
        good = [each for each in answers if each.status_code == 200]
        assert len(good) == 1
        assert not await server.is_good(good[0].json()["access_token"])


async def test_exchange_itself_checks_again_that_nothing_was_used_meanwhile():
    made = provider()
    async with authorization_server(made) as server:
        code = await made.load_authorization_code(PUBLIC, await server.code())
        tokens = await made.exchange_authorization_code(PUBLIC, code)
        with pytest.raises(TokenError):
            await made.exchange_authorization_code(PUBLIC, code)
        tokens = await server.log_in()
        refresh = await made.load_refresh_token(PUBLIC, tokens["refresh_token"])
        await made.exchange_refresh_token(PUBLIC, refresh, ["read"])
        with pytest.raises(TokenError):
            await made.exchange_refresh_token(PUBLIC, refresh, ["read"])


async def test_other_clients_can_neither_use_nor_end_a_login():
    made = provider()
    async with authorization_server(made) as server:
        code = await server.code()
        assert await made.load_authorization_code(OTHER, code) is None
        tokens = (await server.redeem(code)).json()
        assert await made.load_refresh_token(OTHER, tokens["refresh_token"]) is None
        assert (await server.refresh(tokens["refresh_token"])).status_code == 200


async def test_one_kind_of_secret_is_not_taken_for_another():
    made = provider()
    async with authorization_server(made) as server:
        code = await server.code()
        assert await made.load_access_token(code) is None
        tokens = (await server.redeem(code)).json()
        assert await made.load_access_token(tokens["refresh_token"]) is None
        assert await made.load_refresh_token(PUBLIC, tokens["access_token"]) is None
        assert await made.load_authorization_code(PUBLIC, tokens["refresh_token"]) is None
        assert await server.is_good(tokens["access_token"])


@pytest.mark.req("R-498")
async def test_everything_expires(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.time", clock)
    made = provider(
        code_lifetime=60, access_token_lifetime=600, refresh_token_lifetime=5000, now=clock
    )
    async with authorization_server(made) as server:
        code = await server.code()
        late = await server.code()
        clock.now += 59
        tokens = (await server.redeem(code)).json()
        clock.now += 1
        assert error_of(await server.redeem(late)) == "invalid_grant"
        found = await made.load_access_token(tokens["access_token"])
        assert found.expires_at == clock.now - 1 + 600
        clock.now += 598
        assert await server.is_good(tokens["access_token"])
        clock.now += 1
        assert not await server.is_good(tokens["access_token"])
        tokens = (await server.refresh(tokens["refresh_token"])).json()
        clock.now += 4999
        tokens = (await server.refresh(tokens["refresh_token"])).json()
        clock.now += 5000
        assert error_of(await server.refresh(tokens["refresh_token"])) == "invalid_grant"


@pytest.mark.req("R-497")
async def test_only_hashes_of_secrets_are_kept():
    made = provider()
    async with authorization_server(made) as server:
        code = await server.code()
        tokens = (await server.redeem(code)).json()
        kept = repr(
            [(each, vars_of(each)) for each in made._grants._grants.values()]
            + list(made._grants._access)
        )
        for secret in (code, tokens["access_token"], tokens["refresh_token"]):
            assert secret.rpartition(".")[2] not in kept


def vars_of(grant):
    return {name: getattr(grant, name) for name in type(grant).__slots__ if name[0] != "_"}


async def test_no_more_is_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(_grants, "MAX_GRANTS", 3)
    made = provider()
    async with authorization_server(made) as server:
        logins = [await server.log_in() for _ in range(4)]
        assert not await server.is_good(logins[0]["access_token"])
        assert await server.is_good(logins[3]["access_token"])
        refresh_token = logins[3]["refresh_token"]
        for _ in range(10):
            refresh_token = (await server.refresh(refresh_token)).json()["refresh_token"]
        assert len(made._grants._access) == 2 + _grants.MAX_ACCESS_EACH
        assert len(made._grants._grants) == 3
        await server.refresh("unknown")
        for each in (*logins[1:3], {"refresh_token": refresh_token}):
            await server.http.post(
                "/revoke", data={"token": each["refresh_token"], "client_id": "public"}
            )
        assert len(made._grants._access) == 0


async def test_login_that_is_refreshed_often_ends_no_tokens_but_its_own():
    async with authorization_server() as server:
        first, other = await server.log_in(), await server.log_in()
        tokens = [first]
        for _ in range(_grants.MAX_ACCESS_EACH):
            tokens.append((await server.refresh(tokens[-1]["refresh_token"])).json())
        good = [await server.is_good(each["access_token"]) for each in tokens]
        assert good == [False] + [True] * _grants.MAX_ACCESS_EACH
        assert await server.is_good(other["access_token"])


async def test_person_who_logs_in_often_ends_no_logins_but_own(monkeypatch):
    monkeypatch.setattr(_grants, "MAX_GRANTS_EACH", 2)
    made = provider()
    async with authorization_server(made) as server:
        made._auto_approve = "bob"
        of_bob = await server.log_in()
        made._auto_approve = "alice"
        of_alice = [await server.log_in() for _ in range(4)]
        good = [await server.is_good(each["access_token"]) for each in (*of_alice, of_bob)]
        assert good == [False, False, True, True, True]


async def test_program_that_gets_many_tokens_ends_no_login(monkeypatch):
    monkeypatch.setattr(_grants, "MAX_GRANTS", 2)
    monkeypatch.setattr(_grants, "MAX_ALONE", 3)
    made = provider()
    async with authorization_server(made) as server:
        tokens = await server.log_in()
        alone = [
            made._grants.issue_alone("agent", "idp#alice", ["read"], RESOURCE, None)
            for _ in range(5)
        ]
        good = [await server.is_good(each.access_token) for each in alone]
        assert good == [False, False, True, True, True]
        assert await server.is_good(tokens["access_token"])
        found = await made.load_access_token(alone[-1].access_token)
        assert (found.subject, found.scopes) == ("idp#alice", ["read"])
        await made.revoke_token(found)
        assert not await server.is_good(alone[-1].access_token)


async def test_what_tokens_allow_is_kept_once_for_each_login():
    scopes = [f"scope-{number}" for number in range(50)]
    client = PUBLIC.evolve(scope=" ".join(scopes))
    made = provider(clients=[client])
    async with authorization_server(made, registration=ClientRegistrationOptions()) as server:
        tokens = await server.log_in(client, scope=client.scope)
        found = await made.load_access_token(tokens["access_token"])
        assert found.scopes == scopes
        some = [scopes[49], scopes[0], scopes[7]]
        fewer = await server.refresh(tokens["refresh_token"], client, scope=" ".join(some))
        assert fewer.json()["scope"].split() == some
        found = await made.load_access_token(fewer.json()["access_token"])
        assert sorted(found.scopes) == sorted(some)
        [grant] = made._grants._grants.values()
        assert grant.params is None
        kept = [each.scopes for each in made._grants._access.values()]
        assert kept == [2**50 - 1, 2**49 + 2**7 + 1]


async def register(server, **metadata):
    response = await server.http.post(
        "/register",
        json={"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", **metadata},
    )
    if response.status_code != 201:
        return response
    return OAuthClientInformationFull.from_json(response.content)


async def test_registered_clients_that_nobody_uses_go_first_and_those_in_use_stay():
    async with authorization_server(provider(max_clients=2)) as server:
        used = await register(server)
        await server.log_in(used)
        unused, another = await register(server), await register(server)
        assert (await server.authorize(unused)).status_code == 400
        await server.log_in(another)
        assert await server.code(used)
        response = await register(server)
        assert error_of(response) == "invalid_client_metadata"
        assert await server.code(PUBLIC)


async def test_registrations_of_strangers_take_no_client_away_with_whom_somebody_logs_in():
    clock = Clock()
    made = InMemoryOAuthProvider({"alice": PASSWORD}, max_clients=6, now=clock)
    async with authorization_server(made) as server:
        client = await register(server)
        await server.authorize(client)
        for _ in range(20):
            await register(server)
        assert (await server.authorize(client)).status_code == 302
        clock.now += 601
        for _ in range(20):
            await register(server)
        assert (await server.authorize(client)).status_code == 400


async def test_strangers_who_begin_to_log_in_leave_room_for_clients():
    made = InMemoryOAuthProvider({"alice": PASSWORD}, max_clients=6)
    async with authorization_server(made) as server:
        for _ in range(20):
            await server.authorize(await register(server))
        first = await register(server)
        for _ in range(2):
            await register(server)
        assert (await server.authorize(first)).status_code == 302


async def test_tokens_are_for_the_resources_that_there_are():
    made = provider(resources=[RESOURCE])
    async with authorization_server(made) as server:
        refused = answer_in(await server.authorize(resource="https://other.example"))
        assert (refused["error"], refused["iss"]) == ("invalid_target", ISSUER)
        # Clients of 2025-03-26 name none.
        tokens = (await server.redeem(await server.code(resource=None), resource=None)).json()
        assert (await made.load_access_token(tokens["access_token"])).resource == RESOURCE


async def test_which_of_several_resources_is_not_guessed():
    made = provider(resources=[RESOURCE, "https://two.example"])
    async with authorization_server(made) as server:
        tokens = await server.log_in(resource=None)
        assert (await made.load_access_token(tokens["access_token"])).resource is None


async def test_verifier_asks_the_provider():
    made = provider()
    async with authorization_server(made) as server:
        tokens = await server.log_in()
        verifier = ProviderTokenVerifier(made)
        found = await verifier.verify_token(tokens["access_token"])
        assert (found.subject, found.claims) == ("alice", {"iss": ISSUER})
        assert await verifier.verify_token("unknown") is None


async def test_every_method_is_a_checkpoint():
    made = provider()
    async with authorization_server(made) as server:
        code, tokens = await server.code(), await server.log_in()
        access_token = await made.load_access_token(tokens["access_token"])
        for method in (
            partial(made.get_client, "public"),
            partial(made.register_client, PUBLIC),
            partial(made.load_authorization_code, PUBLIC, code),
            partial(made.load_refresh_token, PUBLIC, tokens["refresh_token"]),
            partial(made.load_access_token, tokens["access_token"]),
            partial(made.revoke_token, access_token),
        ):
            with trio.testing.assert_checkpoints():
                await method()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, ValueError),
        ({"users": {"a": "b"}, "auto_approve": "a"}, ValueError),
        ({"users": 5}, TypeError),
        ({"users": {"a": 5}}, TypeError),
        ({"auto_approve": True}, TypeError),
        ({"auto_approve": "a", "resources": "https://one.example"}, TypeError),
        ({"auto_approve": "a", "client_documents": True}, TypeError),
        ({"auto_approve": "a", "identity_assertions": True}, TypeError),
        ({"auto_approve": "a", "code_lifetime": 0}, ValueError),
        ({"auto_approve": "a", "access_token_lifetime": 1.5}, TypeError),
        ({"auto_approve": "a", "refresh_token_lifetime": "1"}, TypeError),
        ({"auto_approve": "a", "max_clients": -1}, ValueError),
    ],
)
def test_wrong_arguments_are_told_at_once(arguments, error):
    with pytest.raises(error):
        InMemoryOAuthProvider(**arguments)


async def test_page_has_to_have_a_place():
    made = InMemoryOAuthProvider({"alice": "pw"}, clients=[PUBLIC])
    async with authorization_server(provider()) as server:
        server.provider = made
    with pytest.raises(RuntimeError, match="create_auth_routes"):
        await made.authorize(PUBLIC, _params())


def _params():
    from trio_mcp.auth import AuthorizationParams

    return AuthorizationParams(
        state=None,
        scopes=None,
        code_challenge="c" * 43,
        redirect_uri=REDIRECT,
        redirect_uri_provided_explicitly=True,
    )
