"""Grants without a browser: credentials, identity assertions, workloads."""

from __future__ import annotations

import pytest

from trio_mcp.auth import OAuthClientInformationFull
from trio_mcp.auth._memory import (
    ClientCredentialsGrant,
    IdentityAssertionGrant,
    IdentityProvider,
    WorkloadGrant,
)
from trio_mcp.auth._step_types import AssertionStep, AuthorizeStep, HttpStep
from trio_mcp.errors import OAuthFlowError, OAuthTokenError

TOKEN = "https://as.example/token"
IDP = "https://idp.example/token"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


def mine(**more):
    return OAuthClientInformationFull(client_id="mine", **more)


# Client credentials


@pytest.mark.req("R-720")
@pytest.mark.parametrize(
    ("client", "signs", "proof"),
    [
        (mine(client_secret="s3cret"), False, {}),
        (mine(client_secret="s3cret", token_endpoint_auth_method="client_secret_post"), False, {"client_secret": "s3cret"}),
        (mine(), True, {"client_assertion": "assertion-for-https://as.example", "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}),
    ],
)  # fmt: skip
def test_credentials_get_a_token(world, client, signs, proof):
    world.options |= {
        "grant": ClientCredentialsGrant(),
        "client_info": client,
        "signs_assertions": signs,
    }
    assert world.challenge(header="Bearer scope=x")
    assert world.forms() == [
        {
            "grant_type": "client_credentials",
            "resource": "https://h.example/mcp",
            "scope": "x",
            "client_id": "mine",
            **proof,
        }
    ]
    assert world.registrations == world.queries == []


def test_credentials_need_neither_pkce_nor_a_browser(world):
    world.publish(
        code_challenge_methods_supported=None,
        authorization_endpoint=None,
        registration_endpoint=None,
    )
    world.options |= {"grant": ClientCredentialsGrant(), "client_info": mine()}
    assert world.challenge()


def test_credentials_are_used_again_when_the_token_expires(world, answer):
    world.options |= {"grant": ClientCredentialsGrant(), "client_info": mine()}
    serve = lambda headers: answer(200 if headers else 401)  # noqa: E731
    world.call(serve)
    world.now += 4000
    world.call(serve)
    assert [form["grant_type"] for form in world.forms()] == ["client_credentials"] * 2
    assert len(world.requested) == 4


@pytest.mark.req("R-469", "R-493")
def test_credentials_do_not_go_to_another_issuer(world):
    world.options |= {
        "grant": ClientCredentialsGrant(),
        "client_info": mine(client_secret="s3cret", issuer="https://b.example"),
    }
    with pytest.raises(OAuthFlowError, match="is registered with 'https://b"):
        world.challenge()
    assert world.forms() == []


@pytest.mark.parametrize("grant", [ClientCredentialsGrant(), IdentityAssertionGrant()])
def test_program_without_a_client_is_told(world, grant):
    world.options["grant"] = grant
    with pytest.raises(OAuthFlowError, match="registered beforehand is needed for this grant"):
        world.challenge()
    assert world.registrations == []


# Identity assertions


def test_assertion_of_the_application_is_exchanged(world):
    world.options |= {
        "grant": IdentityAssertionGrant(),
        "client_info": mine(client_secret="s3cret"),
    }
    assert world.challenge(header="Bearer scope=x")
    assert [step for step in world.steps if isinstance(step, AssertionStep)] == [
        AssertionStep(
            kind="id_jag",
            audience="https://as.example",
            token_endpoint=TOKEN,
            client_id="mine",
            resource="https://h.example/mcp",
            scope="x",
        )
    ]
    assert world.forms() == [
        {
            "grant_type": JWT_BEARER,
            "assertion": "assertion-for-https://as.example",
            "scope": "x",
            "resource": "https://h.example/mcp",
            "client_id": "mine",
        }
    ]
    assert world.sent_to(TOKEN)[0].headers["Authorization"].startswith("Basic ")


@pytest.fixture
def enterprise(world, answer):
    world.options |= {
        "grant": IdentityAssertionGrant(
            identity_provider=IdentityProvider(
                issuer="https://idp.example",
                token_endpoint=IDP,
                client=OAuthClientInformationFull(client_id="at-idp"),
            )
        ),
        "client_info": mine(client_secret="s3cret"),
    }
    world.idp_answer = {
        "issued_token_type": ID_JAG,
        "access_token": "the-id-jag",
        "token_type": "N_A",
        "expires_in": 300,
    }
    world.routes[IDP] = lambda step: answer(200, world.idp_answer)
    return world


@pytest.mark.req("R-721", "R-722", "R-724")
def test_both_exchanges(enterprise):
    assert enterprise.challenge(header="Bearer scope=x")
    [first], [second] = enterprise.forms(IDP), enterprise.forms()
    assert first == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": ID_JAG,
        "audience": "https://as.example",
        "resource": "https://h.example/mcp",
        "scope": "x",
        "subject_token": "assertion-for-https://idp.example",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "client_id": "at-idp",
    }
    assert second == {
        "grant_type": JWT_BEARER,
        "assertion": "the-id-jag",
        "resource": "https://h.example/mcp",
        "scope": "x",
        "client_id": "mine",
    }
    assert not any(isinstance(step, AuthorizeStep) for step in enterprise.steps)
    assert all("the-id-jag" not in url for url in enterprise.requested)
    assert "the-id-jag" not in repr(enterprise.steps)


def test_what_the_identity_provider_is_asked_for_has_one_audience(enterprise):
    enterprise.challenge()
    [step] = [step for step in enterprise.steps if isinstance(step, AssertionStep)]
    assert (step.kind, step.audience, step.token_endpoint, step.client_id) == (
        "subject_token", "https://idp.example", IDP, "at-idp",
    )  # fmt: skip


@pytest.mark.req("R-721")
def test_resource_of_an_unpublished_server_is_named_to_the_identity_provider(enterprise):
    enterprise.routes.pop("https://h.example/.well-known/oauth-protected-resource/mcp")
    enterprise.options["issuer"] = "https://as.example"
    assert enterprise.challenge()
    assert enterprise.forms(IDP)[0]["resource"] == "https://h.example/mcp"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}, "issued .*access_token"),
        ({"issued_token_type": None}, "issued 'None', expected"),
        ({"access_token": ""}, "without an access_token"),
        ({"access_token": 5}, "without an access_token"),
    ],
)  # fmt: skip
def test_identity_provider_that_gives_something_else_is_told(enterprise, changed, message):
    enterprise.idp_answer.update(changed)
    with pytest.raises(OAuthTokenError, match=message):
        enterprise.challenge()
    assert enterprise.forms() == []


def test_identity_provider_that_refuses_is_told(enterprise, answer):
    subject = "assertion-for-https://idp.example"
    enterprise.routes[IDP] = answer(
        400, {"error": "invalid_grant", "error_description": f"unknown {subject}"}
    )
    with pytest.raises(OAuthTokenError, match="of the identity provider 'https://idp") as caught:
        enterprise.challenge()
    assert caught.value.error_code == "invalid_grant"
    assert subject not in str(caught.value)


def test_identity_provider_is_reached_by_https(enterprise):
    idp = IdentityProvider(
        issuer="http://idp.example", token_endpoint="http://idp.example/token", client=mine()
    )
    enterprise.options["grant"] = IdentityAssertionGrant(identity_provider=idp)
    with pytest.raises(OAuthFlowError, match="must be an https URL"):
        enterprise.challenge()
    assert "http://idp.example/token" not in enterprise.requested


def test_authorization_server_that_refuses_the_assertion_is_told(enterprise, answer):
    enterprise.routes[TOKEN] = answer(
        400, {"error": "invalid_grant", "error_description": "the-id-jag is for somebody else"}
    )
    with pytest.raises(OAuthTokenError, match="invalid_grant") as caught:
        enterprise.challenge()
    assert "the-id-jag" not in str(caught.value)


# Workloads


@pytest.mark.req("R-729")
def test_workload_is_nobody_in_particular(world):
    world.publish(registration_endpoint=None)
    world.options["grant"] = WorkloadGrant()
    assert world.challenge(header="Bearer scope=x")
    assert world.forms() == [
        {
            "grant_type": JWT_BEARER,
            "assertion": "assertion-for-https://as.example",
            "scope": "x",
            "resource": "https://h.example/mcp",
        }
    ]
    assert "Authorization" not in world.sent_to(TOKEN)[0].headers


@pytest.mark.req("R-729")
@pytest.mark.parametrize("error", ["invalid_grant", "invalid_scope", "unauthorized_client"])
def test_refused_workload_is_neither_tried_again_nor_in_another_way(world, answer, error):
    world.options["grant"] = WorkloadGrant()
    world.routes[TOKEN] = [answer(400, {"error": error})]
    for _ in range(2):
        with pytest.raises(OAuthTokenError, match=error) as caught:
            world.challenge()
        assert caught.value.error_code == error
        assert "assertion-for" not in str(caught.value)
    assert len(world.forms()) == 1
    assert not any(isinstance(step, AuthorizeStep) for step in world.steps)


def test_workload_with_a_new_assertion_may_try_again(world, answer):
    world.options["grant"] = WorkloadGrant()
    world.routes[TOKEN] = [answer(400, {"error": "invalid_grant"}), world.give_token]
    with pytest.raises(OAuthTokenError):
        world.challenge()
    world.assertions = lambda step: "another"
    assert world.challenge()


def test_workload_may_try_again_after_a_failure_that_passes(world, answer):
    world.options["grant"] = WorkloadGrant()
    world.routes[TOKEN] = [answer(503), world.give_token]
    with pytest.raises(OAuthTokenError, match="503"):
        world.challenge()
    assert world.challenge()


@pytest.mark.parametrize("given", [None, "", 5, b"x"])
@pytest.mark.parametrize("grant", [WorkloadGrant(), IdentityAssertionGrant()])
def test_assertion_is_text(world, grant, given):
    world.options |= {"grant": grant, "client_info": mine()}
    world.assertions = lambda step: given
    with pytest.raises(OAuthFlowError, match="Expected an assertion for 'https://as"):
        world.challenge()
    assert world.forms() == []


@pytest.mark.parametrize("grant", [ClientCredentialsGrant(), WorkloadGrant()])
def test_token_that_was_just_issued_and_is_not_taken_is_the_end(world, answer, grant):
    world.options |= {"grant": grant, "client_info": mine()}
    with pytest.raises(OAuthFlowError, match="has just issued"):
        world.call(lambda headers: answer(401))
    assert len(world.forms()) == 1


def test_requests_that_use_something_up_are_marked(enterprise):
    enterprise.challenge()
    posts = [step for step in enterprise.steps if isinstance(step, HttpStep) and step.content]
    assert [(step.url, step.once) for step in posts] == [(IDP, True), (TOKEN, True)]
