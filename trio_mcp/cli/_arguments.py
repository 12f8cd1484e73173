"""``key=value`` words, read by the schema of what they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trio_mcp._codec import JsonError, loads
from trio_mcp.cli._mistakes import UsageMistake
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trio_mcp.types._base import JsonObject, JsonValue

MAX_STEPS: Final = 100
"""How many schemas are looked at to learn the types of one argument."""


def read_json_object(text: str) -> JsonObject:
    """Read arguments that are given as JSON.

    Raises:
      UsageMistake: if the text is no JSON object.

    """
    try:
        value = loads(text)
    except JsonError as exc:
        raise UsageMistake(f"the arguments are no JSON: {exc}") from exc
    if not is_object(value):
        raise UsageMistake(f"the arguments are a JSON object, such as {{}}, not {text}")
    return value


def split_words(words: Sequence[str], json_text: str | None) -> tuple[JsonObject, dict[str, str]]:
    """Tell JSON and ``key=value`` words apart.

    Returns:
      The arguments that were given as JSON, and the texts of the others by their name.

    Raises:
      UsageMistake: if a word is neither, or an argument is given twice.

    """
    texts: dict[str, str] = {}
    json_texts = [] if json_text is None else [json_text]
    for word in words:
        if word.lstrip().startswith("{"):
            json_texts.append(word)
            continue
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise UsageMistake(f"an argument is key=value or a JSON object, not {word!r}")
        if key in texts:
            raise UsageMistake(f"{key} is given twice")
        texts[key] = text
    if len(json_texts) > 1:
        raise UsageMistake("the JSON of the arguments is given twice")
    given = read_json_object(json_texts[0]) if json_texts else {}
    for key in texts:
        if key in given:
            raise UsageMistake(f"{key} is given twice")
    return given, texts


def read_values(texts: dict[str, str], schema: JsonObject) -> JsonObject:
    """Read the texts of arguments as the values that a schema describes.

    What can only be a string is taken as it stands. What can be a string, too, is JSON of
    another allowed type, or else a string. Everything else is JSON. Whether the values fit is
    for the server to say.

    Raises:
      UsageMistake: if a text is no JSON, and cannot be a string.

    """
    return {key: read_value(key, text, schema) for key, text in texts.items()}


def read_value(key: str, text: str, schema: JsonObject) -> JsonValue:
    """Read one text; see `read_values`."""
    types = types_of(_property(schema, key), schema)
    if types == {"string"}:
        return text
    try:
        value = loads(text)
    except JsonError as exc:
        if not types or "string" in types:
            return text
        raise UsageMistake(f"{key}: expected {_describe(types)}, got {text!r}") from exc
    if "string" in types and not types & _types_of_value(value):
        return text
    return value


def types_of(schema: JsonValue, root: JsonObject) -> set[str]:
    """Collect the JSON types that a schema allows; the empty set stands for any."""
    found: set[str] = set()
    waiting: list[JsonValue] = [schema]
    for _ in range(MAX_STEPS):
        if not waiting:
            return found
        each = waiting.pop()
        if not is_object(each):
            return set()
        types = _own_types(each)
        if types is not None:
            found |= types
            continue
        inner = _inner(each, root)
        if not inner:
            return set()
        waiting += inner
    return set()


def _own_types(schema: JsonObject) -> set[str] | None:
    match schema:
        case {"type": str(name)}:
            return {name}
        case {"type": [*names]}:
            return {name for name in names if isinstance(name, str)}
        case {"const": value}:
            return _types_of_value(value)
        case {"enum": [_, *_] as values}:
            return {name for value in values for name in _types_of_value(value)}
        case _:
            return None


def _inner(schema: JsonObject, root: JsonObject) -> list[Any]:
    match schema:
        case {"anyOf": [*inner]} | {"oneOf": [*inner]}:
            return inner
        case {"allOf": [inner]}:
            return [inner]
        case {"$ref": str(pointer)}:
            return [_follow(pointer, root)]
        case _:
            return []


def _property(schema: JsonObject, key: str) -> JsonValue:
    match schema:
        case {"properties": {} as properties} if key in properties:
            return properties[key]
        case {"additionalProperties": {} as others}:
            return others
        case _:
            return None


def _follow(pointer: str, root: JsonObject) -> JsonValue:
    if pointer != "#" and not pointer.startswith("#/"):
        return None
    value: Any = root
    for part in pointer[2:].split("/") if len(pointer) > 1 else ():
        name = part.replace("~1", "/").replace("~0", "~")
        if not is_object(value) or name not in value:
            return None
        value = value[name]
    return value


def _types_of_value(value: JsonValue) -> set[str]:
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    if isinstance(value, float):
        # 2.0 is an integer to JSON Schema.
        return {"integer", "number"} if value.is_integer() else {"number"}
    if isinstance(value, str):
        return {"string"}
    return {"array"} if isinstance(value, list) else {"object"}


_EXAMPLES: Final = {
    "array": "a JSON array",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "a JSON object",
}


def _describe(types: Iterable[str]) -> str:
    return " or ".join(_EXAMPLES.get(name, name) for name in sorted(types))
