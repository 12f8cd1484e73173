"""Shapes of classes with named fields."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._codec._schema import SchemaError, describe_value
from trio_mcp.mcpserver._docstring import parse_docstring

from ._containers import converted
from ._defaults import default_fits, show_default
from ._errors import HintError, Mismatch, show, told_by
from ._records import NOTHING, Record, RecordField, field_hints
from ._shape import Conversion, Shape
from ._to_json import to_json

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject

    from ._scope import Scope
    from ._walk import Walker

_REQUIRED: Final = {"Required": True, "NotRequired": False}


@attrs.frozen(eq=False)
class RecordReader:
    """Reads the fields of one class, as part of a walk."""

    walker: Walker
    record: Record
    arguments: dict[Any, Any]

    @property
    def name(self) -> str:
        given = (show(each).rpartition(".")[2] for each in self.arguments.values())
        return "_".join((self.record.cls.__name__, *given))

    def build(self) -> Shape:
        cls = self.record.cls
        hints = field_hints(cls, self.walker.scope, self.arguments)
        told = _docstring_of(cls)
        fields = [
            self._field(each, *hints.get(each.attribute, (Any, self.walker.scope)), told.params)
            for each in self.record.fields
            if (each.readable if self.walker.is_result else each.settable)
        ]
        schema = self._schema(fields, told.text)
        structure = None if self.walker.is_result else self._structure(fields)
        return Shape(schema, frozenset(("object",)), structure, to_json)

    def _field(self, field: RecordField, hint: Any, scope: Scope, told: dict[str, str]) -> _Field:
        required, hint = _unqualified(hint, field.required)
        hint = _of_init_variable(hint)
        if field.default is None and not field.required:
            hint = typing.Optional[hint]  # noqa: UP045 - of a value, not in a hint
        shape = self.walker.within(scope, hint)
        schema = dict(shape.schema)
        text = told.get(field.name)
        if text is not None:
            schema.setdefault("description", text)
        if field.default is not NOTHING:
            if self._could_be_sent(field, hint, scope, shape):
                show_default(shape, schema, field.default)
            else:
                schema.pop("default", None)
        return _Field(field, attrs.evolve(shape, schema=schema), required)

    def _could_be_sent(self, field: RecordField, hint: Any, scope: Scope, shape: Shape) -> bool:
        """Tell whether a client could send a default.

        Raises:
          HintError: if it does not fit the hint, as it stands, and the class makes nothing else
            of it: its object would not be what it says. Results are made by their author.

        """
        cls, default = self.record.cls, field.default
        if self.walker.is_result or default in ([], (), {}, set()):
            return True
        before, self.walker.scope = self.walker.scope, scope
        try:
            fits, can_be_sent = default_fits(self.walker, shape, hint, default)
        except SchemaError:
            return True  # what contains itself cannot be checked before it is finished
        finally:
            self.walker.scope = before
        if not fits and not _converts(self.record, field):
            which = f"the default {default!r:.80} of {field.name!r}"
            raise HintError(cls, f"{which} does not fit the hint {show(hint)}")
        return fits and can_be_sent

    def _schema(self, fields: list[_Field], description: str) -> JsonObject:
        cls = self.record.cls
        schema: JsonObject = {"type": "object", "title": cls.__name__}
        if description:
            schema["description"] = description
        tag = self.record.tag
        schema["properties"] = {} if tag is None else {tag[0]: {"const": tag[1]}}
        schema["properties"] |= {each.field.wire: each.shape.schema for each in fields}
        required = [each.field.wire for each in fields if each.required]
        if tag is not None:
            required.insert(0, tag[0])
        if required:
            schema["required"] = required
        if self.walker.is_closed or self.record.is_closed:
            schema["additionalProperties"] = False
        return schema

    def _structure(self, fields: list[_Field]) -> Conversion | None:
        if self.record.kind == "typeddict":
            return _dict_structure(fields)
        return _object_structure(self.record.cls, fields)


@attrs.frozen(eq=False)
class _Field:
    field: RecordField
    shape: Shape
    required: bool


_CONVERTERS: Final = ("__attrs_post_init__", "__post_init__")


def _converts(record: Record, field: RecordField) -> bool:
    """Tell whether a class may make something else of what a field is given."""
    cls: Any = record.cls
    if any(hasattr(cls, name) for name in _CONVERTERS):
        return True
    if record.kind != "attrs":
        return False
    return getattr(attrs.fields_dict(cls).get(field.attribute), "converter", None) is not None


def _docstring_of(cls: type) -> Any:
    """Read what the author wrote, which is not what dataclasses and NamedTuple fill in."""
    text = cls.__dict__.get("__doc__")
    if not isinstance(text, str) or text.startswith(f"{cls.__name__}("):
        text = ""
    return parse_docstring(inspect.cleandoc(text))


def _unqualified(hint: Any, required: bool) -> tuple[bool, Any]:
    """Take ``Required``, ``NotRequired`` and ``ReadOnly`` off a hint."""
    while True:
        name = getattr(typing.get_origin(hint), "_name", None)
        if name in _REQUIRED:
            required = _REQUIRED[name]
        elif name != "ReadOnly":
            return required, hint
        (hint,) = typing.get_args(hint)


def _of_init_variable(hint: Any) -> Any:
    return hint.type if hint.__class__ is dataclasses.InitVar else hint


def _dict_structure(fields: list[_Field]) -> Conversion | None:
    makers = [
        (each.field.wire, each.shape.structure)
        for each in fields
        if each.shape.structure is not None
    ]
    if not makers:
        return None

    def structure(value: JsonObject) -> JsonObject:
        made = dict(value)
        for name, make in makers:
            if name in value:
                made[name] = converted(name, make, value[name])
        return made

    return structure


def _object_structure(cls: Any, fields: list[_Field]) -> Conversion:
    makers = [(each.field.wire, each.field.name, each.shape.structure) for each in fields]

    def structure(value: JsonObject) -> Any:
        given = {
            name: converted(wire, make, value[wire])
            for wire, name, make in makers
            if wire in value
        }
        try:
            return cls(**given)
        except ValueError as exc:
            # A rule of the class, which attrs validators and __post_init__ report like this.
            raise Mismatch(f"a {cls.__name__} ({told_by(exc)})", describe_value(value)) from exc

    return structure
