"""Running the author's functions: async ones here, others in threads."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._checks import is_async_callable

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_WORKER_THREADS: Final = 40
"""How many sync functions of one server run at the same time, as in `mcp` and in Trio itself.

Threads that were abandoned count until their function returns.
"""


class Workers:
    """The threads of one server.

    They exist per run of Trio: nothing is made before a function is called, so a server can be
    made at import and served in several runs and threads.
    """

    def __init__(self, total: int = DEFAULT_WORKER_THREADS) -> None:
        self._total = total
        self._limiter: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("workers")

    @property
    def limiter(self) -> trio.CapacityLimiter:
        """The limiter of this run of Trio."""
        try:
            return self._limiter.get()
        except LookupError:
            limiter = trio.CapacityLimiter(self._total)
            self._limiter.set(limiter)
            return limiter

    async def call(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function and wait for its result.

        Cancellation:
          A function in a thread cannot be ended. It is let go: its result is dropped, and its
          slot stays taken until it returns. It can stop itself by `Context.check_cancelled`.

        """
        return await self._call(functools.partial(fn, *args, **kwargs), _as_it_is)

    async def call_to_the_end(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function whose result is sent, and wait for it.

        An iterator that it returns is more of the function: it is read where the function ran,
        and a list is returned in its place. For the rest as `call`.

        """
        return await self._call(functools.partial(fn, *args, **kwargs), _read)

    async def _call(self, call: functools.partial[Any], finish: Callable[[Any], Any]) -> Any:
        if is_async_callable(call.func):
            return finish(await call())
        # Trio refuses a coroutine as the result of a thread, so it comes wrapped: a plain
        # function may hand on the coroutine of another.
        (result,) = await trio.to_thread.run_sync(
            lambda: (finish(call()),), abandon_on_cancel=True, limiter=self.limiter
        )
        return finish(await result) if inspect.isawaitable(result) else result


def _as_it_is(value: Any) -> Any:
    return value


def _read(value: Any) -> Any:
    # A coroutine of the oldest kind is both.
    if inspect.isawaitable(value) or not hasattr(value, "__next__"):
        return value
    return [*value]
