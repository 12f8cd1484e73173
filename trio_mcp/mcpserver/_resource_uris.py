"""Which URIs a server may publish."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from trio_mcp._checks import check_text

# RFC 3986 section 3.1. Templates may leave the scheme to a variable; its end only to one that
# keeps reserved characters ("{+x}"), since others write the colon as "%3A".
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TEMPLATE_START: Final = re.compile(r"(?=[A-Za-z{])(?:[A-Za-z0-9+.-]|\{(?!\+)[^{}]*\})*(?::|\{\+)")

# What no URI holds (RFC 3986 section 2). Other characters beyond ASCII are let through, since
# clients send such URIs back as they were listed.
_NEVER: Final = re.compile(r'[\x00-\x20\x7f-\x9f"<>\\^`\u2028\u2029\ud800-\udfff]')


def check_uri(uri: str) -> None:
    """Make sure that a string is an absolute URI.

    Raises:
      TypeError: if it is no string.
      ValueError: with the reason why it is none.

    """
    check_text("uri", uri)
    if not _SCHEME.match(uri):
        raise ValueError(
            f"The resource URI {uri!r} has no scheme; write something like 'notes://{uri}'"
        )
    _check_characters(uri)


def check_web_address(url: str) -> None:
    """Make sure that a string is the URL of something on the web.

    Raises:
      TypeError: if it is no string.
      ValueError: with the reason why it is none.

    """
    check_text("url", url)
    _check_characters(url)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url: expected one of http or https with a host, got {url!r:.80}")


def check_uri_template(template: str) -> None:
    """Make sure that what a template expands to can be an absolute URI.

    Raises:
      ValueError: with the reason why it cannot.

    """
    if not _TEMPLATE_START.match(template):
        raise ValueError(
            f"The URI template {template!r} has no scheme; write something like "
            f"'notes://{template}'"
        )
    _check_characters(template)


def _check_characters(uri: str) -> None:
    found = _NEVER.search(uri)
    if found:
        raise ValueError(
            f"The resource URI {uri!r} holds {found.group()!r} at position {found.start()}, "
            "which no URI does; percent-encode it"
        )
