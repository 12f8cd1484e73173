"""How the endpoints of an authorization server answer: JSON, redirects and pages."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import attrs

from trio_mcp._codec import dumps
from trio_mcp.transports.http._asgi import HttpRequest, HttpResponse
from trio_mcp.transports.http._cors import answer_headers, is_preflight, preflight_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.transports.http._asgi import Receive, Scope, Send
    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.auth")

ANY_ORIGIN: Final = ("*",)
"""Clients run in browsers, too. What they may do, their own credentials say, and no cookie."""

NO_STORE: Final = (("cache-control", "no-store"), ("pragma", "no-cache"))

_MAX_DESCRIPTION: Final = 300
# Characters, so that what a client sent is quoted but not repeated.


@attrs.frozen
class Answer:
    """What one request is answered with."""

    status: int
    body: bytes = attrs.field(default=b"", repr=False)
    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    media_type: str = "application/json"


class RefusedRequest(Exception):
    """A request that is answered with an error of OAuth.

    Args:
      error: Its name.
      description: One sentence for the client's developer, without a secret.
      status: Of HTTP.
      headers: More of the answer's.

    """

    def __init__(
        self,
        error: str,
        description: str | None = None,
        *,
        status: int = 400,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(error, description)
        self.error = error
        self.description = description
        self.status = status
        self.headers = headers


class ClientGone(Exception):
    """The client did not wait for the answer."""


def json_answer(
    document: JsonObject, status: int = 200, headers: tuple[tuple[str, str], ...] = NO_STORE
) -> Answer:
    """Answer with an object."""
    return Answer(status, dumps(document), headers)


def error_answer(refused: RefusedRequest) -> Answer:
    """Answer with an error as JSON (RFC 6749, section 5.2)."""
    document = error_members(refused.error, refused.description)
    return json_answer(document, refused.status, (*NO_STORE, *refused.headers))


def error_members(error: str, description: str | None) -> dict[str, Any]:
    """Give what tells of an error, in the characters that OAuth has for that."""
    members: dict[str, Any] = {"error": error}
    if description:
        members["error_description"] = describe(description)
    return members


def describe(text: str) -> str:
    """Spell a sentence in the characters of an ``error_description`` (RFC 6749, section 5.2)."""
    plain = text[:_MAX_DESCRIPTION].replace('"', "'").replace("\\", "/")
    return "".join(each if " " <= each <= "~" else "?" for each in plain)


def log_refused(request: HttpRequest, error: str, description: str | None) -> None:
    """Say in the log why a request was refused."""
    logger.info("%s was refused: %s: %s", request.name, error, describe(description or ""))


def redirect_answer(url: str, status: int, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """Send a browser to a URL, which stays as it is but for what no header can hold."""
    location = quote(url, safe="!#$%&'()*+,/:;=?@[]~")
    security = (("referrer-policy", "no-referrer"), ("x-frame-options", "DENY"))
    return Answer(status, b"", (("location", location), *NO_STORE, *security, *headers))


class Endpoint:
    """An ASGI application that answers at one path.

    Args:
      answer: Answers one request. It may raise `RefusedRequest`, which is answered as JSON.
      methods: Of HTTP, beside ``OPTIONS``.
      origins: Of pages that may read answers.

    """

    def __init__(
        self,
        answer: Callable[[HttpRequest], Awaitable[Answer]],
        methods: tuple[str, ...],
        origins: tuple[str, ...] = (),
    ) -> None:
        self._answer = answer
        self._methods = methods
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = HttpRequest(scope, receive)
        response = HttpResponse(send, scope.get("http_version", "1.1"))
        response.headers = answer_headers(request.headers, self._origins)
        if request.method == "OPTIONS":
            await response.send_whole(204, headers=self._allowed(request))
            return
        try:
            answer = await self._answer_to(request)
        except ClientGone:
            return
        await response.send_whole(answer.status, answer.body, answer.headers, answer.media_type)

    def _allowed(self, request: HttpRequest) -> list[tuple[str, str]]:
        if is_preflight(request.method, request.headers, self._origins):
            return preflight_headers(request.headers, self._methods)
        return [("allow", ", ".join((*self._methods, "OPTIONS")))]

    async def _answer_to(self, request: HttpRequest) -> Answer:
        try:
            return await self._answer(request)
        except RefusedRequest as refused:
            log_refused(request, refused.error, refused.description)
            return error_answer(refused)
        except ClientGone:
            raise
        except Exception:
            logger.exception("%s failed", request.name)
            return error_answer(RefusedRequest("server_error", status=500))
