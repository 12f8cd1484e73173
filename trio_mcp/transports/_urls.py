"""The URLs of servers, whatever is spoken there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from collections.abc import Collection

_UNWRITABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]|^\s|\s$")
# Python's own parser drops some of these without a word. The last ones are what it makes of
# bytes of a command line that are not UTF-8.

_SECRET: Final = re.compile(r"(?<=//)[^/?#]*@|[?#].*", re.DOTALL)


def split_url(url: str, schemes: Collection[str], expected: str) -> SplitResult:
    """Take the URL of a server apart, and check what would fail in odd ways later.

    Args:
      url: The URL.
      schemes: Those that it may have.
      expected: What the error begins with, if it is no such URL: what was expected.

    Raises:
      ValueError: if it is none, its port is none, or its host cannot be looked up. It shows
          neither a password nor a query.

    """
    told = _SECRET.sub("", url)
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:  # brackets that do not close
        parts, host = SplitResult("", "", "", "", ""), None
    if parts.scheme not in schemes or not host or _UNWRITABLE.search(url):
        raise ValueError(f"{expected}, got {told!r:.80}")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError(f"url: expected a port of at most 65535, got {told!r:.80}") from None
    check_host("url", host)
    return parts


def check_host(argument: str, host: str) -> None:
    """Check that the name of a host can be looked up, by whatever does so.

    Raises:
      ValueError: if it cannot; names the argument.

    """
    try:
        host.encode("idna")
        if "\0" in host:
            raise UnicodeError("a null character")
    except UnicodeError as exc:
        # The outer error says no more than which codec it was.
        why = exc.__cause__ or exc
        raise ValueError(
            f"{argument}: expected a host that can be looked up, got {host!r:.80} ({why})"
        ) from None
