"""Which server a command talks to: a Python file, a URL, or a command after ``--``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from trio_mcp.cli._mistakes import UsageMistake
from trio_mcp.transports import StdioServerParameters
from trio_mcp.transports._urls import split_url

if TYPE_CHECKING:
    from trio_mcp.cli._options import Options

_OBJECT: Final = re.compile(r"(?P<file>.+):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)", re.DOTALL)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


_HTTP: Final = ("streamable-http", "sse")

LOGINS: Final = ("browser", "console")
"""How somebody may log in."""

_TRANSPORTS: Final = {"http": _HTTP, "https": _HTTP, "ws": ("websocket",), "wss": ("websocket",)}
# By the scheme of a URL, in the order in which they are tried.


@attrs.frozen
class Url:
    """A server that is reached by its URL.

    Attributes:
      url: The URL.
      headers: What each request carries.
      transports: How to speak to it; each is tried where the one before is refused.
      auth: How to log in: ``browser``, ``console``, or not at all.

    """

    url: str
    headers: dict[str, str] = attrs.field(repr=False)
    transports: tuple[str, ...]
    auth: str | None = None


Target: TypeAlias = StdioServerParameters | Url


def split_object(word: str) -> tuple[str, str | None]:
    """Split ``FILE:object``; a drive letter is no file."""
    match = _OBJECT.fullmatch(word)
    if match is None or (len(match["file"]) == 1 and sys.platform == "win32"):
        return word, None
    return match["file"], match["name"]


def take_target(options: Options) -> tuple[Target, list[str]]:
    """Tell how to start or reach the server, and which words are left for the command.

    Raises:
      UsageMistake: if no server is named, there is no such file, or an option does not go with
          this kind of server.

    """
    words = list(options.words)
    if options.command is None and words and _URL.match(words[0]):
        return _read_url(words.pop(0), options), words
    if options.headers or options.transport is not None or options.auth is not None:
        raise UsageMistake(
            "--header, --transport and --auth are for servers that are named by a URL"
        )
    if options.command is not None:
        if not options.command:
            raise UsageMistake("there is no command after --")
        command, *arguments = options.command
    elif words:
        command, *arguments = _command_for_file(words.pop(0))
    else:
        raise UsageMistake(
            "name a server: server.py, its URL, or -- and the command that starts it"
        )
    try:
        parameters = StdioServerParameters(
            command=command, args=arguments, env=options.env, cwd=options.cwd
        )
    except (TypeError, ValueError) as exc:
        raise UsageMistake(str(exc)) from exc
    return parameters, words


def _read_url(url: str, options: Options) -> Url:
    try:
        parts = split_url(
            url,
            _TRANSPORTS,
            "the URL of a server is http://host/path, https://…, ws://… or wss://…",
        )
    except ValueError as exc:
        raise UsageMistake(str(exc)) from exc
    known = _TRANSPORTS[parts.scheme]
    if options.env or options.cwd is not None:
        raise UsageMistake("--env and --cwd are for servers that are started here, not for a URL")
    if options.auth is not None and options.auth not in LOGINS:
        raise UsageMistake(f"--auth goes with {' or '.join(LOGINS)}, not with {options.auth!r}")
    if options.transport is None:
        return Url(url, options.headers, known, options.auth)
    if options.transport not in known:
        raise UsageMistake(
            f"{parts.scheme}:// goes with {' or '.join(known)}, not with {options.transport!r}"
        )
    return Url(url, options.headers, (options.transport,), options.auth)


def _command_for_file(word: str) -> list[str]:
    name, found_object = split_object(word)
    if not name.endswith(".py"):
        raise UsageMistake(f"{word!r} is no Python file; a command goes after --: -- {word} …")
    file = Path(name).absolute()  # the server may have another working directory
    if not file.is_file():
        raise UsageMistake(f"there is no file {name}")
    target = str(file) if found_object is None else f"{file}:{found_object}"
    # -P: the working directory is no place to import from.
    return [sys.executable, "-P", "-m", "trio_mcp.cli", "run", target]
