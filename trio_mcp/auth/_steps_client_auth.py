"""How a client proves to a token endpoint who it is (RFC 6749, section 2.3; RFC 7523)."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from trio_mcp.errors import OAuthFlowError

from ._step_types import AssertionStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._memory import FlowConfig
    from ._models import OAuthClientInformationFull
    from ._step_types import Flow

CLIENT_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

KNOWN_METHODS: Final = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
SECRET_METHODS: Final = ("client_secret_basic", "client_secret_post")


def auth_method(
    client: OAuthClientInformationFull,
    supported: Sequence[str] | None,
    *,
    signs_assertions: bool,
) -> str:
    """Give the method that a client is to use.

    That of its registration. If that says none: an assertion, if there is one; else a secret, if
    there is one, by Basic unless the server takes it in the body alone; else nothing.

    Raises:
      OAuthFlowError: if it cannot be used.

    """
    method = client.token_endpoint_auth_method
    if method is None:
        method = _fitting_method(client, supported, signs_assertions=signs_assertions)
    if (reason := why_unusable(method, client, signs_assertions=signs_assertions)) is not None:
        raise OAuthFlowError(f"The client {client.client_id!r:.200} {reason}")
    return method


def _fitting_method(
    client: OAuthClientInformationFull, supported: Sequence[str] | None, *, signs_assertions: bool
) -> str:
    if client.client_secret is None:
        return "private_key_jwt" if signs_assertions else "none"
    known = supported or SECRET_METHODS
    return next((each for each in SECRET_METHODS if each in known), SECRET_METHODS[0])


def why_unusable(
    method: str, client: OAuthClientInformationFull, *, signs_assertions: bool
) -> str | None:
    """Say why a client cannot use a method, as the rest of a sentence; None if it can."""
    if method not in KNOWN_METHODS:
        return f"has to use the authentication {method!r:.80}, which this package does not know"
    if method in SECRET_METHODS and not client.client_secret:
        return f"has to use {method}, and has no secret"
    if method == "private_key_jwt" and not signs_assertions:
        return "has to use private_key_jwt, and has no key to sign by"
    return None


def has_expired_secret(client: OAuthClientInformationFull, now: float) -> bool:
    """Tell whether a secret is of no use any more; 0 is for ever (RFC 7591, section 3.2.1)."""
    return bool(
        client.client_secret
        and client.client_secret_expires_at
        and client.client_secret_expires_at <= now
    )


def authenticate(
    client: OAuthClientInformationFull,
    config: FlowConfig,
    *,
    supported: Sequence[str] | None,
    issuer: str,
    endpoint: str,
) -> Flow[tuple[dict[str, str], dict[str, str]]]:
    """Give what proves it: parameters for the form, and headers."""
    method = auth_method(client, supported, signs_assertions=config.signs_assertions)
    form = {"client_id": client.client_id}
    match method:
        case "client_secret_basic":
            return form, {"Authorization": basic(client)}
        case "client_secret_post":
            return {**form, "client_secret": client.client_secret or ""}, {}
        case "private_key_jwt":
            assertion: str = yield AssertionStep(
                kind="client_assertion",
                audience=issuer,
                token_endpoint=endpoint,
                client_id=client.client_id,
            )
            form["client_assertion_type"] = CLIENT_ASSERTION_TYPE
            return {**form, "client_assertion": assertion}, {}
        case _:
            return form, {}


def basic(client: OAuthClientInformationFull) -> str:
    """Write name and secret, each encoded as in a form before they are joined."""
    # `%20` and not `+` for a blank: that is read right by servers that decode either way.
    pair = ":".join(
        quote(each or "", safe="") for each in (client.client_id, client.client_secret)
    )
    return f"Basic {b64encode(pair.encode()).decode()}"
