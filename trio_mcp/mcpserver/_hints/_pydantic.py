"""Pydantic models, by the methods they have: nothing of pydantic is imported.

The schema is the model's own, with its definitions brought in: those that are not recursive
are put where they are used, the others join the definitions of the walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trio_mcp._codec._json import dumps
from trio_mcp._codec._schema import describe_value
from trio_mcp.types._base import is_array, is_object

from ._errors import HintError, Mismatch
from ._shape import ANY_TYPE, Conversion, JsonType, Shape
from ._to_json import pydantic_dump, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types._base import JsonObject

_OBJECT: Final[frozenset[JsonType]] = frozenset(("object",))
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
    target = _target(absorbed)
    root = absorbed if target is None else definitions[target]
    types = _OBJECT if root.get("type") == "object" else ANY_TYPE
    return Shape(absorbed, types, _reader(cls), _writer(cls))


def _reader(cls: Any) -> Conversion:
    def structure(value: Any) -> Any:
        try:
            # As JSON, since a strict model takes a date from JSON text and not from a str.
            return cls.model_validate_json(dumps(value))
        except ValueError as exc:
            raise _mismatch(cls, exc, value) from exc

    return structure


def _mismatch(cls: Any, error: Any, value: Any) -> Mismatch:
    listed = getattr(error, "errors", None)
    if not callable(listed):
        return Mismatch(f"a {cls.__name__}", describe_value(value))
    first: Any = error.errors()[0]
    return Mismatch(f"a {cls.__name__} ({first['msg']})", describe_value(first["input"])).under(
        *first["loc"]
    )


def _writer(cls: Any) -> Conversion:
    def unstructure(value: Any) -> Any:
        if isinstance(value, dict):
            # In place of the model: its defaults are filled in, its rules hold.
            try:
                return pydantic_dump(cls.model_validate(value))
            except ValueError as exc:
                raise _mismatch(cls, exc, value) from exc
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
