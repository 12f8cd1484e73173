"""The metadata of ``Annotated``, read by the names of its attributes.

Nothing is imported for it: annotated-types (``Ge(1)``), ``msgspec.Meta``, pydantic's
``Field(...)`` and any class with the same attributes work. A str is the description, a dict
is merged into the schema. What a schema cannot say is checked on the value (`_checks`), and
validators of pydantic are run (`_adapted`). Anything else is left alone, as PEP 593 asks.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from ._checks import Bound, checked, checks_in, has_flags
from ._errors import HintError
from ._to_json import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from trio_mcp.types._base import JsonObject

    from ._checks import Check
    from ._shape import Shape

_BOUNDS: Final[dict[str, tuple[str, Callable[[Any, Any], bool], str]]] = {
    "ge": ("minimum", operator.ge, "at least"),
    "gt": ("exclusiveMinimum", operator.gt, "more than"),
    "le": ("maximum", operator.le, "at most"),
    "lt": ("exclusiveMaximum", operator.lt, "less than"),
    "multiple_of": ("multipleOf", lambda value, step: value % step == 0, "a multiple of"),
}
_LENGTHS: Final[dict[str, tuple[str, Callable[[Any, Any], bool], str]]] = {
    "min_length": ("min", operator.ge, "at least"),
    "max_length": ("max", operator.le, "at most"),
}
_SIZES: Final = {"string": "Length", "array": "Items", "object": "Properties"}


def constrained(shape: Shape, metadata: tuple[Any, ...], hint: Any) -> Shape:
    """Apply the metadata of an ``Annotated`` to the shape of what it annotates.

    Raises:
      HintError: if a bound cannot be written in JSON.

    """
    schema = dict(shape.schema)
    checks: list[Check] = []
    for each in flattened(metadata):
        if isinstance(each, str):
            schema["description"] = each
        elif isinstance(each, dict):
            schema |= to_json(each)
        else:
            _add_texts(schema, each)
            _add_bounds(schema, shape, each, hint, checks)
            _add_extra(schema, each)
            checks += checks_in(each, hint)
    structure = checked(shape.structure, tuple(checks)) if checks else shape.structure
    return attrs.evolve(shape, schema=schema, structure=structure)


def flattened(metadata: Any, *, classes: bool = False) -> Iterator[Any]:
    """Yield each piece of metadata, and those that a group or a pydantic ``Field`` holds.

    Args:
      metadata: Of an ``Annotated``.
      classes: Yield classes, too. They are no constraints: ``Annotated[CallToolResult, Model]``.

    """
    for each in metadata:
        if isinstance(each, type):
            if classes:
                yield each
            continue
        yield each
        inner: Any = getattr(each, "metadata", None)
        if getattr(each, "__is_annotated_types_grouped_metadata__", False):
            yield from flattened(each)
        elif isinstance(inner, (list, tuple)):
            yield from flattened(cast("Iterable[Any]", inner))


def alias_of(metadata: Any) -> str | None:
    """Return the name in JSON that metadata gives a parameter, if it does."""
    for each in flattened(metadata):
        for name in ("validation_alias", "alias"):
            alias = getattr(each, name, None)
            if isinstance(alias, str):
                return alias
    return None


def _add_texts(schema: JsonObject, metadata: Any) -> None:
    for name in ("title", "description"):
        text = getattr(metadata, name, None)
        if isinstance(text, str) and not isinstance(metadata, str):
            schema[name] = text
    text = getattr(metadata, "documentation", None)  # Doc of PEP 727
    if isinstance(text, str):
        schema["description"] = text
    examples: Any = getattr(metadata, "examples", None)
    if isinstance(examples, (list, tuple)):
        schema["examples"] = to_json(list(cast("Iterable[Any]", examples)))
    if getattr(metadata, "deprecated", None):
        schema["deprecated"] = True


def _add_extra(schema: JsonObject, metadata: Any) -> None:
    for name in ("json_schema_extra", "extra_json_schema"):
        extra: Any = getattr(metadata, name, None)
        if isinstance(extra, dict):
            schema |= to_json(extra)
        elif callable(extra):
            extra(schema)


def _add_bounds(
    schema: JsonObject, shape: Shape, metadata: Any, hint: Any, checks: list[Check]
) -> None:
    for name, (keyword, compare, words) in _BOUNDS.items():
        bound = _given(metadata, name)
        if bound is None:
            continue
        if shape.bounded_by == "value":
            checks.append(Bound(compare, bound, f"{words} {bound}"))
        else:
            schema[keyword] = _number(bound, hint)
    for name, (keyword, compare, words) in _LENGTHS.items():
        length = _given(metadata, name)
        if length is None or (length == 0 and keyword == "min"):
            continue
        if shape.bounded_by == "length":
            checks.append(Bound(compare, length, f"{words} {length} bytes", measure=len))
        else:
            for json_type, size in _SIZES.items():
                if json_type in shape.types:
                    schema[keyword + size] = int(length)
    pattern = _given(metadata, "pattern")
    if pattern is not None and not has_flags(pattern):
        schema["pattern"] = str(getattr(pattern, "pattern", pattern))  # compiled, or not


def _given(metadata: Any, name: str) -> Any:
    value = getattr(metadata, name, None)
    return None if callable(value) else value


def _number(bound: Any, hint: Any) -> int | float:
    if isinstance(bound, (int, float)) and not isinstance(bound, bool):
        return bound
    try:
        return float(bound)
    except (TypeError, ValueError):
        raise HintError(hint, f"the bound {bound!r} is no number") from None
