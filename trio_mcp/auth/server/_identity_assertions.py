"""Assertions of identity providers: enterprises that let their people in (SEP-990, ID-JAG).

The identity provider decides who may use what, and signs it. What it signed is for one
authorization server, one client and, once it has been used, nobody any more.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from trio_mcp._checks import check_items, check_number, check_text, check_whole
from trio_mcp.auth._algorithms import ASYMMETRIC
from trio_mcp.auth._identifiers import is_secure_url
from trio_mcp.auth._jwt import (
    DEFAULT_LEEWAY,
    InvalidJwt,
    UnknownKey,
    audiences_of,
    check_claims,
    import_key_set,
    unverified_claims,
    verify_jwt,
)
from trio_mcp.auth._scopes import split_scopes

from ._documents import Documents, Unavailable
from ._errors import TokenError
from ._replays import MAX_REMEMBERED, Replays, why_not_first

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from trio_mcp.auth._jwt import VerifiedJwt
    from trio_mcp.auth._models import OAuthClientInformationFull
    from trio_mcp.types._base import JsonObject

    from ._provider import IdentityAssertionParams

ID_JAG_TYPE: Final = "oauth-id-jag+jwt"

MAX_KEY_SET: Final = 256 * 1024
"""Bytes of the keys of an identity provider."""

NEW_KEYS_AFTER: Final = 30.0
"""Seconds after which keys are fetched again for an assertion whose key is not among them."""

_NEEDED: Final = ("exp", "iat", "sub", "jti", "client_id")


@attrs.frozen(kw_only=True)
class IdentityProvider:
    """An identity provider whose assertions are believed.

    Attributes:
      issuer: Its identifier, byte for byte.
      jwks_uri: Where its keys are; they are fetched again when it signs by a new one.
      jwks: Its keys themselves, as a JWK Set.
      algorithms: By which it signs. ``none`` and shared secrets never are among them.

    """

    issuer: str
    jwks_uri: str | None = None
    jwks: JsonObject | None = attrs.field(default=None, repr=False)
    algorithms: Collection[str] = ASYMMETRIC

    def __attrs_post_init__(self) -> None:
        check_text("issuer", self.issuer)
        if (self.jwks_uri is None) == (self.jwks is None):
            raise ValueError("An identity provider has either a jwks_uri or a jwks")
        if self.jwks_uri is not None and not is_secure_url(self.jwks_uri):
            raise ValueError("jwks_uri: expected an https URL, or http on this machine")
        check_items("algorithms", self.algorithms, str, "a list of strings")
        unknown = [each for each in self.algorithms if each not in ASYMMETRIC]
        if unknown or not self.algorithms:
            raise ValueError(f"algorithms: expected some of {', '.join(ASYMMETRIC)}")


@attrs.frozen(kw_only=True)
class IdentityAssertion:
    """What an identity provider says, checked.

    Attributes:
      issuer: Which one.
      subject: The person, by a name that is unique for the issuer.
      scopes: What may be granted: of what was asked for what the assertion allows.
      resource: The server that the token has to be for; None if nobody named one.
      claims: All that it says.

    """

    issuer: str
    subject: str
    scopes: list[str]
    resource: str | None
    claims: JsonObject = attrs.field(repr=False)


class IdentityAssertionVerifier:
    """Checks the assertions that clients bring, for `exchange_identity_assertion`.

    The signature, by a key of an identity provider that is trusted and an algorithm that it
    uses; the kind of token; that this server is whom it is for, and the client whom it was issued
    to; its time; the resource; and that it has not come before.

    Args:
      providers: Those whose assertions are believed.
      issuer: The identifier of this authorization server, byte for byte.
      resources: The servers that tokens are issued for.
      max_lifetime: Seconds that an assertion may be good for, from when it comes.
      max_remembered: How many are remembered until they have expired. More are refused.
      allow_private_addresses: Whether keys may be fetched from private networks.
      http_client: An ``httpx.AsyncClient`` that fetches them, in place of one made here.
      now: The time, in seconds since the epoch.

    """

    def __init__(
        self,
        providers: Iterable[IdentityProvider],
        *,
        issuer: str,
        resources: Collection[str],
        max_lifetime: float = 3600.0,
        max_remembered: int = MAX_REMEMBERED,
        allow_private_addresses: bool = False,
        http_client: Any = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        check_text("issuer", issuer)
        check_items("resources", resources, str, "a list of strings")
        check_number("max_lifetime", max_lifetime, above=0)
        check_whole("max_remembered", max_remembered, least=1)
        self._providers = {each.issuer: each for each in providers}
        self._issuer = issuer
        self._resources = resources
        self._max_lifetime = max_lifetime
        self._now = now
        self._replays = Replays(max_remembered)
        self._documents = Documents(
            "key set",
            limit=MAX_KEY_SET,
            most=max(len(self._providers), 1),
            allow_private=allow_private_addresses,
            use_proxy=True,  # the author of the server has named them
            http_client=http_client,
            now=now,
        )

    async def verify(
        self, client: OAuthClientInformationFull, params: IdentityAssertionParams
    ) -> IdentityAssertion:
        """Check an assertion, which is used by that.

        Raises:
          TokenError: ``invalid_grant``, if it is not to be believed, not for this server or
            client, or came before; ``invalid_target``, if the client asks for a token for
            another server than it names.

        """
        try:
            verified = await self._verified(params.assertion)
            return self._checked(verified.claims, client, params)
        except InvalidJwt as exc:
            raise TokenError("invalid_grant", f"The assertion is not taken: {exc}") from None
        except Unavailable as exc:
            raise TokenError("invalid_grant", f"The assertion cannot be checked: {exc}") from None

    async def _verified(self, assertion: str) -> VerifiedJwt:
        issuer: Any = unverified_claims(assertion).get("iss")
        provider = self._providers.get(issuer) if isinstance(issuer, str) else None
        if provider is None:
            raise InvalidJwt("its issuer is not trusted here")
        try:
            return await self._verify_by(provider, assertion, older_than=None)
        except UnknownKey:
            if provider.jwks_uri is None:
                raise
        # Issuers change their keys, and do not tell.
        return await self._verify_by(provider, assertion, older_than=NEW_KEYS_AFTER)

    async def _verify_by(
        self, provider: IdentityProvider, assertion: str, *, older_than: float | None
    ) -> VerifiedJwt:
        document = provider.jwks
        if provider.jwks_uri is not None:
            document = await self._documents.get(provider.jwks_uri, older_than=older_than)
        try:
            keys = import_key_set(document or {})
        except ValueError as exc:
            raise Unavailable(str(exc)) from None
        return verify_jwt(assertion, keys, algorithms=provider.algorithms, typ=ID_JAG_TYPE)

    def _checked(
        self,
        claims: JsonObject,
        client: OAuthClientInformationFull,
        params: IdentityAssertionParams,
    ) -> IdentityAssertion:
        now = self._now()
        check_claims(claims, issuer=None, audience=self._issuer, now=now, required=_NEEDED)
        if audiences_of(claims) != {self._issuer}:
            raise InvalidJwt("it is for others, too")
        if claims["client_id"] != client.client_id:
            raise InvalidJwt("it was issued to another client")
        if claims["exp"] > now + self._max_lifetime + DEFAULT_LEEWAY:
            raise InvalidJwt(f"it is good for longer than {self._max_lifetime:g} s")
        subject, jti = _text(claims, "sub"), _text(claims, "jti")
        checked = IdentityAssertion(
            issuer=claims["iss"],
            subject=subject,
            scopes=_scopes(claims, params.scopes),
            resource=self._resource(claims.get("resource"), params.resource),
            claims=claims,
        )
        # Last, so that one that was not taken is not used.
        if not self._replays.is_first(claims["iss"], jti, claims["exp"] + DEFAULT_LEEWAY, now):
            raise InvalidJwt(why_not_first(self._replays, claims["iss"], jti))
        return checked

    def _resource(self, asserted: Any, asked: str | None) -> str | None:
        if asserted is None:
            if asked is not None and asked not in self._resources:
                raise TokenError("invalid_target", "No token is issued here for the resource")
            return asked if asked is not None else self._only_resource()
        named = cast("list[object]", asserted if isinstance(asserted, list) else [asserted])
        ours = [each for each in named if isinstance(each, str) and each in self._resources]
        if not ours:
            raise InvalidJwt("its resource is none of those that tokens are issued for here")
        if asked is not None:
            if asked not in ours:
                raise TokenError("invalid_target", "The assertion is for another resource")
            return asked
        if len(ours) > 1:
            raise TokenError("invalid_target", "The assertion is for several resources: name one")
        return ours[0]

    def _only_resource(self) -> str:
        if len(self._resources) != 1:
            raise TokenError("invalid_target", "The assertion and the client name no resource")
        return next(iter(self._resources))


def _scopes(claims: JsonObject, asked: list[str] | None) -> list[str]:
    found = claims.get("scope")
    allowed = split_scopes(found if isinstance(found, str) else None)
    return allowed if asked is None else [each for each in asked if each in allowed]


def _text(claims: JsonObject, name: str) -> str:
    found = claims[name]
    if not isinstance(found, str) or not found:
        raise InvalidJwt(f"its {name} is no string")
    return found
