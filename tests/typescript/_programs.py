"""The programs in ``peers/``, run with Node where the packages of the TypeScript SDK are.

``nox -s interop`` installs both and says where in ``TRIO_MCP_TYPESCRIPT``; without it these tests
are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PEERS = Path(__file__).parent / "peers"
OUR_SERVER = [sys.executable, str(PEERS / "our_server.py")]

MODES = {"auto": "2026-07-28", "legacy": "2025-11-25"}


def node_program(name: str) -> list[str]:
    """The command that runs a program of ours beside the installed packages."""
    folder = os.environ.get("TRIO_MCP_TYPESCRIPT")
    if not folder:
        pytest.skip("TRIO_MCP_TYPESCRIPT does not say where the TypeScript SDK is; see noxfile.py")
    return ["node", str(Path(folder) / name)]


@contextmanager
def serving(command: list[str]) -> Iterator[str]:
    """Run a server over HTTP until the block is left; yields the first line it prints."""
    with subprocess.Popen(
        [*command, "http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
            process.stdin.close()
            assert process.wait(25) == 0
        finally:
            process.kill()
