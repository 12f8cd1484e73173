"""A token that has expired is renewed, and nothing is lost when that does not work."""

from __future__ import annotations

import pytest

from trio_mcp.auth import OAuthToken
from trio_mcp.auth._step_types import LoadStep, Stored
from trio_mcp.errors import OAuthTokenError

TOKEN = "https://as.example/token"


@pytest.fixture
def served(world, answer):
    """Make a request that the server serves if it takes the token."""
    accepted = []

    def serve(headers):
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        is_taken = token in accepted or (not accepted and token)
        return answer(200) if is_taken else answer(401, WWW_Authenticate="Bearer")

    world.accepted = accepted
    world.serve = lambda: world.call(serve)
    world.serve()
    world.steps.clear()
    return world


@pytest.mark.req("R-452", "R-499")
def test_expired_token_is_refreshed_before_a_request(served):
    served.now += 3600 - 10
    served.serve()
    assert served.forms() == [
        {
            "grant_type": "refresh_token",
            "refresh_token": "refresh-1",
            "client_id": "client-1",
            "resource": "https://h.example/mcp",
        }
    ]
    assert served.requested == [TOKEN]
    assert served.sent_to(TOKEN)[0].once
    assert served.memory.tokens.refresh_token == "refresh-2"
    assert served.stored.tokens.access_token == "access-2"


def test_token_that_lasts_is_not_refreshed(served):
    served.now += 3600 - 11
    served.serve()
    assert served.steps == []


@pytest.mark.parametrize("omitted", [None, ""])
def test_what_a_refresh_does_not_say_stays_as_it_was(served, answer, omitted):
    served.memory.tokens = served.memory.tokens.evolve(scope="a b")
    body = {"access_token": "next", "expires_in": 60, "refresh_token": omitted, "scope": omitted}
    served.routes[TOKEN] = answer(200, body)
    served.now += 4000
    served.serve()
    kept = served.stored.tokens
    assert (kept.access_token, kept.refresh_token, kept.scope) == ("next", "refresh-1", "a b")


@pytest.mark.req("R-454")
def test_no_refresh_token_is_presumed(world, answer):
    world.token_extra = {"refresh_token": None}
    serve = lambda headers: answer(200 if headers else 401)  # noqa: E731
    world.call(serve)
    world.now += 4000
    world.call(serve)
    assert [form["grant_type"] for form in world.forms()] == ["authorization_code"] * 2
    assert world.registered == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404])
@pytest.mark.parametrize(
    "body", [{"error": "invalid_grant"}, {"error": "unauthorized_client"}, b"<html>"]
)
def test_refresh_token_that_is_refused_begins_the_whole_flow(served, answer, status, body):
    served.routes[TOKEN] = [answer(status, body), served.give_token]
    served.now += 4000
    assert served.serve().status == 200
    assert [form["grant_type"] for form in served.forms()] == [
        "refresh_token",
        "authorization_code",
    ]
    assert served.registered == 1
    assert served.stored.tokens.access_token == "access-2"


@pytest.mark.case("C055")
@pytest.mark.parametrize("is_fresh", [True, False])
def test_what_the_store_has_meanwhile_is_used_after_a_refusal(served, answer, is_fresh):
    # Another process has used the refresh token at the same time.
    def refuse(step):
        tokens = served.stored.tokens
        newer = tokens.evolve(
            access_token="newer",
            refresh_token="refresh-of-the-other",
            extra={**tokens.extra, "expires_at": served.now + (3600 if is_fresh else -1)},
        )
        served.stored = Stored(tokens=newer, client_info=served.stored.client_info)
        return answer(400, {"error": "invalid_grant"})

    served.routes[TOKEN] = [refuse, served.give_token]
    served.now += 4000
    assert served.serve().status == 200
    used = ["refresh-1"] if is_fresh else ["refresh-1", "refresh-of-the-other"]
    assert [form["refresh_token"] for form in served.forms()] == used
    assert served.queries == []
    assert [step.renews for step in served.steps if isinstance(step, LoadStep)] == [True, False]


def test_not_more_than_two_refresh_tokens_are_tried(served, answer):
    def refuse(step):
        tokens = served.stored.tokens
        number = len(served.forms())
        newer = tokens.evolve(
            access_token=f"newer-{number}",
            refresh_token=f"newer-{number}",
            extra={**tokens.extra, "expires_at": served.now - 1},
        )
        served.stored = Stored(tokens=newer, client_info=served.stored.client_info)
        return answer(400, {"error": "invalid_grant"})

    served.routes[TOKEN] = [refuse, refuse, served.give_token]
    served.now += 4000
    assert served.serve().status == 200
    kinds = ["refresh_token", "refresh_token", "authorization_code"]
    assert [form["grant_type"] for form in served.forms()] == kinds


def test_client_that_is_not_known_any_more_is_registered_anew(served, answer):
    served.routes[TOKEN] = [answer(401, {"error": "invalid_client"}), served.give_token]
    served.now += 4000
    assert served.serve().status == 200
    assert served.queries[0]["client_id"] == "client-2"


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408, 302])
@pytest.mark.parametrize("expired", [True, False])
def test_failure_that_passes_keeps_the_tokens(served, answer, status, expired):
    before = served.memory.tokens
    served.routes[TOKEN] = [answer(status, b"busy"), served.give_token]
    if expired:
        served.now += 4000
    else:
        served.accepted.append("access-2")
    with pytest.raises(OAuthTokenError, match=f"answered {status}"):
        served.serve()
    assert served.memory.tokens is before
    assert served.stored.tokens is before
    assert served.serve().status == 200
    assert [form["refresh_token"] for form in served.forms()] == ["refresh-1", "refresh-1"]
    assert served.queries == []


@pytest.mark.parametrize("expired", [True, False])
def test_failure_of_the_network_keeps_the_tokens(served, expired):
    before = served.memory.tokens
    served.routes[TOKEN] = ConnectionRefusedError("refused")
    if expired:
        served.now += 4000
    else:
        served.accepted.append("access-2")
    with pytest.raises(ConnectionRefusedError):
        served.serve()
    assert served.memory.tokens is served.stored.tokens is before


def test_answer_that_cannot_be_read_keeps_the_tokens(served, answer):
    before = served.memory.tokens
    served.routes[TOKEN] = answer(200, b"<html>")
    served.now += 4000
    with pytest.raises(OAuthTokenError, match="no JSON"):
        served.serve()
    assert served.memory.tokens is before


def test_token_that_the_server_does_not_take_any_more_is_refreshed(served):
    served.accepted.append("access-2")
    assert served.serve().status == 200
    assert [form["grant_type"] for form in served.forms()] == ["refresh_token"]
    assert served.queries == []


def test_token_that_was_refreshed_and_is_not_taken_leads_to_a_person(served):
    served.accepted.append("access-3")
    assert served.serve().status == 200
    assert [form["grant_type"] for form in served.forms()] == [
        "refresh_token",
        "authorization_code",
    ]


def test_time_counts_from_the_request(served, answer):
    def slow(step):
        served.now += 30
        return answer(200, {"access_token": "next", "expires_in": 60})

    served.routes[TOKEN] = slow
    served.now += 4000
    served.serve()
    assert served.memory.expires_at == 1_004_060


# Other processes


@pytest.mark.case("C055")
def test_token_that_another_process_has_got_is_used(served):
    served.stored = Stored(
        tokens=OAuthToken(
            access_token="theirs",
            refresh_token="their-refresh",
            extra={"issuer": "https://as.example", "expires_at": 2_000_000},
        ),
        client_info=served.stored.client_info,
    )
    served.now += 4000
    assert served.serve().status == 200
    assert [type(step) for step in served.steps] == [LoadStep]
    assert served.memory.tokens.access_token == "theirs"


@pytest.mark.case("C055")
def test_refresh_token_that_another_process_has_got_is_used(served):
    served.stored = Stored(
        tokens=OAuthToken(
            access_token="theirs",
            refresh_token="their-refresh",
            extra={"issuer": "https://as.example", "expires_at": 1_000_100},
        ),
        client_info=served.stored.client_info,
    )
    served.now += 4000
    served.serve()
    assert [form["refresh_token"] for form in served.forms()] == ["their-refresh"]


def test_token_of_another_issuer_in_the_store_is_left_alone(served):
    served.stored = Stored(
        tokens=OAuthToken(
            access_token="theirs",
            refresh_token="their-refresh",
            extra={"issuer": "https://b.example"},
        )
    )
    served.now += 4000
    served.serve()
    assert [form["refresh_token"] for form in served.forms()] == ["refresh-1"]


def test_older_token_in_the_store_does_not_come_back(served):
    from trio_mcp.auth._step_types import SaveTokensStep
    from trio_mcp.auth._steps import prepare

    # The caller leaves between the answer and the store: that holds a used-up token then.
    served.now += 4000
    flow = prepare(served.memory, served.config)
    fed = None
    while not isinstance(step := flow.send(fed), SaveTokensStep):
        fed = served.carry_out(step)
    flow.close()
    assert served.stored.tokens.access_token == "access-1"
    served.now += 4000
    served.serve()
    assert [form["refresh_token"] for form in served.forms()] == ["refresh-2"]
    assert served.stored.tokens.access_token == "access-3"


def test_requests_that_were_under_way_use_the_new_token(world, answer):
    """Two requests are refused; the second finds what the first has got."""
    first, second = world.attempt(), world.attempt()
    assert world.challenge(attempt=first)
    count = len(world.steps)
    assert world.challenge(attempt=second)
    assert len(world.steps) == count


def test_new_token_is_tried_only_a_few_times(world):
    attempt = world.attempt()
    for count in range(3):
        world.memory.tokens = OAuthToken(access_token=f"theirs-{count}")
        assert world.challenge(attempt=attempt)
        assert world.queries == []
    world.memory.tokens = OAuthToken(access_token="theirs")
    assert world.challenge(attempt=attempt)
    assert len(world.queries) == 1


def test_token_that_was_just_issued_and_is_not_taken_is_the_end(world, answer):
    from trio_mcp.errors import OAuthFlowError

    def serve(headers):
        token = headers.get("Authorization")
        told = f'Bearer error="invalid_token", error_description="audience of {token}"'
        return answer(401, WWW_Authenticate=told)

    with pytest.raises(OAuthFlowError, match="has just issued for it: invalid_token") as caught:
        world.call(serve)
    assert "'https://h.example/mcp'" in str(caught.value)
    assert "'https://as.example'" in str(caught.value)
    assert "access-" not in str(caught.value)
    assert len(world.forms()) == len(world.queries) == 1
    # The next request begins anew, and does not fail for what was.
    assert world.call(lambda headers: answer(200 if headers else 401)).status == 200


def test_refresh_token_that_is_refused_for_a_token_that_lasts_begins_the_whole_flow(
    served, answer
):
    served.accepted.append("access-2")
    served.routes[TOKEN] = [answer(400, {"error": "invalid_grant"}), served.give_token]
    assert served.serve().status == 200
    assert [form["grant_type"] for form in served.forms()] == [
        "refresh_token",
        "authorization_code",
    ]


def test_refresh_needs_no_place_to_come_back_to(served):
    served.metadata["redirect_uris"] = ["http://127.0.0.1:9/callback"]
    served.now += 4000
    assert served.serve().status == 200
    assert [form["grant_type"] for form in served.forms()] == ["refresh_token"]
    assert served.registered == 1


def test_refresh_token_of_a_client_whose_secret_has_expired_is_not_sent(served):
    client = served.memory.clients["https://as.example"]
    served.memory.clients["https://as.example"] = client.evolve(
        client_secret="s3cret", client_secret_expires_at=1_000_001
    )
    served.now += 4000
    assert served.serve().status == 200
    assert [form["grant_type"] for form in served.forms()] == ["authorization_code"]
    assert served.queries[0]["client_id"] == "client-2"
