"""``trio-mcp run``: the server of a file, on stdio."""

from __future__ import annotations

import logging
import sys
from contextlib import AsyncExitStack
from typing import Final

from trio_mcp.cli._interrupts import run_until_interrupted
from trio_mcp.cli._load import load_server
from trio_mcp.cli._mistakes import Failure, UsageMistake
from trio_mcp.cli._streams import say
from trio_mcp.cli._target import split_object
from trio_mcp.mcpserver import MCPServer
from trio_mcp.transports import stdio_server

LATER: Final = ("streamable-http", "sse", "websocket")


def serve_file(target: str, transport: str) -> int:
    """Serve the server of ``FILE[:object]`` until its client goes, or until Ctrl-C or SIGTERM.

    Raises:
      UsageMistake: if there is no such server or transport.
      Failure: if the file cannot be imported, or stdin or stdout is closed.

    """
    if transport in LATER:
        raise UsageMistake(f"the transport {transport} is not available yet; use stdio")
    if transport != "stdio":
        raise UsageMistake(f"there is no transport {transport!r}; use stdio")
    server = load_server(*split_object(target))
    level = server.settings.log_level if isinstance(server, MCPServer) else "INFO"
    # Does nothing where the file has set up its own.
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    lowlevel = server.lowlevel_server if isinstance(server, MCPServer) else server
    if sys.__stdin__ is not None and sys.__stdin__.isatty():
        hint = "this terminal is its client: one JSON-RPC message a line, Ctrl-D ends"
        say(f"{lowlevel.name}: {hint}")

    async def serve() -> int:
        async with AsyncExitStack() as stack:
            try:
                channel = await stack.enter_async_context(stdio_server())
            except OSError as exc:
                raise Failure(exc.strerror) from exc
            await lowlevel.run(channel)
        return 0

    return run_until_interrupted(serve, tells_sigterm=False)
