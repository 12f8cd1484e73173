"""Which URLs a user may be invited to visit (elicitation, URL mode)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from trio_mcp.transports._hosts import is_local_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.types import ElicitRequestURLParams

logger: Final = logging.getLogger("trio_mcp.server")


def check_elicitation_url(url: str) -> None:
    """Check a URL before a client is told of it; one that is not secure is logged.

    Raises:
      ValueError: if it is no absolute URL with a host, or holds the name or password of a user.

    """
    parts = _split(url)
    if parts is None or not parts.scheme or not parts.hostname:
        raise ValueError(
            f"An elicitation needs an absolute URL, like https://example.com/pay; got {url!r:.200}"
        )
    if parts.username is not None:
        # Safe URL handling: neither data of the user nor credentials belong there.
        raise ValueError(f"The URL of an elicitation at {parts.hostname} names a user")
    if parts.scheme == "http" and not is_local_host(parts.hostname):
        logger.warning(
            "The URL of an elicitation at %s is not https, which only development may do without",
            parts.hostname,
        )


def check_required_elicitations(elicitations: Sequence[ElicitRequestURLParams]) -> None:
    """Check what has to be visited before a request can go on (2025-11-25, error -32042).

    Raises:
      ValueError: if that is nothing, or what a client is told of could not be told apart from
        other invitations, or is no URL for one.

    """
    if not elicitations:
        raise ValueError("UrlElicitationRequiredError expects one elicitation or more, got none")
    for index, each in enumerate(elicitations):
        check_elicitation_url(each.url)
        if each.elicitation_id is None:
            raise ValueError(
                f"UrlElicitationRequiredError: elicitations[{index}].elicitation_id: "
                "expected a string, got None"
            )


def _split(url: str) -> SplitResult | None:
    # What splits a URL forgives line breaks inside, and much else that a browser does not.
    if not url.isprintable() or " " in url or "\\" in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts
