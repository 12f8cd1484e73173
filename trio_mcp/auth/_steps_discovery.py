"""Find out who issues tokens for a server.

The server's metadata (RFC 9728) names the authorization servers, whose metadata (RFC 8414, or
OpenID Discovery) names the endpoints. What is at none of the places is passed over; what answers
that it does not work is reported, since that says nothing about what is there.

A server of 2025-03-26 has no metadata: it is its own authorization server, whose metadata is at
the root, or whose endpoints are at fixed paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from trio_mcp.errors import OAuthFlowError
from trio_mcp.transports.http._http_errors import shown
from trio_mcp.types import LATEST_PROTOCOL_VERSION, is_version_at_least

from ._identifiers import (
    ASM_SUFFIX,
    asm_urls,
    canonical_resource,
    check_https,
    check_issuer,
    is_parent_resource,
    is_same_origin,
    is_secure_url,
    issuers_match,
    origin_of,
    prm_urls,
    split_url,
)
from ._models import OAuthDocument, OAuthMetadata, ProtectedResourceMetadata
from ._step_types import CheckResourceStep, HttpStep
from ._steps_answers import failure, is_passing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._memory import Attempt, FlowConfig, Memory
    from ._step_types import Flow, HttpAnswer

FIRST_WITH_RESOURCE: Final = "2025-06-18"
"""The first revision in which `resource` is sent, whatever is published."""

_Document = TypeVar("_Document", bound=OAuthDocument)


def discover(
    memory: Memory, config: FlowConfig, attempt: Attempt, challenged: Mapping[str, str]
) -> Flow[None]:
    """Find out who issues tokens, and put it into memory.

    Raises:
      OAuthFlowError: if nobody does, or not anybody to be trusted.

    """
    prm = yield from _find_prm(config, challenged.get("resource_metadata"))
    asm: OAuthMetadata | None
    if prm is not None:
        issuer = _choose(prm.authorization_servers, memory, config)
        resource: str | None = prm.resource
        asm = yield from _find_asm(issuer, config)
    elif (configured := _configured_issuer(config)) is not None:
        issuer, resource = configured, canonical_resource(config.server_url)
        asm = yield from _find_asm(issuer, config)
    else:
        issuer, asm = yield from _find_own_asm(config)
        resource = _resource_without_metadata(config, attempt)
    _remember(memory, prm, issuer, asm, resource)


def _remember(
    memory: Memory,
    prm: ProtectedResourceMetadata | None,
    issuer: str,
    asm: OAuthMetadata | None,
    resource: str | None,
) -> None:
    # At once, and after all checks: whoever is cancelled midway leaves no half of it.
    if memory.issuer is not None and not issuers_match(memory.issuer, issuer):
        memory.asked = None
        memory.step_ups.clear()
    if memory.token_issuer is not None and not issuers_match(memory.token_issuer, issuer):
        memory.drop_tokens()
    memory.prm, memory.issuer, memory.asm, memory.resource = prm, issuer, asm, resource


def _get(url: str, what: str, config: FlowConfig) -> HttpStep:
    return HttpStep(
        method="GET",
        url=url,
        headers={
            "Accept": "application/json",
            "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
        },
        what=what,
        foreign=not is_same_origin(url, config.server_url),
    )


def _first_document(
    cls: type[_Document], steps: Sequence[HttpStep], tried: list[str]
) -> Flow[tuple[_Document, str] | None]:
    """Try one place after the other; ``tried`` collects why not."""
    busy: OAuthFlowError | None = None
    for step in steps:
        answer: HttpAnswer = yield step
        if answer.status == 200:
            try:
                return _read(cls, answer), step.url
            except ValueError as exc:
                tried.append(f"{shown(step.url)!r:.200}: no such document, {exc}")
                continue
        tried.append(f"{shown(step.url)!r:.200}: {answer.status}")
        if is_passing(answer.status) and answer.status >= 400 and busy is None:
            busy = failure(step, answer)
        if answer.status >= 500:
            raise failure(step, answer)
    if busy is not None:
        # "Too many requests" at one place leads on to the next, but is no proof of absence.
        raise busy
    return None


def _read(cls: type[_Document], answer: HttpAnswer) -> _Document:
    found = cls.from_json(answer.content)
    if isinstance(found, ProtectedResourceMetadata) and not found.authorization_servers:
        raise ValueError("json.authorization_servers: expected at least one")
    return found


# The server's metadata


def _find_prm(
    config: FlowConfig, challenged: str | None
) -> Flow[ProtectedResourceMetadata | None]:
    steps = [
        _get(url, "the metadata of the server", config)
        for url in prm_urls(challenged, config.server_url)
        # What is at the server itself is as safe as the server.
        if is_secure_url(url) or is_same_origin(url, config.server_url)
    ]
    found = yield from _first_document(ProtectedResourceMetadata, steps, [])
    if found is None:
        return None
    yield from _check_resource(found[0], config)
    return found[0]


def _check_resource(prm: ProtectedResourceMetadata, config: FlowConfig) -> Flow[None]:
    if config.checks_resource:
        yield CheckResourceStep(server_url=config.server_url, resource=prm.resource)
        return
    if not is_parent_resource(prm.resource, canonical_resource(config.server_url)):
        raise OAuthFlowError(
            f"The metadata of the server is that of the resource {prm.resource!r:.200}, "
            f"expected {shown(canonical_resource(config.server_url))!r:.200} or a parent of it"
        )


# Which authorization server


def _choose(servers: Sequence[str], memory: Memory, config: FlowConfig) -> str:
    if config.issuer is not None:
        for server in servers:
            if issuers_match(server, config.issuer):
                return server
        raise OAuthFlowError(
            f"The server takes tokens of {', '.join(map(repr, servers))[:400]}, "
            f"expected the issuer {config.issuer!r:.200}"
        )
    if config.choose_issuer is not None:
        if (chosen := config.choose_issuer(tuple(servers))) not in servers:
            raise OAuthFlowError(
                f"What choose_issuer returns must be one of "
                f"{', '.join(map(repr, servers))[:400]}, got {chosen!r:.200}"
            )
        return chosen
    held = _issuers_with_credentials(memory, config)
    return next(
        (each for each in servers if any(issuers_match(each, one) for one in held)), servers[0]
    )


def _issuers_with_credentials(memory: Memory, config: FlowConfig) -> list[str]:
    given = config.client_info.issuer if config.client_info is not None else None
    held = (given, memory.bound_issuer, memory.token_issuer, *memory.clients)
    return [each for each in held if each is not None]


def _configured_issuer(config: FlowConfig) -> str | None:
    """Give the issuer that the application knows, for servers that name none."""
    given = config.client_info.issuer if config.client_info is not None else None
    known = config.issuer or given
    own = origin_of(canonical_resource(config.server_url))
    # A server of 2025-03-26 may be known as its own issuer, and has less to be found.
    return None if known is None or issuers_match(known, own) else known


# Its metadata


def _find_asm(issuer: str, config: FlowConfig) -> Flow[OAuthMetadata]:
    check_https("An authorization server", issuer)
    parts = split_url(issuer)
    assert parts is not None
    if parts.query is not None or parts.fragment is not None:
        raise OAuthFlowError(
            f"An issuer has neither query nor fragment (RFC 8414, section 2), got {issuer!r:.200}"
        )
    what = "the metadata of the authorization server"
    steps = [_get(url, what, config) for url in asm_urls(issuer)]
    tried: list[str] = []
    found = yield from _first_document(OAuthMetadata, steps, tried)
    if found is None:
        raise OAuthFlowError(
            f"The authorization server {issuer!r:.200} publishes no metadata ({'; '.join(tried)})"
        )
    check_issuer(found[0].issuer, issuer, found[1])
    return found[0]


def _find_own_asm(config: FlowConfig) -> Flow[tuple[str, OAuthMetadata | None]]:
    """Do as 2025-03-26 says: the server's origin is the issuer."""
    base = origin_of(canonical_resource(config.server_url))
    check_https("A server that is its own authorization server", base)
    url = f"{base}/.well-known/{ASM_SUFFIX}"
    step = _get(url, "the metadata of the authorization server", config)
    found = yield from _first_document(OAuthMetadata, [step], [])
    if found is None:
        return base, None
    asm = found[0]
    if not issuers_match(asm.issuer, base):
        check_issuer(asm.issuer, base, url)
    return asm.issuer, asm


def _resource_without_metadata(config: FlowConfig, attempt: Attempt) -> str | None:
    version = attempt.protocol_version
    if version is None or not is_version_at_least(version, FIRST_WITH_RESOURCE):
        return None
    return canonical_resource(config.server_url)
