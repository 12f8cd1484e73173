"""URLs as text: identifiers are compared and sent byte for byte, so nothing here rewrites one.

A URL is taken apart as RFC 3986, appendix B, does, and put together from the same pieces. What a
browser or an HTTP client may read in another way (backslashes, blanks, control characters) is
refused where a URL comes from somebody else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import attrs

from trio_mcp.errors import OAuthFlowError
from trio_mcp.transports._hosts import is_local_host, is_plainly_local_host

if TYPE_CHECKING:
    from collections.abc import Sequence

PRM_SUFFIX: Final = "oauth-protected-resource"
ASM_SUFFIX: Final = "oauth-authorization-server"
OPENID_SUFFIX: Final = "openid-configuration"

_URL: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_VISIBLE: Final = re.compile(r"[\x21-\x5b\x5d-\x7e]+")  # without the backslash
# A browser decodes `%31%32%37.0.0.1`, and other programs do not.
_HOST_AND_PORT: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]%]+)(?::([0-9]*))?")
_DOTS: Final = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)
_SECRET: Final = re.compile(r"^([a-z][a-z0-9+.-]*:/*)?.*@", re.IGNORECASE | re.DOTALL)
# To the last @: where a password is not written as it should be, it may hold slashes.
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LAST_PORT: Final = 65_535


@attrs.frozen
class Parts:
    """The pieces of a URL, as they were written."""

    scheme: str
    authority: str
    path: str
    query: str | None
    fragment: str | None

    @property
    def host(self) -> str:
        """In lower case, an IPv6 address without its brackets; "" where there is none."""
        found = _HOST_AND_PORT.fullmatch(self.authority.rpartition("@")[2])
        return found[1].strip("[]").lower() if found else ""

    @property
    def port(self) -> int | None:
        found = _HOST_AND_PORT.fullmatch(self.authority.rpartition("@")[2])
        written = found[2] if found else None
        return int(written[:6]) if written else _DEFAULT_PORTS.get(self.scheme.lower())

    @property
    def has_userinfo(self) -> bool:
        return "@" in self.authority

    @property
    def base(self) -> str:
        return f"{self.scheme}://{self.authority}"


def told_url(url: str) -> str:
    """Write a URL for an error, as it was given, but for the password: that may be in a log."""
    told = _SECRET.sub(r"\1***@", url)
    return f"{told!r:.200}"


def split_url(url: str) -> Parts | None:
    """Take a URL apart; None if it is none, or if programs could disagree about what it means."""
    if _VISIBLE.fullmatch(url) is None or (found := _URL.fullmatch(url)) is None:
        return None
    return Parts(found[1], found[2] or "", found[3], found[4], found[5])


def _web(url: str) -> Parts | None:
    parts = split_url(url)
    if parts is None or parts.scheme.lower() not in _DEFAULT_PORTS or not parts.host:
        return None
    return parts if (parts.port or 0) <= _LAST_PORT else None


def _parts_of(url: str) -> Parts:
    if (parts := _web(url)) is None:
        raise ValueError(f"Expected an http or https URL, got {told_url(url)}")
    return parts


def origin_of(url: str) -> str:
    """Give scheme, host and port as they were written, without a path: ``"https://example.com"``.

    Raises:
      ValueError: if it is no http or https URL.

    """
    parts = _parts_of(url)
    return f"{parts.scheme}://{parts.authority.rpartition('@')[2]}"


def is_same_origin(one: str, other: str) -> bool:
    """Tell whether two URLs have scheme, host and port in common."""
    first, second = _web(one), _web(other)
    return (
        first is not None
        and second is not None
        and (first.scheme.lower(), first.host, first.port)
        == (second.scheme.lower(), second.host, second.port)
    )


def canonical_resource(url: str) -> str:
    """Give the identifier of the server at a URL (RFC 8707, section 2).

    Scheme and host are in lower case, and there is no fragment and no password. Path and query
    stay as they are, and no slash comes or goes.

    Raises:
      ValueError: if it is no http or https URL.

    """
    parts = _parts_of(url)
    authority = parts.authority.rpartition("@")[2].lower()
    query = "" if parts.query is None else f"?{parts.query}"
    return f"{parts.scheme.lower()}://{authority}{parts.path}{query}"


def well_known(url: str, suffix: str) -> str:
    """Insert ``/.well-known/{suffix}`` between host and path (RFC 9728 and 8414, section 3.1).

    Raises:
      ValueError: if it is no http or https URL.

    """
    parts = _parts_of(url)
    path = "" if parts.path == "/" else parts.path
    query = "" if parts.query is None else f"?{parts.query}"
    return f"{origin_of(url)}/.well-known/{suffix}{path}{query}"


def prm_urls(challenged: str | None, server_url: str) -> list[str]:
    """List where the metadata of a protected resource may be, in the order to look."""
    inserted = well_known(canonical_resource(server_url), PRM_SUFFIX)
    root = f"{origin_of(canonical_resource(server_url))}/.well-known/{PRM_SUFFIX}"
    found = [inserted, root] if challenged is None else [challenged, inserted, root]
    return list(dict.fromkeys(found))


def asm_urls(issuer: str) -> list[str]:
    """List where the metadata of an authorization server may be, in the order to look."""
    path = _parts_of(issuer).path.rstrip("/")
    base = origin_of(issuer)
    found = [f"{base}/.well-known/{suffix}{path}" for suffix in (ASM_SUFFIX, OPENID_SUFFIX)]
    return [*found, f"{base}{path}/.well-known/{OPENID_SUFFIX}"] if path else found


def is_parent_resource(resource: str, url: str) -> bool:
    """Tell whether a published identifier is that of the server at a URL, or of one above it.

    The same origin, and a path that is the same or a beginning of it up to a slash. One slash at
    the end counts for nothing: people who type URLs leave it out.
    """
    above, below = _web(resource), _web(url)
    if above is None or below is None or not is_same_origin(resource, url):
        return False
    if above.fragment is not None or above.has_userinfo:
        return False
    if above.query is not None and above.query != below.query:
        return False
    # Who requests `/mcp/../admin` does not ask the server at `/mcp`.
    if above.path != below.path and _has_dots(f"{above.path}/{below.path}"):
        return False
    prefix = above.path.removesuffix("/")
    return f"{below.path.removesuffix('/')}/".startswith(f"{prefix}/")


def _has_dots(path: str) -> bool:
    return any(_DOTS.fullmatch(segment) for segment in path.split("/"))


def issuers_match(a: str, b: str) -> bool:
    """Tell whether credentials for one issuer are those of another.

    They are compared as strings, except that ``https://example.com`` and ``https://example.com/``
    name one server. What an authorization server says of itself is compared exactly, by
    `check_issuer`.
    """
    if a == b:
        return True
    shorter, longer = sorted((a, b), key=len)
    parts = split_url(shorter)
    return parts is not None and longer == f"{shorter}/" and shorter == parts.base


def check_issuer(found: str, expected: str, where: str) -> None:
    """Refuse metadata that names another issuer than the one it was looked for (RFC 8414, 3.3).

    Raises:
      OAuthFlowError: if they are not the same string.

    """
    if found != expected:
        raise OAuthFlowError(
            f"The metadata at {where!r:.200} is of the issuer {found!r:.200}, "
            f"expected {expected!r:.200}"
        )


def is_loopback_url(url: str) -> bool:
    """Tell whether a URL leads to this machine, however its host is written."""
    parts = _web(url)
    return parts is not None and is_local_host(parts.host)


def is_secure_url(url: str) -> bool:
    """Tell whether a URL is https, or http on this machine, and holds no password."""
    parts = _web(url)
    if parts is None or parts.has_userinfo:
        return False
    return parts.scheme.lower() == "https" or is_plainly_local_host(parts.host)


def check_https(what: str, url: str) -> str:
    """Refuse a URL that secrets must not go to.

    Args:
      what: Its name, for the message.
      url: Comes back as it is.

    Raises:
      OAuthFlowError: if it is not https, and not http on this machine.

    """
    if not is_secure_url(url):
        raise OAuthFlowError(
            f"{what} must be an https URL (or http on this machine), got {told_url(url)}"
        )
    return url


def check_endpoint(what: str, url: str, issuer: str) -> str:
    """Refuse an endpoint of an authorization server that secrets or people must not go to.

    Args:
      what: Its name, for the message.
      url: Comes back as it is.
      issuer: Who names it. Somebody elsewhere does not send people to programs on this machine.

    Raises:
      OAuthFlowError: if it is not https, or leads to this machine and the issuer does not.

    """
    check_https(what, url)
    if is_loopback_url(url) and not is_loopback_url(issuer):
        raise OAuthFlowError(
            f"{what} of the issuer {told_url(issuer)} leads to this machine, got {told_url(url)}"
        )
    return url


def check_redirect_uri(uri: str) -> str:
    """Refuse a redirect URI that a code must not go to: it is https, or http on this machine.

    Raises:
      ValueError: if it is not, or has a fragment.

    """
    parts = _web(uri)
    if parts is None or parts.fragment is not None or not is_secure_url(uri):
        raise ValueError(
            "A redirect URI must be https, or http on this machine, without a fragment, "
            f"got {told_url(uri)}"
        )
    return uri


def is_valid_client_metadata_url(url: str | None) -> bool:
    """Tell whether a URL can be a client id: https, with a path, and the same for every program.

    See draft-ietf-oauth-client-id-metadata-document, section 2.
    """
    parts = _web(url or "")
    return (
        parts is not None
        and parts.scheme == "https"
        and parts.path not in {"", "/"}
        and parts.fragment is None
        and not parts.has_userinfo
        and not _has_dots(parts.path)
    )


def add_query(url: str, params: Sequence[tuple[str, str]]) -> str:
    """Add parameters to those that an endpoint already has (RFC 6749, section 3.1)."""
    base, _, _ = url.partition("#")
    joint = "&" if "?" in base else "?"
    if base.endswith(("?", "&")):
        joint = ""
    return f"{base}{joint}{urlencode(params)}"
