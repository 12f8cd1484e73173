"""An upper bound on the work that one schema can make of one value.

Counted are evaluations of subschemas on any *one* place of the value. ``cost[k]`` is the most that
one place ``k`` levels below the root can get: each node passes on to the same place the costs of
what applies *here*, and to a child's place the greatest of its *named* ones and the sum of the
others. Multiplied by the number of places this bounds the whole. The engine remembers its verdicts
on recursive ``$ref``, so for a verdict these count once; ``$dynamicRef`` it does not remember, nor
anything while it describes a fault.
"""

from __future__ import annotations

import functools
from itertools import accumulate, chain, islice, repeat
from typing import TYPE_CHECKING, Final

from ._errors import SchemaError
from ._paths import path_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ._budget import Budget
    from ._graph import Node, SchemaGraph

# On one place of a value. An evaluation takes 10 to 100 ns.
MAX_EVALUATIONS: Final = 10_000
# Enough levels for any value the codec lets in.
_MAX_LEVELS: Final = 100
_ENOUGH: Final = 10**12
# Steps of a `Budget`, for what describing a fault costs.
_MAX_FOR_DESCRIBING: Final = 1_000_000
# Below a place and its children nothing applies but what others apply.
_LEVELS_OF_LEAVES: Final = 2

# A node that others apply within, its factor, and these others: here, dynamic, named and below.
# All by their numbers.
_Row = tuple[int, int, list[int], list[int], list[int], list[int]]


class Costs:
    """The bound for one schema.

    Args:
      graph: Its subschemas.
      budget: What the work of finding out is taken from.

    """

    def __init__(self, graph: SchemaGraph, budget: Budget) -> None:
        self._budget = budget
        self._inside_first, circular = _walk(graph)
        self.is_recursive = circular or graph.uses_metaschema
        self._root = graph.root
        self._describing: list[int] | None = None

    def check(self, *, where: str) -> None:
        """Refuse what never ends or multiplies.

        Raises:
          SchemaError: if a subschema refers to itself on the same value, or one place of a value
            may take more than `MAX_EVALUATIONS` evaluations.

        """
        circle = _circle(self._inside_first)
        if circle is not None:
            reason = "refers to itself on the same value, which never ends"
            raise SchemaError(reason, path=path_text(circle.path), where=where)
        if self._is_small():
            return
        self._budget.spend(self.steps_to_begin)
        for cost in self.levels(remembered=True):
            self._budget.spend(self.steps)
            if cost > MAX_EVALUATIONS:
                raise SchemaError(
                    f"its parts multiply to more than {MAX_EVALUATIONS} evaluations of one value",
                    where=where,
                )

    def of_describing(self, depth: int) -> int:
        """The most evaluations of one place when faults are collected in a value so deep."""
        if self._describing is None:
            levels = self.levels(remembered=False)
            known = [*islice(levels, 1 + _MAX_FOR_DESCRIBING // self.steps)] or [1]
            # The last one holds for all that is deeper, if there is none after it.
            ends = [] if next(levels, None) is None else [_ENOUGH]
            self._describing = [*accumulate(known, max), *ends]
        return self._describing[min(depth, len(self._describing) - 1)]

    def _is_small(self) -> bool:
        """Whether all of the schema, each reference written out, is within the bound."""
        size: dict[Node, int] = {}
        for node in self._inside_first:
            if node.dynamic:
                return False
            written_out = sum(size.get(target, 0) for target in node.applied())
            size[node] = min(1 + _factor(node) * written_out, _ENOUGH)
        return self._root is None or size[self._root] <= MAX_EVALUATIONS

    def levels(
        self,
        *,
        remembered: bool,
        own: Mapping[Node, int] | None = None,
        beneath: Mapping[Node, int] | None = None,
        roots: Collection[Node] | None = None,
    ) -> Iterator[int]:
        """What one place costs at most, level by level.

        The last number holds for all deeper levels too.

        Args:
          remembered: Whether a recursive reference counts once.
          own: What each node costs by itself at a place where it applies; one each, if not given.
          beneath: What it costs at each of the children of such a place.
          roots: What is applied to the value, all of them; the schema's root, if not given.

        """
        if self._root is None:
            return
        every, inner = self._rows_remembered if remembered else self._rows_repeated
        applied = [self._index[node] for node in (roots or [self._root])]
        children = [beneath.get(node, 0) if beneath else 0 for node in self._index]
        cost = [1 if own is None else own.get(node, 0) for node in self._index]
        _apply(every, cost, None)
        yield sum([cost[root] for root in applied])
        for level in range(_MAX_LEVELS):
            above, cost = cost, [0] * len(cost) if level else children
            # Further down, what has nothing within it costs nothing.
            _apply(every if level < _LEVELS_OF_LEAVES else inner, cost, above)
            if cost == above and level:
                return
            yield sum([cost[root] for root in applied])
            if not any(cost):
                return

    @functools.cached_property
    def _index(self) -> dict[Node, int]:
        """The nodes, each after what applies to the same value."""
        return {node: number for number, node in enumerate(_targets_first(self._inside_first))}

    @property
    def nodes(self) -> list[Node]:
        """All subschemas."""
        return self._inside_first

    @property
    def returned_to(self) -> set[Node]:
        """What recursive references refer to."""
        return {target for node in self._inside_first for target in node.recursive}

    @functools.cached_property
    def steps_to_begin(self) -> int:
        """How many steps of a `Budget` the first levels take."""
        return (1 + _LEVELS_OF_LEAVES) * self._steps_of(self._rows_repeated[0])

    @functools.cached_property
    def steps(self) -> int:
        """How many steps each level takes after these."""
        return self._steps_of(self._rows_repeated[1])

    def _steps_of(self, rows: list[_Row]) -> int:
        targets = sum(len(here) + len(dynamic) for _, _, here, dynamic, _, _ in rows)
        targets += sum(len(named) + len(below) for _, _, _, _, named, below in rows)
        return 1 + len(self._index) // 20 + 2 * len(rows) + targets // 2

    @functools.cached_property
    def _rows_remembered(self) -> tuple[list[_Row], list[_Row]]:
        return self._rows(remembered=True) if self.returned_to else self._rows_repeated

    @functools.cached_property
    def _rows_repeated(self) -> tuple[list[_Row], list[_Row]]:
        return self._rows(remembered=False)

    def _rows(self, *, remembered: bool) -> tuple[list[_Row], list[_Row]]:
        """The nodes that others apply within; and the same, as if these others were all."""
        index = self._index
        every: list[_Row] = []
        for node, number in index.items():
            if node.here or node.dynamic or node.named or node.below:
                left_out = set(node.recursive) if remembered else ()
                here = [index[target] for target in node.here if target not in left_out]
                dynamic, named, below = (
                    [index[target] for target in targets]
                    for targets in (node.dynamic, node.named, node.below)
                )
                every.append((number, _factor(node), here, dynamic, named, below))
        within = {row[0] for row in every}
        inner: list[_Row] = []
        for number, factor, *kinds in every:
            here, dynamic, named, below = (
                [target for target in targets if target in within] for targets in kinds
            )
            if here or dynamic or named or below:
                inner.append((number, factor, here, dynamic, named, below))
        return every, inner


def _apply(rows: list[_Row], cost: list[int], above: list[int] | None) -> None:
    """Add to what each node costs at a place what applies within it: there, and from above."""
    for node, factor, here, dynamic, named, below in rows:
        total = cost[node]
        for target in here:
            total += factor * cost[target]
        if dynamic:
            # A dynamic reference means one of its candidates at a time.
            total += factor * max([cost[target] for target in dynamic])
        if above is not None:
            if named:
                total += max([above[target] for target in named])
            for target in below:
                total += above[target]
        cost[node] = min(total, _ENOUGH)


def _factor(node: Node) -> int:
    # Which parts are evaluated is found by evaluating what applies here once more.
    doubles = "unevaluatedItems" in node.schema or "unevaluatedProperties" in node.schema
    return 2 if doubles else 1


def _walk(graph: SchemaGraph) -> tuple[list[Node], bool]:
    """Note the references that lead back.

    Returns:
      All nodes, each after those inside it (the references that lead back left aside), and whether
      any part applies within itself.

    """
    state: dict[Node, bool] = {}  # {node: whether we are still in it}
    order: list[Node] = []
    found = False
    for start in graph.nodes:
        if start in state:
            continue
        state[start] = True
        stack = [(start, _applied(start))]
        while stack:
            node, targets = stack[-1]
            for target, here in targets:
                inside = state.get(target)
                if inside is None:
                    state[target] = True
                    stack.append((target, _applied(target)))
                    break
                if inside:
                    found = True
                    if here:
                        node.recursive.append(target)
            else:
                state[node] = False
                order.append(node)
                stack.pop()
    return order, found


def _applied(node: Node) -> Iterator[tuple[Node, bool]]:
    """What applies within a node, and whether to the same value and by a plain reference."""
    yield from zip(node.here, repeat(True))
    yield from zip(chain(node.dynamic, node.named, node.below), repeat(False))


def _targets_first(nodes: list[Node]) -> list[Node]:
    """All nodes, each after what applies to the same value (as far as there is no circle)."""
    order: dict[Node, None] = {}
    for start in nodes:
        seen = {start}
        stack = [(start, iter((*start.here, *start.dynamic)))] if start not in order else []
        while stack:
            node, targets = stack[-1]
            for target in targets:
                if target not in order and target not in seen:
                    seen.add(target)
                    stack.append((target, iter((*target.here, *target.dynamic))))
                    break
            else:
                order[node] = None
                stack.pop()
    return list(order)


def _circle(nodes: list[Node]) -> Node | None:
    """A node that refers back to where it came from on the same value, if there is one."""
    inside: dict[Node, bool] = {}  # {node: whether we are still in it}
    for start in nodes:
        stack = [] if start in inside else [(start, iter(start.here))]
        while stack:
            node, targets = stack[-1]
            inside[node] = True
            for target in targets:
                if inside.get(target):
                    return node
                if target not in inside:
                    stack.append((target, iter(target.here)))
                    break
            else:
                inside[node] = False
                stack.pop()
    return None
