"""The progress of a call, on stderr: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from trio_mcp.cli._clean import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from trio_mcp.cli._printer import Printer

    ProgressFn = Callable[[float, float | None, str | None], Awaitable[None]]


def amount(progress: float, total: float | None) -> str:
    """Say how much is done: ``3/10``, or ``3`` where nobody knows of how much."""
    return f"{progress:g}" if total is None else f"{progress:g}/{total:g}"


@contextmanager
def show_progress(printer: Printer, name: str) -> Generator[ProgressFn, None, None]:
    """Show what the callback is told, until the block ends. For ``--json`` only the bar."""
    if not printer.animates(printer.err):

        async def print_line(progress: float, total: float | None, message: str | None) -> None:
            if not printer.json:
                printer.note(f"{amount(progress, total)} {one_line(message or '')}".rstrip())

        yield print_line
        return
    with Progress(
        TextColumn("{task.description}", style="bold", markup=False),
        BarColumn(bar_width=28),
        TextColumn("{task.fields[amount]} {task.fields[message]}", markup=False),
        TimeElapsedColumn(),
        console=printer.err,
        transient=True,
    ) as bars:
        bar = bars.add_task(one_line(name), total=None, amount="", message="")

        async def move_bar(progress: float, total: float | None, message: str | None) -> None:
            bars.update(
                bar,
                completed=progress,
                total=total,
                amount=amount(progress, total),
                message=one_line(message or ""),
            )

        yield move_bar
