"""What both servers have over HTTP beside MCP: an account of what they cost.

The first line of stdout is the URL. Each line on stdin is answered by the processor time of the
process so far in microseconds and its resident memory in KiB; the end of stdin ends it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path


def account_for(url: str) -> None:
    """Tell the URL that is served, and from now on what that costs."""
    print(url, flush=True)
    threading.Thread(target=_tell_costs, daemon=True).start()


def _tell_costs() -> None:
    for _ in sys.stdin:
        print(time.process_time_ns() // 1000, _resident(), flush=True)
    os._exit(0)


def _resident() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
