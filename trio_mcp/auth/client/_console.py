"""A login without a browser on this machine: the URL is shown, and what comes back is pasted."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TextIO, final

import trio

from trio_mcp._checks import check_text
from trio_mcp.auth._identifiers import check_redirect_uri
from trio_mcp.errors import OAuthFlowError

from ._callbacks import (
    AuthorizationAnswer,
    AuthorizationCallback,
    OpenCallback,
    check_shown,
    read_redirect,
)
from ._turns import turn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

DEFAULT_REDIRECT_URI: Final = "http://127.0.0.1:33418/callback"
"""Nothing listens there: the browser shows an error, and the address of the page is the answer."""

ATTEMPTS: Final = 3
"""How often somebody may paste the wrong thing."""


@final
class ConsoleCallback(AuthorizationCallback):
    """Prints the URL to log in at, and reads the address of the page that the login ended on.

    For machines without a browser: log in with one elsewhere. The page at the end does not
    load there; what its address says is what is asked for.

    Args:
      redirect_uri: Where the login ends.
      read_from: Where the address is read; standard input when None.
      write_to: Where the URL is printed; standard error when None.

    Cancellation:
      A line is read in a thread, which cannot be cancelled: it goes on waiting, and the next line
      is lost.

    """

    def __init__(
        self,
        *,
        redirect_uri: str = DEFAULT_REDIRECT_URI,
        read_from: TextIO | None = None,
        write_to: TextIO | None = None,
    ) -> None:
        check_text("redirect_uri", redirect_uri)
        check_redirect_uri(redirect_uri)
        self._redirect_uri = redirect_uri
        self._read_from = read_from
        self._write_to = write_to

    def open(self, redirect_uris: list[str]) -> AbstractAsyncContextManager[OpenCallback]:
        """See `AuthorizationCallback.open`."""
        del redirect_uris
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[OpenCallback, None]:
        yield _Console(
            self._redirect_uri, self._read_from or sys.stdin, self._write_to or sys.stderr
        )


@final
class _Console(OpenCallback):
    def __init__(self, redirect_uri: str, read_from: TextIO, write_to: TextIO) -> None:
        self.redirect_uri = redirect_uri
        self._read_from = read_from
        self._write_to = write_to

    async def ask(self, url: str, state: str) -> AuthorizationAnswer:
        """See `OpenCallback.ask`."""
        check_shown(url)
        # What is pasted is for the page that was shown last: a person sees one after the other.
        async with turn(("console", id(self._read_from))):
            return await self._ask(url, state)

    async def _ask(self, url: str, state: str) -> AuthorizationAnswer:
        self._say(f"Open this page to log in:\n{url}")
        for _ in range(ATTEMPTS):
            begin = self.redirect_uri.partition("?")[0]
            self._say(f"Then paste the address that begins with {begin}:")
            line = await trio.to_thread.run_sync(self._read_line, abandon_on_cancel=True)
            if not line:
                raise OAuthFlowError("Nobody has logged in: the input has ended")
            pasted = line.strip()
            # A query of its own stays in it, wherever the server puts that.
            where, _, query = pasted.partition("?")
            if where == begin:
                answer = read_redirect(query.partition("#")[0], state)
                if answer is not None:
                    return answer
            self._say("That is not the address of this login.")
        raise OAuthFlowError("Nobody has logged in: the pasted addresses are of another login")

    def _read_line(self) -> str:
        try:
            return self._read_from.readline()
        except UnicodeDecodeError:
            return "\n"

    def _say(self, text: str) -> None:
        self._write_to.write(f"{text}\n")
        self._write_to.flush()
