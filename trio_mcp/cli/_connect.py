"""From the options of a command to a connected client."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from trio_mcp._version import __version__
from trio_mcp.cli._mistakes import UsageMistake
from trio_mcp.cli._wire import WireChannel
from trio_mcp.client import Client
from trio_mcp.transports import stdio_client
from trio_mcp.types import Implementation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio_mcp.cli._options import Options
    from trio_mcp.cli._printer import Printer
    from trio_mcp.transports import Channel, StdioServerParameters
    from trio_mcp.types import LoggingMessageNotificationParams

CLIENT_INFO = Implementation(name="trio-mcp", version=__version__)


@asynccontextmanager
async def open_client(
    target: StdioServerParameters, options: Options, printer: Printer
) -> AsyncGenerator[Client, None]:
    """Start a server and connect to it; leaving the block ends it.

    Raises:
      UsageMistake: if there is no such mode.
      MCPError: if the server cannot be started, or no revision agreed on.

    """

    async def show_log(params: LoggingMessageNotificationParams) -> None:
        source = f" {params.logger}" if params.logger else ""
        printer.note(f"[{params.level}{source}] {params.data}")

    try:
        client = Client(
            _open_transport(target, options, printer),
            mode=options.mode,
            read_timeout_seconds=options.timeout,
            client_info=CLIENT_INFO,
            logging_callback=show_log,
        )
    except ValueError as exc:
        raise UsageMistake(str(exc)) from exc
    async with client:
        yield client


@asynccontextmanager
async def _open_transport(
    target: StdioServerParameters, options: Options, printer: Printer
) -> AsyncGenerator[Channel, None]:
    # A bar has to know of each line that is printed, to stay below it.
    errlog = printer.pass_on if printer.animates(printer.err) else sys.stderr
    async with stdio_client(target, errlog) as channel:
        yield WireChannel(channel, printer.note) if options.wire else channel
