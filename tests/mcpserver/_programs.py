"""Servers that run as processes, and say on stderr where they serve."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import Generator


class Program:
    """A server that runs as a process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.url = ""

    async def wait_for(self, pattern: str) -> str:
        """Read stderr up to a line."""
        return await trio.to_thread.run_sync(self._read_to, pattern)

    def _read_to(self, pattern: str) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if re.search(pattern, line):
                return line
        raise AssertionError(f"it ended without saying {pattern!r}")

    async def end(self) -> tuple[int, str]:
        """Wait for its end; gives its status and what was left of stderr."""
        _, errors = await trio.to_thread.run_sync(partial(self.process.communicate, timeout=20))
        return self.process.returncode, errors


@contextmanager
def program(*command: str, **env: str) -> Generator[Program, None, None]:
    with subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Program(process)
        finally:
            process.kill()
