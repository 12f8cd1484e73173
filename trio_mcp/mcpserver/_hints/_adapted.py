"""Hints that pydantic has to read: its validators in ``Annotated``, its dataclasses, its types.

Pydantic is no dependency: it is asked for where a hint is made for it, and a hint that needs it
is refused where it is not installed. A validator that runs after everything else gets what the
hint without it makes. Any other one may take the place of that, so pydantic reads the whole
``Annotated`` then.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import attrs

from trio_mcp._codec._json import dumps

from ._checks import DECIDES
from ._constraints import constrained, flattened
from ._errors import HintError, show, told_by
from ._openings import is_marked, marked
from ._pydantic import absorb, is_pydantic_model, json_types_of, mismatch_of
from ._scalars import scalar_shape
from ._shape import Conversion, Shape
from ._to_json import to_json

if TYPE_CHECKING:
    from ._walk import Walker

_READS: Final = "__get_pydantic_core_schema__"
_DESCRIBES: Final = "__get_pydantic_json_schema__"
# These say how a schema or a result looks, and check nothing.
_CHECK_NOTHING: Final = frozenset(("SkipJsonSchema", "Examples"))
# What a `Field` or `StringConstraints` may ask for beyond the bounds that JSON Schema has.
_TRANSFORMS: Final = ("strip_whitespace", "to_lower", "to_upper")
_BEFORE: Final = frozenset(("BeforeValidator", "WrapValidator"))
_SETTINGS: Final = (
    *_TRANSFORMS,
    "ascii_only",
    "max_digits",
    "decimal_places",
)


def is_adapted_class(cls: Any) -> bool:
    """Tell whether a class says by itself, or by pydantic's means, how pydantic reads it."""
    if not isinstance(cls, type) or is_pydantic_model(cls):
        return False
    if hasattr(cls, _READS) or hasattr(cls, "__pydantic_config__"):
        # Where pydantic is not installed, nobody reads it so, and it is what it is besides.
        return _find_pydantic() is not None
    return dataclasses.is_dataclass(cls) and (
        hasattr(cls, "__pydantic_validator__")
        or any(_is_of_pydantic(each.default) for each in dataclasses.fields(cls))
        or any(_is_of_pydantic(each) for base in cls.__mro__ for each in vars(base).values())
    )


def _is_of_pydantic(value: Any) -> bool:
    """Tell whether a class attribute is a ``Field(...)`` or a decorated validator."""
    name = type(value).__module__
    return name.startswith("pydantic.") and not isinstance(value, type)


def has_validators(metadata: tuple[Any, ...]) -> bool:
    """Tell whether pydantic has to run some of the metadata of an ``Annotated``."""
    return any(_has_to_run(each) for each in flattened(metadata, classes=True))


def runs_functions(metadata: tuple[Any, ...]) -> bool:
    """Tell whether metadata holds functions of the author's, which get what the hint says."""
    return any(
        _has_to_run(each) or type(each).__name__ in DECIDES
        for each in flattened(metadata, classes=True)
    )


def _has_to_run(metadata: Any) -> bool:
    cls: type = metadata if isinstance(metadata, type) else type(metadata)
    if is_pydantic_model(cls):
        return False  # Annotated[CallToolResult, Model]
    if hasattr(metadata, _READS) or hasattr(metadata, _DESCRIBES):
        return cls.__name__ not in _CHECK_NOTHING
    if not cls.__module__.startswith("pydantic.") or metadata is cls:
        return False
    discriminator = getattr(metadata, "discriminator", None)
    if discriminator is not None and not isinstance(discriminator, str):
        return True
    settings = (getattr(metadata, name, None) for name in _SETTINGS)
    return any(each is not None and each is not False for each in settings)


def validated_shape(walker: Walker, hint: Any, inner: Any) -> Shape:
    """Make the shape of an ``Annotated`` with validators.

    Raises:
      HintError: if pydantic cannot run them.

    """
    metadata: tuple[Any, ...] = hint.__metadata__
    if _run_afterwards(metadata):
        try:
            shape = walker.shape(inner)
        except HintError:
            pass  # Perhaps pydantic knows more.
        else:
            return _checked_afterwards(shape, metadata, hint, inner)
    if isinstance(inner, str):
        inner = walker.scope.evaluate(inner)
    whole: Any = Annotated
    shape = adapted_shape(walker, whole[(inner, *metadata)], _noun(inner))
    scalar = scalar_shape(inner)
    if scalar is not None:
        shape = attrs.evolve(shape, bounded_by=scalar.bounded_by)
    made = constrained(shape, _not_for_pydantic(metadata), hint)
    if not any(_comes_first(each) for each in flattened(metadata)):
        return made
    schema = marked(made.schema, shape.schema)
    if not is_marked(schema):
        return made
    walker.has_openings = True
    return attrs.evolve(made, schema=schema, is_open=True)


def _comes_first(metadata: Any) -> bool:
    """Tell whether it may take what does not fit the schema, without saying what."""
    if type(metadata).__name__ in _BEFORE:
        # With a type given, the schema is of that.
        return repr(getattr(metadata, "json_schema_input_type", None)) == "PydanticUndefined"
    return any(getattr(metadata, name, None) for name in _TRANSFORMS)


def _run_afterwards(metadata: tuple[Any, ...]) -> bool:
    return all(
        type(each).__name__ == "AfterValidator"
        for each in flattened(metadata, classes=True)
        if _has_to_run(each)
    )


def _checked_afterwards(shape: Shape, metadata: tuple[Any, ...], hint: Any, inner: Any) -> Shape:
    # In their order: a bound that stands behind a validator is one of what that has made.
    begin = next((place for place, each in enumerate(metadata) if _has_to_run(each)), 0)
    validators: Any = Annotated
    adapter = _adapter_of(validators[(Any, *metadata[begin:])], hint)
    make = constrained(shape, metadata[:begin], hint).structure
    made_of_it = attrs.evolve(shape, structure=None)
    ends = constrained(made_of_it, _not_for_pydantic(metadata[begin:]), hint).structure

    def structure(value: Any) -> Any:
        made = value if make is None else make(value)
        try:
            validated = adapter.validate_python(made)
        except ValueError as exc:
            raise mismatch_of(_noun(inner), exc, value) from exc
        return validated if ends is None else ends(validated)

    return attrs.evolve(constrained(shape, metadata, hint), structure=structure)


def _not_for_pydantic(metadata: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what pydantic takes no notice of: texts, parts of a schema, msgspec's bounds."""
    return tuple(
        each
        for each in metadata
        if type(each).__name__ == "Timezone"
        or not type(each).__module__.startswith(("pydantic.", "annotated_types"))
    )


def adapted_shape(walker: Walker, hint: Any, name: str = "") -> Shape:
    """Make the shape of what pydantic reads as a whole.

    Raises:
      HintError: if it cannot.

    """
    name = name or _noun(hint)
    adapter = _adapter_of(hint, hint)
    try:
        schema = adapter.json_schema(mode="serialization" if walker.is_result else "validation")
    except Exception as exc:
        # Pydantic has no common base for what it raises here, nor may we import it.
        raise HintError(hint, f"pydantic makes no JSON Schema of it ({told_by(exc)})") from exc
    absorbed = absorb(schema, walker.definitions, walker.unique_name)
    types = json_types_of(absorbed, walker.definitions, is_result=walker.is_result)
    return Shape(absorbed, types, _reader(adapter, name), _writer(adapter, name))


def _find_pydantic() -> Any:
    try:
        return importlib.import_module("pydantic")
    except ImportError:
        return None


def _adapter_of(hint: Any, told: Any) -> Any:
    pydantic = _find_pydantic()
    if pydantic is None:
        raise HintError(told, "its validators are for pydantic, which is not installed")
    try:
        return pydantic.TypeAdapter(hint)
    except Exception as exc:
        reason = str(told_by(exc)).partition("\n")[0]
        raise HintError(told, f"pydantic cannot read it ({reason})") from exc


def _reader(adapter: Any, name: str) -> Conversion:
    def structure(value: Any) -> Any:
        try:
            # As JSON: what is strict takes a date from JSON text, and not from a str.
            return adapter.validate_json(dumps(value))
        except ValueError as exc:
            raise mismatch_of(name, exc, value) from exc

    return structure


def _writer(adapter: Any, name: str) -> Conversion:
    def unstructure(value: Any) -> Any:
        if isinstance(value, dict):
            # In place of the object: its defaults are filled in, its rules hold.
            try:
                value = adapter.validate_python(value)
            except ValueError as exc:
                raise mismatch_of(name, exc, cast("Any", value)) from exc
        try:
            return adapter.dump_python(value, mode="json", by_alias=True, warnings=False)
        except ValueError:
            return to_json(value)  # of another type: the schema decides

    return unstructure


_NOUNS: Final[dict[Any, str]] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    bytes: "Base64",
}


def _noun(hint: Any) -> str:
    if isinstance(hint, type) and not hasattr(hint, "__args__"):
        article = "an" if hint.__name__[:1] in "AEIOUaeiou" else "a"
        return _NOUNS.get(hint, f"{article} {hint.__name__}")
    return show(hint)
