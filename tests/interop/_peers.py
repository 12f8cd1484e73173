"""The programs in ``peers/``, run as servers of our client."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trio_mcp.client import Client
from trio_mcp.transports import StdioServerParameters, stdio_client

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PEERS = Path(__file__).parent / "peers"
SERVER = PEERS / "server.py"
SCRIPTED = PEERS / "scripted.py"

OLDER_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def server_parameters(sdk: str) -> StdioServerParameters:
    """Run the program that both SDKs can serve."""
    return StdioServerParameters(command=sys.executable, args=[str(SERVER), sdk])


@asynccontextmanager
async def connect(sdk: str, **options: Any) -> AsyncGenerator[Client, None]:
    transport = stdio_client(server_parameters(sdk), errlog=None)
    async with Client(transport, **options) as client:
        yield client


def script_parameters(script: dict[str, Any]) -> StdioServerParameters:
    """Run ``peers/scripted.py``, which says what a script is."""
    return StdioServerParameters(
        command=sys.executable, args=["-I", "-S", str(SCRIPTED), json.dumps(script)]
    )


@asynccontextmanager
async def connect_to_script(
    script: dict[str, Any],
    received: list[str],
    *,
    termination_timeout: float = 2,
    **options: Any,
) -> AsyncGenerator[Client, None]:
    """Connect to a scripted server; `received` gets the method of each message it reads.

    The list is complete when the block has been left.
    """
    transport = stdio_client(
        script_parameters(script),
        errlog=lambda line: received.append(line.strip()),
        termination_timeout=termination_timeout,
    )
    async with Client(transport, **options) as client:
        yield client
