"""Pieces of the flow of OAuth for who drives one by hand, under the names of ``mcp``.

Answers and requests are those of httpx; httpx2's will do. What needs no answer of a server is a
function of its module: `union_scopes`, `is_valid_client_metadata_url` and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._codec._json import dumps
from trio_mcp.errors import OAuthFlowError, OAuthTokenError
from trio_mcp.types import LATEST_PROTOCOL_VERSION

from ._challenges import oauth_params, parse_challenges
from ._identifiers import (
    ASM_SUFFIX,
    asm_urls,
    canonical_resource,
    check_issuer,
    origin_of,
    prm_urls,
)
from ._models import OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from ._step_types import HttpAnswer, HttpStep
from ._steps_answers import read_object
from ._steps_grants import check_answering_issuer
from ._steps_registration import parse_registration
from ._steps_tokens import with_readable_lifetime

if TYPE_CHECKING:
    from httpx import Request, Response

    from ._models import OAuthClientInformationFull, OAuthClientMetadata

_REFUSALS: Final = (401, 403)


def extract_field_from_www_auth(response: Response, field_name: str) -> str | None:
    """Give a parameter of the ``Bearer`` or ``DPoP`` challenges of an answer.

    Args:
      response: The answer; all of its ``WWW-Authenticate`` headers are read.
      field_name: Such as ``"error"``.

    Returns:
      Its value, without quotes; None if there is none, or if it is empty.

    """
    challenges = parse_challenges(response.headers.get_list("WWW-Authenticate"))
    return oauth_params(challenges).get(field_name.lower()) or None


def extract_scope_from_www_auth(response: Response) -> str | None:
    """Give the scopes that an answer asks for, parted by spaces."""
    return extract_field_from_www_auth(response, "scope")


def extract_resource_metadata_from_www_auth(response: Response) -> str | None:
    """Give the URL of the server's metadata that a 401 or 403 names."""
    if response.status_code not in _REFUSALS:
        return None
    return extract_field_from_www_auth(response, "resource_metadata")


def build_protected_resource_metadata_discovery_urls(
    www_auth_url: str | None, server_url: str
) -> list[str]:
    """List where a server's metadata may be, in the order to look.

    Args:
      www_auth_url: The place that a challenge names.
      server_url: Of the server; its path is tried before the root.

    Raises:
      ValueError: if ``server_url`` is no http or https URL.

    """
    return prm_urls(www_auth_url or None, server_url)


def build_oauth_authorization_server_metadata_discovery_urls(
    auth_server_url: str | None, server_url: str
) -> list[str]:
    """List where the metadata of an authorization server may be, in the order to look.

    Args:
      auth_server_url: The issuer; None for a server of 2025-03-26 that is its own.
      server_url: Of the server.

    Raises:
      ValueError: if what is used of them is no http or https URL.

    """
    if auth_server_url:
        return asm_urls(auth_server_url)
    return [f"{origin_of(canonical_resource(server_url))}/.well-known/{ASM_SUFFIX}"]


async def handle_protected_resource_response(
    response: Response,
) -> ProtectedResourceMetadata | None:
    """Read the metadata of a server.

    Returns:
      The metadata; None if there is none here, so that the next place is to be tried.

    """
    await trio.lowlevel.checkpoint()
    if response.status_code != 200:
        return None
    try:
        found = ProtectedResourceMetadata.from_json(await response.aread())
    except ValueError:
        return None
    return found if found.authorization_servers else None


async def handle_auth_metadata_response(response: Response) -> tuple[bool, OAuthMetadata | None]:
    """Read the metadata of an authorization server.

    Returns:
      Whether to go on (False if the server does not work), and the metadata, if it is here.

    """
    await trio.lowlevel.checkpoint()
    if response.status_code >= 500:
        return False, None
    if response.status_code != 200:
        return True, None
    try:
        return True, OAuthMetadata.from_json(await response.aread())
    except ValueError:
        return True, None


def validate_authorization_response_iss(
    iss: str | None, oauth_metadata: OAuthMetadata | None
) -> None:
    """Check who answers an authorization request (RFC 9207, section 2.4).

    Args:
      iss: As it was in the redirect.
      oauth_metadata: Of the server that was asked.

    Raises:
      OAuthFlowError: if it is not the same string as the issuer, or missing although the metadata
        promises it.

    """
    if oauth_metadata is not None:
        check_answering_issuer(iss, oauth_metadata.issuer, oauth_metadata)
    elif iss is not None:
        raise OAuthFlowError(f"The answer comes from the issuer {iss!r:.200}, expected no iss")


def validate_metadata_issuer(oauth_metadata: OAuthMetadata, expected_issuer: str) -> None:
    """Check whose metadata it is (RFC 8414, section 3.3).

    Raises:
      OAuthFlowError: if the issuer is not the same string.

    """
    check_issuer(oauth_metadata.issuer, expected_issuer, expected_issuer)


def create_oauth_metadata_request(url: str) -> Request:
    """Make the request for a metadata document."""
    import httpx  # noqa: PLC0415 - loads on first use

    return httpx.Request("GET", url, headers={"MCP-Protocol-Version": LATEST_PROTOCOL_VERSION})


def create_client_registration_request(
    auth_server_metadata: OAuthMetadata | None,
    client_metadata: OAuthClientMetadata,
    auth_base_url: str,
) -> Request:
    """Make the request that registers a client (RFC 7591).

    Args:
      auth_server_metadata: Says where.
      client_metadata: What to register.
      auth_base_url: Where ``/register`` is, if the metadata does not say.

    """
    import httpx  # noqa: PLC0415 - loads on first use

    endpoint = auth_server_metadata and auth_server_metadata.registration_endpoint
    if not endpoint:
        endpoint = f"{origin_of(auth_base_url)}/register"
    return httpx.Request(
        "POST",
        endpoint,
        content=dumps(client_metadata.to_json()),
        headers={"Content-Type": "application/json"},
    )


async def handle_registration_response(response: Response) -> OAuthClientInformationFull:
    """Read what a registration endpoint answers; it has no say in whose registration it is.

    Raises:
      OAuthRegistrationError: if the client was not registered.

    """
    await trio.lowlevel.checkpoint()
    content = await response.aread()
    url = _url_of(response)
    step = HttpStep(method="POST", url=url, what="the registration endpoint")
    return parse_registration(step, HttpAnswer(response.status_code, content=content))


async def handle_token_response_scopes(response: Response) -> OAuthToken:
    """Read what a token endpoint answers with a success.

    Raises:
      OAuthTokenError: if there is no token in it.

    """
    await trio.lowlevel.checkpoint()
    answer = HttpAnswer(response.status_code, content=await response.aread())
    try:
        return OAuthToken.from_json(with_readable_lifetime(read_object(answer)))
    except ValueError as exc:
        raise OAuthTokenError(f"The token endpoint answered no token: {exc}") from None


def _url_of(response: Any) -> str:
    try:
        return str(response.request.url)
    except RuntimeError:  # httpx: made by hand, without a request
        return ""
