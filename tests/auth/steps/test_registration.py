"""How a client gets its id, and which one it uses with whom."""

from __future__ import annotations

import re

import pytest

from trio_mcp.auth import (
    OAuthClientInformationFull,
    create_client_info_from_metadata_url,
    credentials_match_issuer,
    should_use_client_metadata_url,
)
from trio_mcp.auth._step_types import HttpStep, SaveClientStep, Stored
from trio_mcp.errors import OAuthFlowError, OAuthRegistrationError

DOCUMENT = "https://app.example/client.json"
REGISTER = "https://as.example/register"


def mine(**more):
    return OAuthClientInformationFull(client_id="mine", **more)


# Which id


@pytest.mark.req("R-416", "R-421", "R-479", "R-486", "R-487")
@pytest.mark.parametrize(
    ("given", "stored", "url", "takes_documents", "used"),
    [
        (mine(), OAuthClientInformationFull(client_id="stored", issuer="https://as.example"), DOCUMENT, True, "mine"),
        (None, OAuthClientInformationFull(client_id="stored", issuer="https://as.example"), DOCUMENT, True, "stored"),
        (None, OAuthClientInformationFull(client_id="stored", issuer="https://as.example/"), None, None, "stored"),
        (None, OAuthClientInformationFull(client_id="stored"), DOCUMENT, True, "stored"),
        (None, OAuthClientInformationFull(client_id="stored", issuer="https://b.example"), DOCUMENT, True, DOCUMENT),
        (None, OAuthClientInformationFull(client_id=DOCUMENT), DOCUMENT, True, DOCUMENT),
        (None, OAuthClientInformationFull(client_id=DOCUMENT), DOCUMENT, None, "client-1"),
        (None, None, DOCUMENT, True, DOCUMENT),
        (None, None, DOCUMENT, False, "client-1"),
        (None, None, DOCUMENT, None, "client-1"),
        (None, None, None, True, "client-1"),
        (None, OAuthClientInformationFull(client_id="stored", issuer="https://b.example"), None, None, "client-1"),
    ],
)  # fmt: skip
def test_id_is_the_first_that_there_is(world, given, stored, url, takes_documents, used):
    world.publish(client_id_metadata_document_supported=takes_documents)
    world.stored = Stored(client_info=stored)
    world.options |= {"client_info": given, "client_metadata_url": url}
    assert world.challenge()
    assert world.queries[0]["client_id"] == world.forms()[0]["client_id"] == used
    assert world.registered == (used == "client-1")


def test_without_any_way_to_get_an_id_it_is_said_what_is_needed(world):
    world.publish(registration_endpoint=None)
    with pytest.raises(OAuthRegistrationError, match="registered beforehand is needed"):
        world.challenge()


def test_document_has_no_secret_and_fits_any_server(world):
    world.publish(client_id_metadata_document_supported=True)
    world.options["client_metadata_url"] = DOCUMENT
    assert world.challenge()
    assert not any(isinstance(step, SaveClientStep) for step in world.steps)
    assert "Authorization" not in world.sent_to("https://as.example/token")[0].headers


def test_document_may_name_a_key(world):
    world.publish(client_id_metadata_document_supported=True)
    world.options |= {"client_metadata_url": DOCUMENT, "signs_assertions": True}
    assert world.challenge()
    assert world.forms()[0]["client_assertion"] == "assertion-for-https://as.example"


# Registering


@pytest.mark.req("R-453", "R-488", "R-489", "R-507")
def test_what_is_registered(world):
    world.metadata |= {"client_name": "Test"}
    assert world.challenge()
    assert world.registrations == [
        {
            "client_name": "Test",
            "response_types": ["code"],
            "redirect_uris": ["http://127.0.0.1:3030/callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "application_type": "native",
        }
    ]


@pytest.mark.req("R-488", "R-489")
@pytest.mark.parametrize(
    ("uris", "given", "kind"),
    [
        (["https://app.example/cb"], {}, "web"),
        (["https://app.example/cb", "https://two.example/cb"], {}, "web"),
        (["https://app.example/cb"], {"application_type": "native"}, "native"),
        (["https://app.example/cb", "http://localhost:1/cb"], {}, "native"),
        (["https://localhost/cb"], {}, "native"),
        (["http://127.0.0.1:1/cb"], {}, "native"),
        (["http://127.0.0.1:1/cb"], {"application_type": "web"}, "web"),
    ],
)
def test_kind_of_application_is_that_of_its_redirects_unless_it_is_said(world, uris, given, kind):
    world.metadata = {"redirect_uris": uris, **given}
    assert world.challenge()
    assert [each["application_type"] for each in world.registrations] == [kind]


def test_published_scopes_of_any_length_are_not_registered(world):
    world.publish(prm={"scopes_supported": [f"scope-{i}" for i in range(5000)]})
    assert world.challenge(header='Bearer scope="x"')
    assert world.registrations[0]["scope"] == "x"


def test_scopes_that_may_be_asked_for_later_are_registered(world):
    world.publish(prm={"scopes_supported": ["a", "b"]})
    world.metadata["scope"] = "c"
    assert world.challenge(header='Bearer scope="x a"')
    assert world.registrations[0]["scope"] == "x a c b"
    assert world.queries[0]["scope"] == "x a"


@pytest.mark.parametrize(
    ("supported", "asked", "signs", "registered"),
    [
        (None, None, False, None),
        (["client_secret_basic", "none"], None, False, None),
        (["client_secret_post", "none"], None, False, "none"),
        (["client_secret_post"], None, False, "client_secret_post"),
        (["private_key_jwt"], None, False, None),
        (["private_key_jwt"], None, True, "private_key_jwt"),
        (["none"], "client_secret_post", False, "client_secret_post"),
    ],
)
def test_authentication_that_the_server_takes_is_registered(
    world, supported, asked, signs, registered
):
    world.publish(token_endpoint_auth_methods_supported=supported)
    world.options["signs_assertions"] = signs
    world.metadata["token_endpoint_auth_method"] = asked
    world.token_extra = {}
    world.routes[REGISTER] = lambda step: (
        world.register(step)
        if registered in {None, "none", "private_key_jwt"}
        else with_secret(world.register(step))
    )
    assert world.challenge()
    assert world.registrations[0].get("token_endpoint_auth_method") == registered


def with_secret(found):
    import json

    from trio_mcp.auth._step_types import HttpAnswer

    body = {**json.loads(found.content), "client_secret": "s3cret"}
    return HttpAnswer(found.status, found.headers, json.dumps(body).encode())


@pytest.mark.req("R-492")
@pytest.mark.parametrize("status", [200, 201])
def test_registration_is_kept_with_its_issuer(world, answer, status):
    world.routes[REGISTER] = answer(
        status, {"client_id": "c", "client_secret": "s3cret", "issuer": "https://evil.example"}
    )
    assert world.challenge()
    kept = world.stored.client_info
    assert (kept.client_id, kept.client_secret, kept.issuer) == (
        "c", "s3cret", "https://as.example",
    )  # fmt: skip
    assert kept.redirect_uris == ["http://127.0.0.1:3030/callback"]
    world.memory.drop_tokens()
    assert world.challenge()
    world.restart()
    world.stored = Stored(client_info=kept)
    assert world.challenge()
    assert REGISTER not in world.requested


@pytest.mark.req("R-490", "R-491")
@pytest.mark.parametrize(
    ("uri", "given", "then"),
    [
        ("https://app.example/cb", "native", "web"),
        ("http://localhost:1/cb", "web", "native"),
        ("http://localhost:1/cb", "native", None),
        ("https://app.example/cb", "web", None),
    ],
)
def test_refused_redirect_is_tried_once_as_the_other_kind_of_application(
    world, answer, uri, given, then
):
    world.metadata = {"redirect_uris": [uri], "application_type": given}
    refused = answer(400, {"error": "invalid_redirect_uri", "error_description": "no\nloopback"})
    world.routes[REGISTER] = [refused, world.register if then else refused]
    if then is None:
        with pytest.raises(OAuthRegistrationError, match=r"invalid_redirect_uri \(no loopback\)"):
            world.challenge()
        assert len(world.registrations) == 1
        return
    assert world.challenge()
    assert [each["application_type"] for each in world.registrations] == [given, then]


def test_redirects_of_both_kinds_are_tried_once(world, answer):
    world.metadata["redirect_uris"] = ["http://localhost/cb", "https://app.example/cb"]
    world.routes[REGISTER] = answer(400, {"error": "invalid_redirect_uri"})
    with pytest.raises(OAuthRegistrationError):
        world.challenge()
    assert len(world.registrations) == 1


@pytest.mark.req("R-491")
@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (400, {"error": "invalid_client_metadata", "error_description": "bad"}, r"answered 400: invalid_client_metadata \(bad\)"),
        (403, b"<html>", "answered 403"),
        (500, b"", "answered 500"),
        (302, b"", "answered 302"),
        (201, b"<html>", "answered no registration: no JSON"),
        (201, b"[]", "answered no registration: JSON that is no object"),
        (201, {}, "answered no registration: json.client_id: expected a string"),
        (201, {"client_id": 1}, "answered no registration: json.client_id"),
        (201, {"client_id": "c", "token_endpoint_auth_method": "tls_client_auth"}, "has to use the authentication 'tls_client_auth'"),
        (201, {"client_id": "c", "token_endpoint_auth_method": "client_secret_basic"}, "has to use client_secret_basic, and has no secret"),
        (201, {"client_id": "c", "token_endpoint_auth_method": "client_secret_post", "client_secret": ""}, "has to use client_secret_post, and has no secret"),
        (201, {"client_id": "c", "token_endpoint_auth_method": "private_key_jwt"}, "has no key to sign by"),
        (201, {"client_id": "c", "client_secret": "s3cret", "client_secret_expires_at": 5}, "has a secret that has expired already"),
        (201, {"client_id": "c", "redirect_uris": ["https://other.example/cb"]}, "sent back to 'https://other.example/cb', expected 'http://127.0.0.1:3030/callback'"),
    ],
)  # fmt: skip
def test_registration_that_is_of_no_use_is_an_error(world, answer, status, body, message):
    world.routes[REGISTER] = answer(status, body)
    with pytest.raises(OAuthRegistrationError, match=message) as caught:
        world.challenge()
    assert "s3cret" not in str(caught.value)
    assert world.queries == []
    assert world.stored.client_info is None


@pytest.mark.parametrize("expires", [0, None, 2_000_000_000])
def test_secret_that_lasts_is_used(world, answer, expires):
    body = {"client_id": "c", "client_secret": "s3cret", "client_secret_expires_at": expires}
    world.routes[REGISTER] = answer(201, body)
    assert world.challenge()
    assert "Authorization" in world.sent_to("https://as.example/token")[0].headers


@pytest.mark.parametrize("written", ["http://127.0.0.1:3030", "http://127.0.0.1:3030/"])
def test_redirect_that_comes_back_with_a_slash_is_the_same(world, answer, written):
    world.metadata["redirect_uris"] = ["http://127.0.0.1:3030"]
    world.routes[REGISTER] = answer(201, {"client_id": "c", "redirect_uris": [written]})
    assert world.challenge()
    assert world.queries[0]["redirect_uri"] == "http://127.0.0.1:3030"


@pytest.mark.parametrize(
    "stale",
    [
        {"client_secret": "s3cret", "client_secret_expires_at": 999_999},
        {"redirect_uris": ["http://127.0.0.1:9/callback"]},
        {"scope": "b c"},
    ],
)
def test_registration_that_is_stale_is_made_anew(world, stale):
    world.stored = Stored(client_info=mine(issuer="https://as.example", **stale))
    assert world.challenge(header="Bearer scope=a")
    assert world.queries[0]["client_id"] == "client-1"
    assert world.stored.client_info.client_id == "client-1"


@pytest.mark.parametrize("stale", [{"scope": "b"}, {"redirect_uris": ["http://127.0.0.1:9/"]}])
def test_registration_that_nobody_can_make_anew_is_used(world, stale):
    world.publish(registration_endpoint=None)
    world.stored = Stored(client_info=mine(issuer="https://as.example", **stale))
    assert world.challenge(header="Bearer scope=a")
    assert world.queries[0]["client_id"] == "mine"


def test_registration_that_the_server_has_forgotten_is_made_anew_next_time(world, answer):
    world.routes["https://as.example/token"] = [
        answer(401, {"error": "invalid_client"}),
        world.give_token,
    ]
    with pytest.raises(OAuthFlowError, match="invalid_client"):
        world.challenge()
    assert world.challenge()
    assert [query["client_id"] for query in world.queries] == ["client-1", "client-2"]


# Change of the authorization server


@pytest.mark.req("R-449", "R-468", "R-469", "R-493", "R-494")
def test_other_server_gets_neither_client_nor_tokens_of_the_first(world, answer):
    assert world.challenge()
    world.publish("https://b.example")
    world.steps.clear()
    assert world.challenge(attempt=world.attempt(token="access-1"))
    sent = [step for step in world.steps if isinstance(step, HttpStep)]
    assert all("as.example" not in step.url for step in sent)
    assert not any(b"refresh-1" in (step.content or b"") for step in sent)
    assert not any(b"client-1" in (step.content or b"") for step in sent)
    assert world.queries[0]["client_id"] == "client-2"
    assert world.memory.token_issuer == "https://b.example"
    # And back again: what it registered is still there.
    world.publish("https://as.example")
    world.steps.clear()
    assert world.challenge(attempt=world.attempt(token="access-2"))
    assert world.queries[0]["client_id"] == "client-1"
    assert world.registrations == []


def test_slash_at_the_root_makes_no_other_server(world):
    assert world.challenge()
    world.publish("https://as.example/", token_endpoint="https://as.example/token")
    world.routes["https://as.example/.well-known/oauth-authorization-server"] = world.routes.pop(
        "https://as.example//.well-known/oauth-authorization-server"
    )
    world.steps.clear()
    assert world.challenge(attempt=world.attempt(token="access-1"))
    assert world.queries == []
    [form] = world.forms("https://as.example/token")
    assert form["refresh_token"] == "refresh-1"


@pytest.mark.req("R-449", "R-493", "R-494")
def test_other_server_gets_nothing_out_of_the_store(world):
    assert world.challenge()
    world.publish("https://b.example")
    world.restart()
    assert world.challenge(attempt=world.attempt(token="access-1"))
    assert [form["grant_type"] for form in world.forms()] == ["authorization_code"]
    assert world.queries[0]["client_id"] == "client-2"


@pytest.mark.req("R-469", "R-493", "R-495")
@pytest.mark.parametrize(
    ("place", "given_with"),
    [("client_info", "https://as.example"), ("client_info", None), ("store", None)],
)
def test_client_that_was_registered_beforehand_is_not_taken_elsewhere(world, place, given_with):
    client = mine(client_secret="s3cret", issuer=given_with)
    if place == "client_info":
        world.options["client_info"] = client
    else:
        world.stored = Stored(client_info=client)
    assert world.challenge()
    world.publish("https://b.example")
    world.steps.clear()
    with pytest.raises(OAuthFlowError, match="is registered with 'https://as") as caught:
        world.challenge(attempt=world.attempt(token="access-1"))
    assert "takes tokens of 'https://b.example'" in str(caught.value)
    assert world.queries == []


def test_secret_that_has_expired_is_told(world):
    world.options["client_info"] = mine(client_secret="s3cret", client_secret_expires_at=5)
    with pytest.raises(OAuthFlowError, match="secret of the client 'mine' has expired"):
        world.challenge()


# The public functions


@pytest.mark.parametrize(
    ("client", "issuer", "url", "fits"),
    [
        (mine(), "https://a", None, True),
        (mine(issuer="https://a"), "https://a", None, True),
        (mine(issuer="https://a"), "https://a/", None, True),
        (mine(issuer="https://b"), "https://a", None, False),
        (OAuthClientInformationFull(client_id=DOCUMENT, issuer="https://b"), "https://a", DOCUMENT, True),
        (OAuthClientInformationFull(client_id=DOCUMENT, issuer="https://b"), "https://a", None, False),
    ],
)  # fmt: skip
def test_credentials_fit_their_issuer(client, issuer, url, fits):
    assert credentials_match_issuer(client, issuer, url) == fits


def test_client_of_a_document():
    client = create_client_info_from_metadata_url(DOCUMENT, ["https://app.example/cb"])
    assert client.client_id == DOCUMENT
    assert client.token_endpoint_auth_method == "none"
    assert client.redirect_uris == ["https://app.example/cb"]
    assert not should_use_client_metadata_url(None, DOCUMENT)


def test_pattern_of_messages_is_one_sentence(world, answer):
    world.routes[REGISTER] = answer(
        400, {"error": "x" * 1000, "error_description": "\x1b[31m\u202e"}
    )
    with pytest.raises(OAuthRegistrationError) as caught:
        world.challenge()
    assert len(str(caught.value)) < 600
    assert re.search(r"[\x00-\x1f\u202e]", str(caught.value)) is None
