"""The token in a request (RFC 6750, section 2.1; RFC 9449, section 7.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from trio_mcp.transports.http._headers import Headers

_CREDENTIALS: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(.*))?", re.DOTALL)
TOKEN68: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What a token looks like in a header."""

_SCHEMES: Final = {"bearer": "Bearer", "dpop": "DPoP"}


class MalformedCredentials(ValueError):
    """A header that says nothing, or more than one thing; the text holds nothing of it."""


@attrs.frozen
class Credentials:
    """A token as it came.

    Attributes:
      scheme: ``"Bearer"`` or ``"DPoP"``.
      token: The token.

    """

    scheme: str
    token: str = attrs.field(repr=False)


def read_credentials(headers: Headers) -> Credentials | None:
    """Read the token of a request. Nowhere else than in this header may one be.

    Returns:
      The token; None if there is none, or something of another scheme.

    Raises:
      MalformedCredentials: if there are two, or what should be one is none.

    """
    values = headers.all("authorization")
    if len(values) > 1:
        raise MalformedCredentials(f"Authorization is there {len(values)} times")
    found = _CREDENTIALS.fullmatch("".join(values))
    scheme = None if found is None else _SCHEMES.get(found[1].lower())
    if found is None or scheme is None:
        return None
    token: str = (found[2] or "").strip(" \t")
    if TOKEN68.fullmatch(token) is None:
        raise MalformedCredentials(f"Authorization: {scheme} comes with one token, and no blanks")
    return Credentials(scheme, token)
