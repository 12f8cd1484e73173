"""From the options of a command to a connected client."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from trio_mcp._version import __version__
from trio_mcp.cli._login import make_auth
from trio_mcp.cli._mistakes import UsageMistake
from trio_mcp.cli._target import Url
from trio_mcp.cli._wire import WireChannel
from trio_mcp.client import Client
from trio_mcp.client._client_life import may_be_of_older_road
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.transports import stdio_client
from trio_mcp.types import Implementation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.cli._options import Options
    from trio_mcp.cli._printer import Printer
    from trio_mcp.cli._target import Target
    from trio_mcp.transports import Channel, StdioServerParameters
    from trio_mcp.types import LoggingMessageNotificationParams

T = TypeVar("T")

CLIENT_INFO = Implementation(name="trio-mcp", version=__version__)


@asynccontextmanager
async def open_client(
    target: Target, options: Options, printer: Printer
) -> AsyncGenerator[Client, None]:
    """Start or reach a server and connect to it; leaving the block ends what was started.

    Raises:
      UsageMistake: if there is no such mode, or a URL or a header cannot be used.
      MCPError: if the server cannot be started or reached, or no revision agreed on.

    """
    # As `Client` does with a URL, whose transports it opens itself.
    why: MCPError | None = None
    for transport in _transports(target, options, printer):
        opened = False
        try:
            async with _client(transport, options, printer) as client:
                opened = True
                yield client
                return
        except MCPError as exc:
            if opened or (why is not None and not isinstance(exc, ConnectionLost)):
                raise
            # What the first one met says more than what the last resort did.
            why = why or exc
            if not may_be_of_older_road(exc):
                break
    assert why is not None
    raise why


def _client(
    transport: AbstractAsyncContextManager[Any], options: Options, printer: Printer
) -> Client:
    async def show_log(params: LoggingMessageNotificationParams) -> None:
        source = f" {params.logger}" if params.logger else ""
        printer.note(f"[{params.level}{source}] {params.data}")

    try:
        return Client(
            transport,
            mode=options.mode,
            read_timeout_seconds=options.timeout,
            client_info=CLIENT_INFO,
            logging_callback=show_log,
        )
    except ValueError as exc:
        raise UsageMistake(str(exc)) from exc


def _transports(
    target: Target, options: Options, printer: Printer
) -> Iterator[AbstractAsyncContextManager[Any]]:
    """Give the ways to a server, in the order in which they are tried."""
    if not isinstance(target, Url):
        yield _open_command(target, options, printer)
        return
    for kind in target.transports:
        if kind == "streamable-http":
            yield _open_http(target, options, printer)
        else:
            yield _open_channel(kind, target, options, printer)


@asynccontextmanager
async def _open_command(
    target: StdioServerParameters, options: Options, printer: Printer
) -> AsyncGenerator[Channel, None]:
    # A bar has to know of each line that is printed, to stay below it.
    errlog = printer.pass_on if printer.animates(printer.err) else sys.stderr
    async with stdio_client(target, errlog) as channel:
        yield WireChannel(channel, printer.note) if options.wire else channel


@asynccontextmanager
async def _open_http(target: Url, options: Options, printer: Printer) -> AsyncGenerator[Any, None]:
    from trio_mcp.transports import streamable_http_client  # noqa: PLC0415 - by kind of server

    if not options.wire:
        client = streamable_http_client(target.url, headers=target.headers, auth=make_auth(target))
        async with _following_options(client) as ends:
            yield ends
        return
    from trio_mcp.cli._wire_http import open_told_client  # noqa: PLC0415 - few want it

    async with (
        open_told_client(target.url, printer.note) as http_client,
        _following_options(
            streamable_http_client(
                target.url,
                headers=target.headers,
                auth=make_auth(target),
                http_client=http_client,
            )
        ) as ends,
    ):
        yield ends


@asynccontextmanager
async def _open_channel(
    kind: str, target: Url, options: Options, printer: Printer
) -> AsyncGenerator[Channel, None]:
    from trio_mcp import transports  # noqa: PLC0415 - by kind of server

    open_channel: Any = transports.sse_client if kind == "sse" else transports.websocket_client
    transport = open_channel(target.url, headers=target.headers, auth=make_auth(target))
    async with _following_options(transport) as channel:
        yield WireChannel(channel, printer.note) if options.wire else channel


@asynccontextmanager
async def _following_options(transport: AbstractAsyncContextManager[T]) -> AsyncGenerator[T, None]:
    """Enter a transport that was made as options say: what it refuses, they have wrong.

    Raises:
      UsageMistake: if it cannot be entered with them.

    """
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(transport)
        except (TypeError, ValueError) as exc:
            raise UsageMistake(str(exc)) from exc
        yield opened
