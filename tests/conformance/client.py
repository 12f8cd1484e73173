"""The client that the official conformance suite starts, once for each scenario.

::

    python client.py URL

The environment says which scenario it is, which revision the server speaks, and what else the
client has to know. It ends with status 0 if it got through.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import trio

from trio_mcp import Client
from trio_mcp.auth import (
    AuthorizationCodeResult,
    ClientCredentialsOAuthProvider,
    EnterpriseOAuthProvider,
    InMemoryTokenStorage,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthClientProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
    WorkloadIdentityOAuthProvider,
    static_assertion_provider,
)

SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
REVISION = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))

METADATA_URL = "https://conformance-test.local/client-metadata.json"
REDIRECT_URI = "http://127.0.0.1:8765/callback"


class Person:
    """Follows the authorization request as a browser would, up to the redirect to the client.

    Nothing listens where that leads, so it is read, and not followed.
    """

    def __init__(self) -> None:
        self.redirected_to = ""

    async def open_page(self, url: str) -> None:
        async with httpx.AsyncClient() as browser:
            response = await browser.get(url, follow_redirects=False)
        self.redirected_to = response.headers["location"]

    async def wait_for_redirect(self) -> AuthorizationCodeResult:
        query = {k: v[0] for k, v in parse_qs(urlsplit(self.redirected_to).query).items()}
        return AuthorizationCodeResult(
            code=query["code"], state=query.get("state"), iss=query.get("iss")
        )


async def with_a_person(url: str) -> OAuthClientProvider:
    storage = InMemoryTokenStorage()
    if "client_id" in CONTEXT:
        await storage.for_server(url).set_client_info(
            OAuthClientInformationFull(
                client_id=CONTEXT["client_id"],
                client_secret=CONTEXT.get("client_secret"),
                issuer=CONTEXT.get("issuer"),
                redirect_uris=[REDIRECT_URI],
            )
        )
    person = Person()
    return OAuthClientProvider(
        url,
        OAuthClientMetadata(client_name="trio_mcp conformance", redirect_uris=[REDIRECT_URI]),
        storage,
        redirect_handler=person.open_page,
        callback_handler=person.wait_for_redirect,
        client_metadata_url=METADATA_URL,
        dpop=SCENARIO.startswith("auth/dpop"),
    )


def by_signed_assertion(url: str) -> OAuthClientProvider:
    client_id = CONTEXT["client_id"]
    parameters = SignedJWTParameters(
        issuer=client_id,
        subject=client_id,
        signing_key=CONTEXT["private_key_pem"],
        signing_algorithm=CONTEXT["signing_algorithm"],
    )
    assertion = parameters.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(url, InMemoryTokenStorage(), client_id, assertion)


def by_secret(url: str) -> OAuthClientProvider:
    return ClientCredentialsOAuthProvider(
        url, InMemoryTokenStorage(), CONTEXT["client_id"], CONTEXT["client_secret"]
    )


async def by_company(url: str) -> OAuthClientProvider:
    return EnterpriseOAuthProvider(
        url,
        InMemoryTokenStorage(),
        CONTEXT["client_id"],
        CONTEXT["client_secret"],
        await issuer_of(url),
        static_assertion_provider(CONTEXT["idp_id_token"]),
        idp_issuer=CONTEXT["idp_issuer"],
        idp_token_endpoint=CONTEXT["idp_token_endpoint"],
        idp_client_id=CONTEXT["idp_client_id"],
    )


async def issuer_of(url: str) -> str:
    """Say which authorization server the application trusts: here, whichever there is."""
    parts = urlsplit(url)
    metadata = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    async with httpx.AsyncClient() as http:
        issuer: str = (await http.get(metadata)).json()["authorization_servers"][0]
    return issuer


def by_platform(url: str) -> OAuthClientProvider:
    assertion = static_assertion_provider(CONTEXT["valid_jwt"])
    return WorkloadIdentityOAuthProvider(url, InMemoryTokenStorage(), assertion)


async def provider_for(url: str) -> OAuthClientProvider:
    match SCENARIO:
        case "auth/client-credentials-jwt":
            return by_signed_assertion(url)
        case "auth/client-credentials-basic":
            return by_secret(url)
        case "auth/enterprise-managed-authorization":
            return await by_company(url)
        case "auth/wif-jwt-bearer":
            return by_platform(url)
        case _:
            return await with_a_person(url)


async def main(url: str) -> None:
    async with Client(url, auth=await provider_for(url), mode=REVISION) as client:
        await client.list_tools()
        await client.call_tool("test-tool", {})


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
