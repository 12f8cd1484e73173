"""What people have allowed, and the codes and tokens that come of it, in memory.

A grant is one login. Its name is in its code and in its refresh token, beside a secret that is
good once: whoever comes with the name and a used secret has a copy of what another has used, so
the grant ends, with all that came of it (RFC 9700, sections 4.5 and 4.14). Of secrets only hashes
are kept.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp.auth._models import OAuthToken

from ._access import AccessToken
from ._errors import TokenError
from ._expiring import Expiring
from ._provider import AuthorizationCode, RefreshToken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ._provider import AuthorizationParams

MAX_GRANTS: Final = 10_000
"""How many logins are kept; some 20 MB, and 40 MB more if all have scopes as long as can be."""

MAX_GRANTS_EACH: Final = 250
"""How many of one person, so that nobody ends the logins of others."""

MAX_ACCESS_EACH: Final = 5
"""How many access tokens of one login are good at the same time. Clients use the newest."""

MAX_ALONE: Final = 10_000
"""How many access tokens without a login are kept, beside."""


@attrs.frozen
class Lifetimes:
    """How long things are good for, in seconds."""

    code: int
    access_token: int
    refresh_token: int


@attrs.define(eq=False)
class Grant:
    """What one person allowed one client."""

    name: str
    client_id: str
    subject: str | None
    scope: str  # as text, a tenth of a list
    resource: str | None
    params: AuthorizationParams | None = None  # until the code is redeemed
    code_expires_at: float = 0.0
    code_hash: bytes = attrs.field(default=b"", repr=False)
    refresh_hash: bytes = attrs.field(default=b"", repr=False)
    refresh_expires_at: int | None = None
    refresh_jkt: str | None = None
    access: list[str] = attrs.field(factory=list[str], repr=False)  # hashes, the oldest first


@attrs.frozen
class _Issued:
    grant: Grant
    scopes: (
        int  # which of those of the grant: a bit for each, as a list takes a thousand times that
    )
    expires_at: int
    jkt: str | None


class Grants:
    """All grants of a server. Nothing here waits, so each step is done or not."""

    def __init__(self, lifetimes: Lifetimes, now: Callable[[], float]) -> None:
        self._lifetimes = lifetimes
        self._now = now
        self._access: dict[str, _Issued] = {}
        self._grants = Expiring[Grant](
            MAX_GRANTS, now, most_each=MAX_GRANTS_EACH, gone=self._forget_tokens
        )
        # Apart, so that a program that gets many ends no person's login.
        self._alone = Expiring[Grant](MAX_ALONE, now, gone=self._forget_tokens)

    def client_ids(self) -> set[str]:
        """Name the clients whom somebody has allowed something."""
        return {each.client_id for each in self._grants.values()}

    # Codes

    def begin(
        self,
        client_id: str,
        subject: str,
        scopes: list[str],
        resource: str | None,
        params: AuthorizationParams,
    ) -> str:
        """Make a grant, and the code for it."""
        # The state has gone back, and may be long.
        kept = params.evolve(state=None, scopes=None)
        grant = Grant(_fresh(16), client_id, subject, " ".join(scopes), resource, kept)
        secret = _fresh(32)
        grant.code_hash = _hash(secret)
        grant.code_expires_at = self._now() + self._lifetimes.code
        self._grants.put(grant.name, grant, grant.code_expires_at, subject)
        return f"{grant.name}.{secret}"

    def find_code(self, client_id: str, text: str) -> AuthorizationCode | None:
        """Find what a code stands for. One that was used ends its grant."""
        grant = self._named_by(text, client_id)
        if grant is None or not _is(text, grant.code_hash):
            return None
        if grant.params is None:
            self.end(grant.name)
            return None
        return AuthorizationCode(
            code=text,
            scopes=grant.scope.split(),
            expires_at=grant.code_expires_at,
            client_id=grant.client_id,
            code_challenge=grant.params.code_challenge,
            redirect_uri=grant.params.redirect_uri,
            redirect_uri_provided_explicitly=grant.params.redirect_uri_provided_explicitly,
            resource=grant.resource,
            subject=grant.subject,
            dpop_jkt=grant.params.dpop_jkt,
        )

    def redeem(self, code: AuthorizationCode, *, refreshes: bool, is_public: bool) -> OAuthToken:
        """Issue the tokens for a code.

        Raises:
          TokenError: if it was used meanwhile.

        """
        if self.find_code(code.client_id, code.code) is None:
            raise TokenError("invalid_grant", "The code was used")
        grant = self._grants.get(code.code.partition(".")[0])
        assert grant is not None
        grant.params = None
        grant.refresh_jkt = code.dpop_jkt if is_public else None
        return self._issue(grant, grant.scope, code.dpop_jkt, refreshes=refreshes)

    # Refresh tokens

    def find_refresh_token(self, client_id: str, text: str) -> RefreshToken | None:
        """Find what a refresh token stands for. One that was used ends its grant."""
        grant = self._named_by(text, client_id)
        if grant is None:
            return None
        if not _is(text, grant.refresh_hash):
            self.end(grant.name)
            return None
        return RefreshToken(
            token=text,
            client_id=grant.client_id,
            scopes=grant.scope.split(),
            expires_at=grant.refresh_expires_at,
            resource=grant.resource,
            subject=grant.subject,
            dpop_jkt=grant.refresh_jkt,
        )

    def refresh(self, token: RefreshToken, scopes: Iterable[str]) -> OAuthToken:
        """Issue another access token, and another refresh token in place of this one.

        Raises:
          TokenError: if it was used meanwhile.

        """
        if self.find_refresh_token(token.client_id, token.token) is None:
            raise TokenError("invalid_grant", "The refresh token was used")
        grant = self._grants.get(token.token.partition(".")[0])
        assert grant is not None
        return self._issue(grant, " ".join(scopes), token.dpop_jkt, refreshes=True)

    # Access tokens

    def issue_alone(
        self,
        client_id: str,
        subject: str,
        scopes: list[str],
        resource: str | None,
        jkt: str | None,
    ) -> OAuthToken:
        """Issue an access token that cannot be refreshed."""
        grant = Grant(_fresh(16), client_id, subject, " ".join(scopes), resource)
        self._alone.put(grant.name, grant, self._now() + self._lifetimes.access_token)
        return self._add_access(grant, grant.scope, jkt)

    def find_access_token(self, text: str, issuer: str | None) -> AccessToken | None:
        """Find what an access token stands for."""
        issued = self._access.get(_hash(text).hex())
        if issued is None or issued.expires_at <= self._now():
            return None
        grant = issued.grant
        claims: dict[str, Any] = {} if issuer is None else {"iss": issuer}
        if issued.jkt is not None:
            claims["cnf"] = {"jkt": issued.jkt}
        return AccessToken(
            token=text,
            client_id=grant.client_id,
            scopes=_chosen(grant.scope, issued.scopes),
            expires_at=issued.expires_at,
            resource=grant.resource,
            subject=grant.subject,
            claims=claims,
        )

    def end(self, name: str) -> None:
        """End a grant, with all that came of it."""
        self._grants.pop(name)
        self._alone.pop(name)

    def end_by(self, token: AccessToken | RefreshToken) -> None:
        """End the grant that a token came of, if it has not ended."""
        if isinstance(token, RefreshToken):
            self.end(token.token.partition(".")[0])
            return
        issued = self._access.get(_hash(token.token).hex())
        if issued is not None:
            self.end(issued.grant.name)

    def _named_by(self, text: str, client_id: str) -> Grant | None:
        grant = self._grants.get(text.partition(".")[0])
        return None if grant is None or grant.client_id != client_id else grant

    def _issue(self, grant: Grant, scope: str, jkt: str | None, *, refreshes: bool) -> OAuthToken:
        now = int(self._now())
        until, refresh_token = now + self._lifetimes.access_token, None
        if refreshes:
            secret = _fresh(32)
            refresh_token = f"{grant.name}.{secret}"
            grant.refresh_hash = _hash(secret)
            grant.refresh_expires_at = now + self._lifetimes.refresh_token
            until = max(until, grant.refresh_expires_at)
        self._grants.put(grant.name, grant, until, grant.subject or "")
        return self._add_access(grant, scope, jkt).evolve(refresh_token=refresh_token)

    def _add_access(self, grant: Grant, scope: str, jkt: str | None) -> OAuthToken:
        access_token, lifetime = _fresh(32), self._lifetimes.access_token
        key = _hash(access_token).hex()
        self._access[key] = _Issued(
            grant, _choice(grant.scope, scope), int(self._now()) + lifetime, jkt
        )
        grant.access.append(key)
        while len(grant.access) > MAX_ACCESS_EACH:
            del self._access[grant.access.pop(0)]
        return OAuthToken(
            access_token=access_token,
            token_type="Bearer" if jkt is None else "DPoP",
            expires_in=lifetime,
            scope=scope or None,
        )

    def _forget_tokens(self, grant: Grant) -> None:
        for key in grant.access:
            del self._access[key]
        grant.access.clear()


def _choice(granted: str, scope: str) -> int:
    wanted = set(scope.split())
    return sum((each in wanted) << place for place, each in enumerate(granted.split()))


def _chosen(granted: str, choice: int) -> list[str]:
    return [each for place, each in enumerate(granted.split()) if choice >> place & 1]


def _fresh(size: int) -> str:
    return secrets.token_urlsafe(size)


def _hash(text: str) -> bytes:
    # Fast, and enough: these are secrets of 256 bits of chance, not passwords.
    return hashlib.sha256(text.encode()).digest()


def _is(text: str, expected: bytes) -> bool:
    return hmac.compare_digest(_hash(text.partition(".")[2]), expected)
