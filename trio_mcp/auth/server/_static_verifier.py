"""Tokens that are known beforehand: for tests, and for a handful of programs of one's own."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, final

import trio

from trio_mcp._checks import check_kind

from ._access import AccessToken
from ._bearer import TOKEN68


@final
class StaticTokenVerifier:
    """Knows some tokens, and no others.

    ::

        StaticTokenVerifier({"secret": {"client_id": "ci", "scopes": ["files:read"]}})

    Args:
      tokens: For each token what it is: an `AccessToken`, or its attributes.
      resource: The server that they are for, where one does not say it.

    Raises:
      TypeError, ValueError: if one is no token; does not say which.

    """

    def __init__(
        self,
        tokens: Mapping[str, AccessToken | Mapping[str, Any]],
        *,
        resource: str | None = None,
    ) -> None:
        check_kind("tokens", tokens, Mapping, "a dict")
        self._tokens = [_access_token(text, given, resource) for text, given in tokens.items()]

    async def verify_token(self, token: str) -> AccessToken | None:
        """See `TokenVerifier.verify_token`."""
        await trio.lowlevel.checkpoint()
        found: AccessToken | None = None
        # All of them, so that the time tells nothing.
        for each in self._tokens:
            if hmac.compare_digest(each.token.encode(), token.encode()):
                found = each
        return found


def _access_token(text: str, given: Any, resource: str | None) -> AccessToken:
    # No error names the token that it is about.
    if TOKEN68.fullmatch(text) is None:
        raise ValueError("tokens: one can be in no header: letters, digits and -._~+/ will do")
    if not isinstance(given, (AccessToken, Mapping)):
        raise TypeError("tokens: expected an AccessToken or a dict of its attributes for each")
    if isinstance(given, AccessToken):
        made = given.evolve(token=text)
    else:
        made = AccessToken.from_json({"scopes": [], **given, "token": text})
    return made if made.resource is not None else made.evolve(resource=resource)
