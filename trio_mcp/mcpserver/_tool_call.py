"""Calling the function of a tool, until its result is made."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import attrs
import trio

from trio_mcp.errors import ToolError

from ._result_content import reads_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._call_time import CallTime
    from ._context import Context
    from ._resolver_plan import ResolverPlan
    from ._results import ResultPlan
    from ._tool import Tool


@attrs.define(eq=False)
class ToolCall:
    """One call.

    Its result is made where the function ran, within its time and before its resolvers clean
    up, because an iterator that it returned is more of the function.

    Attributes:
      results: How the result is made; None to leave it as the function returned it.
      limiter: Of worker threads.

    """

    tool: Tool
    results: ResultPlan | None
    limiter: trio.CapacityLimiter

    async def run(self, kwargs: dict[str, Any], context: Context[Any, Any]) -> Any:
        time = self._time()
        if time is None:
            return await self._untimed(kwargs)
        with time.limit(context):
            return await self._untimed(kwargs)

    async def run_resolved(
        self,
        resolvers: ResolverPlan,
        kwargs: dict[str, Any],
        context_kwarg: str | None,
        context: Context[Any, Any],
    ) -> Any:
        from ._resolution import call_resolved  # noqa: PLC0415 - loads what servers can ask

        call = functools.partial(
            call_resolved, resolvers, self._untimed, kwargs, context_kwarg, context, ToolError
        )
        time = self._time()
        if time is None:
            return await call()
        with time.limit(context):
            return await call(time)
        return time.result()

    def _time(self) -> CallTime | None:
        seconds = self.tool.timeout
        if seconds is None:
            return None
        from ._call_time import CallTime  # noqa: PLC0415 - few tools have a limit

        return CallTime(self.tool.name, seconds)

    async def _untimed(self, kwargs: dict[str, Any]) -> Any:
        tool = self.tool
        if tool.is_async:
            return await self._made(await tool.fn(**kwargs))
        if tool.run_in_thread:
            value, is_made = await self._in_thread(self._work, kwargs)
            if is_made:
                return value
        else:
            value = tool.fn(**kwargs)
        # A plain function may hand on the coroutine of another.
        return await self._made(await value if inspect.isawaitable(value) else value)

    def _work(self, kwargs: dict[str, Any]) -> tuple[Any, bool]:
        # In a tuple, since Trio takes a coroutine that a thread returns for a mistake.
        value = self.tool.fn(**kwargs)
        if self.results is None or inspect.isawaitable(value):
            return value, False
        return self.results.convert(value), True

    async def _made(self, value: Any) -> Any:
        results = self.results
        if results is None:
            return value
        if results.output_schema is None:
            value = results.read(value)
            if reads_files(value):
                return await self._in_thread(results.convert, value)
        return results.convert(value)

    async def _in_thread(self, fn: Callable[[Any], Any], value: Any) -> Any:
        return await trio.to_thread.run_sync(
            fn, value, abandon_on_cancel=True, limiter=self.limiter
        )
