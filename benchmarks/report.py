"""The table, and the same as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.timing import median

if TYPE_CHECKING:
    from benchmarks.rounds import Line

HEAD = f"{'':42}{'trio_mcp':>12}{'against':>12}{'ratio':>8}{'min-max':>14}{'aim':>7}{'stretch':>9}"


def to_text(line: Line) -> str:
    """Write a line of the table."""
    figure = line.figure
    spread = f"{min(line.ratios):.2f}-{max(line.ratios):.2f}"
    columns = (
        f"{figure.label:42}"
        f"{_amount(median(line.ours), figure.unit):>12}"
        f"{_amount(median(line.theirs), figure.unit):>12}"
        f"{line.ratio:>8.3f}{spread:>14}"
        f"{_goal(figure.aim):>7}{_goal(figure.stretch):>9}"
    )
    against = "" if line.against == "mcp" else f"({line.against})"
    return f"{columns}  {verdict(line)} {against}".rstrip()


def verdict(line: Line) -> str:
    """Say how far a line got."""
    figure = line.figure
    if figure.stretch is not None and line.ratio <= figure.stretch:
        return "stretch"
    if figure.aim is None:
        return ""
    return "aim" if line.ratio <= figure.aim else "MISSED"


def to_json(line: Line) -> dict[str, Any]:
    """Make of a line what `--json` writes."""
    figure = line.figure
    return {
        "label": figure.label,
        "unit": figure.unit,
        "against": line.against,
        "trio_mcp": line.ours,
        "reference": line.theirs,
        "ratios": line.ratios,
        "ratio": line.ratio,
        "aim": figure.aim,
        "stretch": figure.stretch,
    }


def _goal(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _amount(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"
