"""Pydantic models, by the methods they have: nothing of pydantic is imported.

The schema is the model's own, with its definitions brought in: those that are not recursive
are put where they are used, the others join the definitions of the walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from trio_mcp._codec._json import dumps
from trio_mcp._codec._schema import describe_value
from trio_mcp.types._base import is_array, is_object

from ._errors import HintError, Mismatch, told_by, told_in
from ._shape import ANY_TYPE, JSON_CLASSES, Conversion, JsonType, Shape, json_type
from ._to_json import pydantic_dump, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types._base import JsonObject

_OBJECT: Final[frozenset[JsonType]] = frozenset(("object",))
_WHOLE: Final[frozenset[JsonType]] = frozenset(("integer",))
_PREFIX: Final = "#/$defs/"
# Values, not schemas: a "$ref" in them is data.
_DATA: Final = frozenset(("default", "examples", "const", "enum"))
_MAPS: Final = frozenset(("properties", "patternProperties", "dependentSchemas"))
# OpenAPI's discriminator only repeats what the arms say, and names definitions.
_DROPPED: Final = frozenset(("$ref", "$defs", "discriminator"))


def is_pydantic_model(cls: Any) -> bool:
    return isinstance(cls, type) and all(
        hasattr(cls, name) for name in ("model_json_schema", "model_validate_json", "model_dump")
    )


def pydantic_shape(
    cls: Any, *, is_result: bool, definitions: JsonObject, unique_name: Callable[[str], str]
) -> Shape:
    """Make the shape of a pydantic model.

    Raises:
      HintError: if pydantic makes no schema of it.

    """
    try:
        schema = cls.model_json_schema(mode="serialization" if is_result else "validation")
    except Exception as exc:
        # Pydantic has no common base for what it raises here, nor may we import it.
        raise HintError(cls, f"pydantic makes no JSON Schema of it ({exc})") from exc
    absorbed = absorb(schema, definitions, unique_name)
    types = json_types_of(absorbed, definitions, is_result=is_result)
    return Shape(absorbed, types, _reader(cls), _writer(cls))


def json_types_of(
    schema: JsonObject, definitions: JsonObject, *, is_result: bool
) -> frozenset[JsonType]:
    """Tell what JSON types a schema of pydantic admits.

    Args:
      schema: With its definitions brought in.
      definitions: Those that are recursive.
      is_result: An object has to say that it is one, for the root of an output schema must.

    """
    types = _types_in(schema, definitions, set())
    if is_result and types == _OBJECT:
        target = _target(schema)
        root = schema if target is None else definitions[target]
        return _OBJECT if root.get("type") == "object" else ANY_TYPE
    return types


def _types_in(schema: JsonObject, definitions: JsonObject, seen: set[str]) -> frozenset[JsonType]:
    target = _target(schema)
    if target is not None:
        if target in seen:
            return frozenset()  # what it is besides decides
        return _types_in(definitions[target], definitions, {*seen, target})
    named: Any = schema.get("type")
    if named is not None:
        types: frozenset[Any] = frozenset((named,) if isinstance(named, str) else named)
        return types | _WHOLE if "number" in types else types
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return frozenset[JsonType]().union(
                *(_types_in(arm, definitions, seen) for arm in schema[keyword])
            )
    listed: Any = [schema["const"]] if "const" in schema else schema.get("enum")
    return ANY_TYPE if listed is None else frozenset[JsonType](map(json_type, listed))


def _reader(cls: Any) -> Conversion:
    def structure(value: Any) -> Any:
        try:
            # As JSON, since a strict model takes a date from JSON text and not from a str.
            return cls.model_validate_json(dumps(value))
        except ValueError as exc:
            raise mismatch_of(f"a {cls.__name__}", exc, value) from exc

    return structure


def mismatch_of(noun: str, error: Exception, value: Any) -> Mismatch:
    """Say in one sentence what pydantic says in several, without its links.

    Args:
      noun: What was wanted.
      error: What pydantic raised.
      value: What it was given.

    """
    if not callable(getattr(error, "errors", None)):
        return Mismatch(f"{noun} ({told_by(error)})", describe_value(value))
    first: Any = cast("Any", error).errors()[0]
    found: Any = first["input"]
    # A validator may have made something of it that is no JSON.
    got = describe_value(found if type(found) in JSON_CLASSES else value)
    return Mismatch(f"{noun} ({told_in(first)})", got).under(*first["loc"])


def _writer(cls: Any) -> Conversion:
    def unstructure(value: Any) -> Any:
        if isinstance(value, dict):
            # In place of the model: its defaults are filled in, its rules hold.
            try:
                return pydantic_dump(cls.model_validate(value))
            except ValueError as exc:
                raise mismatch_of(f"a {cls.__name__}", exc, value) from exc
        return to_json(value)

    return unstructure


def absorb(
    schema: JsonObject, definitions: JsonObject, unique_name: Callable[[str], str]
) -> JsonObject:
    """Return a schema without ``$defs`` of its own, adding recursive ones to `definitions`."""
    local: JsonObject = schema.get("$defs", {})
    recursive = {name for name in local if _reaches(name, local)}
    names = {name: unique_name(name) for name in sorted(recursive)}

    def inlined(node: Any) -> Any:
        kept = _rebuilt(node, inlined)
        target = _target(node)
        if target is None:
            return kept
        if target in recursive:
            return {"$ref": _PREFIX + names[target], **kept}
        return {**inlined(local[target]), **kept}

    for name in recursive:
        definitions[names[name]] = inlined(local[name])
    made: JsonObject = inlined(schema)
    return made


def _reaches(name: str, local: JsonObject) -> bool:
    seen: set[str] = set()
    pending = list(_references(local[name]))
    while pending:
        current = pending.pop()
        if current == name:
            return True
        if current in local and current not in seen:
            seen.add(current)
            pending += _references(local[current])
    return False


def _references(node: Any) -> list[str]:
    found: list[str] = []

    def collect(inner: Any) -> Any:
        target = _target(inner)
        if target is not None:
            found.append(target)
        return _rebuilt(inner, collect)

    collect(node)
    return found


def _target(node: Any) -> str | None:
    target: Any = node.get("$ref") if is_object(node) else None
    if isinstance(target, str) and target.startswith(_PREFIX):
        return target.removeprefix(_PREFIX)
    return None


def _rebuilt(node: Any, each: Callable[[Any], Any]) -> Any:
    """Copy a schema without references and definitions, its subschemas passed through `each`."""
    if is_array(node):
        return [each(inner) for inner in node]
    if not is_object(node):
        return node
    copied: JsonObject = {}
    for key, value in node.items():
        if key in _MAPS and is_object(value):
            copied[key] = {name: each(inner) for name, inner in value.items()}
        elif key in _DATA:
            copied[key] = value
        elif key not in _DROPPED:
            copied[key] = each(value)
    return copied
