"""Classes with named fields, whichever library made them.

`read_record` looks at the class alone and touches no hint, so that it works on classes whose
hints cannot be resolved yet. `field_hints` finds the hints, each in the module of the class
that wrote it.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args, get_origin

import attrs
import msgspec

from ._scope import Scope
from ._shape import is_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RecordKind = Literal["attrs", "dataclass", "typeddict", "namedtuple", "msgspec", "annotated"]


class Nothing(enum.Enum):
    """The type of `NOTHING`."""

    NOTHING = "NOTHING"


NOTHING: Final = Nothing.NOTHING
"""In place of a default: there is none, or none that can be shown."""


@attrs.frozen
class RecordField:
    """One field.

    Attributes:
      name: The argument of the constructor.
      attribute: Where the value is found on an instance.
      wire: The name in JSON.
      required: It has no default.
      default: The default if it is a value that every instance shares or a fresh empty one.
      settable: The constructor takes it.
      readable: It is there afterwards.

    """

    name: str
    attribute: str
    wire: str
    required: bool
    default: Any = NOTHING
    settable: bool = True
    readable: bool = True


@attrs.frozen
class Record:
    """A class with named fields.

    Attributes:
      tag: Of a tagged msgspec struct: the member that names the class, and its value.
      is_closed: Other members are an error, says the class itself.

    """

    cls: type
    kind: RecordKind
    fields: tuple[RecordField, ...]
    tag: tuple[str, str | int] | None = None
    is_closed: bool = False


def read_record(cls: type) -> Record | None:
    """Describe a class, or return None if its instances have no named fields.

    A plain class with annotations counts ("annotated"): its instances can be written, though
    not made.
    """
    for is_one, read in _READERS:
        if is_one(cls):
            return read(cls)
    return None


def field_hints(
    cls: type, scope: Scope, arguments: Mapping[Any, Any]
) -> dict[str, tuple[Any, Scope]]:
    """Return the hint of each attribute, and the scope of the class that wrote it.

    Args:
      cls: The class.
      scope: Of what mentioned the class.
      arguments: The values of its own type parameters.

    Raises:
      UnknownName: if a string hint cannot be evaluated.

    """
    hints: dict[str, tuple[Any, Scope]] = {}
    by_class = _type_arguments(cls, arguments)
    for base in reversed(cls.__mro__):
        own = inspect.get_annotations(base)
        if not own:
            continue
        names = Scope.of_class(base, scope)
        known = by_class.get(base, {})
        for name, hint in own.items():
            resolved = _resolve(hint, names)
            hints[name] = (_substitute(resolved, known), names)
    if attrs.has(cls):
        for each in attrs.fields(cls):
            hints.setdefault(each.name, (Any if each.type is None else each.type, scope))
    return hints


def is_typed_dict(cls: Any) -> bool:
    # typing's and typing_extensions' are different classes.
    return hasattr(cls, "__required_keys__") and is_class(cls) and issubclass(cls, dict)


def is_named_tuple(cls: Any) -> bool:
    return hasattr(cls, "_fields") and is_class(cls) and issubclass(cls, tuple)


def _attrs_record(cls: Any) -> Record:
    fields = tuple(
        RecordField(
            name=each.alias,
            attribute=each.name,
            wire=each.alias,
            required=each.default is attrs.NOTHING,
            default=_shown_default(each.default),
            settable=each.init,
        )
        for each in attrs.fields(cls)
    )
    return Record(cls, "attrs", fields)


def _shown_default(default: Any) -> Any:
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a function to checkers
        return NOTHING if default.takes_self else _fresh(default.factory)
    return NOTHING if default is attrs.NOTHING else default


def _dataclass_record(cls: Any) -> Record:
    fields = tuple(
        RecordField(
            name=each.name,
            attribute=each.name,
            wire=each.name,
            required=each.default is _NONE and each.default_factory is _NONE,
            default=_fresh(each.default_factory) if each.default is _NONE else each.default,
            settable=each.init,
            readable=not _is_init_variable(each),
        )
        for each in _dataclass_fields(cls)
    )
    return Record(cls, "dataclass", fields)


def _dataclass_fields(cls: Any) -> list[dataclasses.Field[Any]]:
    """Return the fields, and the arguments of the constructor that become none (``InitVar``)."""
    named = {each.name for each in dataclasses.fields(cls)}
    everything: Mapping[str, dataclasses.Field[Any]] = cls.__dataclass_fields__
    return [each for name, each in everything.items() if name in named or _is_init_variable(each)]


def _is_init_variable(field: Any) -> bool:
    # Its hint may be a string; this is how the standard library has understood that.
    return repr(getattr(field, "_field_type", None)) == "_FIELD_INITVAR"


_NONE: Final = dataclasses.MISSING


def _typeddict_record(cls: Any) -> Record:
    fields = tuple(
        RecordField(name, name, name, required=name in cls.__required_keys__)
        for name in cls.__annotations__
    )
    return Record(cls, "typeddict", fields, is_closed=bool(getattr(cls, "__closed__", False)))


def _namedtuple_record(cls: Any) -> Record:
    defaults: dict[str, Any] = cls._field_defaults
    fields = tuple(
        RecordField(
            name, name, name, required=name not in defaults, default=defaults.get(name, NOTHING)
        )
        for name in cls._fields
    )
    return Record(cls, "namedtuple", fields)


def _msgspec_record(cls: Any) -> Record:
    names: tuple[str, ...] = cls.__struct_fields__
    defaults = (msgspec.NODEFAULT,) * (len(names) - len(cls.__struct_defaults__))
    defaults += cls.__struct_defaults__
    config = cls.__struct_config__
    fields = tuple(
        RecordField(
            name=name,
            attribute=name,
            wire=wire,
            required=default is msgspec.NODEFAULT,
            default=_msgspec_default(default),
        )
        for name, wire, default in zip(names, cls.__struct_encode_fields__, defaults, strict=True)
    )
    tag = None if config.tag is None else (config.tag_field, config.tag)
    return Record(cls, "msgspec", fields, tag, config.forbid_unknown_fields)


def _msgspec_default(default: Any) -> Any:
    if default is msgspec.NODEFAULT or default is msgspec.UNSET:
        return NOTHING
    factory = getattr(default, "factory", None)
    return default if factory is None else _fresh(factory)


def _annotated_record(cls: type) -> Record:
    fields = tuple(
        RecordField(name, name, name, required=not hasattr(cls, name), settable=False)
        for name in _public_annotations(cls)
    )
    return Record(cls, "annotated", fields)


def _is_annotated(cls: Any) -> bool:
    if cls.__module__ == "builtins" or issubclass(cls, (dict, list, tuple, set)):
        return False
    return bool(_public_annotations(cls))


def _public_annotations(cls: type) -> list[str]:
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        hints |= inspect.get_annotations(base)
    return [
        name
        for name, hint in hints.items()
        if not name.startswith("_") and not _is_class_variable(hint)
    ]


def _is_class_variable(hint: Any) -> bool:
    if isinstance(hint, str):
        return hint.startswith(("ClassVar", "typing.ClassVar", "t.ClassVar"))
    return hint is typing.ClassVar or get_origin(hint) is typing.ClassVar


def _fresh(factory: Any) -> Any:
    """Return what a factory makes if it is an empty container; others may have effects."""
    kinds: tuple[Any, ...] = (list, dict, set, tuple, frozenset)
    return factory() if factory in kinds else NOTHING


_READERS: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any], Record]], ...]] = (
    (lambda cls: hasattr(cls, "__struct_fields__"), _msgspec_record),
    (attrs.has, _attrs_record),
    (dataclasses.is_dataclass, _dataclass_record),
    (is_typed_dict, _typeddict_record),
    (is_named_tuple, _namedtuple_record),
    (_is_annotated, _annotated_record),
)


def _resolve(hint: Any, scope: Scope) -> Any:
    if isinstance(hint, str):
        return scope.evaluate(hint)
    if isinstance(hint, typing.ForwardRef):
        # A TypedDict wraps its strings, and says which module they are from.
        module: Any = hint.__forward_module__
        if isinstance(module, types.ModuleType):
            module = module.__name__
        return (scope if module is None else Scope.of_module(module, scope)).evaluate(hint)
    return hint


def _type_arguments(cls: type, arguments: Mapping[Any, Any]) -> dict[type, Mapping[Any, Any]]:
    """Return what each class in the ancestry has for its type parameters."""
    found: dict[type, Mapping[Any, Any]] = {cls: arguments}
    pending = [cls]
    while pending:
        current = pending.pop()
        known = found[current]
        for base in current.__dict__.get("__orig_bases__", current.__bases__):
            origin = get_origin(base)
            if isinstance(origin, type) and origin is not typing.Generic:
                given = [_substitute(each, known) for each in get_args(base)]
                found[origin] = parameters_of(origin, given)
                pending.append(origin)
            elif isinstance(base, type) and base not in found:
                found[base] = {}
                pending.append(base)
    return found


def parameters_of(origin: Any, given: Sequence[Any]) -> dict[Any, Any]:
    """Pair the type parameters of a generic class with what it was subscripted with."""
    return dict(zip(getattr(origin, "__parameters__", ()), given, strict=False))


def _substitute(hint: Any, known: Mapping[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return known.get(hint, hint)
    free = getattr(hint, "__parameters__", ())
    if not free or not known or isinstance(hint, type):
        return hint
    return hint[tuple(known.get(each, each) for each in free)]
