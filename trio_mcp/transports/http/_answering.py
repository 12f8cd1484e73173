"""What all endpoints share: how requests are answered, refused and ended."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs
import trio

from trio_mcp._rpc._answer import INTERNAL_ERROR_TEXT
from trio_mcp.types import INTERNAL_ERROR, ErrorData

from ._refusal import Refusal
from ._rules import CLOSE, is_modern

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from ._asgi import HttpRequest, HttpResponse

logger: Final = logging.getLogger("trio_mcp.http")


async def answer_request(
    request: HttpRequest,
    response: HttpResponse,
    serve: Callable[[HttpRequest, HttpResponse], Awaitable[Refusal | None]],
) -> None:
    """Answer a request. A refusal is sent, and logged once with its reason.

    Args:
      request: The request.
      response: Its answer.
      serve: Answers it, or says why not. What it raises is a defect of this package: it is
          logged, and whoever asked hears only that there was one.

    """
    try:
        refusal = await serve(request, response)
        if refusal is not None:
            logger.log(
                refusal.level,
                "%s was refused with %d: %s",
                request.name,
                refusal.status,
                refusal.error.message,
            )
            await response.refuse(refusal, null_id=_wants_null(request))
    except Exception:
        logger.exception("%s failed", request.name)
        if not response.started:
            error = ErrorData(code=INTERNAL_ERROR, message=INTERNAL_ERROR_TEXT)
            await response.refuse(Refusal(500, error), null_id=_wants_null(request))


def _wants_null(request: HttpRequest) -> bool:
    # As JSON-RPC has it, without which older clients read no error. The modern era leaves it out.
    return not is_modern(request.headers, None)


@attrs.define(eq=False)
class ActiveRequests:
    """The requests that are being answered in one run of an endpoint."""

    _scopes: set[trio.CancelScope] = attrs.Factory(set[trio.CancelScope])
    _idle: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    def __len__(self) -> int:
        return len(self._scopes)

    @contextmanager
    def request(self) -> Generator[None]:
        """Know of a request as long as the block lasts; it may be cancelled."""
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)
                if not self._scopes:
                    self._idle.unpark_all()

    def cancel(self, reason: str) -> None:
        """Cancel all of them."""
        for scope in self._scopes:
            scope.cancel(reason=reason)

    async def wait_idle(self) -> None:
        """Wait until there are none. Not a checkpoint."""
        while self._scopes:
            await self._idle.park()


def cut_off(response: HttpResponse) -> Refusal | None:
    """Answer a request that was cancelled since its run ended, where nothing was answered yet."""
    if response.started:
        return None
    return Refusal.of(500, "The server stopped before there was an answer", headers=CLOSE)


def not_running(*, stopping: bool, has_run: bool, manager: str) -> Refusal:
    """Refuse a request that comes before the run of an endpoint, at its end, or after it.

    Args:
      stopping: Whether it is the end.
      has_run: Whether there has been a run.
      manager: What has to run, as its application calls it.

    """
    if stopping:
        return Refusal.of(503, "The server stops", headers=(("connection", "close"),))
    if has_run:
        # Its lifespan may have failed, of which the program was told that runs it.
        return Refusal.of(503, "The server has ended", headers=(("connection", "close"),))
    return Refusal.of(
        503,
        "This server does not run. An application that mounts it has to enter "
        f"`async with {manager}.run():` in its own lifespan",
        level=logging.ERROR,
    )
