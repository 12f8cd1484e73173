"""The full engine: jsonschema-rs, which gets everything right and generates no code.

Its verdict is always asked for first (`is_valid` remembers what it found in recursive schemas).
Only then the fault is described, which can cost far more than the verdict: the engine collects
every fault of every alternative. So how much is asked depends on the bound of `_cost`.

Imported when the first schema needs it: the library takes 6 MB and some 20 ms, and many processes
check nothing.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

import jsonschema_rs

from trio_mcp.types._base import is_array, is_object

from ._bounds import private_copy
from ._budget import MAX_STEPS, Budget
from ._cost import Costs
from ._errors import EngineDisagreement, SchemaError, UnsupportedPattern
from ._graph import SchemaGraph, patterns_of
from ._paths import path_text, quote
from ._pattern_cost import spend_on_patterns
from ._patterns import guard_patterns, pattern_options, translate_patterns
from ._size import measure
from ._violation import Violation, describe_value, locate, violation_of
from ._work import (
    MAX_DESCRIBED,
    MAX_WORK,
    Work,
    compares_items,
    compares_too_much,
    steps_of_comparing,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types._base import JsonValue

    from ._dialects import Dialect

# The codec lets nothing deeper in. The engine overflows its stack at some 20,000 levels, which
# only recursive schemas can make it walk.
MAX_VALUE_DEPTH: Final = 128

# Evaluations that may be spent on all faults, and on the first. One costs up to 15 us there.
_COLLECTING_BUDGET: Final = 20_000
_FIRST_BUDGET: Final = 200_000
# A metaschema's own faults are collected in up to 0.1 s for so many subschemas.
_DESCRIBED_SUBSCHEMAS: Final = 500


class FullEngine:
    """Checks values by the whole of a schema's dialect.

    Args:
      schema: A private copy, which is not changed.
      dialect: The dialect it is in.
      trusted: Whether it was written in this process. A peer's patterns get tighter bounds.
      where: What the schema belongs to, for errors.

    Raises:
      SchemaError: if the schema cannot be used.

    """

    def __init__(
        self, schema: JsonValue, dialect: Dialect, *, trusted: bool, where: str = "schema"
    ) -> None:
        if not isinstance(schema, (dict, bool)):
            raise SchemaError(
                f"expected object or boolean, got {describe_value(schema)}", where=where
            )
        budget = Budget(where) if trusted else Budget(where, MAX_STEPS)
        _check_valid(schema, dialect, budget, where)
        schema = private_copy(schema, where=where)  # patterns are spelled anew in it
        graph = SchemaGraph(schema, dialect, where=where, budget=budget)
        nodes = graph.nodes
        if not trusted:
            spend_on_patterns(chain.from_iterable(patterns_of(n.schema) for n in nodes), budget)
        translate_patterns(nodes)
        self._costs = Costs(graph, budget)
        self._costs.check(where=where)
        self._has_alternatives = graph.has_alternatives
        self._is_recursive = self._costs.is_recursive
        self._work = None if trusted else Work(self._costs, nodes, budget)
        self._compares_items = compares_items(nodes)
        if not trusted:
            guard_patterns(nodes, dialect, where)
        engine_class = getattr(jsonschema_rs, dialect.engine_class)
        try:
            self._validator: jsonschema_rs.Validator = engine_class(
                schema,
                validate_formats=False,
                offline=True,
                pattern_options=pattern_options(trusted=trusted),
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as exc:
            raise _unusable(exc, schema, where) from exc
        self._is_valid: Callable[[JsonValue], bool] = self._validator.is_valid

    def faults(self, value: JsonValue, limit: int) -> list[Violation]:
        """What is wrong with a value: at least one thing, unless it fits.

        Args:
          value: The value.
          limit: How many faults to tell at most.

        """
        if self._is_recursive and _is_deep(value):
            return [_too_deep()]
        work = self._own_work(value) if self._work is None else self._work.of(value)
        if work > MAX_WORK:
            return [_too_much(value)]
        try:
            fits = self._is_valid(value)
        except ValueError:
            # It copies items that have to differ, and refuses to copy more than 250 levels.
            if not _is_deep(value):
                raise
            fits = False
        if fits:
            return []
        return [_misfit(value)] if work > MAX_DESCRIBED else self._described(value, limit)

    def _own_work(self, value: JsonValue) -> int:
        # The author of our own schema chose what it costs, but not what a peer puts in.
        return MAX_WORK + 1 if self._compares_items and compares_too_much(value) else 0

    def _described(self, value: JsonValue, limit: int) -> list[Violation]:
        size, depth = measure(value, _FIRST_BUDGET)
        work = size * self._costs.of_describing(depth)
        try:
            if limit > 1 and work <= _COLLECTING_BUDGET:
                # In the engine's order, which is that of the schema and the same every time.
                errors = list(self._validator.iter_errors(value))
                return [violation_of(error, value) for error in errors[:limit]]
            simple = not self._is_recursive and not self._has_alternatives
            if simple or work <= _FIRST_BUDGET:
                self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return [violation_of(error, value)]
        except ValueError:
            # It refuses to copy a value of more than 250 levels into its error.
            pass
        else:
            if simple or work <= _FIRST_BUDGET:
                raise EngineDisagreement("a value that does not fit has no fault")
        return [_misfit(value)]


def _check_valid(schema: JsonValue, dialect: Dialect, budget: Budget, where: str) -> None:
    """Refuse what the dialect's metaschema refuses."""
    budget.spend(steps_of_comparing(schema))
    if jsonschema_rs.meta.is_valid(schema):
        return
    reason, path = f"is not valid in dialect {dialect.name}", ""
    if measure(schema, _DESCRIBED_SUBSCHEMAS)[0] < _DESCRIBED_SUBSCHEMAS:
        try:
            jsonschema_rs.meta.validate(schema)
        except jsonschema_rs.ValidationError as error:
            violation = violation_of(error, schema)
            reason, path = f"expected {violation.expected}, got {violation.got}", violation.path
    raise SchemaError(reason, path=path, where=where)


def _unusable(exc: Exception, schema: JsonValue, where: str) -> SchemaError:
    """The engine's refusal to compile, in our words where they say more."""
    path: list[str | int] = []
    if isinstance(exc, jsonschema_rs.ValidationError):
        path, _ = locate(exc, schema)
        if exc.kind.name == "format" and isinstance(exc.instance, str):
            # Formats are not checked: this is how it refuses patterns.
            reason = f"{quote(exc.instance)} is no regular expression that can be used"
            return UnsupportedPattern(reason, path=path_text(path), where=where)
    return SchemaError(str(exc).partition("\n")[0], path=path_text(path), where=where)


def _is_deep(value: JsonValue) -> bool:
    level = [value]
    for _ in range(MAX_VALUE_DEPTH + 1):
        level = [
            child
            for container in level
            if (is_object(container) or is_array(container))
            for child in (container.values() if is_object(container) else container)
            if (is_object(child) or is_array(child))
        ]
        if not level:
            return False
    return True


def _too_deep() -> Violation:
    return Violation(
        path="",
        expected=f"at most {MAX_VALUE_DEPTH} levels of nesting",
        got="a deeper value",
        keyword="$schema",
    )


def _misfit(value: JsonValue) -> Violation:
    return Violation("", "a value that fits the schema", describe_value(value), "$schema")


def _too_much(value: JsonValue) -> Violation:
    return Violation(
        path="",
        expected="a value whose check is bounded in time",
        got=f"{describe_value(value)}, which is too big for this schema",
        keyword="$schema",
    )
