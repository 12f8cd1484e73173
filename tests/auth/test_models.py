"""Documents of OAuth are read as text is, and show no secret."""

from __future__ import annotations

import copy

import pytest

from trio_mcp.auth import (
    InvalidRedirectUriError,
    InvalidScopeError,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)


@pytest.mark.parametrize("url", ["https://h", "https://h/", "HTTPS://H:443/a%2Fb", "https://h//"])
def test_urls_are_kept_byte_for_byte(url):
    read = ProtectedResourceMetadata.from_json({"resource": url, "authorization_servers": [url]})
    assert read.to_json()["resource"] == url
    assert read.authorization_servers == [url]
    assert OAuthMetadata.from_json({"issuer": url, "token_endpoint": url}).to_json() == {
        "issuer": url,
        "token_endpoint": url,
        "response_types_supported": ["code"],
    }


def test_members_that_nobody_knows_are_kept():
    read = OAuthToken.from_json('{"access_token": "a", "x-tenant": [1]}')
    assert read.to_json() == {"access_token": "a", "token_type": "Bearer", "x-tenant": [1]}


@pytest.mark.parametrize("placeholder", [None, ""])
def test_placeholders_are_read_as_absent(placeholder):
    read = OAuthClientInformationFull.from_json({"client_id": "a", "client_secret": placeholder})
    assert read.client_secret is None


@pytest.mark.parametrize(
    ("written", "read"), [("bearer", "Bearer"), ("BEARER", "Bearer"), ("dpop", "DPoP")]
)
def test_kind_of_a_token_has_one_spelling(written, read):
    assert OAuthToken(access_token="a", token_type=written).token_type == read


@pytest.mark.parametrize(
    ("cls", "json", "where"),
    [
        (OAuthToken, "{}", "json.access_token: expected a string, got nothing"),
        (OAuthToken, "[]", "json: expected an object, got an array"),
        (OAuthToken, "<html>", "json: JSON is malformed"),
        (OAuthToken, {"access_token": 1}, "json.access_token: expected a string"),
        (ProtectedResourceMetadata, {"resource": "x"}, "json.authorization_servers"),
        (OAuthClientMetadata, {"redirect_uris": "x"}, "json.redirect_uris: expected an array"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(cls, json, where):
    with pytest.raises(ValueError, match=r"json") as caught:
        cls.from_json(json)
    assert where in str(caught.value)


def test_secrets_are_not_shown():
    shown = repr(
        [
            OAuthToken(access_token="SECRET", refresh_token="SECRET"),
            OAuthToken.from_json(
                {"access_token": "x", "id_token": "SECRET", "n": {"a": "SECRET"}}
            ),
            OAuthClientInformationFull(client_id="me", client_secret="SECRET"),
            OAuthClientInformationFull.from_json(
                {"client_id": "me", "registration_access_token": "SECRET"}
            ),
        ]
    )
    assert "SECRET" not in shown
    assert "client_id='me'" in shown
    # That there is something is no secret.
    assert "'id_token': '…'" in shown


def test_kind_of_application_is_found_out_when_it_is_written():
    unsaid = OAuthClientMetadata(redirect_uris=["http://127.0.0.1/"])
    assert (unsaid.application_type, unsaid.to_json()["application_type"]) == ("native", "native")
    assert type(unsaid.to_json()["application_type"]) is str
    web = copy.deepcopy(unsaid).evolve(redirect_uris=["https://app.example/cb"])
    assert web.to_json()["application_type"] == "web"
    said = OAuthClientMetadata(redirect_uris=web.redirect_uris, application_type="native")
    assert said.to_json()["application_type"] == "native"
    assert OAuthClientMetadata.from_json(said.to_json()).to_json() == said.to_json()


def test_redirect_uris_are_compared_as_text():
    client = OAuthClientInformationFull(client_id="a", redirect_uris=["https://h/cb"])
    assert client.validate_redirect_uri("https://h/cb") == "https://h/cb"
    assert client.validate_redirect_uri(None) == "https://h/cb"
    for other in ("https://h/cb/", "https://H/cb", "https://h/cb?a=b"):
        with pytest.raises(InvalidRedirectUriError, match="not registered"):
            client.validate_redirect_uri(other)


def test_redirect_uri_has_to_be_said_where_there_are_several():
    client = OAuthClientInformationFull(
        client_id="a", redirect_uris=["https://h/1", "https://h/2"]
    )
    with pytest.raises(InvalidRedirectUriError, match="exactly one"):
        client.validate_redirect_uri(None)


def test_scopes_are_those_that_are_registered():
    client = OAuthClientInformationFull(client_id="a", scope="read write")
    assert client.validate_scope("write") == ["write"]
    assert client.validate_scope(None) is None
    with pytest.raises(InvalidScopeError, match="'admin'"):
        client.validate_scope("read admin")
