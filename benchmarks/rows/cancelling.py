"""200 running calls are given up at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.measures import Figure, measure
from benchmarks.timing import median

if TYPE_CHECKING:
    from benchmarks.sides.side import Side

CALLS = 200


# All 200 handlers run when their calls are cancelled. "Client done": until the last of the
# cancelled tasks has ended. "Server idle": until the server says that no handler runs.
@measure(
    Figure("200 calls cancelled: client done", "ms", 0.65, 0.45),
    Figure("200 calls cancelled: server idle", "ms", 0.25, 0.12),
    count=2,
    quick=1,
)
async def cancel_200(side: Side, count: int) -> list[float]:
    done: list[float] = []
    idle: list[float] = []
    async with side.connect_stdio("auto") as client:

        async def running() -> int:
            result = await client.call_tool("running", {})
            number: int = result.structured_content["result"]
            return number

        for _ in range(count):
            async with side.open_tasks() as tasks:
                for _ in range(CALLS):
                    tasks.start(client.call_tool, "sleep", {"seconds": 600.0})
                while await running() < CALLS:
                    pass
                start = time.perf_counter_ns()
                tasks.cancel()
            done.append((time.perf_counter_ns() - start) / 1e6)
            while await running():
                pass
            idle.append((time.perf_counter_ns() - start) / 1e6)
    return [median(done), median(idle)]
