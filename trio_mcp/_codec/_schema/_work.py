"""How much work a check is, known before it begins.

The engine holds the interpreter's lock from the beginning of a check to its end: no other task,
thread or deadline gets a turn. A peer chooses the schema and the value, so that the work, which is
the product of both, has to be bounded by us. `_cost` bounds it for one place of the value by the
place's depth; here each keyword has its weight, by kinds of places. That bounds the work by the
length of the value's JSON, which is all that most values need; another one is counted level by
level. What comes out is an upper bound, and most checks take a small part of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate, chain, islice
from operator import methodcaller
from typing import TYPE_CHECKING, Final

from trio_mcp._codec._json import length_of
from trio_mcp.types._base import is_array, is_object

from ._patterns import MAX_BACKTRACKED_LENGTH
from ._weights import (
    HASHED_AT_ONCE,
    KINDS,
    OF_COMPARING,
    Kind,
    is_unusual,
    most_of,
    weight_of_number,
    weights_of,
    weights_of_unusual,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from trio_mcp.types._base import JsonValue

    from ._budget import Budget
    from ._cost import Costs
    from ._graph import Node

# Evaluations of some 5 ns: 0.15 s, and for each place about what it took to parse it.
MAX_WORK: Final = 30_000_000
_FREE_PER_PLACE: Final = 15
# Describing a fault does the whole work once more.
MAX_DESCRIBED: Final = MAX_WORK // 2
# Of our own schemas only this is bounded: some 900 numbers of more than 63 bits, that all differ.
_MAX_COMPARING: Final = 50_000_000
# What a metaschema wants to hold items that differ, or objects with such lists.
_DIFFERING: Final = frozenset({"required", "type", "enum"})
_DIFFERING_LISTS: Final = frozenset({"dependentRequired", "dependencies"})

# Characters that are compared as fast as an item is looked at, twice over.
_AN_ITEM: Final = 500
# Evaluations in a step of a `Budget`, for those that take the longest.
_EVALUATIONS_IN_A_STEP: Final = 16
# Steps of a `Budget` for working out the weights of a subschema.
_OF_WEIGHTS: Final = 60
_MAX_DEPTH: Final = 130  # of a value; nothing deeper comes from the codec


_members: Final = methodcaller("values")


def _by_level(
    costs: Costs, own: Mapping[Node, int], beneath: Mapping[Node, int], *, ends_known: bool
) -> Iterator[int]:
    """What one place costs at most, level by level."""
    repeated = costs.levels(remembered=False, own=own, beneath=beneath)
    recursive = costs.returned_to
    if not recursive or not ends_known:
        yield from repeated
        return
    # What recursive references lead to may apply again and again; or rather, since the engine
    # remembers what it found of arrays and objects, once to each of those around a place, and from
    # the innermost one on as often as it is referred to.
    last = next(costs.levels(remembered=False, own=own, roots=recursive), 0)
    ends = {node: own.get(node, 0) + last * len(node.recursive) for node in costs.nodes}
    once = sum(costs.levels(remembered=True, own=ends, beneath=beneath, roots=recursive))
    besides = costs.levels(remembered=True, own=own, beneath=beneath)
    at_most, first = 0, 0
    while True:
        following, further = next(repeated, None), next(besides, None)
        if following is None and further is None:
            return
        at_most = at_most if following is None else following
        first = first if further is None else further
        yield min(at_most, first + once)


class _Table:
    """Weights of one kind by the depth of a place, at most so deep.

    Args:
      levels: The weights, level by level.
      deepest: The last level to ask for.
      adds_up: Whether a place bears the weights of all the levels above it, too.

    """

    def __init__(self, levels: Iterator[int], deepest: int, *, adds_up: bool = False) -> None:
        self._known = [*islice(levels, deepest + 1)] or [0]
        self.is_whole = next(levels, None) is None
        # The last one holds for all that is deeper.
        self._added = self._known[-1] if adds_up else 0
        if adds_up:
            self._known = [*accumulate(self._known)]

    def at(self, depth: int) -> int:
        if depth < len(self._known):
            return self._known[depth]
        return self._known[-1] + self._added * (depth + 1 - len(self._known))

    @property
    def greatest(self) -> int:
        return max(*self._known, self.at(_MAX_DEPTH))

    @property
    def of_all_levels(self) -> int:
        return sum(map(self.at, range(_MAX_DEPTH)))


class Work:
    """Bounds the work of checking values against one peer's schema.

    Args:
      costs: What its subschemas cost.
      nodes: These subschemas.
      budget: What the work of finding out is taken from. Where it is too little for all levels,
        values that are deeper are refused, not the schema.

    """

    def __init__(self, costs: Costs, nodes: list[Node], budget: Budget) -> None:
        budget.spend(_OF_WEIGHTS * len(nodes))
        weights = {
            node: weights_of(node.schema, is_recursive=costs.is_recursive) for node in nodes
        }
        parts: dict[Kind, tuple[dict[Node, int], dict[Node, int]]] = {}
        for kind in KINDS:
            own = {node: each.here[kind] for node, each in weights.items() if kind in each.here}
            beneath = {
                node: each.beneath[kind] for node, each in weights.items() if kind in each.beneath
            }
            if own or beneath:
                parts[kind] = own, beneath
        for_level = costs.steps * max(1, len(parts))
        budget.spend(costs.steps_to_begin * len(parts))
        ends_known = 3 * _MAX_DEPTH * for_level < budget.left
        self._max_depth = int(min(budget.left // for_level, _MAX_DEPTH))
        self._tables: dict[Kind, _Table] = {}
        for kind, (own, beneath) in parts.items():
            levels = _by_level(costs, own, beneath, ends_known=ends_known)
            self._tables[kind] = _Table(levels, self._max_depth, adds_up=kind == "within")
        self._is_known = all(table.is_whole for table in self._tables.values())
        self._counts_names = any(
            "propertyNames" in node.schema or "patternProperties" in node.schema for node in nodes
        )
        greatest: dict[Kind, int] = {kind: table.greatest for kind, table in self._tables.items()}
        if "compared" in self._tables:
            # What is in an array is compared once for each array around it.
            greatest["compared"] = self._tables["compared"].of_all_levels
        self._each, self._pair = most_of(greatest)
        # How many bytes of JSON cannot hold too much, whatever they are; -1 if any may.
        lengths = range(MAX_DESCRIBED)
        self._short = bisect_left(lengths, True, key=self._is_too_long) - 1

    def of(self, value: JsonValue) -> int:
        """The most work that a check of a value may be.

        Returns:
          Evaluations, without a few that each value of its size may take; more than `MAX_WORK`
          if the schema is too big to know. Where it is no matter, 0.

        """
        length = length_of(value) if self._is_known else None
        if length is not None and length <= self._short:
            return 0
        return self._count(value)

    def at_most(self, length: int) -> float:
        """The most work that any value may be whose JSON has so many bytes."""
        return (length + 1) * (self._each + self._pair * (length + 1))

    def _is_too_long(self, length: int) -> bool:
        return self.at_most(length) > MAX_DESCRIBED

    def _count(self, value: JsonValue) -> int:
        work = 0
        numbers: list[int] = []
        compared: list[tuple[int, int | None]] = []
        sizes: list[int] = []
        texts: list[int] = []  # how many characters
        level, names, hashed = _Level([value]), list[str](), 0
        while level.values and len(sizes) < _MAX_DEPTH:
            depth = len(sizes)
            if depth > self._max_depth and not self._is_known:
                return MAX_WORK + 1
            unusual = weights_of_unusual(level.values) if level.has_numbers else []
            counted = self._counted(level, names)
            counted["number"] = sum(unusual)
            if "hashed" in self._tables:
                counted["hashed"] = (sum(level.lengths()) + hashed) // HASHED_AT_ONCE
                hashed = sum(map(len, level.names()))  # these belong to what is in the objects
            following = _Level(level.children())
            work += sum(
                counted[kind] * table.at(depth)
                for kind, table in self._tables.items()
                if kind != "compared"
            )
            if "compared" in self._tables:
                numbers += unusual
                compared.append((self._tables["compared"].at(depth), level.compared()))
                texts.append(sum(level.lengths()) + sum(map(len, level.names())))
            sizes.append(len(level.values))
            names = level.names() if self._counts_names else []
            level = following
        for depth, (weight, within) in enumerate(compared):
            beneath = sum(sizes[depth + 1 :]) + sum(texts[depth + 1 :]) // _AN_ITEM
            work += weight * (beneath if within is None else within)
        times = sum(weight for weight, _ in compared) // OF_COMPARING
        return work + times * _comparing(numbers) - _FREE_PER_PLACE * sum(sizes)

    def _counted(self, level: _Level, names: list[str]) -> dict[Kind, int]:
        counted: dict[Kind, int] = {
            "place": len(level.values) + len(names),
            "within": len(level.values),
            "container": len(level.objects) + len(level.arrays),
            "plain": level.classes[int] + level.classes[float],
        }
        if "text" in self._tables:
            lengths = [*level.lengths(), *map(len, names)]
            counted["text"] = len(lengths)
            counted["character"] = sum(lengths)
            if "square" in self._tables:
                short = [length for length in lengths if length <= MAX_BACKTRACKED_LENGTH]
                counted["short"] = sum(short)
                counted["square"] = sum(length**2 for length in short)
        return counted


class _Level:
    """All that is so many levels below the top of a value."""

    def __init__(self, values: list[JsonValue]) -> None:
        self.values = values
        self.classes = classes = Counter(map(type, values))
        # No calls in Python here: there may be a million.
        self.objects: list[dict[str, JsonValue]] = (
            [v for v in values if isinstance(v, dict)] if classes[dict] else []
        )
        self.arrays: list[list[JsonValue]] = (
            [v for v in values if isinstance(v, list)] if classes[list] else []
        )

    @property
    def has_numbers(self) -> bool:
        return bool(self.classes[int] or self.classes[float])

    def children(self) -> list[JsonValue]:
        members: Iterable[list[JsonValue]] = map(_members, self.objects)
        return list(chain.from_iterable(chain(members, self.arrays)))

    def names(self) -> list[str]:
        return list(chain.from_iterable(self.objects))

    def lengths(self) -> list[int]:
        return [len(v) for v in self.values if isinstance(v, str)] if self.classes[str] else []

    def compared(self) -> int | None:
        """How much there is in the arrays to compare; None: there are others in these."""
        items = Counter(map(type, chain.from_iterable(self.arrays)))
        if items[dict] or items[list]:
            return None
        texts = chain.from_iterable(self.arrays) if items[str] else ()
        return sum(items.values()) + sum(len(v) for v in texts if isinstance(v, str)) // _AN_ITEM


def compares_items(nodes: list[Node]) -> bool:
    """Whether a schema has the items of an array compared with each other."""
    return any("uniqueItems" in node.schema for node in nodes)


def compares_too_much(value: JsonValue) -> bool:
    """Whether comparing the items of arrays may take long, although the schema is our own.

    Numbers that no machine word holds have no hash, and are compared each with each.
    """
    numbers: list[int] = []
    level = _Level([value])
    for _ in range(_MAX_DEPTH):
        numbers += weights_of_unusual(level.values) if level.has_numbers else []
        level = _Level(level.children())
        if not level.values:
            break
    return _comparing(numbers) > _MAX_COMPARING


def steps_of_comparing(schema: JsonValue) -> int:
    """What a metaschema takes at most to see whether the items of a schema's arrays differ.

    Returns:
      Steps of a `Budget`.

    """
    compared: list[JsonValue] = []
    pending: list[JsonValue] = [schema]
    while pending:
        value = pending.pop()
        if is_object(value):
            pending += value.values()
            compared += [value[name] for name in _DIFFERING & value.keys()]
            for keyword in _DIFFERING_LISTS & value.keys():
                lists = value[keyword]
                compared += lists.values() if is_object(lists) else ()
        elif is_array(value):
            pending += value
    return sum(_comparing(_long_integers(items)) for items in compared) // _EVALUATIONS_IN_A_STEP


def _long_integers(items: JsonValue) -> list[int]:
    """The weights of the integers in some items, however deep, that no machine word holds."""
    found: list[int] = []
    pending = [items]
    while pending:
        value = pending.pop()
        if is_object(value):
            pending += value.values()
        elif is_array(value):
            pending += value
        elif value.__class__ is int and is_unusual(value):
            found.append(weight_of_number(value))
    return found


def _comparing(numbers: list[int]) -> int:
    return len(numbers) * sum(numbers) // 2
