from __future__ import annotations

import pytest

from trio_mcp.auth import OAuthClientMetadata, create_client_metadata_document

URL = "https://app.example/client.json"
CALLBACK = "http://127.0.0.1/callback"


def metadata(**more):
    return OAuthClientMetadata(**{"client_name": "Test", "redirect_uris": [CALLBACK], **more})


@pytest.mark.req("R-482", "R-483")
def test_document_says_who_the_client_is():
    assert create_client_metadata_document(URL, metadata(client_uri="https://app.example")) == {
        "client_id": URL,
        "client_name": "Test",
        "client_uri": "https://app.example",
        "redirect_uris": [CALLBACK],
        "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"],
        "application_type": "native",
        "token_endpoint_auth_method": "none",
    }


def test_document_may_name_keys():
    made = create_client_metadata_document(
        URL,
        metadata(
            token_endpoint_auth_method="private_key_jwt", jwks_uri="https://app.example/jwks"
        ),
    )
    assert made["token_endpoint_auth_method"] == "private_key_jwt"
    assert made["jwks_uri"] == "https://app.example/jwks"


@pytest.mark.req("R-480", "R-481", "R-501")
@pytest.mark.parametrize(
    ("url", "changed", "message"),
    [
        ("http://app.example/client.json", {}, "must be https, with a path"),
        ("https://app.example/", {}, "must be https, with a path"),
        (URL, {"client_name": None}, "client_name"),
        (URL, {"redirect_uris": None}, "redirect_uris"),
        (URL, {"redirect_uris": [CALLBACK, "http://app.example/cb"]}, "A redirect URI must be"),
        (URL, {"token_endpoint_auth_method": "client_secret_post"}, "must be one of"),
        (URL, {"token_endpoint_auth_method": "private_key_jwt"}, "jwks or jwks_uri"),
    ],
)
def test_document_that_no_server_would_take_is_not_made(url, changed, message):
    with pytest.raises(ValueError, match=message):
        create_client_metadata_document(url, metadata(**changed))
