"""The options that the commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import attrs
import typer

from trio_mcp.cli._mistakes import UsageMistake

if TYPE_CHECKING:
    from collections.abc import Sequence

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
