"""What an error says of a URL holds no password, whoever gave it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from trio_mcp.auth import (
    AuthSettings,
    IntrospectionTokenVerifier,
    JWTVerifier,
    OAuthClientMetadata,
    OAuthFlowError,
    create_client_metadata_document,
)
from trio_mcp.auth._dpop_proof import target_uri
from trio_mcp.auth._fetch import fetch
from trio_mcp.auth._identifiers import check_endpoint, check_redirect_uri, origin_of
from trio_mcp.auth.client._provider import checked_metadata_url
from trio_mcp.auth.server._routes import validate_issuer_url

if TYPE_CHECKING:
    from collections.abc import Callable

ISSUER = "https://as.example"
METADATA = OAuthClientMetadata(redirect_uris=["https://app.example/cb"], client_name="App")


@pytest.mark.parametrize(
    "url",
    [
        "https://u:s3cret@a.example/i",
        "ftp://s3cret@a.example/x",
        "http://u:s3/cr@et@a.example",
        "s3cret@a.example",
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        IntrospectionTokenVerifier,
        lambda url: JWTVerifier(issuer=ISSUER, jwks_uri=url),
        lambda url: create_client_metadata_document(url, METADATA),
        checked_metadata_url,
        lambda url: AuthSettings(issuer_url=url, resource_server_url=ISSUER),
        lambda url: AuthSettings(issuer_url=ISSUER, resource_server_url=url),
        validate_issuer_url,
        check_redirect_uri,
        lambda url: check_endpoint("token_endpoint", url, ISSUER),
        lambda url: trio.run(fetch, url),
    ],
)
def test_password_of_a_url_is_in_no_error(make: Callable[[str], Any], url: str) -> None:
    with pytest.raises((ValueError, OAuthFlowError)) as caught:
        make(url)
    assert not any(part in str(caught.value) for part in ("s3", "cret", "et@"))
    assert "***@a.example" in str(caught.value)


@pytest.mark.parametrize("read", [target_uri, origin_of])
def test_neither_is_it_where_the_rest_is_no_url(read: Callable[[str], Any]) -> None:
    with pytest.raises(ValueError, match="URL") as caught:
        read("https://u:s3cret@a.example/\\")
    assert "s3cret" not in str(caught.value)
