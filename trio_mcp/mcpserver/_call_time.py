"""The seconds that one call of a tool may take."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

import attrs
import trio

from trio_mcp._rpc._link import NO_OPTIONS
from trio_mcp.errors import ToolError

from ._managed import CLEANUP_SECONDS

if TYPE_CHECKING:
    from collections.abc import Generator

    from trio_mcp._rpc._exchange import Exchange
    from trio_mcp._rpc._link import CallOptions, Link
    from trio_mcp.types._base import JsonObject

    from ._context import Context

logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class CallTime:
    """The time of one call: of its resolvers, its function and the making of its result.

    It stands still while the client is asked something, since how long people take says nothing
    of the tool; and in the modern era they take their time between two requests, each of which
    has the whole time. When everything has been done, clean-up has `CLEANUP_SECONDS`.
    """

    name: str
    seconds: float
    _scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    _questions: int = attrs.field(default=0, init=False)
    _left: float = attrs.field(default=0, init=False)
    # What came of the call before its clean-up began.
    _results: list[Any] = attrs.field(factory=list[Any], init=False)
    _failures: list[Exception] = attrs.field(factory=list[Exception], init=False)

    @contextmanager
    def limit(self, context: Context[Any, Any]) -> Generator[None]:
        """Cancel the block when the time is over.

        Raises:
          ToolError: if it was.

        """
        self._scope.deadline = trio.current_time() + self.seconds
        asked = context.current_request
        exchange = None if asked is None else asked.exchange
        with self._scope, _standing_still(exchange, self), _own_way(context, self):
            yield
        if self._scope.cancelled_caught and not self._results:
            raise self._failures.pop() if self._failures else self._too_long()

    def finished(self, result: Any) -> None:
        """The work is done, and only clean-up is left."""
        self._results.append(result)
        self._begin_cleanup()

    def failed(self, failure: Exception) -> None:
        """The work has failed, and only clean-up is left."""
        self._failures.append(failure)
        self._begin_cleanup()

    def result(self) -> Any:
        """Give the result of a call whose clean-up took too long: that costs the call nothing."""
        logger.warning(
            "The clean-up of tool %r took longer than %g seconds, and was cancelled",
            self.name,
            CLEANUP_SECONDS,
        )
        return self._results.pop()

    def _begin_cleanup(self) -> None:
        if not self._scope.cancel_called:
            self._scope.deadline = trio.current_time() + CLEANUP_SECONDS

    def _too_long(self) -> ToolError:
        return ToolError(f"it took longer than {self.seconds:g} seconds")

    def stop(self) -> None:
        """A question goes to the client."""
        if not self._questions:
            self._left = self._scope.deadline - trio.current_time()
            self._scope.deadline = float("inf")
        self._questions += 1

    def go_on(self) -> None:
        """It has been answered."""
        self._questions -= 1
        if not self._questions:
            self._scope.deadline = trio.current_time() + self._left


class _Asking:
    """The way to the client of one request, which stops the time of calls while it is used."""

    def __init__(self, link: Link) -> None:
        self.link = link
        # Those under way for the same request: tools call tools.
        self.times: list[CallTime] = []

    async def request(
        self, method: str, params: JsonObject | None, options: CallOptions = NO_OPTIONS
    ) -> JsonObject:
        stopped = [*self.times]
        for each in stopped:
            each.stop()
        try:
            return await self.link.request(method, params, options)
        finally:
            for each in stopped:
                each.go_on()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.link, name)


def _own_way(context: Context[Any, Any], time: CallTime) -> AbstractContextManager[None]:
    asked = context.current_request
    return nullcontext() if asked is None else asked.session.standing_still(time)


@contextmanager
def _standing_still(exchange: Exchange | None, time: CallTime) -> Generator[None]:
    if exchange is None or exchange.link is None:
        yield
        return
    link: Any = exchange.link
    asking = link if isinstance(link, _Asking) else _Asking(link)
    exchange.link = cast("Link", asking)
    asking.times.append(time)
    try:
        yield
    finally:
        asking.times.remove(time)
