"""The commands and their options.

A command returns what it is to do, and that is imported and run when click is out of the way:
it has an opinion of its own on Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from trio_mcp._variables import forget_environment
from trio_mcp.cli._clean import one_line
from trio_mcp.cli._mistakes import INTERRUPTED, Failure
from trio_mcp.cli._options import Json, Options, Plain, takes_options
from trio_mcp.cli._run_options import takes_run_options
from trio_mcp.cli._streams import say, say_interrupted, stdout_for_results
from trio_mcp.errors import ConnectionLost, LocalError, MCPError

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="trio-mcp",
    help="Run, look at and use MCP servers.",
    epilog="A server is a file (server.py, server.py:object), a URL, or a command after --: "
    "trio-mcp list -- python server.py",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Server: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="SERVER", help="server.py[:object], a URL, or -- COMMAND …"),
]
ServerAndUri: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="[SERVER] URI", help="The server, and what to read.")
]
ServerAndCall: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SERVER] NAME [KEY=VALUE]...",
        help="The server, the name, and arguments as key=value or one JSON object.",
    ),
]
Arguments: TypeAlias = Annotated[
    str | None, typer.Option("--arguments", metavar="JSON", help="The arguments as JSON.")
]

Work: TypeAlias = Callable[[], int]

# click raises this for what it cannot parse. Newer releases of typer have a click of their
# own, which only this name leads to in all of them.
_CannotParse = cast("type[Exception]", typer.BadParameter.__mro__[1])


def start(argv: Sequence[str]) -> int:
    """Run a command line and return its exit status; see `trio_mcp.cli.main`."""
    words = list(argv)
    command: tuple[str, ...] | None = None
    if "--" in words:
        # Parsed here, since click drops the dashes and would not tell where they were.
        at = words.index("--")
        words, command = words[:at], tuple(words[at + 1 :])
    try:
        work = _parse(words or ["--help"], command)
        if not callable(work):
            # A status: the help was shown, or (newer releases of typer) Ctrl-C was pressed.
            return _interrupted() if work == INTERRUPTED else 0
        return cast("Work", work)()
    except Failure as exc:
        return _fail(str(exc), exc.status)
    except MCPError as exc:
        return _fail(_say(exc), 1)
    except typer.Abort:
        return _interrupted()  # what older ones make of Ctrl-C
    except BrokenPipeError:
        return 1  # whoever read our output has seen enough
    except _CannotParse as exc:
        return _cannot_parse(exc)


def _parse(words: list[str], command: tuple[str, ...] | None) -> Any:
    def parse() -> Any:
        return app(words, obj=command, prog_name="trio-mcp", standalone_mode=False)

    if "--help" not in words:
        return parse()
    with stdout_for_results():
        return parse()


def _interrupted() -> int:
    say_interrupted()
    return INTERRUPTED


def _later(module: str, function: str, *args: Any) -> Work:
    return partial(_import_and_call, module, function, args)


def _import_and_call(module: str, function: str, args: tuple[Any, ...]) -> int:
    work: Callable[..., int] = getattr(import_module(f"trio_mcp.cli.{module}"), function)
    return work(*args)


@app.command()
def version(json: Json = False) -> Work:
    """Print the version, and the protocol versions that it speaks."""
    return _later("_version", "print_version", json)


@app.command()
def demo(json: Json = False, plain: Plain = False) -> Work:
    """Start a server, use everything it offers, and show each step with its time."""
    # What it says is about the user's own servers. This is before anything that reads it loads.
    forget_environment()
    return _later("_demo", "show_demo", json, plain)


@app.command()
@takes_run_options
def run(
    target: Annotated[str, typer.Argument(metavar="FILE[:OBJECT]", help="A Python file.")],
    transport: Annotated[
        str,
        typer.Option(
            "--transport", "-t", metavar="KIND", help="stdio, streamable-http, sse or websocket."
        ),
    ] = "stdio",
    *,
    given: dict[str, str | bool],
) -> Work:
    """Serve the server of a file: OBJECT, or what is called mcp, server or app there.

    What no option says, a variable of the environment may: MCP_PORT for --port, and so on.
    """
    return _later("_serve", "serve_file", target, transport, given)


@app.command("list")
@takes_options(Server)
def list_(options: Options) -> Work:
    """List tools, resources, resource templates and prompts."""
    return _later("_talk", "list_offers", options)


@app.command()
@takes_options(Server)
def inspect(options: Options) -> Work:
    """Report what a server is and offers, as JSON."""
    return _later("_talk", "inspect_server", options)


@app.command()
@takes_options(ServerAndCall)
def call(options: Options, arguments: Arguments = None) -> Work:
    """Call a tool, show its progress, print its result. Status 1 if it failed."""
    return _later("_talk", "call_tool", options, arguments)


@app.command()
@takes_options(ServerAndUri)
def read(options: Options) -> Work:
    """Read a resource, and print what it holds."""
    return _later("_talk", "read_resource", options)


@app.command()
@takes_options(ServerAndCall)
def prompt(options: Options, arguments: Arguments = None) -> Work:
    """Fill in a prompt, and print its messages."""
    return _later("_talk", "get_prompt", options, arguments)


def _say(exc: MCPError) -> str:
    if isinstance(exc, ConnectionLost) and exc.stderr:
        # It went through to our stderr already.
        return exc.message.partition(":")[0]
    return exc.message if isinstance(exc, LocalError) else f"{exc.message} ({exc.code})"


def _fail(message: str, status: int) -> int:
    say(f"trio-mcp: {one_line(message)}")
    return status


def _cannot_parse(exc: Any) -> int:
    context = exc.ctx
    path = "trio-mcp" if context is None else context.command_path
    return _fail(f"{exc.format_message().rstrip('.')}; see {path} --help", int(exc.exit_code))
