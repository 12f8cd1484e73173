"""Forms: a class as the questions of a form, and an answer as an object of the class.

A form is flat: text, numbers, yes or no, and choices of text (elicitation, requested schema).
The same walk over the hints that publishes tools makes the schema and reads the answer.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, get_origin

import attrs

from trio_mcp._codec._schema import compile_validator
from trio_mcp.types._base import is_array, is_object

from ._elicitation_choices import titles_of_choices
from ._hints import HintError, Mismatch, Scope, Walker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp._codec._schema import Validator
    from trio_mcp.types._base import JsonObject

    from ._hints import Shape

T = TypeVar("T")


class FormError(ValueError):
    """An answer does not fit its form."""


@attrs.frozen(eq=False)
class Form(Generic[T]):
    """A class as a form.

    Attributes:
      schema: What is asked: the ``requestedSchema``.

    """

    schema: JsonObject
    _shape: Shape
    _validator: Validator

    def read(self, content: Mapping[str, Any]) -> T:
        """Make an object of the class of what was filled in.

        Raises:
          FormError: if it does not fit; names the field.

        """
        required = self.schema.get("required", ())
        # Clients send null for what was left empty.
        given = {
            name: value for name, value in content.items() if value is not None or name in required
        }
        violation = self._validator.check(given)
        if violation is not None:
            raise FormError(violation.message)
        try:
            made: T = given if self._shape.structure is None else self._shape.structure(given)  # type: ignore[assignment]  # a TypedDict
        except Mismatch as mismatch:
            raise FormError(str(mismatch)) from mismatch
        return made


def form_of(cls: type[T]) -> Form[T]:
    """Make the form of an attrs class, dataclass, TypedDict, pydantic model or msgspec struct.

    Raises:
      TypeError: if it is no class with fields, or a field is more than a form can ask.

    """
    try:
        known = _KNOWN.get(cls)
    except TypeError:  # a generic alias has no weak references
        return _make_form(cls)
    if known is None:
        known = _KNOWN[cls] = _make_form(cls)
    return known


_KNOWN: Final[weakref.WeakKeyDictionary[Any, Form[Any]]] = weakref.WeakKeyDictionary()


def _make_form(cls: type[T]) -> Form[T]:
    name = getattr(cls, "__name__", str(cls))
    walker = Walker(Scope.of_class(get_origin(cls) or cls), is_open=True)
    try:
        shape = walker.shape(cls)
        document = walker.document(shape.schema)
        titles = titles_of_choices(cls)
    except HintError as exc:
        raise TypeError(f"{name} cannot be a form: {exc}") from exc
    properties = document.get("properties")
    if document.get("type") != "object" or not is_object(properties):
        raise TypeError(f"{name} cannot be a form: it has no fields")
    fields = {
        field: _question(f"{name}.{field}", schema, titles.get(field, {}))
        for field, schema in properties.items()
    }
    asked: JsonObject = {"type": "object", "properties": fields}
    if document.get("required"):
        asked["required"] = list(document["required"])
    return Form(asked, shape, compile_validator(document, trusted=True, where=name))


def _question(where: str, schema: Any, titles: Mapping[str, str]) -> JsonObject:
    """Write a field's schema in the words that forms have."""
    found = _without_null(schema)
    kind = found.get("type")
    choices = _choices(found, titles)
    if choices is not None:
        return _worded({"type": "string", **choices}, found, ())
    if kind == "array":
        items = _choices(_without_null(found.get("items")), titles)
        if items is not None:
            spelled = (
                {"anyOf": items["oneOf"]} if "oneOf" in items else {"type": "string", **items}
            )
            return _worded({"type": "array", "items": spelled}, found, ("minItems", "maxItems"))
    if kind == "string" and "enum" not in found:
        asked = _worded({"type": kind}, found, ("minLength", "maxLength"))
        if found.get("format") in _FORMATS:
            asked["format"] = found["format"]
        return asked
    if kind == "boolean" and "enum" not in found and "const" not in found:
        return _worded({"type": kind}, found, ())
    if kind in ("integer", "number") and "enum" not in found and "const" not in found:
        return _worded({"type": kind}, _with_inclusive_bounds(found), ("minimum", "maximum"))
    raise TypeError(
        f"{where} cannot be asked in a form, which has text, numbers, yes or no, and choices of "
        f"text: {_shown(found)} is none of these"
    )


_FORMATS: Final = ("email", "uri", "date", "date-time")


def _worded(asked: JsonObject, found: JsonObject, keywords: tuple[str, ...]) -> JsonObject:
    for keyword in ("title", "description", *keywords, "default"):
        if found.get(keyword) is not None:
            asked[keyword] = found[keyword]
    return asked


def _without_null(given: Any) -> JsonObject:
    """Take out null: a field that may be left empty is one that is not required."""
    schema: JsonObject = given if is_object(given) else {}
    arms = schema.get("anyOf")
    if is_array(arms):
        kept = [each for each in arms if each != {"type": "null"}]
        if len(kept) == 1 and is_object(kept[0]):
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return _without_null({**kept[0], **rest})
    kinds = schema.get("type")
    if is_array(kinds):
        named = [each for each in kinds if each != "null"]
        if len(named) == 1:
            schema = {**schema, "type": named[0]}
    return schema


def _choices(schema: JsonObject, titles: Mapping[str, str]) -> JsonObject | None:
    """Give the ``enum`` or ``oneOf`` of a choice of text; None if it is none."""
    titled = schema.get("oneOf")
    if is_array(titled) and all(is_object(each) and "const" in each for each in titled):
        titles = {each["const"]: each.get("title", each["const"]) for each in titled}
        values: list[Any] = list(titles)
    else:
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if not is_array(listed):
            return None
        values = [each for each in listed if each is not None]
    if not values or not all(isinstance(each, str) for each in values):
        return None
    if titles:
        return {"oneOf": [{"const": each, "title": titles.get(each, each)} for each in values]}
    return {"enum": values}


def _with_inclusive_bounds(schema: JsonObject) -> JsonObject:
    # Forms have no exclusive bounds; the answer is checked against those afterwards.
    if schema["type"] != "integer":
        return schema
    made = dict(schema)
    for exclusive, inclusive, step in (
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ):
        if isinstance(made.get(exclusive), int):
            made.setdefault(inclusive, made[exclusive] + step)
    return made


def _shown(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, str):
        return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
    return "one of several types" if "anyOf" in schema or kind else "anything"
