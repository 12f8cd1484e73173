"""More scopes are asked for where an operation needs them, and not for ever."""

from __future__ import annotations

import pytest

from trio_mcp.auth import OAuthClientInformationFull, OAuthToken
from trio_mcp.auth._memory import ClientCredentialsGrant
from trio_mcp.auth._step_types import Stored
from trio_mcp.errors import OAuthFlowError


def insufficient(answer, scope="write"):
    said = f', scope="{scope}"' if scope is not None else ""
    return answer(403, WWW_Authenticate=f'Bearer error="insufficient_scope"{said}')


def serve_with(world, answer, *needed):
    """Serve whoever's token has these scopes."""

    def serve(headers):
        if not headers:
            return answer(401, WWW_Authenticate='Bearer scope="read"')
        granted = (world.memory.tokens.scope or "").split()
        missing = [scope for scope in needed if scope not in granted]
        return insufficient(answer, " ".join(needed)) if missing else answer(200)

    return serve


@pytest.mark.case("C054")
@pytest.mark.req("R-425", "R-461", "R-462", "R-463")
def test_operation_asks_once_for_what_it_needs_and_for_what_there_was(world, answer):
    assert world.call(serve_with(world, answer, "write", "read")).status == 200
    assert [query["scope"] for query in world.queries] == ["read", "read write"]
    # What is known of the servers is used again.
    assert len([url for url in world.requested if ".well-known" in url]) == 2


@pytest.mark.parametrize(
    ("published", "registered"),
    [(["write"], ["read write"]), (["other"], ["read other", "read write other"])],
)
def test_scope_that_the_client_is_not_registered_for_is_registered(
    world, answer, published, registered
):
    world.publish(prm={"scopes_supported": published})
    assert world.call(serve_with(world, answer, "write", "read")).status == 200
    assert [each["scope"] for each in world.registrations] == registered
    assert world.queries[-1]["client_id"] == f"client-{len(registered)}"
    assert world.stored.client_info.client_id == f"client-{len(registered)}"


@pytest.mark.parametrize("scope", ["read", None])
def test_server_that_registers_less_is_not_asked_again(world, answer, scope):
    def register(step):
        world.registered += 1
        return answer(201, {"client_id": f"client-{world.registered}", "scope": scope})

    world.publish(prm={"scopes_supported": ["write"]})
    world.routes["https://as.example/register"] = register
    assert world.call(serve_with(world, answer, "write", "read")).status == 200
    assert world.registered == 1


@pytest.mark.req("R-463")
def test_scopes_of_a_token_in_the_store_count(world, answer):
    world.stored = Stored(
        tokens=OAuthToken(
            access_token="kept", scope="old", extra={"issuer": "https://as.example"}
        ),
        client_info=OAuthClientInformationFull(client_id="mine", issuer="https://as.example"),
    )
    assert world.call(serve_with(world, answer, "write")).status == 200
    assert [query["scope"] for query in world.queries] == ["old write"]


def test_what_was_asked_for_before_is_asked_for_again(world, answer):
    world.token_extra = {"refresh_token": None}
    assert world.call(serve_with(world, answer, "write", "read")).status == 200
    world.now += 4000
    assert world.call(serve_with(world, answer, "read")).status == 200
    assert world.queries[-1]["scope"] == "read write"


@pytest.mark.req("R-661")
def test_challenge_without_scopes_means_those_that_are_published(world, answer):
    world.publish(prm={"scopes_supported": ["a", "b"]})

    def serve(headers):
        granted = (world.memory.tokens and world.memory.tokens.scope) or ""
        return answer(200) if "a" in granted.split() else insufficient(answer, None)

    assert world.call(serve).status == 200
    assert [query["scope"] for query in world.queries] == ["a b"]


@pytest.mark.req("R-464")
def test_server_that_is_never_content_is_given_up(world, answer):
    def serve(headers):
        return (
            insufficient(answer) if headers else answer(401, WWW_Authenticate="Bearer scope=read")
        )

    for _ in range(3):
        with pytest.raises(OAuthFlowError, match="wants the scopes 'write' for 'tools/call x'"):
            world.call(serve, operation="tools/call x")
    assert [query["scope"] for query in world.queries] == ["read", "read write"]


@pytest.mark.req("R-464")
def test_server_that_always_wants_something_else_is_given_up(world, answer):
    wanted = iter("abcdefgh")

    def serve(headers):
        return insufficient(answer, next(wanted)) if headers else answer(401)

    with pytest.raises(OAuthFlowError, match="wants the scopes"):
        world.call(serve)
    assert [query.get("scope") for query in world.queries] == [None, "a", "a b"]


@pytest.mark.req("R-464")
def test_success_of_another_request_does_not_lift_the_limit(world, answer):
    wanted = iter("abcdefgh")

    def serve(headers):
        if world.memory.tokens is not None:
            world.call(lambda headers: answer(200))
        return insufficient(answer, next(wanted)) if headers else answer(401)

    with pytest.raises(OAuthFlowError, match="wants the scopes"):
        world.call(serve)
    assert len(world.queries) == 3


def test_other_operations_have_limits_of_their_own(world, answer):
    def serve(headers):
        return insufficient(answer) if headers else answer(401)

    for operation in ("tools/call x", "tools/call y"):
        with pytest.raises(OAuthFlowError, match=operation):
            world.call(serve, operation=operation)
    assert len(world.queries) == 3


def test_refused_operation_may_ask_again_later(world, answer):
    def serve(headers):
        return insufficient(answer) if headers else answer(401)

    with pytest.raises(OAuthFlowError, match="wants the scopes"):
        world.call(serve)
    world.now += 301
    with pytest.raises(OAuthFlowError, match="wants the scopes"):
        world.call(serve)
    assert len(world.queries) == 3


def test_success_lifts_the_limit(world, answer):
    for _ in range(4):
        assert world.call(serve_with(world, answer, "write")).status == 200
        world.memory.tokens = world.memory.tokens.evolve(scope="read")
    assert len(world.queries) == 5


def test_person_who_refuses_is_not_held_to_it(world, answer):
    approve = world.person
    assert world.call(serve_with(world, answer, "read")).status == 200

    def refuse(step):
        raise OAuthFlowError("refused")

    world.person = refuse
    with pytest.raises(OAuthFlowError, match="refused"):
        world.call(serve_with(world, answer, "write"))
    world.person = approve
    assert world.call(serve_with(world, answer, "write")).status == 200


def test_what_is_remembered_of_operations_is_bounded(world, answer):
    world.token_extra = {"scope": "read"}
    for count in range(300):
        attempt = world.attempt(operation=f"tools/call {count}")
        world.challenge(403, 'Bearer error="insufficient_scope", scope="x"', attempt=attempt)
        world.memory.tokens = None
    assert len(world.memory.step_ups) == 256


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", 'Bearer error="invalid_token"', 'Basic error="insufficient_scope"'],
)
def test_other_refusals_are_the_last_word(world, answer, header):
    attempt = world.attempt()
    assert not world.challenge(403, header, attempt=attempt)
    assert world.call(lambda headers: answer(403, WWW_Authenticate=header)).status == 403
    assert world.queries == []


@pytest.mark.parametrize("status", [200, 204, 400, 404, 500, 503])
def test_other_answers_are_none_of_ours(world, answer, status):
    assert not world.challenge(status, 'Bearer error="insufficient_scope"')
    assert world.steps == []


def test_programs_may_ask_for_more_too(world, answer):
    world.options |= {
        "grant": ClientCredentialsGrant(),
        "client_info": OAuthClientInformationFull(client_id="mine", client_secret="s3cret"),
    }
    assert world.call(serve_with(world, answer, "write")).status == 200
    assert [form["scope"] for form in world.forms()] == ["read", "read write"]


def test_waiting_request_uses_what_another_has_got(world, answer):
    first, second = (world.attempt(operation=name) for name in ("a", "b"))
    header = 'Bearer error="insufficient_scope", scope="write"'
    assert world.challenge(403, header, attempt=first)
    assert world.challenge(403, header, attempt=second)
    assert len(world.queries) == 1
