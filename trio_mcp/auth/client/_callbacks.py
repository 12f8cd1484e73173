"""How a person gets to an authorization server, and what it answers gets back: the interface."""

from __future__ import annotations

import hmac
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl

import trio

from trio_mcp._checks import awaited
from trio_mcp.auth._models import AuthorizationCodeResult
from trio_mcp.auth._step_types import AuthorizationRefused
from trio_mcp.errors import OAuthFlowError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

AuthorizationAnswer: TypeAlias = AuthorizationCodeResult | AuthorizationRefused

RedirectHandler: TypeAlias = Callable[[str], Awaitable[None]]
CallbackHandler: TypeAlias = Callable[[], Awaitable[AuthorizationCodeResult]]

_NO_TEXT: Final = re.compile("[\ud800-\udfff]")
_PARAMETERS: Final = ("code", "state", "iss", "error", "error_description", "error_uri")


class OpenCallback(ABC):
    """Waits for a person; see `AuthorizationCallback`.

    Attributes:
      redirect_uri: Where the authorization server sends the person back to.

    """

    redirect_uri: str

    @abstractmethod
    async def ask(self, url: str, state: str) -> AuthorizationAnswer:
        """Send a person to a URL, and return what comes back.

        Args:
          url: Of the authorization request, https or on this machine.
          state: What comes back has to have it; what has another one is not for us.

        Raises:
          OAuthFlowError: if nobody comes back in time.

        """


class AuthorizationCallback(ABC):
    """A way to have a person log in. `LoopbackCallback` and `ConsoleCallback` are there."""

    @abstractmethod
    def open(self, redirect_uris: list[str]) -> AbstractAsyncContextManager[OpenCallback]:
        """Be ready to be answered, for as long as the block lasts.

        Args:
          redirect_uris: Those that the client is registered with already; none where it is not.
            One of them is to be used, if that is possible.

        """


def read_redirect(query: str, state: str) -> AuthorizationAnswer | None:
    """Read the query of a redirect.

    Returns:
      What it says; None if it is none of ours: another state, or nothing that is an answer.

    """
    given: dict[str, str] = {}
    try:
        query.encode()  # what was pasted may be no text
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=50)
    except ValueError:
        return None
    for name, value in pairs:
        if name in _PARAMETERS:
            if name in given:
                # RFC 6749, section 3.1: no parameter twice.
                return None
            given[name] = value
    if not hmac.compare_digest(given.get("state", "").encode(), state.encode()):
        return None
    iss = given.get("iss")
    if "error" in given:
        return AuthorizationRefused(
            error=given["error"],
            error_description=given.get("error_description"),
            error_uri=given.get("error_uri"),
            state=state,
            iss=iss,
        )
    code = given.get("code")
    return AuthorizationCodeResult(code=code, state=state, iss=iss) if code else None


def check_answer(answer: object, who: str) -> AuthorizationAnswer:
    """Check what a program says that a login has brought.

    Args:
      answer: What it returned.
      who: What returned it.

    Raises:
      TypeError: if it is something else. It is not told: it may hold the code.

    """
    expected = f"{who}: expected an AuthorizationCodeResult(code=…, state=…)"
    if not isinstance(answer, (AuthorizationCodeResult, AuthorizationRefused)):
        raise TypeError(f"{expected}, got {type(answer).__name__}")
    for name in _PARAMETERS:
        value = getattr(answer, name, None)
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{expected}, got a {name} that is {type(value).__name__}")
        if isinstance(value, str) and _NO_TEXT.search(value):
            raise OAuthFlowError(f"{expected}, got a {name} that is no text")
    return answer


def check_shown(url: str) -> None:
    """Refuse to show a person what is no web page, before any program gets to see it.

    Raises:
      OAuthFlowError: if it is not http(s).

    """
    if not url.lower().startswith(("https://", "http://")):
        raise OAuthFlowError(f"Only http(s) pages are shown to people, and not {url[:40]!r}")


class HandlersCallback(AuthorizationCallback):
    """The two functions that a user of `OAuthClientProvider` brings along.

    Args:
      redirect_handler: Sends a person to a URL.
      callback_handler: Waits for what comes back.
      redirect_uri: Where that comes to.

    """

    def __init__(
        self,
        redirect_handler: RedirectHandler | None,
        callback_handler: CallbackHandler | None,
        redirect_uri: str,
    ) -> None:
        self._redirect_handler = redirect_handler
        self._callback_handler = callback_handler
        self._redirect_uri = redirect_uri

    def open(self, redirect_uris: list[str]) -> AbstractAsyncContextManager[OpenCallback]:
        """See `AuthorizationCallback.open`."""
        del redirect_uris
        return _Handlers(self._redirect_handler, self._callback_handler, self._redirect_uri)


class _Handlers(OpenCallback):
    def __init__(
        self,
        redirect_handler: RedirectHandler | None,
        callback_handler: CallbackHandler | None,
        redirect_uri: str,
    ) -> None:
        self._redirect_handler = redirect_handler
        self._callback_handler = callback_handler
        self.redirect_uri = redirect_uri

    async def __aenter__(self) -> OpenCallback:
        await trio.lowlevel.checkpoint_if_cancelled()
        return self

    async def __aexit__(self, *args: object) -> None:
        pass

    async def ask(self, url: str, state: str) -> AuthorizationAnswer:
        """See `OpenCallback.ask`."""
        del state  # whoever drives the flow compares it
        if self._redirect_handler is None or self._callback_handler is None:
            raise OAuthFlowError(
                "Somebody has to log in, and there is nobody to ask: redirect_handler and "
                "callback_handler are missing (OAuth has both)"
            )
        check_shown(url)
        await awaited("redirect_handler", self._redirect_handler(url))
        answer = await awaited("callback_handler", self._callback_handler())
        return check_answer(answer, "callback_handler")
