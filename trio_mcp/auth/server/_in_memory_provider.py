"""A whole authorization server in memory: for tests, for demonstrations, for one process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp._checks import check_items, check_kind, check_text, check_whole
from trio_mcp._codec import dumps
from trio_mcp.auth._models import OAuthClientInformationFull
from trio_mcp.transports.http._routes import Route

from ._access import AccessToken
from ._answers import Endpoint
from ._client_auth import method_of
from ._client_documents import ClientMetadataDocuments
from ._errors import AuthorizeError, RegistrationError, TokenError
from ._expiring import Expiring
from ._grants import Grants, Lifetimes
from ._identity_assertions import IdentityAssertionVerifier
from ._login import LOGIN_PATH, PENDING_SECONDS, LoginPage
from ._provider import AuthorizationCode, OAuthAuthorizationServerProvider, RefreshToken
from ._redirects import construct_redirect_uri
from ._users import check_users

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from trio_mcp.auth._models import OAuthToken

    from ._login_requests import Pending
    from ._provider import AuthorizationParams, IdentityAssertionParams
    from ._users import UserCheck

MAX_CLIENTS: Final = 1000
"""How many clients may have registered themselves."""

_MONTH: Final = 30 * 24 * 3600


class InMemoryOAuthProvider(
    OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]
):
    """An authorization server that keeps everything in memory, and forgets it with the process.

    It does all that the endpoints can offer: a page where people log in and consent, codes that
    are good once, refresh tokens that change with each use and end the login when one is used
    twice, tokens bound to keys, clients known by documents, assertions of identity providers.

    What it keeps is bounded, and for who asks nobody yet nothing is kept. When too many clients
    have registered, one goes that nobody has allowed anything yet, and with whom nobody is about
    to log in; if all are in use, no more are taken.

    Args:
      users: Who may log in: passwords by name, or an async function that takes both and returns
        the name that tokens shall have as their subject, or None.
      auto_approve: In place of users: everybody is this one, and no page is shown. For tests.
      clients: Those that are known from the beginning.
      client_documents: Finds clients that are known by URLs; None for no such clients.
      identity_assertions: Checks the assertions of identity providers; None to take none. With
        these there need be no users: nobody logs in here then.
      resources: The servers that tokens are issued for; where there is one, tokens of clients
        that name none are for that. None for any.
      code_lifetime: Seconds.
      access_token_lifetime: Seconds. Short, since who has one needs nothing else.
      refresh_token_lifetime: Seconds since its last use, after which a person logs in again.
      max_clients: How many may have registered themselves.
      now: The time, in seconds since the epoch.

    Raises:
      ValueError: if there are both users and ``auto_approve``; or neither, and nobody else who
        could let people in.

    """

    sends_issuer = True
    binds_tokens = True
    keeps_in_process = True

    def __init__(
        self,
        users: Mapping[str, str] | UserCheck | None = None,
        *,
        auto_approve: str | None = None,
        clients: Iterable[OAuthClientInformationFull] = (),
        client_documents: ClientMetadataDocuments | None = None,
        identity_assertions: IdentityAssertionVerifier | None = None,
        resources: Collection[str] | None = None,
        code_lifetime: int = 60,
        access_token_lifetime: int = 600,
        refresh_token_lifetime: int = _MONTH,
        max_clients: int = MAX_CLIENTS,
        now: Callable[[], float] = time.time,
    ) -> None:
        _check_people(users, auto_approve, identity_assertions)
        _check_parts(client_documents, identity_assertions, resources)
        if auto_approve is not None:
            check_text("auto_approve", auto_approve)
        lifetimes = Lifetimes(code_lifetime, access_token_lifetime, refresh_token_lifetime)
        for name, seconds in (
            ("code_lifetime", code_lifetime),
            ("access_token_lifetime", access_token_lifetime),
            ("refresh_token_lifetime", refresh_token_lifetime),
            ("max_clients", max_clients),
        ):
            check_whole(name, seconds, least=1)
        self.reads_client_documents = client_documents is not None
        self._auto_approve = auto_approve
        self._known = {each.client_id: each for each in clients}
        # As text: read, what a stranger sent may take twenty times as much.
        self._registered: dict[str, bytes] = {}
        self._max_clients = max_clients
        # With whom people may be logging in. Not all, or strangers would hold all the room by it.
        self._asked = Expiring[bool](max(max_clients // 2, 1), now)
        self._now = now
        self._documents = client_documents
        self._assertions = identity_assertions
        self._resources = resources
        self._grants = Grants(lifetimes, now)
        self._login = None if users is None else LoginPage(check_users(users), self._approve, now)
        self._issuer: str | None = None

    def create_routes(self, issuer_url: str) -> list[Route]:
        """Make the page where people log in, if they do."""
        self._issuer = issuer_url
        if self._login is None:
            return []
        self._login.open_at(issuer_url)
        methods = ("GET", "POST")
        page = Endpoint(self._login.answer, methods)
        path = self._login.path
        return [
            Route(each, methods, page, takes_request=False, name="login")
            for each in dict.fromkeys((LOGIN_PATH, path))
        ]

    # Clients

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Find a client: known, registered, or known by a document."""
        found = self._known.get(client_id)
        registered = self._registered.get(client_id)
        if registered is not None:
            found = OAuthClientInformationFull.from_json(registered)
        if found is None and self._documents is not None:
            return await self._documents.get_client(client_id)
        await trio.lowlevel.checkpoint()
        return found

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a client.

        Raises:
          RegistrationError: if there are too many that people have allowed something.

        """
        await trio.lowlevel.checkpoint()
        if len(self._registered) >= self._max_clients:
            in_use = self._grants.client_ids()
            unused = [each for each in self._registered if each not in in_use]
            if not unused:
                raise RegistrationError(
                    "invalid_client_metadata", "No more clients are registered here"
                )
            going = next((each for each in unused if not self._asked.get(each)), unused[0])
            del self._registered[going]
        self._registered[client_info.client_id] = dumps(client_info.to_json())

    # People

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        """Send the browser to the page, or back at once where nobody is asked.

        Raises:
          AuthorizeError: if the resource is none of those that tokens are issued for, or nobody
            logs in here.

        """
        await trio.lowlevel.checkpoint()
        params = params.evolve(resource=self._resource(params.resource))
        if self._auto_approve is not None:
            return self._code_url(client.client_id, params, self._auto_approve)
        if self._login is None:
            raise AuthorizeError("access_denied", "People log in at their identity provider")
        if self._issuer is None:
            raise RuntimeError("The page has no place: create_auth_routes() gives it one")
        if client.client_id in self._registered:
            self._asked.put(client.client_id, True, self._now() + PENDING_SECONDS)
        return self._login.url_for(client, params)

    def _resource(self, asked: str | None) -> str | None:
        if self._resources is None:
            return asked
        if asked is None:
            return next(iter(self._resources)) if len(self._resources) == 1 else None
        if asked not in self._resources:
            raise AuthorizeError("invalid_target", "No token is issued here for the resource")
        return asked

    def _approve(self, pending: Pending, subject: str) -> str:
        return self._code_url(pending.client_id, pending.params, subject)

    def _code_url(self, client_id: str, params: AuthorizationParams, subject: str) -> str:
        code = self._grants.begin(
            client_id, subject, list(params.scopes or ()), params.resource, params
        )
        return construct_redirect_uri(
            params.redirect_uri, code=code, state=params.state, iss=params.issuer
        )

    # Tokens

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """Find a code. One that was used revokes what was issued for it."""
        await trio.lowlevel.checkpoint()
        return self._grants.find_code(client.client_id, authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Issue the tokens for a code.

        Raises:
          TokenError: if it was used meanwhile.

        """
        await trio.lowlevel.checkpoint()
        return self._grants.redeem(
            authorization_code,
            refreshes="refresh_token" in client.grant_types,
            is_public=method_of(client) == "none",
        )

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        """Find a refresh token. One that was used revokes all that came of its login."""
        await trio.lowlevel.checkpoint()
        return self._grants.find_refresh_token(client.client_id, refresh_token)

    async def exchange_refresh_token(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002 - the endpoint has compared it
        refresh_token: RefreshToken,
        scopes: list[str],
    ) -> OAuthToken:
        """Issue another access token, and another refresh token in place of this one.

        Raises:
          TokenError: if it was used meanwhile.

        """
        await trio.lowlevel.checkpoint()
        return self._grants.refresh(refresh_token, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Find an access token that is still good."""
        await trio.lowlevel.checkpoint()
        return self._grants.find_access_token(token, self._issuer)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """End the login that a token came of."""
        await trio.lowlevel.checkpoint()
        self._grants.end_by(token)

    async def exchange_identity_assertion(
        self, client: OAuthClientInformationFull, params: IdentityAssertionParams
    ) -> OAuthToken:
        """Issue an access token for what an identity provider signed.

        Its subject is ``<issuer>#<subject>``, so that nobody there is taken for somebody here.

        Raises:
          TokenError: if the assertion is not to be believed, or none is.

        """
        if self._assertions is None:
            await trio.lowlevel.checkpoint()
            raise TokenError("unsupported_grant_type", "This server takes no assertions")
        checked = await self._assertions.verify(client, params)
        return self._grants.issue_alone(
            client.client_id,
            f"{checked.issuer}#{checked.subject}",
            checked.scopes,
            checked.resource,
            params.dpop_jkt,
        )


def _check_people(users: object, auto_approve: object, assertions: object) -> None:
    if users is not None and auto_approve is not None:
        raise ValueError("InMemoryOAuthProvider takes either users or auto_approve")
    if users is None and auto_approve is None and assertions is None:
        raise ValueError("InMemoryOAuthProvider needs users, or auto_approve in a test")


def _check_parts(documents: object, assertions: object, resources: object) -> None:
    if documents is not None:
        check_kind("client_documents", documents, ClientMetadataDocuments)
    if assertions is not None:
        check_kind("identity_assertions", assertions, IdentityAssertionVerifier)
    if resources is not None:
        check_items("resources", resources, str, "a list of strings")
