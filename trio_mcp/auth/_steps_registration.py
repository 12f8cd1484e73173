"""Get a client id: registered beforehand, stored, a URL with a document, or registered now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trio_mcp._codec._json import dumps
from trio_mcp.errors import OAuthFlowError, OAuthRegistrationError
from trio_mcp.transports.http._http_errors import shown

from ._identifiers import check_endpoint, is_loopback_url, is_same_origin, issuers_match
from ._models import OAuthClientInformationFull
from ._scopes import MAX_SCOPE_SIZE, missing_scopes, split_scopes, union_scopes
from ._step_types import HttpStep, SaveClientStep
from ._steps_answers import answered, oauth_error, read_object, told
from ._steps_client_auth import KNOWN_METHODS, has_expired_secret, why_unusable

if TYPE_CHECKING:
    from ._memory import FlowConfig, Memory
    from ._models import OAuthMetadata
    from ._step_types import Flow, HttpAnswer


def client_for(
    memory: Memory, config: FlowConfig, scope: str | None
) -> Flow[OAuthClientInformationFull]:
    """Give the client for the authorization server in memory; register one if there is none.

    Raises:
      OAuthFlowError: if there is no way to get one.

    """
    client = known_client(memory, config)
    if client is None or not _is_enough(client, memory, config, scope):
        client = yield from _register(memory, config, scope)
    return client


def known_client(memory: Memory, config: FlowConfig) -> OAuthClientInformationFull | None:
    """Give the client for the authorization server in memory, if there is one.

    Raises:
      OAuthFlowError: if one was registered beforehand, and cannot be used with this server.

    """
    if config.client_info is not None:
        return _given(config.client_info, memory, config)
    if memory.stored_client is not None:
        _bind_stored(memory, config)
    stored = _stored(memory, config)
    return stored if stored is not None else _client_with_document(memory, config)


def _given(
    client: OAuthClientInformationFull, memory: Memory, config: FlowConfig
) -> OAuthClientInformationFull:
    """Take one that was registered beforehand; with whom is said, or is whoever comes first."""
    issuer = _issuer(memory)
    bound = client.issuer or memory.bound_issuer
    if bound is not None and not issuers_match(bound, issuer):
        raise OAuthFlowError(
            f"The client {client.client_id!r:.200} is registered with {bound!r:.200}, "
            f"and the server takes tokens of {issuer!r:.200}"
        )
    if has_expired_secret(client, config.now()):
        raise OAuthFlowError(
            f"The secret of the client {client.client_id!r:.200} has expired at {issuer!r:.200}"
        )
    memory.bound_issuer = issuer
    return client


def _bind_stored(memory: Memory, config: FlowConfig) -> None:
    """Take what a store holds that says nothing of an issuer: the application put it there."""
    client = memory.stored_client
    assert client is not None
    if client.client_id == config.client_metadata_url:
        memory.stored_client = None  # fits any, and is found anew
        return
    memory.clients[_issuer(memory)] = _given(client, memory, config)


def _stored(memory: Memory, config: FlowConfig) -> OAuthClientInformationFull | None:
    issuer = _issuer(memory)
    fitting = (each for known, each in memory.clients.items() if issuers_match(known, issuer))
    client = next(fitting, None)
    is_usable = client is not None and not has_expired_secret(client, config.now())
    return client if is_usable else None


def _is_enough(
    client: OAuthClientInformationFull, memory: Memory, config: FlowConfig, scope: str | None
) -> bool:
    """Tell whether a client can log somebody in, or cannot be registered anew."""
    if client not in memory.clients.values() or client.issuer is None:
        return True  # not by us
    if registration_endpoint(memory) is None:
        return True
    # RFC 7591, section 2: scopes that are registered are all that can be asked for.
    if client.scope is not None and missing_scopes(client.scope.split(), split_scopes(scope)):
        return False
    ours = config.client_metadata.redirect_uris
    return not ours or _has_redirect(client, ours[0])


def _has_redirect(client: OAuthClientInformationFull, uri: str) -> bool:
    # Some servers write `http://localhost:8` back as `http://localhost:8/`.
    registered = client.redirect_uris
    return not registered or any(issuers_match(each, uri) for each in registered)


def _client_with_document(memory: Memory, config: FlowConfig) -> OAuthClientInformationFull | None:
    asm = memory.asm
    if asm is None or not should_use_client_metadata_url(asm, config.client_metadata_url):
        return None
    assert config.client_metadata_url is not None
    client = create_client_info_from_metadata_url(
        config.client_metadata_url, config.client_metadata.redirect_uris
    )
    if config.signs_assertions:
        return client.evolve(token_endpoint_auth_method="private_key_jwt")  # noqa: S106
    return client


UNKNOWN: Final = frozenset({"invalid_client", "unauthorized_client"})
"""What an authorization server says of a client that it does not know, or no longer wants."""

DOUBTED: Final = "trio_mcp_doubted"
"""What is kept beside a registration with which nobody has come back from a login."""


def forget_unknown(memory: Memory, client: OAuthClientInformationFull, error: str | None) -> bool:
    """Forget a client that the authorization server refuses, if it can be registered anew."""
    return error in UNKNOWN and forget(memory, client)


def forget(memory: Memory, client: OAuthClientInformationFull) -> bool:
    """Forget a registration, here and in the store, if it is one that is made anew; tell that."""
    if client.issuer is None or registration_endpoint(memory) is None:
        return False
    for issuer in [each for each, known in memory.clients.items() if known is client]:
        del memory.clients[issuer]
    memory.forgotten.add(client.client_id)
    return True


def doubted(client: OAuthClientInformationFull) -> OAuthClientInformationFull:
    """Mark a registration, for who reads it from the store."""
    return client.evolve(extra={**client.extra, DOUBTED: True})


def keep_stored(memory: Memory, client: OAuthClientInformationFull) -> None:
    """Take what the store has, unless it is of no use."""
    if client.issuer is None:
        memory.stored_client = client
    elif client.client_id not in memory.forgotten and DOUBTED not in client.extra:
        memory.stored_ids.add(client.client_id)
        memory.clients.setdefault(client.issuer, client)


def _issuer(memory: Memory) -> str:
    assert memory.issuer is not None
    return memory.issuer


# Registration (RFC 7591)


def _register(
    memory: Memory, config: FlowConfig, scope: str | None
) -> Flow[OAuthClientInformationFull]:
    endpoint = registration_endpoint(memory)
    if endpoint is None:
        raise OAuthRegistrationError(
            f"The authorization server {memory.issuer!r:.200} registers no clients: "
            "a client_id that was registered beforehand is needed"
        )
    check_endpoint("The registration_endpoint", endpoint, _issuer(memory))
    document = _registration(memory, config, scope)
    step = _request(endpoint, document, config)
    answer: HttpAnswer = yield step
    other = _other_type(document)
    if _is_refused_redirect(answer) and other is not None:
        # RFC 7591 leaves it to the server which redirect URIs are those of which type.
        step = _request(endpoint, {**document, "application_type": other}, config)
        answer = yield step
    client = _read_registration(step, answer, memory, config)
    if client.scope is not None:
        # What the server left out it would leave out again.
        client = client.evolve(scope=union_scopes(client.scope, document.get("scope")))
    memory.clients[_issuer(memory)] = client
    memory.unsaved_client = client
    yield SaveClientStep(client_info=client)
    memory.unsaved_client = None
    return client


def registration_endpoint(memory: Memory) -> str | None:
    """Give the endpoint; of a server of 2025-03-26 without metadata it is known."""
    if memory.asm is None:
        return f"{_issuer(memory)}/register"
    return memory.asm.registration_endpoint


def _registration(memory: Memory, config: FlowConfig, scope: str | None) -> dict[str, Any]:
    document: dict[str, Any] = config.client_metadata.to_json()
    # What may be asked for later belongs to the registration, too: servers refuse other scopes.
    published = " ".join((memory.prm and memory.prm.scopes_supported) or ())
    wanted = union_scopes(scope, config.client_metadata.scope)
    scopes = union_scopes(wanted, published)
    if len(scopes or "") > MAX_SCOPE_SIZE:
        scopes = wanted
    if scopes is not None:
        document["scope"] = scopes
    if "token_endpoint_auth_method" not in document:
        method = _method_to_register(memory.asm, signs_assertions=config.signs_assertions)
        if method is not None:
            document["token_endpoint_auth_method"] = method
    if config.dpop is not None:
        document["dpop_bound_access_tokens"] = True
    return document


def _method_to_register(asm: OAuthMetadata | None, *, signs_assertions: bool) -> str | None:
    """Choose a method where leaving it out would mean one that the server does not take."""
    supported = asm and asm.token_endpoint_auth_methods_supported
    if not supported or "client_secret_basic" in supported:
        return None
    usable = [each for each in KNOWN_METHODS if each != "private_key_jwt" or signs_assertions]
    return next((each for each in usable if each in supported), None)


def _request(endpoint: str, document: dict[str, Any], config: FlowConfig) -> HttpStep:
    return HttpStep(
        method="POST",
        url=endpoint,
        headers={"Content-Type": "application/json", "Accept": "application/json"},
        content=dumps(document),
        what="the registration endpoint",
        once=True,
        foreign=not is_same_origin(endpoint, config.server_url),
    )


def _is_refused_redirect(answer: HttpAnswer) -> bool:
    return answer.status == 400 and oauth_error(answer)[0] == "invalid_redirect_uri"


def _other_type(document: dict[str, Any]) -> str | None:
    """Give the type of application that would fit the redirect URIs better."""
    uris: list[str] = document.get("redirect_uris") or []
    local = [is_loopback_url(uri) for uri in uris]
    fitting = "native" if all(local) else "web" if not any(local) else None
    return None if fitting == document.get("application_type") else fitting


def _read_registration(
    step: HttpStep, answer: HttpAnswer, memory: Memory, config: FlowConfig
) -> OAuthClientInformationFull:
    client = parse_registration(step, answer)
    client = client.evolve(
        issuer=_issuer(memory),
        redirect_uris=client.redirect_uris or config.client_metadata.redirect_uris,
    )
    check_registration(client, config)
    return client


def parse_registration(step: HttpStep, answer: HttpAnswer) -> OAuthClientInformationFull:
    """Read the answer of a registration endpoint.

    Raises:
      OAuthRegistrationError: if it is none of a client that was registered.

    """
    if answer.status not in {200, 201}:
        raise OAuthRegistrationError(
            f"The client was not registered, {answered(step, answer)}{told(*oauth_error(answer))}"
        )
    try:
        found = read_object(answer)
        # Whose registration it is we know ourselves; nobody else has a say in it.
        found.pop("issuer", None)
        return OAuthClientInformationFull.from_json(found)
    except ValueError as exc:
        raise OAuthRegistrationError(
            f"The client was not registered, {step.what} {shown(step.url)!r:.200} answered no "
            f"registration: {exc}"
        ) from None


def check_registration(client: OAuthClientInformationFull, config: FlowConfig) -> None:
    """Refuse a registration that is of no use: servers may change what was asked for.

    Raises:
      OAuthRegistrationError: if it is.

    """
    who = f"The authorization server {client.issuer!r:.200} registered a client that"
    method = client.token_endpoint_auth_method
    if method is not None:
        reason = why_unusable(method, client, signs_assertions=config.signs_assertions)
        if reason is not None:
            raise OAuthRegistrationError(f"{who} {reason}")
    if has_expired_secret(client, config.now()):
        raise OAuthRegistrationError(f"{who} has a secret that has expired already")
    ours = config.client_metadata.redirect_uris
    if ours and not _has_redirect(client, ours[0]):
        raise OAuthRegistrationError(
            f"{who} may be sent back to {', '.join(map(repr, client.redirect_uris or []))[:400]}, "
            f"expected {ours[0]!r:.200}"
        )


# Client id metadata documents


def should_use_client_metadata_url(
    oauth_metadata: OAuthMetadata | None, client_metadata_url: str | None
) -> bool:
    """Tell whether a client id metadata document can take the place of a registration.

    Args:
      oauth_metadata: Says whether the authorization server fetches such documents.
      client_metadata_url: Where it is, if there is one.

    """
    return (
        oauth_metadata is not None
        and client_metadata_url is not None
        and oauth_metadata.client_id_metadata_document_supported is True
    )


def create_client_info_from_metadata_url(
    client_metadata_url: str, redirect_uris: list[str] | None = None
) -> OAuthClientInformationFull:
    """Make the client whose id is the URL of its document; it has no secret.

    Args:
      client_metadata_url: The URL, which the document names as ``client_id``.
      redirect_uris: Those of the document.

    """
    return OAuthClientInformationFull(
        client_id=client_metadata_url,
        token_endpoint_auth_method="none",  # noqa: S106 - the name of a method
        redirect_uris=redirect_uris,
    )


def credentials_match_issuer(
    client_info: OAuthClientInformationFull, issuer: str, client_metadata_url: str | None
) -> bool:
    """Tell whether a client may be used with an authorization server.

    Args:
      client_info: One whose ``issuer`` is not known may be; so far nobody said that it may not.
      issuer: The authorization server; with or without a slash at its root.
      client_metadata_url: A client whose id this is fits any of them.

    """
    if client_metadata_url is not None and client_info.client_id == client_metadata_url:
        return True
    return client_info.issuer is None or issuers_match(client_info.issuer, issuer)
