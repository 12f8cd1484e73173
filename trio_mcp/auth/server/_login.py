"""The page of the in-memory provider, where a person logs in and says what a client may do.

Each form is bound to the browser that got it: by a cookie, and by a code in the form that was made
of the cookie and the request. A page of somebody else's can send neither, nor show this one in a
frame.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from html import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import attrs

from trio_mcp.auth._identifiers import is_loopback_url, is_same_origin, split_url

from ._answers import Answer, RefusedRequest, log_refused, redirect_answer
from ._expiring import Expiring
from ._pages import page_answer
from ._parameters import parse_parameters, read_form
from ._redirects import construct_redirect_uri

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.auth._models import OAuthClientInformationFull
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._parameters import Parameters
    from ._provider import AuthorizationParams

LOGIN_PATH: Final = "/login"

MAX_PENDING: Final = 1000
"""How many people may be in the middle of logging in; the oldest has to begin again."""

PENDING_SECONDS: Final = 600
"""How long the page may be open."""

MAX_ATTEMPTS: Final = 5
"""Wrong passwords on one page."""

MAX_FAILURES: Final = 20
"""Wrong passwords for one name, before it has to wait."""

FAILURE_SECONDS: Final = 900
"""How long it has to."""

_MAX_SHOWN: Final = 200
_BROWSER: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


@attrs.define(eq=False)
class Pending:
    """A request of a client that nobody has answered yet.

    Of the client just this is kept: what a stranger has registered may be large.
    """

    client_id: str
    client_name: str | None
    params: AuthorizationParams
    attempts: int = 0


class LoginPage:
    """Asks people.

    Args:
      check_user: Gives the name of the person whose name and password these are; None if they
        are nobody's.
      approve: Gives the URL to go to with a code, once a person has said yes.
      now: The time, in seconds since the epoch.

    """

    def __init__(
        self,
        check_user: Callable[[str, str], Awaitable[str | None]],
        approve: Callable[[Pending, str], str],
        now: Callable[[], float],
    ) -> None:
        self._check_user = check_user
        self._approve = approve
        self._now = now
        self._pending = Expiring[Pending](MAX_PENDING, now)
        self._failures = Expiring[int](10 * MAX_PENDING, now)
        self._key = secrets.token_bytes(32)
        self._issuer = ""

    def open_at(self, issuer_url: str) -> None:
        """Learn where this is."""
        self._issuer = issuer_url

    @property
    def path(self) -> str:
        """Of the page, on its host."""
        parts = split_url(self._issuer)
        return ("" if parts is None else parts.path.rstrip("/")) + LOGIN_PATH

    def url_for(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Keep a request, and give the URL of its page."""
        name = secrets.token_urlsafe(32)
        shown = (client.client_name or "")[:_MAX_SHOWN] or None
        pending = Pending(client.client_id, shown, params)
        self._pending.put(name, pending, self._now() + PENDING_SECONDS)
        return f"{self._issuer.rstrip('/')}{LOGIN_PATH}?{urlencode({'request': name})}"

    async def answer(self, request: HttpRequest) -> Answer:
        """Show the page, or take what a person said."""
        try:
            if request.method == "POST":
                self._check_origin(request)
                return await self._take(request, await read_form(request))
            parameters = parse_parameters(request.scope.get("query_string", b""))
            return self._show(request, parameters.needed("request"), "")
        except RefusedRequest as refused:
            log_refused(request, refused.error, refused.description)
            reason = escape(refused.description or "")
            return page_answer(
                "This page is of no use any more", f"<p>{reason}.</p>", refused.status
            )

    # What a person said

    def _check_origin(self, request: HttpRequest) -> None:
        origin = request.headers.get("origin")
        if origin is not None and not is_same_origin(origin, self._issuer):
            raise RefusedRequest("access_denied", "The form came from elsewhere", status=403)

    async def _take(self, request: HttpRequest, form: Parameters) -> Answer:
        name = form.needed("request")
        pending = self._find(name)
        browser = self._browser_of(request)
        expected = "" if browser is None else self._token(browser, name)
        if browser is None or not hmac.compare_digest(
            expected.encode(), (form.get("token") or "").encode()
        ):
            raise RefusedRequest(
                "access_denied", "The form is not of this browser: are cookies off?", status=403
            )
        if form.get("answer") != "allow":
            self._pending.pop(name)
            return _back(pending, "The person refused")
        # Counted before the answer is known, so that many at the same time are not more.
        pending.attempts += 1
        subject = None
        if pending.attempts <= MAX_ATTEMPTS:
            user, password = form.get("user") or "", form.get("password") or ""
            subject = await self._person(user, password)
        if subject is None:
            return self._wrong(request, name, pending)
        # Whoever waited for the same answer twice gets it once.
        if self._pending.pop(name) is None:
            raise _no_request()
        return redirect_answer(self._approve(pending, subject), 303)

    async def _person(self, user: str, password: str) -> str | None:
        key = hashlib.sha256(user.encode()).hexdigest()
        failures = self._failures.get(key) or 0
        if failures >= MAX_FAILURES:
            return None
        self._failures.put(key, failures + 1, self._now() + FAILURE_SECONDS)
        subject = await self._check_user(user, password)
        if subject is not None:
            self._failures.pop(key)
        return subject

    def _wrong(self, request: HttpRequest, name: str, pending: Pending) -> Answer:
        if pending.attempts >= MAX_ATTEMPTS:
            self._pending.pop(name)
            return _back(pending, "The person could not log in")
        return self._show(request, name, "The name or the password is wrong.")

    # The page

    def _find(self, name: str) -> Pending:
        pending = self._pending.get(name)
        if pending is None:
            raise _no_request()
        return pending

    def _show(self, request: HttpRequest, name: str, error: str) -> Answer:
        pending = self._find(name)
        browser = self._browser_of(request) or secrets.token_urlsafe(32)
        # Again for one that has it, which is to last as long as this page.
        headers = (("set-cookie", f"{self._cookie}={browser}; {self._cookie_attributes}"),)
        hidden = {"request": name, "token": self._token(browser, name)}
        content = _content(pending, hidden, error)
        status = 400 if error else 200
        return page_answer("Allow access?", content, status, headers)

    def _token(self, browser: str, name: str) -> str:
        return hmac.new(self._key, f"{browser} {name}".encode(), hashlib.sha256).hexdigest()

    def _browser_of(self, request: HttpRequest) -> str | None:
        for header in request.headers.all("cookie"):
            for pair in header.split(";"):
                key, _, value = pair.strip().partition("=")
                if key == self._cookie and _BROWSER.fullmatch(value):
                    return value
        return None

    @property
    def _is_https(self) -> bool:
        return self._issuer.lower().startswith("https:")

    @property
    def _cookie(self) -> str:
        # With this prefix, browsers take it from this host alone, and over https.
        return "__Host-trio_mcp_login" if self._is_https else "trio_mcp_login"

    @property
    def _cookie_attributes(self) -> str:
        secure = "; Secure" if self._is_https else ""
        return f"Path=/; HttpOnly; SameSite=Lax; Max-Age={PENDING_SECONDS}{secure}"


def _no_request() -> RefusedRequest:
    return RefusedRequest(
        "invalid_request", "It was open for too long, or has been answered: please begin again"
    )


def _back(pending: Pending, reason: str) -> Answer:
    url = construct_redirect_uri(
        pending.params.redirect_uri,
        error="access_denied",
        error_description=reason,
        state=pending.params.state,
        iss=pending.params.issuer,
    )
    return redirect_answer(url, 303)


def _content(pending: Pending, hidden: dict[str, str], error: str) -> str:
    params = pending.params
    facts = [("Program", _shown(pending.client_name or "a program without a name"))]
    parts = split_url(pending.client_id)
    if parts is not None and parts.scheme == "https" and parts.host:
        facts.append(("Published by", _shown(parts.host)))
    facts.append(("The answer goes to", _shown(_host_of(params.redirect_uri))))
    if params.resource is not None:
        facts.append(("For the server", _shown(params.resource)))
    facts.append(("It may", _shown(", ".join(params.scopes or ())) or "only say who you are"))
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    fields = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}">'
        for name, value in hidden.items()
    )
    warning = f'<p class="warning">{escape(error)}</p>' if error else ""
    if is_loopback_url(params.redirect_uri):
        warning += (
            '<p class="warning">The answer goes to a program on this computer, which may be any '
            "program: go on only if you have just started it yourself.</p>"
        )
    return (
        f'<dl>{listed}</dl>{warning}<form method="post">{fields}'
        '<label>Name <input name="user" autocomplete="username"></label>'
        '<label>Password <input name="password" type="password" '
        'autocomplete="current-password"></label>'
        '<button name="answer" value="allow">Allow</button>'
        '<button name="answer" value="deny" formnovalidate>Deny</button></form>'
    )


def _host_of(url: str) -> str:
    parts = split_url(url)
    return url if parts is None or not parts.authority else parts.authority


def _shown(text: str) -> str:
    # Letters that turn the direction of writing make one host look like another.
    plain = "".join(each if each.isprintable() else "?" for each in text[:_MAX_SHOWN])
    return escape(plain)
