"""How a client shows who it is, at the endpoints that it calls itself (RFC 6749, section 2.3).

It has to be the way for which it is registered: a client with a secret that could also come
without would have none.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

import attrs

from ._answers import RefusedRequest
from ._client_assertions import subject_of
from ._clients import find_client, refused_client

if TYPE_CHECKING:
    from trio_mcp.auth._models import OAuthClientInformationFull
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._client_assertions import ClientAssertions
    from ._parameters import Parameters
    from ._provider import AnyProvider

JWT_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

_SECRET_METHODS: Final = ("client_secret_basic", "client_secret_post")

_CHALLENGE: Final = (("www-authenticate", 'Basic realm="oauth"'),)


def method_of(client: OAuthClientInformationFull) -> str | None:
    """Give the way in which a client has to authenticate; None for either with its secret."""
    method = client.token_endpoint_auth_method
    return "none" if method is None and client.client_secret is None else method


@attrs.frozen
class Shown:
    """What a request shows of its client.

    Attributes:
      method: By the names of RFC 7591.
      client_id: Who it says it is.
      credential: The secret or the assertion; "" for none.

    """

    method: str
    client_id: str
    credential: str = attrs.field(default="", repr=False)


@attrs.frozen
class ClientAuthenticator:
    """Finds out whose request it is.

    Attributes:
      provider: Knows the clients.
      assertions: Checks what they signed.

    """

    provider: AnyProvider
    assertions: ClientAssertions

    async def authenticate(
        self, request: HttpRequest, form: Parameters
    ) -> OAuthClientInformationFull:
        """Give the client that sent a request.

        Raises:
          RefusedRequest: if it did not show who it is.

        """
        shown = _shown_by(request, form)
        client = await find_client(self.provider, shown.client_id)
        used_header = shown.method == "client_secret_basic"
        headers = _CHALLENGE if used_header else ()
        if client is None:
            raise refused_client("No client with this client_id is known here", headers)
        if not _may_use(client, shown.method):
            expected = method_of(client) or " or ".join(_SECRET_METHODS)
            raise refused_client(
                f"The client is registered for {expected}, and came with {shown.method}", headers
            )
        if shown.method == "private_key_jwt":
            await self.assertions.check(client, shown.credential)
        elif shown.method != "none":
            _check_secret(client, shown.credential, headers)
        return client


def _may_use(client: OAuthClientInformationFull, method: str) -> bool:
    registered = method_of(client)
    return method in _SECRET_METHODS if registered is None else method == registered


def _check_secret(
    client: OAuthClientInformationFull, secret: str, headers: tuple[tuple[str, str], ...]
) -> None:
    expected = client.client_secret
    # An empty one would be shown by everybody.
    if not expected or not hmac.compare_digest(expected.encode(), secret.encode()):
        raise refused_client("The client's secret is wrong", headers)
    expires_at = client.client_secret_expires_at
    if expires_at and expires_at <= time.time():
        raise refused_client("The client's secret has expired: it has to register again", headers)


def _shown_by(request: HttpRequest, form: Parameters) -> Shown:
    ways = [
        name
        for name, is_used in (
            ("client_secret_basic", "authorization" in request.headers),
            ("client_secret_post", form.get("client_secret") is not None),
            (
                "private_key_jwt",
                form.get("client_assertion") is not None
                or form.get("client_assertion_type") is not None,
            ),
        )
        if is_used
    ]
    if len(ways) > 1:
        raise RefusedRequest(
            "invalid_request",
            f"A client shows in one way who it is, and not by {' and '.join(ways)}",
        )
    match ways:
        case ["client_secret_basic"]:
            return _shown_by_header(request, form)
        case ["private_key_jwt"]:
            return _shown_by_assertion(form)
        case ["client_secret_post"]:
            return Shown(ways[0], form.needed("client_id"), form.needed("client_secret"))
        case _:
            return Shown("none", form.needed("client_id"))


def _shown_by_header(request: HttpRequest, form: Parameters) -> Shown:
    values = request.headers.all("authorization")
    scheme, _, encoded = values[0].partition(" ")
    if len(values) > 1 or scheme.lower() != "basic":
        raise refused_client("The Authorization header has to be one of Basic", _CHALLENGE)
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
        name, colon, secret = decoded.partition(":")
        # RFC 6749, section 2.3.1: both are encoded as in a form.
        client_id = unquote_plus(name, errors="strict")
        secret = unquote_plus(secret, errors="strict")
    except (binascii.Error, ValueError):
        colon = client_id = secret = ""
    if not colon:
        raise refused_client(
            "The Authorization header is no id and secret, parted by a colon, in Base64",
            _CHALLENGE,
        )
    if form.get("client_id") not in {None, client_id}:
        raise refused_client("The client_id is another one than in the header", _CHALLENGE)
    return Shown("client_secret_basic", client_id, secret)


def _shown_by_assertion(form: Parameters) -> Shown:
    if form.needed("client_assertion_type") != JWT_ASSERTION:
        raise refused_client(f"The client_assertion_type has to be {JWT_ASSERTION}")
    assertion = form.needed("client_assertion")
    client_id = subject_of(assertion)
    if form.get("client_id") not in {None, client_id}:
        raise refused_client("The client_id is another one than the sub of the assertion")
    return Shown("private_key_jwt", client_id, assertion)
