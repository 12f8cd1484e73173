"""What the page of the in-memory provider shows of a request, before anybody allows it.

Nothing of what decides is cut: all scopes are there, and of a host its end, which says whose it
is. What is shortened has an ellipsis where something is missing.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from trio_mcp.auth._identifiers import is_loopback_url, split_url

if TYPE_CHECKING:
    from ._login_requests import Pending

MAX_NAME: Final = 200
"""Characters of what a client calls itself."""

_MAX_HOST: Final = 64
# Characters of the end of a host: more on a line hide the end from who reads the beginning.


def short_name(name: str | None) -> str | None:
    """Give the beginning of a client's name; None if it has none."""
    if not name:
        return None
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…"


def consent_content(pending: Pending, hidden: dict[str, str], error: str) -> str:
    """Write the question, and the form that takes the answer.

    Args:
      pending: What is asked.
      hidden: Fields that go back as they are.
      error: What was wrong with the last answer; "" for nothing.

    """
    fields = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}">'
        for name, value in hidden.items()
    )
    warning = f'<p class="warning">{escape(error)}</p>' if error else ""
    if is_loopback_url(pending.params.redirect_uri):
        warning += (
            '<p class="warning">The answer goes to a program on this computer, which may be any '
            "program: go on only if you have just started it yourself.</p>"
        )
    return (
        f'<dl>{_facts(pending)}</dl>{warning}<form method="post">{fields}'
        '<label>Name <input name="user" autocomplete="username"></label>'
        '<label>Password <input name="password" type="password" '
        'autocomplete="current-password"></label>'
        '<button name="answer" value="allow">Allow</button>'
        '<button name="answer" value="deny" formnovalidate>Deny</button></form>'
    )


def _facts(pending: Pending) -> str:
    params = pending.params
    facts = [("Program", [pending.client_name or "a program without a name"])]
    parts = split_url(pending.client_id)
    if parts is not None and parts.scheme == "https" and parts.host:
        facts.append(("Published by", [end_of_host(pending.client_id)]))
    facts.append(("The answer goes to", [end_of_host(params.redirect_uri)]))
    if params.resource is not None:
        facts.append(("For the server", [params.resource]))
    facts.append(("It may", params.scopes or ["only say who you are"]))
    return "".join(
        f"<dt>{name}</dt>" + "".join(f"<dd>{plain(value)}</dd>" for value in values)
        for name, values in facts
    )


def end_of_host(url: str) -> str:
    """Give host and port of a URL: whole, or the end if it is long."""
    parts = split_url(url)
    if parts is None or not parts.authority:
        return url
    host = parts.authority.rpartition("@")[2]
    return host if len(host) <= _MAX_HOST else f"…{host[-_MAX_HOST:]}"


def plain(text: str) -> str:
    """Write text of somebody else's into a page."""
    # Letters that turn the direction of writing make one host look like another.
    return escape("".join(each if each.isprintable() else "?" for each in text))
