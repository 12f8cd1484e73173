"""Read what the endpoints of OAuth answer, and say what was wrong without a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp._codec._json import JsonError, loads
from trio_mcp.errors import OAuthFlowError
from trio_mcp.transports.http._http_errors import shown
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trio_mcp.types._base import JsonObject

    from ._step_types import HttpAnswer, HttpStep

_PASSING: Final = frozenset({408, 425, 429})
_SHORTEST_SECRET: Final = 6


def is_passing(status: int) -> bool:
    """Tell whether a failure says nothing but that it did not work this time.

    A redirect is one, too: somebody stands between, such as the page of a hotel's network.
    """
    return status >= 500 or 300 <= status < 400 or status in _PASSING


def read_object(answer: HttpAnswer) -> JsonObject:
    """Read a JSON object.

    Raises:
      ValueError: if the content is none.

    """
    try:
        found = loads(answer.content)
    except JsonError as exc:
        raise ValueError(f"no JSON ({exc})") from None
    if not is_object(found):
        raise ValueError("JSON that is no object")
    return found


def oauth_error(answer: HttpAnswer) -> tuple[str | None, str | None]:
    """Read ``error`` and ``error_description`` (RFC 6749, section 5.2), if it says them."""
    try:
        found = read_object(answer)
    except ValueError:
        return None, None
    error, description = found.get("error"), found.get("error_description")
    return (
        error if isinstance(error, str) else None,
        description if isinstance(description, str) else None,
    )


def words_of(text: str, secrets: Iterable[str | None] = ()) -> str:
    """Quote a peer's words: at most 200 characters, none unprintable, no secret that we sent."""
    for secret in secrets:
        if secret is not None and len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "…")
    cut = text if len(text) <= 200 else f"{text[:200]}…"
    return "".join(char if char.isprintable() else " " for char in cut)


def told(error: str | None, description: str | None, secrets: Iterable[str | None] = ()) -> str:
    """Give what a server said was wrong, to be put behind a sentence; "" if it said nothing."""
    held = list(secrets)
    parts = [words_of(error, held)] if error else []
    if description:
        parts.append(f"({words_of(description, held)})")
    return f": {' '.join(parts)}" if parts else ""


def answered(step: HttpStep, answer: HttpAnswer) -> str:
    """Say who answered what: ``the token endpoint 'https://…' answered 503``."""
    return f"{step.what} {shown(step.url)!r:.200} answered {answer.status}"


def failure(step: HttpStep, answer: HttpAnswer) -> OAuthFlowError:
    """Make the error for a server that does not work."""
    return OAuthFlowError(sentence(answered(step, answer)))


def sentence(text: str) -> str:
    """Begin with a capital letter."""
    return text[:1].upper() + text[1:]
