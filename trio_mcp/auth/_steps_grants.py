"""Get a token: each grant from the first request to the token in memory."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final, assert_never

from trio_mcp.errors import OAuthFlowError, OAuthTokenError
from trio_mcp.transports.http._http_errors import shown

from ._identifiers import (
    add_query,
    canonical_resource,
    check_endpoint,
    check_redirect_uri,
    issuers_match,
)
from ._memory import (
    ClientCredentialsGrant,
    CodeGrant,
    IdentityAssertionGrant,
    Refusal,
    WorkloadGrant,
)
from ._models import JWT_BEARER_GRANT_TYPE, TOKEN_EXCHANGE_GRANT_TYPE, AuthorizationCodeResult
from ._pkce import PKCEParameters
from ._scopes import MAX_SCOPE_SIZE, OFFLINE_ACCESS, split_scopes, with_offline_access
from ._step_types import (
    AssertionStep,
    AuthorizationRefused,
    AuthorizeStep,
    NobodyToAsk,
    SaveClientStep,
)
from ._steps_answers import told, words_of
from ._steps_registration import client_for, doubted, forget, forget_unknown
from ._steps_tokens import (
    TokenEndpoint,
    adopt,
    ask,
    forget_client,
    read_token,
    save,
    token_endpoint,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._memory import FlowConfig, IdentityProvider, Memory
    from ._models import OAuthClientInformationFull, OAuthMetadata
    from ._step_types import Flow

ID_JAG_TOKEN_TYPE: Final = "urn:ietf:params:oauth:token-type:id-jag"  # noqa: S105


def get_token(memory: Memory, config: FlowConfig, scope: str | None) -> Flow[None]:
    """Get a token from the authorization server in memory, and save it.

    Raises:
      OAuthFlowError: if there is none to be got.

    """
    _check_dpop(memory, config)
    if scope is not None and len(scope) > MAX_SCOPE_SIZE:
        raise OAuthFlowError(
            f"The scopes that the server {shown(config.server_url)!r:.200} wants have "
            f"{len(scope)} characters, and {MAX_SCOPE_SIZE} at most are asked for"
        )
    token_endpoint(memory)  # is refused before anybody is asked for anything
    match config.grant:
        case CodeGrant():
            yield from _by_code(memory, config, scope)
        case ClientCredentialsGrant():
            client = yield from _own_client(memory, config, scope)
            form = {"grant_type": "client_credentials", "scope": scope}
            yield from _exchange(memory, config, form, client=client, scope=scope)
        case IdentityAssertionGrant():
            yield from _by_identity(memory, config, config.grant, scope)
        case WorkloadGrant():
            yield from _by_workload(memory, config, scope)
        case _:
            assert_never(config.grant)
    yield from save(memory)


def _check_dpop(memory: Memory, config: FlowConfig) -> None:
    if config.dpop is None:
        if memory.prm is not None and memory.prm.dpop_bound_access_tokens_required:
            raise OAuthFlowError(
                f"The server {shown(config.server_url)!r:.200} takes only tokens that are bound "
                "to a key (DPoP), which has to be asked for"
            )
        return
    known = memory.asm and memory.asm.dpop_signing_alg_values_supported
    if known and config.dpop.algorithm not in known:
        raise OAuthFlowError(
            f"The authorization server {memory.issuer!r:.200} takes DPoP proofs signed by "
            f"{', '.join(known)[:200]}, and the key signs by {config.dpop.algorithm}"
        )


def _exchange(
    memory: Memory,
    config: FlowConfig,
    form: Mapping[str, str | None],
    *,
    client: OAuthClientInformationFull | None,
    scope: str | None,
) -> Flow[None]:
    """Send the last request of a grant, and take its token into use."""
    refusal = yield from _try_exchange(memory, config, form, client=client, scope=scope)
    if refusal is not None:
        raise refusal.as_error()


def _try_exchange(
    memory: Memory,
    config: FlowConfig,
    form: Mapping[str, str | None],
    *,
    client: OAuthClientInformationFull | None,
    scope: str | None,
) -> Flow[Refusal | None]:
    endpoint, asked_at = token_endpoint(memory), config.now()
    sent = {**form, "resource": memory.resource}
    found = yield from ask(memory, config, endpoint, sent, client=client)
    if isinstance(found, Refusal):
        if client is not None:
            forget_client(memory, client, found)
        return found
    token = read_token(found, config, endpoint)
    adopt(memory, config, token, asked_at=asked_at, scope=scope)
    memory.asked = scope
    return None


# Authorization code


def _by_code(memory: Memory, config: FlowConfig, scope: str | None) -> Flow[None]:
    _check_pkce(memory, config)
    _redirect_uri(config)  # is refused before a client is registered with it
    endpoint = _authorization_endpoint(memory)
    scope = with_offline_access(scope, memory.asm, config.client_metadata.grant_types)
    before = list(memory.clients.values())
    client = yield from client_for(memory, config, scope)
    refused = yield from _log_in(memory, config, endpoint, client, scope)
    is_older = any(client is each for each in before)
    if refused is not None and is_older and forget_unknown(memory, client, refused[0]):
        # The authorization server has lost the registration, or ended it: once more, with another.
        client = yield from client_for(memory, config, scope)
        refused = yield from _log_in(memory, config, endpoint, client, scope)
    if refused is not None:
        raise refused[1]


def _log_in(
    memory: Memory,
    config: FlowConfig,
    endpoint: str,
    client: OAuthClientInformationFull,
    scope: str | None,
) -> Flow[tuple[str | None, OAuthFlowError] | None]:
    """Ask a person, and exchange the code; gives what was answered in place of that."""
    redirect_uri = _redirect_uri(config)
    pkce, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
    # Recorded before anybody is sent there: whose answer it has to be.
    issuer, asm = memory.issuer, memory.asm
    assert issuer is not None
    params = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "code_challenge": pkce.code_challenge,
        "code_challenge_method": "S256",
        "resource": memory.resource,
        "state": state,
        "scope": scope,
        # OpenID Connect, section 11: without it the scope is passed over.
        "prompt": "consent" if OFFLINE_ACCESS in split_scopes(scope) else None,
        "dpop_jkt": config.dpop and config.dpop.thumbprint,
    }
    query = [(name, value) for name, value in params.items() if value is not None]
    step = AuthorizeStep(
        url=add_query(endpoint, query), state=state, redirect_uri=redirect_uri, issuer=issuer
    )
    result = yield from _authorize(memory, client, step)
    try:
        code = check_authorization_answer(result, state=state, issuer=issuer, asm=asm)
    except AuthorizationDenied as exc:
        return exc.error_code, OAuthFlowError(exc.message)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": pkce.code_verifier,
    }
    refusal = yield from _try_exchange(memory, config, form, client=client, scope=scope)
    return None if refusal is None else (refusal.error, refusal.as_error())


def _authorize(
    memory: Memory, client: OAuthClientInformationFull, step: AuthorizeStep
) -> Flow[AuthorizationCodeResult | AuthorizationRefused]:
    try:
        answer: AuthorizationCodeResult | AuthorizationRefused = yield step
    except NobodyToAsk:
        raise
    except OAuthFlowError:
        # Whoever does not know a client shows a page that says so, and sends nobody back
        # (RFC 6749, section 4.1.2.1). So one that may have been lost is not used another time.
        if client.client_id in memory.stored_ids and forget(memory, client):
            yield SaveClientStep(client_info=doubted(client))
        raise
    return answer


def _check_pkce(memory: Memory, config: FlowConfig) -> None:
    if memory.asm is None:
        return
    methods = memory.asm.code_challenge_methods_supported
    if methods is None:
        if not config.allow_unlisted_pkce:
            raise OAuthFlowError(
                f"The authorization server {memory.issuer!r:.200} does not say that it supports "
                "PKCE: its metadata has no code_challenge_methods_supported"
            )
    elif "S256" not in methods:
        raise OAuthFlowError(
            f"The authorization server {memory.issuer!r:.200} supports PKCE by "
            f"{', '.join(methods)[:200] or 'no method'}, expected S256"
        )


def _redirect_uri(config: FlowConfig) -> str:
    uris = config.client_metadata.redirect_uris
    if not uris:
        raise OAuthFlowError("No redirect URI is given for the authorization code grant")
    try:
        return check_redirect_uri(uris[0])
    except ValueError as exc:
        raise OAuthFlowError(str(exc)) from None


def _authorization_endpoint(memory: Memory) -> str:
    if memory.asm is None:
        endpoint: str | None = f"{memory.issuer}/authorize"
    else:
        endpoint = memory.asm.authorization_endpoint
    if endpoint is None:
        raise OAuthFlowError(
            f"The authorization server {memory.issuer!r:.200} has no authorization_endpoint"
        )
    return check_endpoint("The authorization_endpoint", endpoint, memory.issuer or "")


class AuthorizationDenied(OAuthFlowError):
    """A redirect brought an error, from the server that it was expected from.

    Attributes:
      error_code: Which.

    """

    def __init__(self, error_code: str, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code


def check_authorization_answer(
    result: AuthorizationCodeResult | AuthorizationRefused,
    *,
    state: str,
    issuer: str,
    asm: OAuthMetadata | None,
) -> str:
    """Check what a redirect brought, in this order, and give the code.

    Raises:
      OAuthFlowError: if it belongs to another request or comes from another server, in which case
        nothing of it is shown; or if it is an error.

    """
    if result.state is None or not hmac.compare_digest(result.state.encode(), state.encode()):
        raise OAuthFlowError(
            "The answer of the authorization server does not belong to this request: its state "
            f"is {'missing' if result.state is None else 'that of another one'}"
        )
    check_answering_issuer(result.iss, issuer, asm)
    if isinstance(result, AuthorizationRefused):
        raise AuthorizationDenied(
            result.error,
            f"The authorization server {issuer!r:.200} did not authorize the client"
            f"{told(result.error, result.error_description, [state])}",
        )
    if not result.code:
        raise OAuthFlowError(f"The authorization server {issuer!r:.200} answered without a code")
    return result.code


def check_answering_issuer(iss: str | None, issuer: str, asm: OAuthMetadata | None) -> None:
    """Check the ``iss`` of an answer (RFC 9207, section 2.4).

    Raises:
      OAuthFlowError: if it is another one, or missing though the server says that it sends it.

    """
    if iss is None:
        if asm is not None and asm.authorization_response_iss_parameter_supported:
            raise OAuthFlowError(
                f"The answer has no iss, although {issuer!r:.200} says that it sends it"
            )
        return
    # A server without metadata has said of itself no string that could be compared.
    if iss != issuer and not (asm is None and issuers_match(iss, issuer)):
        raise OAuthFlowError(
            f"The answer comes from the issuer {words_of(iss)!r}, expected {issuer!r:.200}"
        )


# Without a browser


def _own_client(
    memory: Memory, config: FlowConfig, scope: str | None
) -> Flow[OAuthClientInformationFull]:
    if config.client_info is None and config.client_metadata_url is None:
        raise OAuthFlowError("A client that was registered beforehand is needed for this grant")
    return (yield from client_for(memory, config, scope))


def _by_workload(memory: Memory, config: FlowConfig, scope: str | None) -> Flow[None]:
    endpoint = token_endpoint(memory)
    step = AssertionStep(
        kind="workload",
        audience=endpoint.issuer,
        token_endpoint=endpoint.url,
        resource=_resource(memory, config),
        scope=scope,
    )
    assertion = yield from _assertion(step)
    # A server that has refused it would do so again, and may watch for who keeps trying.
    digest = hashlib.sha256(assertion.encode()).digest()
    if memory.refused_assertion is not None and memory.refused_assertion[0] == digest:
        raise memory.refused_assertion[1].as_error()
    form = {"grant_type": JWT_BEARER_GRANT_TYPE, "assertion": assertion, "scope": scope}
    refusal = yield from _try_exchange(memory, config, form, client=None, scope=scope)
    if refusal is not None:
        if not refusal.is_passing:
            memory.refused_assertion = digest, refusal
        raise refusal.as_error()


def _by_identity(
    memory: Memory, config: FlowConfig, grant: IdentityAssertionGrant, scope: str | None
) -> Flow[None]:
    client = yield from _own_client(memory, config, scope)
    if grant.identity_provider is None:
        endpoint = token_endpoint(memory)
        step = AssertionStep(
            kind="id_jag",
            audience=endpoint.issuer,
            token_endpoint=endpoint.url,
            client_id=client.client_id,
            resource=_resource(memory, config),
            scope=scope,
        )
        assertion = yield from _assertion(step)
    else:
        assertion = yield from _at_identity_provider(
            memory, config, grant.identity_provider, scope
        )
    form = {"grant_type": JWT_BEARER_GRANT_TYPE, "assertion": assertion, "scope": scope}
    yield from _exchange(memory, config, form, client=client, scope=scope)


def _at_identity_provider(
    memory: Memory, config: FlowConfig, idp: IdentityProvider, scope: str | None
) -> Flow[str]:
    """Exchange what the person has for an assertion that the authorization server takes."""
    step = AssertionStep(
        kind="subject_token",
        audience=idp.issuer,
        token_endpoint=idp.token_endpoint,
        client_id=idp.client.client_id,
        resource=_resource(memory, config),
        scope=scope,
    )
    subject_token = yield from _assertion(step)
    form = {
        "grant_type": TOKEN_EXCHANGE_GRANT_TYPE,
        "requested_token_type": ID_JAG_TOKEN_TYPE,
        "audience": memory.issuer,
        "resource": _resource(memory, config),
        "scope": scope,
        "subject_token": subject_token,
        "subject_token_type": idp.subject_token_type,
    }
    endpoint = TokenEndpoint(
        url=idp.token_endpoint,
        issuer=idp.issuer,
        what="the token endpoint of the identity provider",
    )
    # The assertion goes to the authorization server at once: no key is bound to it.
    found = yield from ask(memory, config, endpoint, form, client=idp.client, proves=False)
    if isinstance(found, Refusal):
        raise found.as_error()
    issued = found.get("issued_token_type")
    if issued != ID_JAG_TOKEN_TYPE:
        raise OAuthTokenError(
            f"The identity provider {idp.issuer!r:.200} issued {str(issued)!r:.200}, "
            f"expected {ID_JAG_TOKEN_TYPE!r}"
        )
    assertion = found.get("access_token")
    if not isinstance(assertion, str) or not assertion:
        raise OAuthTokenError(
            f"The identity provider {idp.issuer!r:.200} answered without an access_token"
        )
    return assertion


def _assertion(step: AssertionStep) -> Flow[str]:
    assertion: object = yield step
    if not isinstance(assertion, str) or not assertion:
        raise OAuthFlowError(
            f"Expected an assertion for {step.audience!r:.200} as text, "
            f"got {type(assertion).__name__}"
        )
    return assertion


def _resource(memory: Memory, config: FlowConfig) -> str:
    return memory.resource or canonical_resource(config.server_url)
