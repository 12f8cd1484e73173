"""Who may call: the checks of Host and Origin, which keep web pages of others away.

A page in a browser may make its own name lead to 127.0.0.1 (DNS rebinding), and then reach a
server that listens for this machine alone. Its requests carry its name in ``Host``, and in
``Origin`` where they come from a script (Streamable HTTP, security warning).
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from ._refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._headers import Headers
    from ._options import TransportSecuritySettings

_SHOWN: Final = 100
# Of a value that was refused, in the log and to whoever sent it.

_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]*\]|[^:]*)(?::(\d*))?", re.IGNORECASE)


def check_caller(
    headers: Headers,
    settings: TransportSecuritySettings | None,
    more_origins: Iterable[str] = (),
) -> Refusal | None:
    """Refuse a request for a name or from a web page that is not allowed.

    Args:
      headers: Of the request.
      settings: What is allowed; when None, every host, and no web page. One that is of the same
          host may be so by a name of its own.
      more_origins: Allowed as well.

    """
    if settings is None:
        return _check_origin(headers, more_origins)
    if not settings.enable_dns_rebinding_protection:
        return None
    allowed = (*settings.allowed_origins, *more_origins)
    return check_host(headers, settings) or _check_origin(headers, allowed)


def check_host(headers: Headers, settings: TransportSecuritySettings | None) -> Refusal | None:
    """Refuse a request for a name that is not allowed, whatever page it comes from.

    For what pages of all origins may read, as long as they know it by its own name.
    """
    if settings is None or not settings.enable_dns_rebinding_protection:
        return None
    hosts = headers.all("host")
    if len(hosts) == 1 and _is_allowed(hosts[0], settings.allowed_hosts):
        return None
    return _refused("Host", hosts, 421, "allowed_hosts")


def _check_origin(headers: Headers, allowed: Iterable[str]) -> Refusal | None:
    origins = headers.all("origin")
    if not origins or (len(origins) == 1 and _is_allowed(origins[0], allowed)):
        return None
    return _refused("Origin", origins, 403, "allowed_origins")


def _is_allowed(value: str, allowed: Iterable[str]) -> bool:
    # Neither schemes nor names of hosts mind the case.
    value = value.lower()
    return any(_matches(value, each.lower()) for each in allowed)


def _matches(value: str, allowed: str) -> bool:
    if allowed in {"*", value}:
        return True
    if not allowed.endswith(":*"):
        return False
    *scheme, authority = value.split("://", 1)
    split = _AUTHORITY.fullmatch(authority)
    return split is not None and "://".join([*scheme, split[1]]) == allowed[:-2]


def _refused(name: str, values: tuple[str, ...], status: int, setting: str) -> Refusal:
    shown = ", ".join(f"{each[:_SHOWN]!a}" for each in values[:2]) or "nothing"
    return Refusal.of(
        status,
        f"{name} {shown} is not allowed; see {setting} of TransportSecuritySettings "
        "(transport_security=)",
        level=logging.WARNING,
    )
