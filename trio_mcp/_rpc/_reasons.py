"""Why something was cancelled, in words for the other side."""

from __future__ import annotations

from typing import Any, Final

import trio

from trio_mcp._codec import printable

_SOURCES: Final = {
    "deadline": "a deadline passed",
    "nursery": "a sibling task failed",
    "KeyboardInterrupt": "interrupted",
    "shutdown": "the program ends",
}


def reason_of(exc: BaseException) -> str:
    """Say why a call was abandoned."""
    return _words(exc) if isinstance(exc, trio.Cancelled) else "interrupted"


def reason_in(scope: trio.CancelScope) -> str | None:
    """Say why a scope is or was cancelled, by itself or with one round it; None if it was not.

    From any thread, also in a shield within the scope, and after the scope was left.
    """
    # Trio tells the reason with the `Cancelled` that it raises; a thread that was let go, or
    # a function that has not come to a checkpoint yet, sees none. A test watches this name.
    told = getattr(scope, "_cancel_reason", None)
    return None if told is None else _words(told)


def _words(told: Any) -> str:
    # What Trio itself writes as a reason shows the exceptions of tasks, which may tell secrets.
    given = told.reason if told.source == "explicit" else None
    return printable(given or "") or _SOURCES.get(told.source, "cancelled")
