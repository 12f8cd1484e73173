"""The authorization code grant, from the first refusal to the token."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from trio_mcp.auth import AuthorizationCodeResult, OAuthClientInformationFull
from trio_mcp.auth._pkce import matches
from trio_mcp.auth._step_types import AuthorizationRefused, AuthorizeStep, HttpStep
from trio_mcp.errors import OAuthFlowError

TOKEN = "https://as.example/token"


@pytest.mark.req("R-418", "R-421", "R-436", "R-502", "R-507")
def test_whole_flow(world):
    assert world.challenge()
    assert world.requested == [
        "https://h.example/.well-known/oauth-protected-resource/mcp",
        "https://as.example/.well-known/oauth-authorization-server",
        "https://as.example/register",
        TOKEN,
    ]
    [query] = world.queries
    [form] = world.forms()
    assert query.pop("state")
    assert matches(form.pop("code_verifier"), query.pop("code_challenge"))
    assert query == {
        "response_type": "code",
        "client_id": "client-1",
        "redirect_uri": "http://127.0.0.1:3030/callback",
        "code_challenge_method": "S256",
        "resource": "https://h.example/mcp",
    }
    assert form == {
        "grant_type": "authorization_code",
        "code": "the-code",
        "client_id": "client-1",
        "redirect_uri": "http://127.0.0.1:3030/callback",
        "resource": "https://h.example/mcp",
    }
    assert world.memory.tokens.access_token == "access-1"
    assert world.stored.tokens is world.memory.tokens


@pytest.mark.req("R-442", "R-443", "R-444", "R-445")
def test_token_goes_in_the_header_of_each_request(world, answer):
    seen = []

    def serve(headers):
        seen.append(headers)
        return answer(200 if headers else 401)

    assert world.call(serve).status == 200
    assert world.call(serve).status == 200
    assert seen == [{}, *[{"Authorization": "Bearer access-1"}] * 2]
    assert len(world.forms()) == 1


@pytest.mark.req("R-449")
@pytest.mark.parametrize(
    "url", ["https://other.example/mcp", "http://h.example/mcp", "https://h.example:444/mcp"]
)
def test_token_goes_nowhere_else(world, answer, url):
    from trio_mcp.auth._memory import Attempt
    from trio_mcp.auth._steps import note_answer, sign

    world.challenge()
    attempt = Attempt(method="POST", url=url)
    assert sign(world.memory, world.config, attempt) == {}
    assert not note_answer(world.memory, world.config, attempt, answer(401))


def test_what_is_yielded_shows_no_secret(world):
    world.options["client_info"] = OAuthClientInformationFull(
        client_id="mine", client_secret="s3cret"
    )
    world.challenge()
    [query] = world.queries
    shown = repr(world.steps) + repr(world.memory)
    for secret in (
        "s3cret", "the-code", "access-1", "refresh-1", query["state"], query["code_challenge"],
        world.forms()[0]["code_verifier"],
    ):  # fmt: skip
        assert secret not in shown


def test_query_of_the_authorization_endpoint_is_kept(world):
    world.publish(authorization_endpoint="https://as.example/authorize?tenant=a%20b")
    assert world.challenge()
    [step] = [step for step in world.steps if isinstance(step, AuthorizeStep)]
    assert step.url.startswith("https://as.example/authorize?tenant=a%20b&response_type=code&")
    assert urlsplit(step.url).path == "/authorize"


@pytest.mark.req("R-501", "R-507")
@pytest.mark.parametrize(
    ("uris", "message"),
    [
        (None, "No redirect URI"),
        ([], "No redirect URI"),
        (["http://app.example/cb"], "A redirect URI must be https"),
        (["app:/cb"], "A redirect URI must be https"),
        (["https://app.example/cb#x"], "without a fragment"),
    ],
)
def test_redirect_is_to_https_or_this_machine(world, uris, message):
    world.metadata["redirect_uris"] = uris
    with pytest.raises(OAuthFlowError, match=message):
        world.challenge()
    assert world.queries == []


def test_server_where_nobody_can_log_in_is_told(world):
    world.publish(authorization_endpoint=None)
    with pytest.raises(OAuthFlowError, match="has no authorization_endpoint"):
        world.challenge()


# PKCE


@pytest.mark.req("R-502", "R-503", "R-504", "R-505")
@pytest.mark.parametrize("document", ["oauth-authorization-server", "openid-configuration"])
@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (None, "has no code_challenge_methods_supported"),
        ([], "supports PKCE by no method, expected S256"),
        (["plain"], "supports PKCE by plain, expected S256"),
    ],
)
def test_server_without_pkce_is_refused(world, document, methods, message):
    world.publish(code_challenge_methods_supported=methods)
    base = "https://as.example/.well-known"
    world.routes[f"{base}/{document}"] = world.routes.pop(f"{base}/oauth-authorization-server")
    with pytest.raises(OAuthFlowError, match=message):
        world.challenge()
    assert world.queries == []
    assert world.registrations == []


@pytest.mark.req("R-503")
def test_server_that_does_not_tell_may_be_allowed(world):
    world.options["allow_unlisted_pkce"] = True
    world.publish(code_challenge_methods_supported=None)
    assert world.challenge()
    assert world.queries[0]["code_challenge_method"] == "S256"
    world.forget()
    world.publish(code_challenge_methods_supported=["plain"])
    with pytest.raises(OAuthFlowError, match="expected S256"):
        world.challenge()


# The answer


def result(state, **more):
    return AuthorizationCodeResult(code="the-code", state=state, **more)


def refused(state, **more):
    return AuthorizationRefused(
        error="access_denied", error_description="Not you", state=state, **more
    )


@pytest.mark.req("R-496", "R-509")
@pytest.mark.parametrize("kind", [result, refused])
@pytest.mark.parametrize("state", [None, "", "other", "ä"])
def test_answer_with_another_state_is_not_looked_at(world, kind, state):
    world.person = lambda step: kind(state, iss="https://evil.example")
    with pytest.raises(OAuthFlowError, match="does not belong to this request") as caught:
        world.challenge()
    for word in ("access_denied", "Not you", "evil", world.queries[0]["state"], "the-code"):
        assert word not in str(caught.value)
    assert world.forms() == []


def test_state_is_fresh_each_time(world):
    world.challenge()
    world.memory.drop_tokens()
    world.challenge()
    assert len({query["state"] for query in world.queries}) == 2
    assert len({query["code_challenge"] for query in world.queries}) == 2


OWN = "https://as.example"


@pytest.mark.req("R-429", "R-432", "R-433", "R-434")
@pytest.mark.parametrize("kind", [result, refused])
@pytest.mark.parametrize(
    ("advertised", "iss", "message"),
    [
        (True, OWN, None),
        (True, None, "has no iss, although 'https://as.example' says"),
        (False, None, None),
        (None, None, None),
        (None, OWN, None),
        (False, OWN, None),
        *[
            (advertised, iss, f"from the issuer '{iss}', expected 'https://as.example'")
            for advertised in (True, False, None)
            for iss in (
                "https://evil.example",
                "https://as.example/",
                "https://AS.example",
                "https://as.example:443",
                "https://as.exampl%65",
                "",
            )
        ],
    ],
)  # fmt: skip
def test_answer_of_another_issuer_is_not_looked_at(world, kind, advertised, iss, message):
    world.publish(authorization_response_iss_parameter_supported=advertised)
    world.person = lambda step: kind(step.state, iss=iss)
    if message is None and kind is result:
        assert world.challenge()
        return
    with pytest.raises(OAuthFlowError) as caught:
        world.challenge()
    assert (message or "access_denied (Not you)") in str(caught.value)
    for word in ("access_denied", "Not you"):
        assert (word in str(caught.value)) == (message is None)
    assert "the-code" not in str(caught.value)
    assert world.forms() == []


@pytest.mark.parametrize(
    ("iss", "is_right"),
    [(None, True), ("https://h.example", True), ("https://h.example/", True), (OWN, False)],
)
def test_server_without_metadata_answers_by_its_origin(world, iss, is_right):
    world.routes = {
        "https://h.example/register": world.register,
        "https://h.example/token": world.give_token,
    }
    world.person = lambda step: result(step.state, iss=iss)
    if is_right:
        assert world.challenge()
        return
    with pytest.raises(OAuthFlowError, match="comes from the issuer"):
        world.challenge()


def test_refusal_shows_no_secret(world):
    world.person = lambda step: AuthorizationRefused(
        error="server_error", error_description=f"for {step.state}\n" + "x" * 999, state=step.state
    )
    with pytest.raises(
        OAuthFlowError, match="did not authorize the client: server_error"
    ) as caught:
        world.challenge()
    assert world.queries[0]["state"] not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_answer_without_a_code_is_told(world):
    world.person = lambda step: AuthorizationCodeResult(code="", state=step.state)
    with pytest.raises(OAuthFlowError, match="answered without a code"):
        world.challenge()


@pytest.mark.req("R-429")
def test_issuer_is_recorded_before_anybody_is_sent_there(world):
    def elsewhere(step):
        world.memory.issuer, world.memory.asm = "https://evil.example", None
        return result(step.state, iss="https://evil.example")

    world.person = elsewhere
    with pytest.raises(OAuthFlowError, match="expected 'https://as"):
        world.challenge()


# Scopes


@pytest.mark.case("C054")
@pytest.mark.req("R-423", "R-424", "R-427", "R-428", "R-661")
@pytest.mark.parametrize(
    ("header", "configured", "published", "asked"),
    [
        ('Bearer scope="x y"', "c", ["a"], "x y"),
        ("Bearer", "c", ["a"], "c"),
        ("Bearer", None, ["a", "b"], "a b"),
        ("Bearer", None, None, None),
        ('Bearer scope=""', None, [], None),
    ],
)
def test_scope_is_what_the_challenge_says(world, header, configured, published, asked):
    world.publish(prm={"scopes_supported": published}, scopes_supported=["of", "the", "server"])
    world.metadata["scope"] = configured
    assert world.challenge(header=header)
    assert world.queries[0].get("scope") == asked


@pytest.mark.parametrize(
    ("header", "published", "listed", "grant_types", "asked"),
    [
        ("Bearer", ["a"], ["offline_access"], None, "a offline_access"),
        ("Bearer scope=x", ["a"], ["offline_access"], None, "x offline_access"),
        ("Bearer", ["a"], ["offline_access"], ["authorization_code"], "a"),
        ("Bearer", ["a"], ["other"], None, "a"),
        ("Bearer", ["a"], None, None, "a"),
        ("Bearer", None, ["offline_access"], None, None),
        ("Bearer", ["a", "offline_access"], ["other"], None, "a"),
        ("Bearer", ["offline_access"], ["other"], None, None),
        ("Bearer", ["a", "offline_access"], None, None, "a offline_access"),
    ],
)
def test_offline_access_is_asked_for_where_the_server_lists_it(
    world, header, published, listed, grant_types, asked
):
    world.publish(prm={"scopes_supported": published}, scopes_supported=listed)
    if grant_types:
        world.metadata["grant_types"] = grant_types
    assert world.challenge(header=header)
    [query] = world.queries
    assert query.get("scope") == asked
    assert query.get("prompt") == ("consent" if "offline" in (asked or "") else None)


# What is kept


def test_code_and_registration_are_seen_through_although_the_caller_is_cancelled(world):
    assert world.challenge()
    once = [step.url for step in world.steps if isinstance(step, HttpStep) and step.once]
    assert once == ["https://as.example/register", "https://as.example/token"]
    assert len(world.requested) == 4


def test_what_has_come_is_kept_when_a_flow_is_left(world):
    from trio_mcp.auth._step_types import SaveTokensStep
    from trio_mcp.auth._steps import answer_challenge, needs_preparing, prepare

    flow = answer_challenge(world.memory, world.config, world.attempt(), http_401())
    fed = None
    while not isinstance(step := flow.send(fed), SaveTokensStep):
        fed = world.carry_out(step)
    flow.close()
    assert world.stored.tokens is None
    assert world.memory.tokens.access_token == "access-1"
    # It is made up for before the next request.
    assert needs_preparing(world.memory, world.config)
    world.run(prepare(world.memory, world.config))
    assert world.stored.tokens.access_token == "access-1"
    assert not needs_preparing(world.memory, world.config)


def http_401():
    from trio_mcp.auth._step_types import HttpAnswer

    return HttpAnswer(401)


def test_registration_is_kept_when_a_flow_is_left(world):
    from trio_mcp.auth._step_types import SaveClientStep
    from trio_mcp.auth._steps import answer_challenge

    flow = answer_challenge(world.memory, world.config, world.attempt(), http_401())
    fed = None
    while not isinstance(step := flow.send(fed), SaveClientStep):
        fed = world.carry_out(step)
    flow.close()
    assert world.challenge()
    assert world.registered == 1
    assert world.stored.client_info.client_id == "client-1"


def test_flow_that_is_left_at_any_step_can_be_made_again(world):
    from trio_mcp.auth._steps import answer_challenge

    count = 0
    while True:
        world.forget()
        flow = answer_challenge(world.memory, world.config, world.attempt(), http_401())
        fed, steps = None, 0
        try:
            while steps <= count:
                fed = world.carry_out(flow.send(fed)) if steps < count else flow.send(fed)
                steps += 1
        except StopIteration:
            break
        flow.close()
        assert world.challenge()
        assert world.memory.tokens is not None
        count += 1
    assert count == 8


@pytest.mark.parametrize(
    ("header", "prm"),
    [
        (f'Bearer scope="{" ".join(f"scope-{i}" for i in range(9000))}"', {}),
        ("Bearer", {"scopes_supported": [f"scope-{i}" for i in range(9000)]}),
        (f"Bearer scope={'s' * 4097}", {}),
    ],
)
def test_scopes_of_any_length_are_not_asked_for(world, header, prm):
    world.publish(prm=prm)
    with pytest.raises(
        OAuthFlowError, match=r"have \d+ characters, and 4096 at most are asked for"
    ):
        world.challenge(header=header)
    assert not world.queries
    assert not world.registrations


def test_longest_scope_is_asked_for(world):
    assert world.challenge(header=f"Bearer scope={'s' * 4096}")
    assert world.queries[0]["scope"] == "s" * 4096
