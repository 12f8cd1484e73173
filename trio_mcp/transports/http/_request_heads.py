"""The head of a request as it came: what it asks for, and what keeps it from being served."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import h2.events
    import h11

_ABSOLUTE_FORM: Final = re.compile(rb"https?://([^/?#]+)(.*)", re.IGNORECASE)


def resolved(request: h11.Request) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Give the path and the headers of a request, whichever form its target has.

    A client may write the whole URL (RFC 9112, 3.2.2), which then says the host as well.
    """
    headers = list(request.headers)
    found = _ABSOLUTE_FORM.fullmatch(request.target)
    if found is None:
        return request.target, headers
    headers = [(b"host", found[1]), *(each for each in headers if each[0] != b"host")]
    path = found[2]
    return path if path.startswith(b"/") else b"/" + path, headers


def refusal_of(request: h2.events.RequestReceived) -> tuple[int, str] | None:
    """Give the status for a request that hypercorn would trip over, and why; or None."""
    fields = dict(request.headers)
    method, path = fields.get(b":method", b""), fields.get(b":path")
    if method == b"CONNECT":
        return 405, "this is no proxy"
    if path is None:
        return 400, "it has no path"
    is_ascii = path.isascii() and method.isascii()
    return None if is_ascii else (400, "its path or its method is not ASCII")


def name_of(method: bytes, target: bytes) -> str:
    """Name a request in the log: without its query, which may hold secrets."""
    path = target.partition(b"?")[0][:200].decode("ascii", "backslashreplace")
    return f"{method.decode('ascii', 'backslashreplace'):.20} {path!a}"
