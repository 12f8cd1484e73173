"""Both sides in turns, and the ratio of each round."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import attrs

from benchmarks.timing import median
from benchmarks.worker import MeasureFailed, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.measures import Figure, Measure

OURS, THEIRS = "trio_mcp", "mcp"


@attrs.frozen
class Line:
    """A line of the table: one figure over all rounds."""

    figure: Figure
    against: str
    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def ratios(self) -> list[float]:
        return [our / their for our, their in zip(self.ours, self.theirs, strict=True)]


@attrs.frozen
class Failure:
    """A measure that did not come to an end."""

    measure: str
    side: str
    text: str


def run_rounds(
    measures: list[Measure], rounds: int, *, quick: bool, say: Callable[[str], None]
) -> Iterator[Line | Failure]:
    """Take each measure in so many rounds; in each, both sides measure one after the other.

    Every measure gets new processes, so none finds what another has left behind.
    """
    for measure in measures:
        say(measure.name)
        sides = (OURS,) if measure.against is not None else (OURS, THEIRS)
        with ExitStack() as stack:
            workers = {side: stack.enter_context(Worker(side)) for side in sides}
            yield from _take(measure, workers, rounds, quick=quick)


def _take(
    measure: Measure, workers: dict[str, Worker], rounds: int, *, quick: bool
) -> Iterator[Line | Failure]:
    count = measure.quick if quick else measure.count
    taken: dict[str, list[list[float]]] = {OURS: [], THEIRS: []}
    for number in range(rounds):
        # Who begins changes, so that what the machine does meanwhile meets both alike.
        sides = (OURS, THEIRS) if number % 2 == 0 else (THEIRS, OURS)
        for side in sides:
            if side not in workers:
                continue
            try:
                taken[side].append(workers[side].take(measure.name, count))
            except MeasureFailed as exc:
                yield Failure(measure.name, side, str(exc))
                return
    width = len(measure.figures)
    if measure.against is not None:
        taken[THEIRS] = [values[width:] for values in taken[OURS]]
    for column, figure in enumerate(measure.figures):
        yield Line(
            figure,
            measure.against or THEIRS,
            [values[column] for values in taken[OURS]],
            [values[column] for values in taken[THEIRS]],
        )
