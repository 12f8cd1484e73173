"""Which URLs a user may be invited to visit (elicitation, URL mode)."""

from __future__ import annotations

import logging
from typing import Final
from urllib.parse import SplitResult, urlsplit

from trio_mcp.transports._hosts import is_local_host

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
