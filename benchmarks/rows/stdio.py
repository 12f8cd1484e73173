"""A server in a child process. Wall time as the client sees it, the server's work included."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from benchmarks.measures import Figure, measure
from benchmarks.timing import percentile, time_each

if TYPE_CHECKING:
    from benchmarks.sides.side import Side

AT_ONCE = 64
MEBIBYTE = 1 << 20
REPORTS = 10


# From `client.call_tool("add", ...)` to its result, one call at a time.
@measure(
    Figure("stdio: one call, modern, p50", "us", 0.27, 0.19),
    Figure("stdio: one call, modern, p99", "us", 0.27, 0.19),
    count=1000,
)
async def stdio_modern(side: Side, count: int) -> list[float]:
    return await _call(side, "auto", count)


@measure(
    Figure("stdio: one call, older, p50", "us", 0.27, 0.19),
    Figure("stdio: one call, older, p99", "us", 0.27, 0.19),
    count=1000,
)
async def stdio_older(side: Side, count: int) -> list[float]:
    return await _call(side, "legacy", count)


async def _call(side: Side, mode: str, count: int) -> list[float]:
    async with side.connect_stdio(mode) as client:
        times = await time_each(lambda: client.call_tool("add", {"a": 1, "b": 2}), count)
    return [percentile(times, 0.5), percentile(times, 0.99)]


# 64 tasks that call one after the other: the wall time of all, by the number of calls.
@measure(Figure("stdio: 64 at once, per call", "us", 0.10, 0.06), count=20, quick=1)
async def stdio_at_once(side: Side, count: int) -> list[float]:
    async with side.connect_stdio("auto") as client:

        async def call_often(often: int) -> None:
            for _ in range(often):
                await client.call_tool("add", {"a": 1, "b": 2})

        async def call_at_once(often: int) -> None:
            async with side.open_tasks() as tasks:
                for _ in range(AT_ONCE):
                    tasks.start(call_often, often)

        await call_at_once(2)
        start = time.perf_counter_ns()
        await call_at_once(count)
        took = time.perf_counter_ns() - start
    return [took / 1000 / AT_ONCE / count]


# One page with all 200 tools, read into `Tool` objects.
@measure(Figure("stdio: tools/list of 200", "us", 0.14, 0.08), count=40)
async def stdio_list(side: Side, count: int) -> list[float]:
    async with side.connect_stdio("auto", tools=200) as client:
        assert len((await client.list_tools()).tools) == 200
        times = await time_each(client.list_tools, count)
    return [percentile(times, 0.5)]


# 1 MiB of ASCII text in one content block.
@measure(Figure("stdio: 1 MiB result", "us", 0.50, 0.35), count=60)
async def stdio_big_result(side: Side, count: int) -> list[float]:
    async with side.connect_stdio("auto") as client:
        result = await client.call_tool("big", {"size": MEBIBYTE})
        assert len(result.content[0].text) == MEBIBYTE
        times = await time_each(lambda: client.call_tool("big", {"size": MEBIBYTE}), count)
    return [percentile(times, 0.5)]


@measure(Figure("stdio: 1 MiB argument", "us", 0.85, 0.65), count=60)
async def stdio_big_argument(side: Side, count: int) -> list[float]:
    text = "x" * MEBIBYTE
    async with side.connect_stdio("auto") as client:
        result = await client.call_tool("sink", {"text": text})
        assert result.structured_content == {"result": MEBIBYTE}
        times = await time_each(lambda: client.call_tool("sink", {"text": text}), count)
    return [percentile(times, 0.5)]


# A call whose handler reports progress ten times, with a callback that gets each report.
@measure(Figure("stdio: a call with 10 progress messages", "us", 0.15, 0.09), count=300)
async def stdio_progress(side: Side, count: int) -> list[float]:
    reported: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        reported.append(progress)

    async with side.connect_stdio("auto") as client:

        def call() -> Any:
            return client.call_tool("progress", {"n": REPORTS}, progress_callback=on_progress)

        await call()
        assert reported == [each + 1 for each in range(REPORTS)]
        times = await time_each(call, count)
    return [percentile(times, 0.5)]
