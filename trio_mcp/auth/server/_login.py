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
import unicodedata
from html import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from trio_mcp.auth._identifiers import is_same_origin, split_url

from ._answers import Answer, RefusedRequest, log_refused, logger, redirect_answer
from ._consent import consent_content, short_name
from ._expiring import Expiring
from ._login_requests import SealedRequests
from ._pages import page_answer
from ._parameters import parse_parameters, read_form
from ._redirects import construct_redirect_uri

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.auth._models import OAuthClientInformationFull
    from trio_mcp.transports.http._asgi import HttpRequest

    from ._login_requests import Pending
    from ._parameters import Parameters
    from ._provider import AuthorizationParams

LOGIN_PATH: Final = "/login"

MAX_REMEMBERED: Final = 10_000
"""How many answered pages, pages with wrong passwords and names with such are remembered."""

PENDING_SECONDS: Final = 600
"""How long the page may be open."""

MAX_ATTEMPTS: Final = 5
"""Wrong passwords on one page."""

MAX_FAILURES: Final = 20
"""Wrong passwords for one name, before it has to wait."""

FAILURE_SECONDS: Final = 900
"""How long it has to."""

_MAX_SPELT: Final = 256
# Characters of a name that tell one from another: to compare more takes long.

_BROWSER: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


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
        # Of pages just what people have done there is kept, and nothing of what is asked for.
        self._attempts = Expiring[int](MAX_REMEMBERED, now)
        self._answered = Expiring[bool](MAX_REMEMBERED, now)
        self._failures = Expiring[int](MAX_REMEMBERED, now)
        self._key = secrets.token_bytes(32)
        self._requests = SealedRequests(self._key, now)
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
        """Give the URL of the page for a request."""
        name = short_name(client.client_name)
        sealed = self._requests.seal(client.client_id, name, params, PENDING_SECONDS)
        return f"{self._issuer.rstrip('/')}{LOGIN_PATH}?{urlencode({'request': sealed})}"

    async def answer(self, request: HttpRequest) -> Answer:
        """Show the page, or take what a person said."""
        try:
            if request.method == "POST":
                self._check_origin(request)
                return await self._take(request, await read_form(request))
            parameters = parse_parameters(request.scope.get("query_string", b""))
            return self._show(request, parameters.needed("request"))
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
        sealed = form.needed("request")
        pending = self._find(sealed)
        browser = self._browser_of(request)
        expected = "" if browser is None else self._token(browser, sealed)
        if browser is None or not hmac.compare_digest(
            expected.encode(), (form.get("token") or "").encode()
        ):
            raise RefusedRequest(
                "access_denied", "The form is not of this browser: are cookies off?", status=403
            )
        if form.get("answer") != "allow":
            self._end(pending)
            return _back(pending, "The person refused")
        # Counted before the answer is known, so that many at the same time are not more.
        attempts = self._count(self._attempts, pending.name, pending.until)
        subject = None
        if attempts <= MAX_ATTEMPTS:
            user, password = form.get("user") or "", form.get("password") or ""
            try:
                subject = await self._person(user, password)
            except Exception:  # noqa: BLE001 - of the author's code: logged, and the person is told
                # That nobody knows says nothing of who tried.
                logger.exception("%s failed: nobody can tell who logs in", request.name)
                self._forgive(self._attempts, pending.name, pending.until)
                return self._show(request, sealed, "Nobody can log in now: try later.", 503)
        if subject is None:
            return self._wrong(request, sealed, pending, attempts)
        self._find(sealed)  # Whoever waited for the same answer twice gets it once.
        self._end(pending)
        return redirect_answer(self._approve(pending, subject), 303)

    async def _person(self, user: str, password: str) -> str | None:
        # By the person whom the name may stand for: directories do not mind how it is spelt.
        key = hashlib.sha256(_bare(user).encode()).hexdigest()
        until = self._now() + FAILURE_SECONDS
        if (self._failures.get(key) or 0) >= MAX_FAILURES:
            return None
        self._count(self._failures, key, until)
        try:
            subject = await self._check_user(user, password)
        except Exception:
            self._forgive(self._failures, key, until)
            raise
        if subject is not None:
            self._failures.pop(key)
        return subject

    def _count(self, counts: Expiring[int], key: str, until: float) -> int:
        count = (counts.get(key) or 0) + 1
        counts.put(key, count, until)
        return count

    def _forgive(self, counts: Expiring[int], key: str, until: float) -> None:
        # Not there if somebody logged in meanwhile, which forgives all.
        if count := counts.get(key):
            counts.put(key, count - 1, until)

    def _end(self, pending: Pending) -> None:
        self._answered.put(pending.name, True, pending.until)

    def _wrong(self, request: HttpRequest, sealed: str, pending: Pending, attempts: int) -> Answer:
        if attempts >= MAX_ATTEMPTS:
            self._end(pending)
            return _back(pending, "The person could not log in")
        return self._show(request, sealed, "The name or the password is wrong.", 400)

    # The page

    def _find(self, sealed: str) -> Pending:
        pending = self._requests.open(sealed)
        if pending is None or self._answered.get(pending.name):
            raise _no_request()
        return pending

    def _show(
        self, request: HttpRequest, sealed: str, error: str = "", status: int = 200
    ) -> Answer:
        pending = self._find(sealed)
        browser = self._browser_of(request) or secrets.token_urlsafe(32)
        # Again for one that has it, which is to last as long as this page.
        headers = (("set-cookie", f"{self._cookie}={browser}; {self._cookie_attributes}"),)
        hidden = {"request": sealed, "token": self._token(browser, sealed)}
        content = consent_content(pending, hidden, error)
        return page_answer("Allow access?", content, status, headers)

    def _token(self, browser: str, sealed: str) -> str:
        return hmac.new(self._key, f"{browser} {sealed}".encode(), hashlib.sha256).hexdigest()

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


def _bare(name: str) -> str:
    """Give what the spellings of one name have in common."""
    decomposed = unicodedata.normalize("NFKD", name[:_MAX_SPELT].casefold())
    kept = (each for each in decomposed if unicodedata.category(each)[0] not in "CMZ")
    return unicodedata.normalize("NFKC", "".join(kept)).casefold()
