"""Which server a command talks to: a Python file, or a command after ``--``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trio_mcp.cli._mistakes import UsageMistake
from trio_mcp.transports import StdioServerParameters

if TYPE_CHECKING:
    from trio_mcp.cli._options import Options

_OBJECT: Final = re.compile(r"(?P<file>.+):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)", re.DOTALL)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def split_object(word: str) -> tuple[str, str | None]:
    """Split ``FILE:object``; a drive letter is no file."""
    match = _OBJECT.fullmatch(word)
    if match is None or (len(match["file"]) == 1 and sys.platform == "win32"):
        return word, None
    return match["file"], match["name"]


def take_target(options: Options) -> tuple[StdioServerParameters, list[str]]:
    """Tell how to start the server, and which words are left for the command.

    Raises:
      UsageMistake: if no server is named, or there is no such file.

    """
    words = list(options.words)
    if options.command is not None:
        if not options.command:
            raise UsageMistake("there is no command after --")
        command, *arguments = options.command
    elif words:
        command, *arguments = _command_for_file(words.pop(0))
    else:
        raise UsageMistake("name a server: server.py, or -- and the command that starts it")
    try:
        parameters = StdioServerParameters(
            command=command, args=arguments, env=options.env, cwd=options.cwd
        )
    except (TypeError, ValueError) as exc:
        raise UsageMistake(str(exc)) from exc
    return parameters, words


def _command_for_file(word: str) -> list[str]:
    name, found_object = split_object(word)
    if _URL.match(word):
        raise UsageMistake(f"{word} is a URL, and servers on HTTP cannot be reached yet")
    if not name.endswith(".py"):
        raise UsageMistake(f"{word!r} is no Python file; a command goes after --: -- {word} …")
    file = Path(name).absolute()  # the server may have another working directory
    if not file.is_file():
        raise UsageMistake(f"there is no file {name}")
    target = str(file) if found_object is None else f"{file}:{found_object}"
    # -P: the working directory is no place to import from.
    return [sys.executable, "-P", "-m", "trio_mcp.cli", "run", target]
