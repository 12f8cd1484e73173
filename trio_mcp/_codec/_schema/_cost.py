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
from typing import TYPE_CHECKING, Final

import attrs

from ._errors import SchemaError
from ._paths import path_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ._graph import Node, SchemaGraph

# On one place of a value. An evaluation takes 10 to 100 ns.
MAX_EVALUATIONS: Final = 10_000
# Enough levels for any value the codec lets in.
_MAX_LEVELS: Final = 100
_ENOUGH: Final = 10**12


class Costs:
    """The bound for one schema."""

    def __init__(self, graph: SchemaGraph) -> None:
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
        for node in self._inside_first:
            if node.recursive and _reaches_itself(node):
                reason = "refers to itself on the same value, which never ends"
                raise SchemaError(reason, path=path_text(node.path), where=where)
        if self._is_small():
            return
        for cost in self.levels(remembered=True):
            if cost > MAX_EVALUATIONS:
                raise SchemaError(
                    f"its parts multiply to more than {MAX_EVALUATIONS} evaluations of one value",
                    where=where,
                )

    def of_describing(self, depth: int) -> int:
        """The most evaluations of one place when faults are collected in a value so deep."""
        if self._describing is None:
            greatest = 1
            table: list[int] = []
            for cost in self.levels(remembered=False):
                greatest = max(greatest, cost)
                table.append(greatest)
            self._describing = table or [greatest]
        return self._describing[min(depth, len(self._describing) - 1)]

    def _is_small(self) -> bool:
        """Whether all of the schema, each reference written out, is within the bound."""
        size: dict[Node, int] = {}
        for node in self._inside_first:
            if node.dynamic:
                return False
            written_out = sum(size.get(target, 0) for target in node.applied())
            size[node] = _capped(1 + _factor(node) * written_out)
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
        rows = self._rows_remembered if remembered else self._rows(remembered=False)
        applied = [self._index[node] for node in (roots or [self._root])]
        children = [beneath.get(node, 0) if beneath else 0 for node in self._index]
        cost = [1 if own is None else own.get(node, 0) for node in self._index]
        for row in rows:
            cost[row.node] = _capped(cost[row.node] + row.of_the_same_place(cost))
        yield sum([cost[root] for root in applied])
        for level in range(_MAX_LEVELS):
            deeper = [0] * len(cost) if level else children
            for row in rows:
                passed_on = row.of_the_same_place(deeper) + row.of_the_place_above(cost)
                deeper[row.node] = _capped(deeper[row.node] + passed_on)
            if deeper == cost and level:
                return
            cost = deeper
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

    @property
    def size(self) -> int:
        """How many steps each level takes."""
        return 1 + len(self._rows_remembered)

    @functools.cached_property
    def _rows_remembered(self) -> list[_Row]:
        return self._rows(remembered=True)

    def _rows(self, *, remembered: bool) -> list[_Row]:
        index = self._index
        return [
            _Row(
                number,
                _factor(node),
                [index[t] for t in node.here if not (remembered and t in node.recursive)],
                [index[t] for t in node.dynamic],
                [index[t] for t in node.named],
                [index[t] for t in node.below],
            )
            for node, number in index.items()
            if node.here or node.dynamic or node.named or node.below
        ]


@attrs.frozen
class _Row:
    """A node that others apply within, all by their numbers."""

    node: int
    factor: int
    here: list[int]
    dynamic: list[int]
    named: list[int]
    below: list[int]

    def of_the_same_place(self, costs: list[int]) -> int:
        passed_on = 0
        for target in self.here:
            passed_on += costs[target]
        if self.dynamic:
            # A dynamic reference means one of its candidates at a time.
            passed_on += max([costs[target] for target in self.dynamic])
        return self.factor * passed_on

    def of_the_place_above(self, costs: list[int]) -> int:
        passed_on = max([costs[target] for target in self.named]) if self.named else 0
        for target in self.below:
            passed_on += costs[target]
        return passed_on


def _capped(cost: int) -> int:
    return min(cost, _ENOUGH)


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
        stack = [(start, start.applied())]
        while stack:
            node, targets = stack[-1]
            for target in targets:
                inside = state.get(target)
                if inside is None:
                    state[target] = True
                    stack.append((target, target.applied()))
                    break
                if inside:
                    found = True
                    if target in node.here:
                        node.recursive.append(target)
            else:
                state[node] = False
                order.append(node)
                stack.pop()
    return order, found


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


def _reaches_itself(start: Node) -> bool:
    seen: set[Node] = set()
    pending = list(start.here)
    while pending:
        node = pending.pop()
        if node is start:
            return True
        if node not in seen:
            seen.add(node)
            pending += node.here
    return False
