"""Streamable HTTP: what a call costs the server and the client, and what a session weighs."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from benchmarks.http_server import Caller, call_at_once, serving
from benchmarks.measures import Figure, measure
from benchmarks.timing import percentile, time_each

if TYPE_CHECKING:
    from benchmarks.sides.side import Side

AT_ONCE = 32
REPORTS = 10

# What fewer of them take is lost in what the allocator has to spare.
FEWEST_SESSIONS = 100

# Both clients call the same server: what it costs is not theirs.
COMMON_SERVER = "benchmarks.peers.trio_server"


# The processor time of the server's process for one call, while 32 callers call one after the
# other on a connection each. They are threads that know no SDK.
@measure(Figure("HTTP server: CPU per call, modern", "us", 0.60, 0.52), count=40, quick=2)
def http_server_modern(side: Side, count: int) -> list[float]:
    return [_server_cost(side, count, older=False)]


@measure(Figure("HTTP server: CPU per call, older, SSE", "us", 0.35, 0.28), count=40, quick=2)
def http_server_older(side: Side, count: int) -> list[float]:
    return [_server_cost(side, count, older=True)]


def _server_cost(side: Side, count: int, *, older: bool) -> float:
    with serving(side.server_module) as server, ExitStack() as stack:
        callers = [Caller(server) for _ in range(AT_ONCE)]
        for caller in callers:
            stack.callback(caller.close)
            if older:
                caller.initialize()
        call_at_once(callers, 2)
        before, _ = server.costs()
        call_at_once(callers, count)
        after, _ = server.costs()
    return (after - before) / AT_ONCE / count


# The processor time of the client's process for `client.call_tool("add", ...)`, one at a time.
@measure(Figure("HTTP client: CPU per call, modern", "us", 0.60, 0.50), count=300)
async def http_client_modern(side: Side, count: int) -> list[float]:
    return [await _client_cost(side, "auto", count)]


@measure(Figure("HTTP client: CPU per call, older, SSE", "us", 0.45, 0.38), count=300)
async def http_client_older(side: Side, count: int) -> list[float]:
    return [await _client_cost(side, "legacy", count)]


async def _client_cost(side: Side, mode: str, count: int) -> float:
    with serving(COMMON_SERVER) as server:
        async with side.connect_http(mode, server.url) as client:
            for _ in range(max(2, count // 10)):
                await client.call_tool("add", {"a": 1, "b": 2})
            start = time.process_time_ns()
            for _ in range(count):
                await client.call_tool("add", {"a": 1, "b": 2})
            return (time.process_time_ns() - start) / count / 1000


# Wall time of a call whose handler reports progress ten times, client and server of one SDK.
@measure(Figure("HTTP: a call with 10 progress messages", "us", 0.45, 0.38), count=200)
async def http_progress(side: Side, count: int) -> list[float]:
    reported: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        reported.append(progress)

    with serving(side.server_module) as server:
        async with side.connect_http("auto", server.url) as client:

            def call() -> Any:
                return client.call_tool("progress", {"n": REPORTS}, progress_callback=on_progress)

            await call()
            assert reported == [each + 1 for each in range(REPORTS)]
            times = await time_each(call, count)
    return [percentile(times, 0.5)]


# What the server's memory grows by with 500 sessions of the older era that have made one call
# each, and have no connection open; then with a GET stream for each.
@measure(
    Figure("HTTP: an older session, memory", "KiB", 0.50, 0.30),
    Figure("HTTP: the same with its GET stream, memory", "KiB", 0.50, 0.30),
    count=500,
    quick=FEWEST_SESSIONS,
)
def http_sessions(side: Side, count: int) -> list[float]:
    count = max(count, FEWEST_SESSIONS)
    with serving(side.server_module) as server, ExitStack() as stack:

        def open_sessions(number: int) -> list[Caller]:
            callers = [Caller(server) for _ in range(number)]
            for caller in callers:
                stack.callback(caller.close)
                caller.initialize()
                caller.call()
                caller.close()
            return callers

        open_sessions(10)
        _, empty = server.costs()
        callers = open_sessions(count)
        _, open_ = server.costs()
        for caller in callers:
            caller.open_stream()
        _, streaming = server.costs()
    return [(open_ - empty) / count, (streaming - empty) / count]
