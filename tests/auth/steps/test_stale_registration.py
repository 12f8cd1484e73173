"""A registration that the authorization server has lost, or no longer wants."""

from __future__ import annotations

import pytest

from trio_mcp.auth import OAuthClientInformationFull
from trio_mcp.auth._step_types import AuthorizationRefused, NobodyToAsk, Stored
from trio_mcp.errors import OAuthFlowError

TOKEN = "https://as.example/token"
UNKNOWN = ["invalid_client", "unauthorized_client"]


def stored(client_id="old", **more):
    client = OAuthClientInformationFull(
        client_id=client_id, **{"issuer": "https://as.example", **more}
    )
    return Stored(client_info=client)


@pytest.fixture
def stale(world):
    """Keep a registration that nobody knows any more."""
    world.stored = stored()
    world.asked_as = []
    approve = world.person

    def answer_as(refuse):
        def person(step):
            world.asked_as.append(world.queries[-1]["client_id"])
            return approve(step) if world.asked_as[-1] != "old" else refuse(step)

        world.person = person

    world.answer_as = answer_as
    return world


def refused(error):
    return lambda step: AuthorizationRefused(error=error, state=step.state)


@pytest.mark.parametrize("error", UNKNOWN)
def test_refused_in_the_redirect_it_is_replaced_at_once(stale, error):
    stale.answer_as(refused(error))
    assert stale.challenge()
    assert stale.asked_as == ["old", "client-1"]
    assert stale.stored.client_info.client_id == "client-1"


@pytest.mark.parametrize("error", UNKNOWN)
def test_refused_at_the_token_endpoint_it_is_replaced_at_once(stale, answer, error):
    stale.routes[TOKEN] = [answer(401, {"error": error}), stale.give_token]
    assert stale.challenge()
    assert [form["client_id"] for form in stale.forms()] == ["old", "client-1"]
    assert stale.stored.client_info.client_id == "client-1"


@pytest.mark.parametrize("error", UNKNOWN)
def test_what_was_registered_in_the_same_flow_is_not_replaced(stale, error):
    stale.person = refused(error)
    with pytest.raises(OAuthFlowError, match=error):
        stale.challenge()
    assert stale.registered == 1
    assert len(stale.queries) == 2
    # The next flow may try once more.
    with pytest.raises(OAuthFlowError, match=error):
        stale.challenge()
    assert (stale.registered, len(stale.queries)) == (2, 4)


@pytest.mark.parametrize("error", ["access_denied", "server_error", "invalid_scope"])
def test_another_refusal_says_nothing_of_the_registration(stale, error):
    stale.answer_as(refused(error))
    with pytest.raises(OAuthFlowError, match=error):
        stale.challenge()
    assert (stale.registered, stale.asked_as) == (0, ["old"])
    assert stale.memory.forgotten == set()


@pytest.mark.parametrize("error", UNKNOWN)
def test_a_refusal_of_somebody_else_says_nothing_of_it(stale, error):
    stale.answer_as(lambda step: AuthorizationRefused(error=error, state="another"))
    with pytest.raises(OAuthFlowError, match="another one"):
        stale.challenge()
    assert (stale.registered, stale.memory.forgotten) == (0, set())


@pytest.mark.parametrize("error", UNKNOWN)
@pytest.mark.parametrize("whose", ["given", "put into the store", "without an endpoint"])
def test_a_client_that_cannot_be_registered_anew_stays(stale, error, whose):
    if whose == "given":
        stale.options["client_info"] = stale.stored.client_info
        stale.stored = Stored()
    elif whose == "put into the store":
        stale.stored = stored(issuer=None)
    else:
        stale.publish(registration_endpoint=None)
    stale.answer_as(refused(error))
    for _ in range(2):
        with pytest.raises(OAuthFlowError, match=error):
            stale.challenge()
    assert (stale.registered, stale.asked_as) == (0, ["old", "old"])


def nobody(step):
    raise OAuthFlowError("Nobody has logged in within 300 s")


@pytest.mark.parametrize("restarts", [True, False])
def test_after_a_login_that_never_came_back_the_next_one_is_by_another(stale, restarts):
    # Who does not know a client shows a page, and sends nobody back.
    stale.answer_as(nobody)
    with pytest.raises(OAuthFlowError, match="Nobody has logged in"):
        stale.challenge()
    assert (stale.registered, len(stale.queries)) == (0, 1)
    if restarts:
        stale.restart()
    assert stale.challenge()
    assert stale.asked_as == ["old", "client-1"]
    assert stale.stored.client_info.client_id == "client-1"
    stale.restart()
    stale.stored = Stored(client_info=stale.stored.client_info)
    assert stale.challenge()
    assert stale.asked_as[-1] == "client-1"


def test_a_registration_of_this_run_is_not_doubted(world):
    world.person = nobody
    for _ in range(2):
        with pytest.raises(OAuthFlowError, match="Nobody has logged in"):
            world.challenge()
    assert world.registered == 1


def test_where_nobody_was_asked_no_registration_is_doubted(stale):
    def ask(step):
        raise NobodyToAsk("not now")

    stale.answer_as(ask)
    with pytest.raises(NobodyToAsk):
        stale.challenge()
    stale.restart()
    with pytest.raises(NobodyToAsk):
        stale.challenge()
    assert stale.registered == 0


def test_what_the_store_still_has_is_not_taken_again(stale):
    stale.answer_as(refused("invalid_client"))
    assert stale.challenge()
    stale.stored = stored()
    stale.memory.loaded = False
    stale.memory.tokens = None
    assert stale.challenge()
    assert stale.asked_as == ["old", "client-1", "client-1"]
