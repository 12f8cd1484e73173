"""Signs requests by the tokens of a `Driver`, for our carriers and for clients of httpx."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import httpx

from trio_mcp._codec._json import JsonError, loads
from trio_mcp.auth._identifiers import canonical_resource, is_same_origin
from trio_mcp.auth._memory import (
    Attempt,
    ClientCredentialsGrant,
    CodeGrant,
    FlowConfig,
    IdentityAssertionGrant,
)
from trio_mcp.auth._step_types import HttpAnswer, NobodyToAsk
from trio_mcp.auth._steps import answer_challenge, needs_preparing, note_answer, prepare, sign
from trio_mcp.errors import OAuthFlowError
from trio_mcp.transports.http._authorizing import Authorizer, Authorizing, SignedRequest
from trio_mcp.transports.http._endpoint import check_url
from trio_mcp.transports.http._http_errors import shown
from trio_mcp.types._base import is_object

from ._driver import Driver, Parties
from ._storage import part_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping

_ATTEMPT: Final = "attempt"
_SINCE: Final = "since"

CLIENT_CREDENTIALS: Final = "io.modelcontextprotocol/oauth-client-credentials"
ENTERPRISE_MANAGED: Final = "io.modelcontextprotocol/enterprise-managed-authorization"

_NAMES: Final = ("name", "uri")
"""Params that say which tool, prompt or resource a request is for."""


class OAuthAuthorizer(httpx.Auth, Authorizer):
    """What all providers of OAuth have in common.

    Args:
      config: What the application says. Without a ``server_url``, that of the first request
        counts.
      parties: Whom flows have to do with, but for the store.
      storage: Where tokens are kept, of this server and perhaps of others.

    """

    # As in `mcp`. It changes nothing here: no flow reads what a server says besides.
    requires_response_body = True

    def __init__(self, config: FlowConfig, parties: Parties, storage: Any) -> None:
        self._config = config
        self._parties = parties
        self._storage = storage
        part_for(storage, "")  # which refuses what is none
        self._driver: Driver | None = None
        if config.server_url:
            self._bind(config.server_url)

    def __repr__(self) -> str:
        url = self._config.server_url
        where = shown(url) if url else "the first server that it is used with"
        return f"<{type(self).__name__} for {where}>"

    def _bind(self, url: str) -> Driver:
        if url[:2].lower() == "ws":
            url = f"http{url[2:]}"
        check_url(url)
        self._config = attrs.evolve(self._config, server_url=url)
        storage = part_for(self._storage, canonical_resource(url))
        parties = attrs.evolve(self._parties, storage=storage, store=self._storage)
        self._driver = Driver(self._config, parties)
        return self._driver

    async def sign(self, request: SignedRequest) -> Mapping[str, str]:
        """See `Authorizer.sign`."""
        driver = self._driver or self._bind(request.url)
        attempt = _attempt_of(request)
        if not is_same_origin(request.url, driver.config.server_url):
            return {}
        if needs_preparing(driver.memory, driver.config):
            await driver.run(
                lambda config: prepare(driver.memory, config), http_client=request.http_client
            )
        request.notes[_SINCE] = driver.ended
        return sign(driver.memory, driver.config, attempt)

    async def answered(
        self, request: SignedRequest, sent: Mapping[str, str], status: int, headers: Any
    ) -> bool:
        """See `Authorizer.answered`."""
        del sent
        driver = self._driver
        assert driver is not None  # it has signed
        answer = HttpAnswer(status, headers)
        if not is_same_origin(request.url, driver.config.server_url):
            if status != 401:
                return False
            raise OAuthFlowError(
                f"{shown(request.url)} wants a token, and this {type(self).__name__} gets those "
                f"for {shown(driver.config.server_url)}: each server needs one of its own"
            )
        attempt = _attempt_of(request)
        if status == 403 or driver.memory.step_ups:
            attempt.operation = attempt.operation or _operation_of(request)
        if not note_answer(driver.memory, driver.config, attempt, answer):
            return False
        try:
            return await driver.run(
                partial(self._flow, driver, attempt, answer),
                subject="" if status == 401 else attempt.operation or attempt.method,
                since=request.notes.get(_SINCE),
                may_ask=request.may_ask,
                http_client=request.http_client,
            )
        except NobodyToAsk:
            # On leaving: the server's answer stands.
            return False

    @staticmethod
    def _flow(driver: Driver, attempt: Attempt, answer: HttpAnswer, config: FlowConfig) -> Any:
        return answer_challenge(driver.memory, config, attempt, answer)

    @property
    def principal(self) -> str:
        """See `Authorizer.principal`."""
        driver = self._driver
        if driver is None or driver.memory.tokens is None:
            return ""
        is_person = isinstance(driver.config.grant, CodeGrant)
        client = driver.config.client_info
        whose = [
            driver.memory.token_issuer or "",
            driver.config.server_url,
            "" if client is None else client.client_id,
            driver.login if is_person else type(driver.config.grant).__name__,
        ]
        return hashlib.sha256("\n".join(whose).encode()).hexdigest()[:32]

    @property
    def extensions(self) -> Mapping[str, Mapping[str, Any]]:
        """See `Authorizer.extensions`."""
        match self._config.grant:
            case ClientCredentialsGrant():
                return {CLIENT_CREDENTIALS: {}}
            case IdentityAssertionGrant():
                return {ENTERPRISE_MANAGED: {}}
            case _:
                return {}

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sign the requests of an ``httpx.AsyncClient`` that runs in Trio.

        The requests of OAuth go by a client of its own, or by the ``http_client`` that was given.
        """
        content = await request.aread()
        headers = dict(request.headers)
        signed = SignedRequest(request.method, str(request.url), content, headers)
        authorizing = Authorizing(self, signed)
        before: Mapping[str, str] = {}
        is_again = True
        while is_again:
            for name in before:
                del request.headers[name]
            before = await authorizing.sign()
            request.headers.update(before)
            response = yield request
            is_again = await authorizing.answered(response.status_code, response.headers)

    def sync_auth_flow(
        self,
        request: httpx.Request,  # noqa: ARG002 - of the interface
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Refuse a client that does not run in Trio.

        Raises:
          RuntimeError: always.

        """
        raise RuntimeError(f"{type(self).__name__} needs an httpx.AsyncClient, run by Trio")


def _attempt_of(request: SignedRequest) -> Attempt:
    attempt: Attempt | None = request.notes.get(_ATTEMPT)
    if attempt is None:
        version = _header(request, "mcp-protocol-version")
        attempt = Attempt(request.method, request.url, request.content, protocol_version=version)
        request.notes[_ATTEMPT] = attempt
    attempt.url = request.url
    return attempt


def _header(request: SignedRequest, name: str) -> str | None:
    for key, value in request.headers.items():
        if key.lower() == name:
            return value if isinstance(value, str) else value.decode("latin-1")
    return None


def _operation_of(request: SignedRequest) -> str:
    """Say what a request is for, such as ``tools/call add``; nothing where it is no call."""
    try:
        message: Any = loads(request.content or b"")
    except JsonError:
        return ""
    if not is_object(message) or not isinstance(message.get("method"), str):
        return ""
    params = message.get("params")
    names = [params.get(each) for each in _NAMES] if is_object(params) else []
    return " ".join([message["method"], *(each for each in names if isinstance(each, str))])
