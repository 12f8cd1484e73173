"""Ask a token endpoint, and keep what it gives (RFC 6749, sections 5 and 6; RFC 9449)."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import attrs

from trio_mcp.errors import OAuthTokenError
from trio_mcp.transports.http._http_errors import shown

from ._dpop_proof import USE_DPOP_NONCE
from ._identifiers import check_endpoint, check_https, is_same_origin, issuers_match, origin_of
from ._memory import Refusal
from ._models import OAuthToken
from ._step_types import HttpStep, LoadStep, SaveClientStep, SaveTokensStep
from ._steps_answers import (
    answered,
    is_passing,
    oauth_error,
    read_object,
    sentence,
    told,
    words_of,
)
from ._steps_client_auth import authenticate
from ._steps_registration import keep_stored, known_client
from ._times import numeric_date

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.types._base import JsonObject

    from ._memory import FlowConfig, Memory
    from ._models import OAuthClientInformationFull
    from ._step_types import Flow, HttpAnswer, Stored

MAX_NONCES: Final = 2
"""How often one request is sent again with the nonce that an answer has brought.

Once is the rule; a nonce may also end between two requests.
"""

MAX_REFRESHES: Final = 2
"""Refresh tokens that are tried, if the store has another one after the first was refused."""

EXPIRES_AT: Final = "expires_at"
ISSUER: Final = "issuer"
KEY_THUMBPRINT: Final = "jkt"
# What is kept beside a token, in the store; never read from an answer.

_HEADER_SAFE: Final = re.compile(r"[\x21-\x7e]+")
_NONCE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,1024}")


@attrs.frozen(kw_only=True)
class TokenEndpoint:
    """Whom to ask."""

    url: str
    issuer: str
    auth_methods: list[str] | None = None
    what: str = "the token endpoint"


def token_endpoint(memory: Memory) -> TokenEndpoint:
    """Give the token endpoint of the authorization server in memory.

    Raises:
      OAuthFlowError: if it is not one that secrets can go to.

    """
    assert memory.issuer is not None
    if memory.asm is None:
        return TokenEndpoint(url=f"{memory.issuer}/token", issuer=memory.issuer)
    return TokenEndpoint(
        url=check_endpoint("The token_endpoint", memory.asm.token_endpoint, memory.issuer),
        issuer=memory.issuer,
        auth_methods=memory.asm.token_endpoint_auth_methods_supported,
    )


def ask(
    memory: Memory,
    config: FlowConfig,
    endpoint: TokenEndpoint,
    form: Mapping[str, str | None],
    *,
    client: OAuthClientInformationFull | None,
    proves: bool = True,
) -> Flow[JsonObject | Refusal]:
    """Send a request to a token endpoint.

    Args:
      memory: Keeps nonces.
      config: Says with which key tokens are bound.
      endpoint: Must be https, or on this machine.
      form: Parameters that are None are left out.
      client: Who asks; None for nobody in particular.
      proves: Whether the token is to be bound to the key.

    """
    check_https(sentence(endpoint.what), endpoint.url)
    given = {name: value for name, value in form.items() if value is not None}
    repeats = 0
    while True:
        proof, headers = yield from _with_authentication(config, endpoint, client)
        nonce = memory.nonces.get(origin_of(endpoint.url))
        if proves and config.dpop is not None:
            headers["DPoP"] = config.dpop.proof(
                "POST", endpoint.url, now=config.now(), nonce=nonce
            )
        sent = {**given, **proof}
        step = _request(endpoint, sent, headers, config)
        answer: HttpAnswer = yield step
        keep_nonce(memory, endpoint.url, answer)
        is_last = repeats == MAX_NONCES or "DPoP" not in headers
        if is_last or not _wants_other_nonce(answer, nonce, memory, endpoint):
            held = [sent.get(name) for name in _SECRETS]
            held.append(client.client_secret if client is not None else None)
            return _read(step, answer, held)
        repeats += 1


def _with_authentication(
    config: FlowConfig, endpoint: TokenEndpoint, client: OAuthClientInformationFull | None
) -> Flow[tuple[dict[str, str], dict[str, str]]]:
    if client is None:
        return {}, {}
    return (
        yield from authenticate(
            client,
            config,
            supported=endpoint.auth_methods,
            issuer=endpoint.issuer,
            endpoint=endpoint.url,
        )
    )


def _request(
    endpoint: TokenEndpoint, form: Mapping[str, str], headers: dict[str, str], config: FlowConfig
) -> HttpStep:
    return HttpStep(
        method="POST",
        url=endpoint.url,
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            **headers,
        },
        content=urlencode(form).encode(),
        what=endpoint.what,
        once=True,
        foreign=not is_same_origin(endpoint.url, config.server_url),
    )


def keep_nonce(memory: Memory, url: str, answer: HttpAnswer) -> bool:
    """Keep the nonce of an answer, if it brings one; tell whether it does."""
    nonce = answer.headers.get("DPoP-Nonce")
    if nonce is None or _NONCE.fullmatch(nonce) is None:
        return False
    memory.nonces[origin_of(url)] = nonce
    return True


def _wants_other_nonce(
    answer: HttpAnswer, sent: str | None, memory: Memory, endpoint: TokenEndpoint
) -> bool:
    if not 400 <= answer.status < 500 or oauth_error(answer)[0] != USE_DPOP_NONCE:
        return False
    newest = memory.nonces.get(origin_of(endpoint.url))
    return newest is not None and newest != sent


_SECRETS: Final = (
    "code", "code_verifier", "refresh_token", "assertion", "client_assertion", "subject_token"
)  # fmt: skip


def _read(step: HttpStep, answer: HttpAnswer, secrets: list[str | None]) -> JsonObject | Refusal:
    if answer.status not in {200, 201}:
        error, description = oauth_error(answer)
        return Refusal(
            words_of(error, secrets) if error else None,
            f"No token was given, {answered(step, answer)}{told(error, description, secrets)}",
            is_passing(answer.status),
        )
    try:
        return read_object(answer)
    except ValueError as exc:
        raise OAuthTokenError(
            f"No token was given, {step.what} {shown(step.url)!r:.200} answered {exc}"
        ) from None


# Tokens


def read_token(json: JsonObject, config: FlowConfig, endpoint: TokenEndpoint) -> OAuthToken:
    """Read the token in an answer.

    Raises:
      OAuthTokenError: if there is none, or none that can be used.

    """
    who = f"{endpoint.what} {shown(endpoint.url)!r:.200}"
    ours = {EXPIRES_AT, ISSUER, KEY_THUMBPRINT}
    found = {key: value for key, value in json.items() if key not in ours}
    try:
        token = OAuthToken.from_json(with_readable_lifetime(found))
    except ValueError as exc:
        raise OAuthTokenError(f"No token was given, {who} answered: {exc}") from None
    if _HEADER_SAFE.fullmatch(token.access_token) is None:
        raise OAuthTokenError(sentence(f"{who} gave an access token that no header can carry"))
    expected = "Bearer" if config.dpop is None else "DPoP"
    if token.token_type != expected:
        raise OAuthTokenError(
            sentence(
                f"{who} gave a token of the type {token.token_type!r:.80}, expected {expected!r}"
            )
        )
    return token


def with_readable_lifetime(json: JsonObject) -> JsonObject:
    """Spell ``expires_in`` as a number; some servers write a string, and a token is a token."""
    return {**json, "expires_in": _seconds(json.get("expires_in"))}


_LONGEST: Final = 10**12 - 1
# No integer of JSON is too big; one of 400 digits becomes no float.


def _seconds(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:13])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return max(0, min(int(value), _LONGEST))


def adopt(
    memory: Memory,
    config: FlowConfig,
    token: OAuthToken,
    *,
    asked_at: float,
    scope: str | None,
    previous: OAuthToken | None = None,
) -> OAuthToken:
    """Take a token into use, at once, and return it as it is to be saved.

    Args:
      memory: Takes it.
      config: Says to which key it is bound.
      token: As it was given.
      asked_at: The time of the request: a token does not last longer because its answer was slow.
      scope: What was asked for, which is what was granted if the answer does not say.
      previous: The token that was refreshed; what the answer does not say is as it was.

    """
    extra: dict[str, Any] = {**token.extra, ISSUER: memory.issuer}
    expires_at = None
    if token.expires_in:
        # Not rounded: of a token for one second that would leave nothing.
        expires_at = extra[EXPIRES_AT] = round(asked_at + token.expires_in, 3)
    if config.dpop is not None:
        extra[KEY_THUMBPRINT] = config.dpop.thumbprint
    kept = token.evolve(
        scope=token.scope or scope,
        refresh_token=token.refresh_token or (previous and previous.refresh_token),
        extra=extra,
    )
    memory.tokens, memory.token_issuer, memory.expires_at = kept, memory.issuer, expires_at
    memory.tokens_unsaved = True
    return kept


def save(memory: Memory) -> Flow[None]:
    """Write to the store what is not there yet."""
    if memory.unsaved_client is not None:
        yield SaveClientStep(client_info=memory.unsaved_client)
        memory.unsaved_client = None
    if memory.tokens_unsaved and memory.tokens is not None:
        yield SaveTokensStep(tokens=memory.tokens)
        memory.tokens_unsaved = False


def load(memory: Memory, config: FlowConfig, *, renews: bool = False) -> Flow[None]:
    """Read the store."""
    stored: Stored = yield LoadStep(renews)
    if not memory.loaded and stored.client_info is not None:
        keep_stored(memory, stored.client_info)
    memory.loaded = True
    # What is not in the store yet is newer than what is.
    if stored.tokens is not None and not memory.tokens_unsaved:
        _adopt_stored(memory, config, stored.tokens, stored.client_info)


def _adopt_stored(
    memory: Memory,
    config: FlowConfig,
    tokens: OAuthToken,
    client: OAuthClientInformationFull | None,
) -> None:
    if memory.tokens is not None and tokens.access_token == memory.tokens.access_token:
        return
    key = config.dpop.thumbprint if config.dpop is not None else None
    is_bound = tokens.token_type == "DPoP"  # noqa: S105 - the name of a kind
    if tokens.extra.get(KEY_THUMBPRINT) != key or is_bound != bool(key):
        return  # of an earlier key, or of none: it cannot be used any more
    if _HEADER_SAFE.fullmatch(tokens.access_token) is None:
        return  # put there by somebody else
    stamp = tokens.extra.get(ISSUER)
    issuer = stamp if isinstance(stamp, str) else client.issuer if client is not None else None
    if memory.issuer is not None and not issuers_match(issuer or "", memory.issuer):
        return
    if config.issuer is not None and not issuers_match(issuer or config.issuer, config.issuer):
        return
    expires_at = tokens.extra.get(EXPIRES_AT)
    memory.tokens, memory.token_issuer = tokens, issuer
    try:
        memory.expires_at = numeric_date(expires_at)
    except ValueError:
        memory.expires_at = None


# Refreshing


def can_refresh(memory: Memory, config: FlowConfig) -> bool:
    """Tell whether there is a refresh token, and whose authorization server it is for is known."""
    tokens = memory.tokens
    if tokens is None or tokens.refresh_token is None or memory.issuer is None:
        return False
    known = memory.token_issuer or config.issuer
    return known is not None and issuers_match(known, memory.issuer)


def refresh(memory: Memory, config: FlowConfig) -> Flow[bool]:
    """Get another token by the refresh token.

    Returns:
      Whether there is one now. If not, the refresh token is of no use any more.

    Raises:
      OAuthTokenError: if it did not work this time; tokens stay what they are.

    """
    refused = memory.tokens
    yield from save(memory)
    yield from load(memory, config, renews=True)
    for _ in range(MAX_REFRESHES):
        if memory.tokens is not refused and not memory.has_expired(config.now()):
            return True  # another process has done it
        client = known_client(memory, config)
        if memory.tokens is None or memory.tokens.refresh_token is None or client is None:
            return False
        if (yield from _try_refresh(memory, config, client, memory.tokens)):
            return True
        # Another process may have used the refresh token without waiting for this one.
        refused = memory.tokens
        yield from load(memory, config)
        if memory.tokens is refused:
            return False
    return False


def _try_refresh(
    memory: Memory, config: FlowConfig, client: OAuthClientInformationFull, tokens: OAuthToken
) -> Flow[bool]:
    form = {
        "grant_type": "refresh_token",
        "refresh_token": tokens.refresh_token,
        "resource": memory.resource,
    }
    asked_at, endpoint = config.now(), token_endpoint(memory)
    found = yield from ask(memory, config, endpoint, form, client=client)
    if isinstance(found, Refusal):
        if found.is_passing:
            raise found.as_error()
        forget_client(memory, client, found)
        memory.tokens = tokens.evolve(refresh_token=None)
        return False
    token = read_token(found, config, endpoint)
    adopt(memory, config, token, asked_at=asked_at, scope=tokens.scope, previous=tokens)
    yield from save(memory)
    return True


def forget_client(memory: Memory, client: OAuthClientInformationFull, refusal: Refusal) -> None:
    """Register anew next time, if the server does not know the registration that it gave."""
    if refusal.error == "invalid_client":
        for issuer in [each for each, known in memory.clients.items() if known is client]:
            del memory.clients[issuer]
            memory.forgotten.add(client.client_id)
