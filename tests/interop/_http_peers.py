"""Servers of the official SDK over HTTP, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PROGRAM = Path(__file__).parent / "peers" / "http_server.py"


@asynccontextmanager
async def http_peer(sdk: str = "mcp", **options: Any) -> AsyncGenerator[str, None]:
    """Run the server of ``peers/server.py`` with options of its app; yields its URL."""
    process = await trio.lowlevel.open_process(
        [sys.executable, str(PROGRAM), sdk, json.dumps(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(await process.stdout.receive_some())
        yield f"http://127.0.0.1:{port}/{'sse' if options.get('sse') else 'mcp'}"
    finally:
        with trio.CancelScope(shield=True):
            await process.stdin.aclose()
            with trio.move_on_after(3):
                await process.wait()
            process.kill()
            await process.wait()
            await process.stdout.aclose()
