"""``trio-mcp run``: the server of a file, on stdio or for many clients."""

from __future__ import annotations

import logging
import signal
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from trio_mcp._variables import from_environment, options_of
from trio_mcp.cli._interrupts import run_until_interrupted
from trio_mcp.cli._load import load_server
from trio_mcp.cli._mistakes import Failure, UsageMistake
from trio_mcp.cli._run_options import PATHS, flag_of, in_flags, read_given, security_of
from trio_mcp.cli._streams import say, say_interrupted
from trio_mcp.cli._target import split_object
from trio_mcp.errors import WrongVariable
from trio_mcp.mcpserver import MCPServer, Settings
from trio_mcp.transports import stdio_server
from trio_mcp.transports._foreground import (
    NETWORK_TRANSPORTS,
    Foreground,
    NotThere,
    check_options,
    serve_function,
)
from trio_mcp.transports._settling import UnknownOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.cli._load import AnyServer
    from trio_mcp.mcpserver._settings import LogLevel
    from trio_mcp.server import Server


def serve_file(target: str, transport: str, given: Mapping[str, str | bool]) -> int:
    """Serve the server of ``FILE[:object]`` until its client goes, or until Ctrl-C or SIGTERM.

    Args:
      target: The file, and what the server is called there.
      transport: How clients reach it.
      given: Options of the transport, as they were written.

    Raises:
      UsageMistake: if there is no such server, transport or option, or an option or a variable
          of the environment is something else.
      Failure: if the file cannot be imported, stdin or stdout is closed, an address cannot be
          had, or something that the server needs is not there.

    """
    if transport not in {"stdio", *NETWORK_TRANSPORTS}:
        known = ", ".join(("stdio", *NETWORK_TRANSPORTS))
        raise UsageMistake(f"there is no transport {transport!r}; there are {known}")
    for name in given if transport == "stdio" else ():
        raise _no_option(transport, name)
    options, workers = _read_options(transport, given)
    server = load_server(*split_object(target))
    lowlevel = server.lowlevel_server if isinstance(server, MCPServer) else server
    # Does nothing where the file has set up its own.
    logging.basicConfig(level=_log_level(server), format="%(levelname)s %(name)s: %(message)s")
    if transport == "stdio":
        return _serve_stdio(lowlevel)
    from trio_mcp.transports.http._guard import check_program  # noqa: PLC0415 - not for stdio

    try:
        check_program(server, transport, workers)
    except ValueError as exc:
        raise UsageMistake(in_flags(str(exc))) from exc
    if workers > 1:
        return _serve_by_workers(server, lowlevel.name, options, workers)
    return _serve_network(server, lowlevel.name, transport, options)


def _read_options(transport: str, given: Mapping[str, str | bool]) -> tuple[dict[str, Any], int]:
    workers = 1
    values = read_given(given)
    if "workers" in values and transport != "streamable-http":
        raise _no_option(transport, "workers")
    if "path" in values:
        values[PATHS[transport]] = values.pop("path")
    security = security_of(values)
    if security is not None:
        values["transport_security"] = security
    if transport != "stdio":
        try:
            if transport == "streamable-http":
                from trio_mcp.transports.http._workers import (  # noqa: PLC0415 - not for stdio
                    take_workers,
                )

                workers = take_workers(transport, values)
            check_options(transport, values)
        except UnknownOption as exc:
            raise _no_option(transport, exc.option) from exc
        except WrongVariable as exc:
            raise UsageMistake(str(exc)) from exc
        except (TypeError, ValueError) as exc:
            raise UsageMistake(in_flags(str(exc))) from exc
    return values, workers


def _no_option(transport: str, name: str) -> UsageMistake:
    return UsageMistake(f"the transport {transport} has no option {flag_of(name)}")


def _log_level(server: AnyServer) -> LogLevel:
    if isinstance(server, MCPServer):
        return server.settings.log_level
    try:
        settings: Settings = Settings(**from_environment([options_of(Settings)["log_level"]]))
    except ValueError as exc:
        raise UsageMistake(str(exc)) from exc
    return settings.log_level


def _serve_stdio(server: Server[Any]) -> int:
    if sys.__stdin__ is not None and sys.__stdin__.isatty():
        hint = "this terminal is its client: one JSON-RPC message a line, Ctrl-D ends"
        say(f"{server.name}: {hint}")

    async def serve() -> int:
        async with AsyncExitStack() as stack:
            try:
                channel = await stack.enter_async_context(stdio_server())
            except OSError as exc:
                raise Failure(exc.strerror) from exc
            try:
                await server.run(channel)
            except NotThere as exc:
                raise Failure(str(exc)) from exc
        return 0

    return run_until_interrupted(serve, tells_sigterm=False)


def _serve_network(server: AnyServer, name: str, transport: str, options: dict[str, Any]) -> int:
    from trio_mcp.transports.http._listeners import (  # noqa: PLC0415 - not for stdio
        CannotServe,
    )

    foreground = Foreground(name)

    async def serve() -> int:
        try:
            await serve_function(transport)(server, task_status=foreground, **options)
        except CannotServe as exc:
            raise Failure(exc.strerror) from exc
        except NotThere as exc:
            raise Failure(str(exc)) from exc
        return 0

    return run_until_interrupted(serve, tells_sigterm=False, stop=foreground.stop)


def _serve_by_workers(server: AnyServer, name: str, options: dict[str, Any], workers: int) -> int:
    from trio_mcp.transports.http._listeners import (  # noqa: PLC0415 - not for stdio
        CannotServe,
    )
    from trio_mcp.transports.http._workers import run_workers  # noqa: PLC0415 - as above

    def tell(number: int) -> None:
        if number != signal.SIGTERM:
            say_interrupted()

    try:
        ended = run_workers(server, workers, options, name=name, on_signal=tell)
    except CannotServe as exc:
        raise Failure(exc.strerror) from exc
    return ended.value or 0 if ended.number is None else 128 + ended.number
