"""The options that the commands share.

`read_options` has those of all commands that talk to a server, and `takes_options` gives them to
a command.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, TypeAlias, TypeVar

import attrs
import typer

from trio_mcp.cli._mistakes import UsageMistake

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# A token of RFC 9110, section 5.6.2.

Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, for programs.")
]
Plain: TypeAlias = Annotated[
    bool, typer.Option("--plain", help="No colours and no bars, on terminals too.")
]
Wire: TypeAlias = Annotated[
    bool, typer.Option("--wire", help="Show the messages on stderr: → sent, ← received.")
]
Mode: TypeAlias = Annotated[
    str, typer.Option(metavar="MODE", help="auto, legacy or a protocol version.")
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=0, help="How long each request may wait for its answer."),
]
Env: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--env", "-e", metavar="KEY=VALUE", help="A variable for the server; repeatable."
    ),
]
Header: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--header", "-H", metavar="NAME: VALUE", help="A header for a URL; repeatable."),
]
Transport: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--transport",
        "-t",
        metavar="KIND",
        help="How to speak to a URL: streamable-http or sse, if it shall not be found out.",
    ),
]
Auth: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--auth",
        metavar="KIND",
        help="Log in at a URL: browser, or console where there is none. Tokens are kept.",
    ),
]
Cwd: TypeAlias = Annotated[
    str | None, typer.Option(metavar="FOLDER", help="The server's working directory.")
]


@attrs.frozen(kw_only=True)
class Options:
    """What a command that talks to a server was told."""

    words: tuple[str, ...]
    """Its positional words."""

    command: tuple[str, ...] | None
    """The server's command: what stands after ``--``; None if there is no ``--``."""

    json: bool = False
    plain: bool = False
    wire: bool = False
    mode: str = "auto"
    timeout: float | None = None
    env: dict[str, str] = attrs.field(factory=dict[str, str])
    cwd: str | None = None
    headers: dict[str, str] = attrs.field(factory=dict[str, str], repr=False)
    transport: str | None = None
    auth: str | None = None


def read_options(
    ctx: typer.Context,
    words: list[str] | None = None,
    *,
    json: Json = False,
    plain: Plain = False,
    wire: Wire = False,
    mode: Mode = "auto",
    timeout: Timeout = None,
    env: Env = None,
    cwd: Cwd = None,
    header: Header = None,
    transport: Transport = None,
    auth: Auth = None,
) -> Options:
    """Put together what a command was told.

    Raises:
      UsageMistake: if one of the variables or headers for the server is none.

    """
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
        headers=read_headers(header),
        transport=transport,
        auth=auth,
    )


_SHARED: Final = inspect.signature(read_options, eval_str=True).parameters


def takes_options(
    words: Any,
) -> Callable[[Callable[Concatenate[Options, ...], T]], Callable[..., T]]:
    """Give a command the options of `read_options`, which it gets as its first argument.

    Args:
      words: The annotation of its positional words, which say what they are in the help.

    """

    def decorate(command: Callable[Concatenate[Options, ...], T]) -> Callable[..., T]:
        own = dict(list(inspect.signature(command, eval_str=True).parameters.items())[1:])

        def run(**given: Any) -> T:
            rest: Any = {name: given.pop(name) for name in own}
            return command(read_options(**given), **rest)

        ctx, first, *options = _SHARED.values()
        # The order is that of the help. typer reads the signature, and the hints beside it.
        parameters = [ctx, first.replace(annotation=words), *own.values(), *options]
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        vars(run)["__signature__"] = inspect.Signature(parameters)
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


def read_env(pairs: Sequence[str] | None) -> dict[str, str]:
    """Read ``KEY=VALUE``; the last of several with one name holds.

    Raises:
      UsageMistake: if one of them is something else.

    """
    env: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise UsageMistake(f"-e takes KEY=VALUE, not {pair!r}")
        env[name] = value
    return env


def read_headers(lines: Sequence[str] | None) -> dict[str, str]:
    """Read ``NAME: VALUE``; the last of several with one name holds.

    Raises:
      UsageMistake: if one of them is something else. It is not shown: it may be a secret.

    """
    headers: dict[str, str] = {}
    for line in lines or ():
        name, colon, value = line.partition(":")
        value = value.strip()
        if not colon or not _HEADER_NAME.fullmatch(name) or not value.isprintable():
            raise UsageMistake("--header takes 'NAME: VALUE', of characters that can be printed")
        headers[name] = value
    return headers
