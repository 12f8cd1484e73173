"""The commands and their options. What a command does is imported when it runs."""

from __future__ import annotations

import os
import platform
import sys
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from trio_mcp._version import __version__
from trio_mcp.cli._mistakes import Failure
from trio_mcp.cli._options import Cwd, Env, Json, Mode, Options, Plain, Timeout, Wire, read_env
from trio_mcp.errors import ConnectionLost, LocalError, MCPError

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="trio-mcp",
    help="Run, look at and use MCP servers.",
    epilog="A server is a file (server.py, server.py:object), or a command after --: "
    "trio-mcp list -- python server.py",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Server: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="SERVER", help="server.py[:object], or -- COMMAND …")
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
        status = app(words, obj=command, prog_name="trio-mcp", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except Failure as exc:
        return _fail(str(exc), exc.status)
    except MCPError as exc:
        return _fail(_say(exc), 1)
    except KeyboardInterrupt:
        from trio_mcp.cli._interrupts import INTERRUPTED, say_interrupted  # noqa: PLC0415 - loads Trio

        say_interrupted()
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain at exit otherwise.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except _CannotParse as exc:
        return _cannot_parse(exc)


@app.command()
def version(json: Json = False) -> int:
    """Print the version, and the protocol versions that it speaks."""
    from trio_mcp.types import KNOWN_PROTOCOL_VERSIONS  # noqa: PLC0415 - see above

    if json:
        from trio_mcp.cli._printer import Printer  # noqa: PLC0415 - see above

        Printer(json=True).write_json(
            {
                "version": __version__,
                "protocolVersions": list(KNOWN_PROTOCOL_VERSIONS),
                "python": platform.python_version(),
            }
        )
    else:
        print(f"trio-mcp {__version__}")
        print(f"MCP {', '.join(KNOWN_PROTOCOL_VERSIONS)}")
    return 0


@app.command()
def demo(json: Json = False, plain: Plain = False) -> int:
    """Start a server, use everything it offers, and show each step with its time."""
    from trio_mcp.cli._demo import show_demo  # noqa: PLC0415 - see above

    return show_demo(json=json, plain=plain)


@app.command()
def run(
    target: Annotated[str, typer.Argument(metavar="FILE[:OBJECT]", help="A Python file.")],
    transport: Annotated[
        str, typer.Option("--transport", "-t", metavar="KIND", help="stdio.")
    ] = "stdio",
) -> int:
    """Serve the server of a file: OBJECT, or what is called mcp, server or app there."""
    from trio_mcp.cli._serve import serve_file  # noqa: PLC0415 - see above

    return serve_file(target, transport)


@app.command("list")
def list_(
    ctx: typer.Context,
    words: Server = None,
    json: Json = False,
    plain: Plain = False,
    wire: Wire = False,
    mode: Mode = "auto",
    timeout: Timeout = None,
    env: Env = None,
    cwd: Cwd = None,
) -> int:
    """List tools, resources, resource templates and prompts."""
    from trio_mcp.cli._talk import list_offers  # noqa: PLC0415 - see above

    return list_offers(_options(ctx, words, env, json, plain, wire, mode, timeout, cwd))


@app.command()
def inspect(
    ctx: typer.Context,
    words: Server = None,
    json: Json = False,
    plain: Plain = False,
    wire: Wire = False,
    mode: Mode = "auto",
    timeout: Timeout = None,
    env: Env = None,
    cwd: Cwd = None,
) -> int:
    """Report what a server is and offers, as JSON."""
    from trio_mcp.cli._talk import inspect_server  # noqa: PLC0415 - see above

    return inspect_server(_options(ctx, words, env, json, plain, wire, mode, timeout, cwd))


@app.command()
def call(
    ctx: typer.Context,
    words: ServerAndCall = None,
    arguments: Arguments = None,
    json: Json = False,
    plain: Plain = False,
    wire: Wire = False,
    mode: Mode = "auto",
    timeout: Timeout = None,
    env: Env = None,
    cwd: Cwd = None,
) -> int:
    """Call a tool, show its progress, print its result. Status 1 if it failed."""
    from trio_mcp.cli._talk import call_tool  # noqa: PLC0415 - see above

    options = _options(ctx, words, env, json, plain, wire, mode, timeout, cwd)
    return call_tool(options, arguments)


@app.command()
def read(
    ctx: typer.Context,
    words: ServerAndUri = None,
    json: Json = False,
    plain: Plain = False,
    wire: Wire = False,
    mode: Mode = "auto",
    timeout: Timeout = None,
    env: Env = None,
    cwd: Cwd = None,
) -> int:
    """Read a resource, and print what it holds."""
    from trio_mcp.cli._talk import read_resource  # noqa: PLC0415 - see above

    return read_resource(_options(ctx, words, env, json, plain, wire, mode, timeout, cwd))


@app.command()
def prompt(
    ctx: typer.Context,
    words: ServerAndCall = None,
    arguments: Arguments = None,
    json: Json = False,
    plain: Plain = False,
    wire: Wire = False,
    mode: Mode = "auto",
    timeout: Timeout = None,
    env: Env = None,
    cwd: Cwd = None,
) -> int:
    """Fill in a prompt, and print its messages."""
    from trio_mcp.cli._talk import get_prompt  # noqa: PLC0415 - see above

    options = _options(ctx, words, env, json, plain, wire, mode, timeout, cwd)
    return get_prompt(options, arguments)


def _options(
    ctx: typer.Context,
    words: Sequence[str] | None,
    env: Sequence[str] | None,
    json: bool,
    plain: bool,
    wire: bool,
    mode: str,
    timeout: float | None,
    cwd: str | None,
) -> Options:
    return Options(
        words=tuple(words or ()),
        command=ctx.obj,
        json=json,
        plain=plain,
        wire=wire,
        mode=mode,
        timeout=timeout,
        env=read_env(env),
        cwd=cwd,
    )


def _say(exc: MCPError) -> str:
    if isinstance(exc, ConnectionLost) and exc.stderr:
        # It went through to our stderr already.
        return exc.message.partition(":")[0]
    return exc.message if isinstance(exc, LocalError) else f"{exc.message} ({exc.code})"


def _fail(message: str, status: int) -> int:
    from trio_mcp.cli._printer import one_line  # noqa: PLC0415 - see above

    print(f"trio-mcp: {one_line(message)}", file=sys.stderr)
    return status


def _cannot_parse(exc: Any) -> int:
    if not exc.message:
        exc.show()  # the help that stands for "no command was given"
        return int(exc.exit_code)
    context = exc.ctx
    path = "trio-mcp" if context is None else context.command_path
    return _fail(f"{exc.format_message().rstrip('.')}; see {path} --help", int(exc.exit_code))
