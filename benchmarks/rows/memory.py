"""One call at a time, client and server in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measures import Figure, measure
from benchmarks.timing import percentile, time_each

if TYPE_CHECKING:
    from benchmarks.sides.side import Side


# The median wall time from `client.call_tool("add", ...)` to its result.
@measure(Figure("memory: one call, modern", "us", 0.20, 0.11), count=2000)
async def memory_modern(side: Side, count: int) -> list[float]:
    return await _call(side, "auto", count)


@measure(Figure("memory: one call, older", "us", 0.15, 0.08), count=2000)
async def memory_older(side: Side, count: int) -> list[float]:
    return await _call(side, "legacy", count)


async def _call(side: Side, mode: str, count: int) -> list[float]:
    async with side.connect_memory(mode) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
        assert result.structured_content == {"result": 3}
        times = await time_each(lambda: client.call_tool("add", {"a": 1, "b": 2}), count)
    return [percentile(times, 0.5)]
