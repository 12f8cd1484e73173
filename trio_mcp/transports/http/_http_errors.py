"""What goes wrong with HTTP, as errors of this package."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from trio_mcp.errors import ConnectionLost


def lost_by(exc: Exception, what: str) -> ConnectionLost:
    """Make our error of one of httpx's, to be raised from it."""
    if _is_of_pool(exc):
        reason = NO_CONNECTION_FREE
    elif _is_closed_here(exc):
        reason = CLIENT_CLOSED
    else:
        reason = _reason(exc)
    return ConnectionLost(f"{what}: {reason} ({type(exc).__name__})")


NO_CONNECTION_FREE: Final = (
    "no connection was free in time: the http_client allows fewer (max_connections) than there "
    "are calls, streams and answers at once"
)


CLIENT_CLOSED: Final = "the HTTP client (http_client) was closed while it was still in use"


def is_for_closed_client(lost: ConnectionLost) -> bool:
    """Whether it was lost since the HTTP client of the user is closed, and stays so."""
    return type(lost.__cause__) is RuntimeError


def _is_closed_here(exc: BaseException | None) -> bool:
    # A client that is closed takes nothing more, and closes what others are reading.
    if type(exc) is RuntimeError:
        return True
    while exc is not None and not _is_named(exc, "ClosedResourceError"):
        # Libraries hide what they have translated. What the caller was handling is not theirs.
        exc = exc.__context__ if exc.__suppress_context__ else None
    return exc is not None


def is_for_want_of_connections(lost: ConnectionLost) -> bool:
    """Whether it was lost on this side, since the HTTP client of the user had no place for it."""
    return _is_of_pool(lost.__cause__)


def _is_of_pool(exc: BaseException | None) -> bool:
    return exc is not None and _is_named(exc, "PoolTimeout")


def _is_named(exc: BaseException, *names: str) -> bool:
    # The classes themselves are of a library that need not be there.
    return any(each.__name__ in names for each in type(exc).__mro__)


def _reason(exc: BaseException | None) -> str:
    # Some are raised without a word, from what has one: a certificate that is not trusted.
    while exc is not None:
        if str(exc):
            return str(exc)
        exc = exc.__cause__ or exc.__context__
    return "no reason given"


def is_http_error(exc: BaseException, client: Any = None) -> bool:
    """Whether a client of the family means a failure of the network by this, or its own end.

    Args:
      exc: What it raised.
      client: The client, if it was asked for something. Of having been closed it tells by a bare
          `RuntimeError`.

    """
    if type(exc) is RuntimeError:
        return getattr(client, "is_closed", False) is True
    return _is_named(exc, *_ERRORS)


_ERRORS: Final = frozenset({"HTTPError", "InvalidURL", "StreamError", "CookieConflict"})


def refused_with(response: Any, what: str, data: bytes) -> ConnectionLost:
    """Make our error of a response that is none of the protocol, and its body."""
    status = response.status_code
    facts = [f"{what}: status {status}"]
    kind = response.headers.get("content-type")
    if status < 400:
        facts.append(f"and the content type {kind or 'none'}, which is no answer")
    challenge = response.headers.get("www-authenticate")
    if challenge:
        facts.append(f"(WWW-Authenticate: {challenge[:_EXCERPT]})")
    text = " ".join(data[: 4 * _EXCERPT].decode("utf-8", "replace").split())
    if text:
        facts.append(f"{text[:_EXCERPT]!r}")
    details = {"status": status, "contentType": kind, "wwwAuthenticate": challenge}
    return ConnectionLost(
        " ".join(facts), {k: v for k, v in details.items() if v is not None}, status=status
    )


_EXCERPT: Final = 200


def shown(url: str) -> str:
    """Write a URL, or a part of one, for people: without its query and who asks, the secrets."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "what is no URL"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def quoted(reference: str) -> str:
    """Quote what a server wrote where it should have written a URL, or a part of one.

    What may be secret is left out as in `shown`, also where it is no URL.
    """
    words = re.sub(r"//[^/]*@", "//", re.split(r"[?#]", reference, maxsplit=1)[0])
    return ascii(words if len(words) <= _EXCERPT else f"{words[:_EXCERPT]}...")
