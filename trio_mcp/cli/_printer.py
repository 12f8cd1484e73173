"""What a command prints: results to stdout, everything about them to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

from rich.console import Console
from rich.json import JSON
from rich.text import Text

from trio_mcp.cli._clean import CONTROLS, clean
from trio_mcp.cli._streams import spared, stdout_for_results

if TYPE_CHECKING:
    from rich.console import RenderableType

    from trio_mcp.types._base import JsonValue

_WIDE: Final = 10_000
# Of what is no terminal: nothing is wrapped there, so that lines can be searched.

_ESCAPED: Final = {code: f"\\u{code:04x}" for code in CONTROLS}


def dump_json(value: JsonValue) -> str:
    """Write JSON for people and programs, without a control character in it."""
    # Outside of strings, JSON has none but line feeds here.
    return json.dumps(value, indent=2, ensure_ascii=False).translate(_ESCAPED)


class Printer:
    """Prints in colour to a terminal, and plainly to everything else.

    Args:
      json: stdout gets one JSON document and nothing else.
      plain: No colours and nothing that moves, on terminals too.

    """

    def __init__(self, *, json: bool = False, plain: bool = False) -> None:
        self.json = json
        with stdout_for_results():
            self.out: Final = _console(sys.stdout, plain=plain)
        self.err: Final = _console(sys.stderr, plain=plain)
        self._plain = plain
        self.printed = False
        """Whether stdout has got its document."""

    def animates(self, console: Console) -> bool:
        """Whether bars may move there."""
        return not self._plain and console.is_terminal and not console.is_dumb_terminal

    def show(self, renderable: RenderableType) -> None:
        """Print something for people to stdout."""
        self.printed = True
        with stdout_for_results():
            if self.out.is_terminal:
                self.out.print(renderable)
                return
            # Cells are padded to the width of their column: not at the end of a line.
            with self.out.capture() as captured:
                self.out.print(renderable)
            lines = [line.rstrip() for line in captured.get().split("\n")]
            sys.stdout.write("\n".join(lines))

    def write(self, text: str) -> None:
        """Print a server's text to stdout: cleaned for a terminal, as it is for a pipe."""
        self.printed = True
        self._write(clean(text) if self.out.is_terminal else text)

    def write_json(self, value: JsonValue, *, coloured: bool = False) -> None:
        """Print one JSON document to stdout, in UTF-8 whatever the locale says."""
        self.printed = True
        text = dump_json(value)
        if coloured and self.out.is_terminal:
            with stdout_for_results():
                self.out.print(JSON(text, indent=2), soft_wrap=True)
        else:
            self._write(text)

    def write_bytes(self, data: bytes) -> None:
        """Write to stdout what is no text."""
        self.printed = True
        with stdout_for_results():
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def _write(self, text: str) -> None:
        line_end = "" if text.endswith("\n") else "\n"
        self.write_bytes(f"{text}{line_end}".encode("utf-8", "surrogatepass"))

    def note(self, text: str, style: str = "dim") -> None:
        """Print a line to stderr, above a bar that may be there."""
        with spared(sys.stderr):
            self.err.print(Text(clean(text), style), soft_wrap=True)

    def pass_on(self, line: str) -> None:
        """Print a line of the server's stderr as it came, above a bar that may be there."""
        with spared(sys.stderr):
            self.err.out(line, highlight=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let who prints decide: of its own, it would end the program in any task."""
        raise  # noqa: PLE0704 - it is called while the BrokenPipeError is handled


def _console(file: TextIO, *, plain: bool) -> Console:
    terminal = file.isatty()
    colour = terminal and not plain and not os.environ.get("NO_COLOR")
    options: dict[str, Any] = {} if terminal else {"width": _WIDE}
    return _Console(
        file=file,
        force_terminal=terminal,
        color_system="auto" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        **options,
    )
