"""What it costs to begin: imports, the first result of a new process, its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measures import Figure, measure
from benchmarks.sides.side import ROOT
from benchmarks.timing import median

if TYPE_CHECKING:
    from benchmarks.sides.side import Side


# What is installed has its bytecode; here the first run writes it, if the rest shall be the same.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


# A new interpreter that imports what a program names, and ends; Python's own start is included.
@measure(Figure("import the client", "ms", 0.35, 0.28), count=3, quick=1)
def import_client(side: Side, count: int) -> list[float]:
    return [_import(side.client_import, count)]


@measure(Figure("import the server", "ms", 0.35, 0.28), count=3, quick=1)
def import_server(side: Side, count: int) -> list[float]:
    return [_import(side.server_import, count)]


def _import(statement: str, count: int) -> float:
    times: list[float] = []
    for _ in range(count + (count > 1)):  # the first one warms up
        start = time.perf_counter_ns()
        subprocess.run([sys.executable, "-c", statement], cwd=ROOT, env=ENVIRONMENT, check=True)
        times.append((time.perf_counter_ns() - start) / 1e6)
    return median(times[1:] or times)


# From opening the client, which starts the server, to the result of its first tool call.
@measure(Figure("spawn to first tool result", "ms", 0.42, 0.30), count=3, quick=1)
async def first_result(side: Side, count: int) -> list[float]:
    times: list[float] = []
    for _ in range(count + (count > 1)):  # the first one warms up
        start = time.perf_counter_ns()
        async with side.connect_stdio("auto") as client:
            await client.call_tool("add", {"a": 1, "b": 2})
            times.append((time.perf_counter_ns() - start) / 1e6)
    return [median(times[1:] or times)]


# The resident memory of a stdio server that has answered one call and waits for more.
@measure(Figure("idle stdio server, memory", "MiB", 0.60, 0.50), count=1, quick=1)
def idle_memory(side: Side, count: int) -> list[float]:
    return [median([_resident_after_one_call(side) for _ in range(count)])]


ONE_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "add",
        "arguments": {"a": 1, "b": 2},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}


def _resident_after_one_call(side: Side) -> float:
    with subprocess.Popen(
        side.server_command,
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(ONE_CALL).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["result"]["structuredContent"] == {"result": 3}, answer
        return _resident(process.pid)


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        line = next(each for each in status.read_text().splitlines() if each.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True)
    return int(told.stdout) / 1024
