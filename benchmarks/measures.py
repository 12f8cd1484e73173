"""What is measured: functions that give numbers, and what the project aims at for each."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.sides.side import Side


@attrs.frozen
class Figure:
    """One number of a measure, and the line of the table that it becomes.

    Attributes:
      label: What is measured.
      unit: ``us``, ``ms`` or ``MiB``. Less is better.
      aim: The ratio to the other side that the project wants, if it wants one.
      stretch: The ratio that it hopes for.

    """

    label: str
    unit: str
    aim: float | None = None
    stretch: float | None = None


@attrs.frozen
class Measure:
    """A function that measures one or several figures at once.

    Attributes:
      name: What ``--rows`` selects it by.
      figures: What its numbers mean, in order.
      count: How often it does its work in one round.
      quick: The same with ``--quick``.
      against: What the numbers are compared with where that is not the official SDK. The
          function then gives its own numbers first and as many to compare them with after.
      function: Called with the side and the count; may be async.

    """

    name: str
    figures: tuple[Figure, ...]
    count: int
    quick: int
    against: str | None
    function: Callable[[Any, int], Any]

    def take(self, side: Side, count: int) -> list[float]:
        """Measure once."""
        if inspect.iscoroutinefunction(self.function):
            values: list[float] = side.run(self.function, side, count)
        else:
            values = self.function(side, count)
        expected = len(self.figures) * (2 if self.against else 1)
        assert len(values) == expected, f"{self.name} gave {len(values)} numbers, not {expected}"
        return values


MEASURES: dict[str, Measure] = {}
"""All measures by name, in the order of the table, once `benchmarks.rows` is imported."""


def measure(
    *figures: Figure, count: int, quick: int = 3, against: str | None = None
) -> Callable[[Callable[[Any, int], Any]], Callable[[Any, int], Any]]:
    """Make a measure of the decorated function, by its name."""

    def register(function: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
        name = function.__name__
        assert name not in MEASURES
        MEASURES[name] = Measure(name, figures, count, quick, against, function)
        return function

    return register
