"""The commands that talk to a server: each connects, asks, prints, and ends the server."""

from __future__ import annotations

import difflib
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from trio_mcp._codec import encode
from trio_mcp.cli import _results
from trio_mcp.cli._arguments import read_values, split_words
from trio_mcp.cli._connect import open_client
from trio_mcp.cli._interrupts import run_until_interrupted
from trio_mcp.cli._mistakes import Failure, UsageMistake
from trio_mcp.cli._offers import gather_offers, overview
from trio_mcp.cli._printer import Printer
from trio_mcp.cli._progress import show_progress
from trio_mcp.cli._target import take_target
from trio_mcp.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.cli._options import Options
    from trio_mcp.cli._target import Target
    from trio_mcp.client import Client
    from trio_mcp.types._base import JsonObject

    Talk: TypeAlias = Callable[[Client, Printer], Awaitable[int]]


def list_offers(options: Options) -> int:
    """Show tools, resources, templates and prompts."""
    return _connected(_only_target(options, "list"), options, _list)


async def _list(client: Client, printer: Printer) -> int:
    offers = await gather_offers(client)
    if printer.json:
        printer.write_json(offers.to_json(client))
    else:
        printer.show(overview(client, offers))
    return 0


def inspect_server(options: Options) -> int:
    """Report what a server is and offers, as JSON."""
    return _connected(_only_target(options, "inspect"), options, _inspect)


async def _inspect(client: Client, printer: Printer) -> int:
    offers = await gather_offers(client)
    revision = client.session.revision
    assert revision is not None
    info = client.server_info
    report: JsonObject = {
        "protocolVersion": client.protocol_version,
        "serverInfo": None if info is None else encode(info, revision),
        "capabilities": encode(client.server_capabilities, revision),
        "instructions": client.instructions,
    }
    found = client.session.discover_result
    if found is not None:
        report["supportedVersions"] = found.supported_versions
    printer.write_json({**report, **offers.to_json(client)}, coloured=not printer.json)
    return 0


def call_tool(options: Options, json_text: str | None) -> int:
    """Call a tool; status 1 if it says that it failed."""
    target, words = take_target(options)
    _expect(words, "call takes the name of a tool: call server.py NAME key=value", least=1)
    given, texts = split_words(words[1:], json_text)
    return _connected(target, options, partial(_call, words[0], given, texts))


async def _call(
    name: str, given: JsonObject, texts: dict[str, str], client: Client, printer: Printer
) -> int:
    if texts:
        given = {**given, **read_values(texts, await _input_schema(client, name))}
    with show_progress(printer, name) as on_progress:
        result = await client.call_tool(name, given, progress_callback=on_progress)
    _print(client, printer, result, _results.print_tool_result)
    return 1 if result.is_error else 0


async def _input_schema(client: Client, name: str) -> JsonObject:
    names: list[str] = []
    async for tool in client.iter_tools():
        if tool.name == name:
            return tool.input_schema
        names.append(tool.name)
    close = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise Failure(f"the server has no tool {name}{hint}")


def read_resource(options: Options) -> int:
    """Read a resource."""
    target, words = take_target(options)
    _expect(words, "read takes the URI of a resource: read server.py URI", least=1, most=1)
    return _connected(target, options, partial(_read, words[0]))


async def _read(uri: str, client: Client, printer: Printer) -> int:
    result = await client.read_resource(uri)
    _print(client, printer, result, _results.print_resource)
    return 0


def get_prompt(options: Options, json_text: str | None) -> int:
    """Fill in a prompt, whose arguments are always strings."""
    target, words = take_target(options)
    _expect(words, "prompt takes the name of a prompt: prompt server.py NAME key=value", least=1)
    given, texts = split_words(words[1:], json_text)
    for key, value in given.items():
        if not isinstance(value, str):
            raise UsageMistake(f"the argument {key} of a prompt is a string")
    return _connected(target, options, partial(_prompt, words[0], {**given, **texts}))


async def _prompt(name: str, arguments: dict[str, str], client: Client, printer: Printer) -> int:
    result = await client.get_prompt(name, arguments)
    _print(client, printer, result, _results.print_prompt)
    return 0


# What they share


def _connected(target: Target, options: Options, talk: Talk) -> int:
    printer = Printer(json=options.json, plain=options.plain)
    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")

    async def action() -> int:
        async with open_client(target, options, printer) as client:
            status = await talk(client, printer)
        return status  # noqa: RET504 - the server has ended here

    try:
        return run_until_interrupted(action)
    except (MCPError, Failure) as exc:
        if options.json and not printer.printed:
            printer.write_json({"error": _error_to_json(exc)})
        raise


def _print(
    client: Client, printer: Printer, result: Any, show: Callable[[Printer, Any], None]
) -> None:
    if not printer.json:
        show(printer, result)
        return
    revision = client.session.revision
    assert revision is not None
    printer.write_json(encode(result, revision))


def _error_to_json(exc: MCPError | Failure) -> JsonObject:
    if isinstance(exc, Failure):
        return {"message": str(exc)}
    error: JsonObject = {"code": exc.code, "message": exc.message}
    if exc.data is not None:
        error["data"] = exc.data
    return error


def _only_target(options: Options, command: str) -> Target:
    target, words = take_target(options)
    _expect(words, f"{command} takes a server and nothing else", most=0)
    return target


def _expect(words: list[str], usage: str, *, least: int = 0, most: int | None = None) -> None:
    if len(words) < least or (most is not None and len(words) > most):
        raise UsageMistake(usage)
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            # What Python makes of bytes of the command line that it cannot read.
            raise UsageMistake(f"{word!a} is no text: it holds bytes that are not UTF-8") from None
