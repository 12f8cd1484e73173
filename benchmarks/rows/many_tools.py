"""What the number of registered tools costs. trio_mcp alone, against itself."""

from __future__ import annotations

import functools
import gc
import time
from typing import TYPE_CHECKING

from benchmarks.measures import Figure, measure
from benchmarks.peers.tools import make_lookup
from benchmarks.sides.side import FEW_TOOLS
from benchmarks.timing import median, percentile, time_each

if TYPE_CHECKING:
    from benchmarks.sides.side import Side

TURN = 50
FEW, MANY = 100, 1000


# One call in memory, to a server with 200 tools and to one with 7, in turns of 50 calls.
@measure(
    Figure("a call with 200 tools registered", "us", 1.05),
    count=40,
    quick=1,
    against="with 7 tools",
)
async def call_among_many(side: Side, count: int) -> list[float]:
    async with (
        side.connect_memory("auto", tools=200) as many,
        side.connect_memory("auto", tools=FEW_TOOLS) as few,
    ):
        times: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(2 * count):
            client = few if turn % 2 else many
            times[client is many] += await time_each(
                functools.partial(client.call_tool, "add", {"a": 1, "b": 2}), TURN
            )
    return [percentile(sorted(times[True]), 0.5), percentile(sorted(times[False]), 0.5)]


# One call in memory to the last of 1,000 tools, and to the last of seven, in turns of 50 calls.
@measure(
    Figure("a call to the last of 1,000 tools", "us", 1.05),
    count=40,
    quick=1,
    against="the last of 7",
)
async def call_the_last_of_many(side: Side, count: int) -> list[float]:
    async with (
        side.connect_memory("auto", tools=MANY) as many,
        side.connect_memory("auto", tools=FEW_TOOLS) as few,
    ):
        names = {}
        for client in (many, few):
            names[client is many] = (await client.list_tools()).tools[-1].name
        times: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(2 * count):
            client = few if turn % 2 else many
            call = functools.partial(client.call_tool, names[client is many], {"query": "a"})
            times[client is many] += await time_each(call, TURN)
    return [percentile(sorted(times[True]), 0.5), percentile(sorted(times[False]), 0.5)]


# Per tool: publishing 1,000 functions, and listing them, against 100. More memory is slower, so
# linear is not exactly 1; ten times would be quadratic.
@measure(
    Figure("register 1,000 tools, each", "us", 1.5),
    Figure("list 1,000 tools in memory, each", "us", 1.5),
    count=5,
    quick=1,
    against="of 100 tools",
)
async def many_is_linear(side: Side, count: int) -> list[float]:
    few = [_register(side, FEW), await _list(side, FEW, count * 4)]
    many = [_register(side, MANY), await _list(side, MANY, count)]
    return many + few


def _register(side: Side, number: int) -> float:
    functions = [make_lookup() for _ in range(number)]
    register = side.schemas().registrar()
    register(make_lookup(), "first")
    gc.collect()
    start = time.process_time_ns()
    for each, function in enumerate(functions):
        register(function, f"lookup_{each}")
    return (time.process_time_ns() - start) / 1000 / number


async def _list(side: Side, number: int, count: int) -> float:
    # Processor time: both ends are this process, and one list takes long enough to be interrupted.
    async with side.connect_memory("auto", tools=number) as client:
        await client.list_tools()
        gc.collect()
        times: list[float] = []
        for _ in range(count):
            start = time.process_time_ns()
            await client.list_tools()
            times.append((time.process_time_ns() - start) / 1000)
    return median(times) / number
