"""How the demo looks: a line for each step, with its time."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Self

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from trio_mcp._version import __version__
from trio_mcp.cli._clean import one_line
from trio_mcp.cli._progress import amount
from trio_mcp.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager
    from types import TracebackType

    from rich.console import RenderableType

    from trio_mcp.cli._printer import Printer
    from trio_mcp.types._base import JsonObject

BAR_WIDTH: Final = 24
REFRESH_PER_SECOND: Final = 20


class Step:
    """One step: what it says, and how far it is."""

    def __init__(self, name: str, road: str = "") -> None:
        self.name: Final = name
        self.road: Final = road
        self.words: Final[list[str]] = []
        self.done: float | None = None
        self.total: float | None = None
        self.failed = False
        self._started: Final = time.perf_counter()
        self._seconds: float | None = None

    def say(self, words: str) -> None:
        """Add to what the step says."""
        self.words.append(one_line(words))

    def progress(self, done: float, total: float | None) -> None:
        """Say how far the step is."""
        self.done, self.total = done, total

    def finish(self, *, failed: bool = False) -> None:
        """Stop the clock."""
        self._seconds = time.perf_counter() - self._started
        self.failed = failed

    @property
    def seconds(self) -> float:
        """How long it took, or has taken so far."""
        return time.perf_counter() - self._started if self._seconds is None else self._seconds

    def to_json(self) -> JsonObject:
        """Describe it for programs."""
        return {
            "road": self.road,
            "name": self.name,
            "ok": not self.failed,
            "seconds": round(self.seconds, 4),
            "text": " · ".join(self.words),
        }


class Screen:
    """Shows each step when it is over, without colours: for pipes and for ``--plain``.

    Leaving the block says that all went well, unless something was raised.
    """

    def __init__(self, printer: Printer) -> None:
        self.printer: Final = printer
        self.steps: Final[list[Step]] = []
        self._road = ""
        self._began = time.perf_counter()

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(exc, time.perf_counter() - self._began)

    def open_part(self, road: str, who: str) -> None:
        """Begin with another road to the server, and say who will be on it."""
        self._show_part(f"{who}, over {road}")
        self._road = road

    def _show_part(self, what: str) -> None:
        name = (
            Text("\n")  # another part of the same
            if self._road
            else Text.assemble(("trio_mcp", "bold"), f" {__version__} · ")
        )
        self.printer.show(Text.assemble(name, (f"{what}\n", "dim")))

    @contextmanager
    def step(self, name: str) -> Generator[Step, None, None]:
        """Show a step: that it runs, and how it went. One that is interrupted says nothing."""
        step = Step(name, self._road)
        self.steps.append(step)
        try:
            with self.running(step):
                yield step
        except Exception as exc:
            step.say(exc.message if isinstance(exc, MCPError) else str(exc))
            step.finish(failed=True)
            self.show(step)
            raise
        step.finish()
        self.show(step)

    def running(self, step: Step) -> AbstractContextManager[Any]:
        """Show that a step runs, until the block ends."""
        del step
        return nullcontext()

    def show(self, step: Step) -> None:
        """Show how a step went."""
        mark = Text("failed", "red") if step.failed else Text("ok")
        self.printer.show(line_for(step, mark, _amount(step)))

    def close(self, exc: BaseException | None, seconds: float) -> None:
        """Say how it went altogether."""
        if exc is None:
            words = f"\n{len(self.steps)} steps in {seconds:.1f} s, and nothing is left running"
            self.printer.show(Text(words, "bold"))


class MovingScreen(Screen):
    """Shows steps while they run, too: for terminals."""

    @contextmanager
    def running(self, step: Step) -> Generator[None, None, None]:
        """See `Screen.running`."""
        spinner = Spinner("dots", style="cyan")

        def draw() -> RenderableType:
            return line_for(step, spinner, _bar(step))

        console = self.printer.out
        with Live(
            console=console,
            get_renderable=draw,
            refresh_per_second=REFRESH_PER_SECOND,
            transient=True,
            # What others print would be moved above the line, in pieces.
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield

    def show(self, step: Step) -> None:
        """See `Screen.show`."""
        mark = Text("✗", "bold red") if step.failed else Text("✓", "green")
        self.printer.show(line_for(step, mark, _bar(step)))


class JsonScreen(Screen):
    """Shows one JSON document at the end."""

    def _show_part(self, what: str) -> None:
        pass

    def show(self, step: Step) -> None:
        """See `Screen.show`."""

    def close(self, exc: BaseException | None, seconds: float) -> None:
        """See `Screen.close`."""
        if exc is None or isinstance(exc, Exception):
            self.printer.write_json(
                {
                    "ok": exc is None,
                    "seconds": round(seconds, 4),
                    "steps": [step.to_json() for step in self.steps],
                }
            )


def screen_for(printer: Printer) -> Screen:
    """Choose by what was asked for, and by where it goes."""
    if printer.json:
        return JsonScreen(printer)
    return MovingScreen(printer) if printer.animates(printer.out) else Screen(printer)


def line_for(step: Step, mark: RenderableType, bar: RenderableType | None) -> Table:
    """Lay out a step: how it went, its name, its time, what it says."""
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_column(min_width=1)
    line.add_column(min_width=8)
    line.add_column(min_width=7, justify="right")
    line.add_column(overflow="fold")
    words = Text(" · ", "dim").join(Text(words) for words in step.words)
    if step.failed:
        words.stylize("red")
    said: RenderableType = words
    if bar is not None:
        said = Table.grid(padding=(0, 2, 0, 0))
        said.add_row(words, bar, *([] if isinstance(bar, Text) else [_amount(step)]))
    time_text = Text(f"{1000 * step.seconds:.0f} ms", "dim")
    line.add_row(mark, Text(step.name, "bold"), time_text, said)
    return line


def _bar(step: Step) -> ProgressBar | None:
    if step.done is None or step.total is None:
        return None
    return ProgressBar(
        step.total, step.done, width=BAR_WIDTH, style="bright_black", finished_style="green"
    )


def _amount(step: Step) -> Text | None:
    return None if step.done is None else Text(amount(step.done, step.total))
