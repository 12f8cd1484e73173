"""The authorization endpoint: checks what a client asks a person for (RFC 6749, section 4.1.1).

As long as it is not sure that the client is known, and that the redirect URI is one of its own,
the browser is sent nowhere: it gets a page. From then on a client that was known beforehand hears
of what is wrong. For one that has made itself known, by a registration or a document, a person is
asked first: who clicks a link to this server must not land at a place that a stranger has chosen
(RFC 9700, section 4.11.2).
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp.auth._identifiers import is_valid_client_metadata_url
from trio_mcp.auth._models import InvalidRedirectUriError, InvalidScopeError

from ._answers import (
    Answer,
    RefusedRequest,
    describe,
    error_members,
    log_refused,
    logger,
    redirect_answer,
)
from ._asked_scopes import asked_scopes
from ._clients import find_client
from ._consent import end_of_host, plain
from ._errors import AuthorizeError
from ._pages import page_answer
from ._parameters import parse_parameters, read_form
from ._provider import AuthorizationParams
from ._redirects import construct_redirect_uri
from ._resources import check_resource

if TYPE_CHECKING:
    from trio_mcp.auth._models import OAuthClientInformationFull
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._parameters import Parameters
    from ._provider import AnyProvider

_SHA256: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)

MAX_LENGTH: Final = 8192
"""Bytes of all parameters together: they stay in a URL until the person has answered."""

_UNTRUSTED: Final = frozenset(("client_id", "redirect_uri"))


@attrs.frozen
class AuthorizationEndpoint:
    """Answers at the authorization endpoint.

    Attributes:
      provider: Takes over from here.
      issuer: Goes into answers.
      valid_scopes: The scopes that there are; None for whatever clients are registered for.
      default_scopes: For requests that name none.
      takes_keys: Whether tokens are bound to the keys of clients.

    """

    provider: AnyProvider
    issuer: str
    valid_scopes: list[str] | None = None
    default_scopes: list[str] | None = None
    takes_keys: bool = False

    async def answer(self, request: HttpRequest) -> Answer:
        """Send the browser to where the person logs in, or back to the client with an error."""
        found = 302 if request.method == "GET" else 303
        try:
            parameters = await _read(request)
            client, redirect_uri = await self._client_of(parameters)
        except RefusedRequest as refused:
            log_refused(request, refused.error, refused.description)
            return _page(refused)
        try:
            params = self._checked(parameters, client, redirect_uri)
            url = await self.provider.authorize(client, params)
        except RefusedRequest as refused:
            error, description = refused.error, refused.description
        except AuthorizeError as refused:
            error, description = refused.error, refused.error_description
        except Exception:  # noqa: BLE001 - of a provider's code: logged, and the client is told
            logger.exception("%s failed", request.name)
            error, description = "server_error", None
        else:
            return redirect_answer(url, found)
        log_refused(request, error, description)
        members: dict[str, Any] = error_members(error, description)
        url = construct_redirect_uri(
            redirect_uri, **members, state=parameters.get("state"), iss=self._iss
        )
        if _is_self_made(client):
            status = 500 if error == "server_error" else 400
            return _page(RefusedRequest(error, description, status=status), url)
        return redirect_answer(url, found)

    @property
    def _iss(self) -> str | None:
        return self.issuer if getattr(self.provider, "sends_issuer", False) else None

    async def _client_of(self, parameters: Parameters) -> tuple[OAuthClientInformationFull, str]:
        if parameters.repeated & _UNTRUSTED:
            parameters.check_single()
        client = await find_client(self.provider, parameters.needed("client_id"))
        if client is None:
            raise RefusedRequest("invalid_request", "No client with this client_id is known here")
        try:
            return client, client.validate_redirect_uri(parameters.get("redirect_uri"))
        except InvalidRedirectUriError as exc:
            raise RefusedRequest("invalid_request", exc.message) from None

    def _checked(
        self, parameters: Parameters, client: OAuthClientInformationFull, redirect_uri: str
    ) -> AuthorizationParams:
        parameters.check_single()
        _check_response(parameters, client)
        return AuthorizationParams(
            state=parameters.get("state"),
            scopes=self._scopes(parameters.get("scope"), client),
            code_challenge=_challenge(parameters),
            redirect_uri=redirect_uri,
            redirect_uri_provided_explicitly=parameters.get("redirect_uri") is not None,
            resource=check_resource(parameters.get("resource")),
            issuer=self.issuer,
            dpop_jkt=self._dpop_jkt(parameters.get("dpop_jkt")),
        )

    def _scopes(self, scope: str | None, client: OAuthClientInformationFull) -> list[str] | None:
        if scope is None:
            return self.default_scopes
        # Those that there are, whatever a document says that its client may ask for.
        scopes = asked_scopes(scope, self.valid_scopes)
        if client.scope is None and self.valid_scopes is not None:
            client = client.evolve(scope=" ".join(self.valid_scopes))
        try:
            client.validate_scope(scope)
        except InvalidScopeError as exc:
            raise RefusedRequest("invalid_scope", exc.message) from None
        return scopes

    def _dpop_jkt(self, thumbprint: str | None) -> str | None:
        if thumbprint is None or not self.takes_keys:
            return None
        if _SHA256.fullmatch(thumbprint) is None:
            raise RefusedRequest("invalid_request", "dpop_jkt is no thumbprint by SHA-256")
        return thumbprint


async def _read(request: HttpRequest) -> Parameters:
    if request.method == "POST":
        parameters = await read_form(request)
    else:
        parameters = parse_parameters(request.scope.get("query_string", b""))
    if sum(len(each.encode()) for each in parameters.values.values()) > MAX_LENGTH:
        raise RefusedRequest(
            "invalid_request", f"The parameters have more than {MAX_LENGTH} bytes together"
        )
    return parameters


def _check_response(parameters: Parameters, client: OAuthClientInformationFull) -> None:
    if parameters.needed("response_type") != "code":
        raise RefusedRequest("unsupported_response_type", "The response_type has to be code")
    if "authorization_code" not in client.grant_types or "code" not in client.response_types:
        raise RefusedRequest("unauthorized_client", "The client is not registered for codes")
    if parameters.get("response_mode") not in {None, "query"}:
        raise RefusedRequest("invalid_request", "The response_mode has to be query")
    for name in ("request", "request_uri"):
        # What is in there would be left out, and the client would not know.
        if parameters.get(name) is not None:
            raise RefusedRequest("invalid_request", f"The parameter {name} is not taken here")


def _challenge(parameters: Parameters) -> str:
    challenge = parameters.needed("code_challenge")
    # Without a method it would be "plain" (RFC 7636, section 4.3), which protects nobody.
    if parameters.get("code_challenge_method") != "S256":
        raise RefusedRequest("invalid_request", "The code_challenge_method has to be S256")
    if _SHA256.fullmatch(challenge) is None:
        raise RefusedRequest("invalid_request", "The code_challenge is no SHA-256 in base64url")
    return challenge


def _is_self_made(client: OAuthClientInformationFull) -> bool:
    # Registrations say when they were made; what was known from the beginning does not.
    issued_at = client.client_id_issued_at
    return issued_at is not None or is_valid_client_metadata_url(client.client_id)


def _page(refused: RefusedRequest, url: str | None = None) -> Answer:
    reason = escape(describe(refused.description or refused.error))
    back = "<p>Go back to the program that sent you here.</p>"
    if url is not None:
        back = (
            "<p>The program that sent you here hears of it if you go on to "
            f'<a href="{escape(url)}">{plain(end_of_host(url))}</a>.</p>'
        )
    return page_answer(
        "This request cannot be answered",
        f"<p>{reason}.</p>{back}",
        refused.status,
        refused.headers,
    )
