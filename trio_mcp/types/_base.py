"""What every wire type is made of: the class decorator, the field helper.

Wire types are attrs classes whose fields say in their metadata how revisions spell them
(`wire_field`). ``_codec`` reads that metadata; nothing here knows JSON or revisions.
"""

from __future__ import annotations

from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Literal,
    Self,
    TypeAlias,
    TypeGuard,
    TypeVar,
    dataclass_transform,
    overload,
)

import attrs

from trio_mcp._late_hints import defer_class_hints

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeIs

    from ._input_required import InputRequiredResult

__all__ = ["JsonObject", "JsonValue", "WireModel", "wire_field", "wire_model"]

JsonValue: TypeAlias = Any
"""Any JSON value: None, bool, int, float, str, list or dict with string keys."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object."""


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, dict)


def has_structured_content(result: Any) -> bool:
    """Tell whether a result has structured content; an explicit null counts, too."""
    return result.structured_content is not None or "structuredContent" in result.extra


def is_input_required(value: object) -> TypeIs[InputRequiredResult]:
    """Do as `isinstance` does, without loading the class."""
    return isinstance(value, WireModel) and getattr(value, "result_type", "") == "input_required"


def drop_no_settings(capabilities: Any) -> None:
    """Leave out of capabilities the settings of extensions that are no objects."""
    settings: Any = capabilities.extensions
    if settings is not None and not all(map(is_object, settings.values())):
        kept = {name: each for name, each in settings.items() if is_object(each)}
        object.__setattr__(capabilities, "extensions", kept)


def is_array(value: object) -> TypeGuard[list[JsonValue]]:
    """Tell whether a JSON value is an array."""
    return isinstance(value, list)


_T = TypeVar("_T", bound=type)


def wire_field(
    *,
    default: Any = attrs.NOTHING,
    factory: Callable[[], Any] | None = None,
    wire: str | None = None,
    since: str | None = None,
    until: str | None = None,
    always: bool = False,
    required: tuple[str, ...] = (),
    bounds: tuple[float, float | None] | None = None,
    foreign: Literal["read", "extra"] = "read",
) -> Any:
    """Declare a field that is more than a plain optional one.

    Args:
      default: The value when not given; without it (and `factory`) the field must be given.
      factory: Makes the value when not given.
      wire: The name on the wire, where that is not the attribute's name in camelCase.
      since: The first revision that has the field.
      until: The first revision that no longer has it.
      always: Written even when it has its default value.
      required: Revisions that demand a field which others leave optional.
      bounds: Least and greatest number allowed, None for no greatest; checked on construction.
      foreign: What to do when a revision without the field is spoken and the peer sends it
          all the same: "read" it into the attribute if it fits, or keep it in ``extra``,
          where nothing acts on it.

    """
    metadata: dict[str, Any] = {
        "wire": wire,
        "since": since,
        "until": until,
        "always": always,
        "required": required,
        "bounds": bounds,
        "foreign": foreign,
    }
    validator = None if bounds is None else _within(*bounds)
    if factory is not None:
        return attrs.field(factory=factory, metadata=metadata, validator=validator)
    return attrs.field(default=default, metadata=metadata, validator=validator)


def _within(least: float, greatest: float | None) -> Callable[[Any, Any, Any], None]:
    def check(instance: Any, attribute: Any, value: Any) -> None:
        if value is None or (least <= value and (greatest is None or value <= greatest)):
            return
        limit = f"at least {least}" if greatest is None else f"from {least} to {greatest}"
        msg = f"{type(instance).__name__}.{attribute.name} must be {limit}, not {value!r}"
        raise ValueError(msg)

    return check


@overload
def wire_model(cls: _T, /) -> _T: ...
@overload
def wire_model(*, since: str) -> Callable[[_T], _T]: ...
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(wire_field,))
def wire_model(cls: Any = None, /, *, since: str | None = None) -> Any:
    """Make a wire type of an annotated class: frozen, slotted, keyword arguments only.

    Args:
      since: The first revision that has the whole class; subclasses do not inherit it.

    """
    return partial(_make, since=since) if cls is None else _make(cls, since)


def _make(cls: Any, since: str | None) -> Any:
    made: Any = attrs.define(
        cls,
        frozen=True,
        slots=True,
        kw_only=True,
        # `WireModel` has one of each for all: a third less time per class at import.
        eq=False,
        repr=False,
        weakref_slot=False,
    )
    made.wire_since = since
    defer_class_hints(made)
    if made.__module__.startswith(_PACKAGE + "."):
        # What users import, pickle writes and tracebacks show.
        made.__module__ = _PACKAGE
    return made


_PACKAGE: Final = __name__.rpartition(".")[0]


class _Layout:
    # `meta` has its place in every object, whether or not the class has that field, so that
    # classes which inherit it from two sides (a result that is a task) have one layout.
    __slots__ = ("meta",)


@wire_model
class WireModel(_Layout):
    """Base of all wire types: immutable values, compared by value.

    Attributes:
      extra: What the peer sent beside the fields that are known, by its name on the wire. It
          is written back, except where a field of the same name exists.

    """

    wire_since: ClassVar[str | None] = None
    """The first revision that has this class, None for all."""

    wire_is_snake_case: ClassVar[bool] = False
    """Whether names on the wire are the attributes' own, and not in camelCase."""

    if TYPE_CHECKING:
        # So that checkers take `attrs.fields` and its like of wire types.
        __attrs_attrs__: ClassVar[tuple[attrs.Attribute[Any], ...]]

    extra: JsonObject = wire_field(factory=dict)

    def evolve(self, **changes: Any) -> Self:
        """Return a copy with some attributes changed, checked as on construction."""
        copied: Self = attrs.evolve(self, **changes)  # type: ignore[misc]  # unknown to its plugin
        return copied

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(
            getattr(self, each.name) == getattr(other, each.name)
            for each in attrs.fields(self.__class__)
        )

    # Values hold dicts and lists.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in attrs.fields(self.__class__)
            if not _is_default(each, getattr(self, each.name))
        ]
        return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _is_default(attribute: attrs.Attribute[Any], value: Any) -> bool:
    default: Any = attribute.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a function to checkers
        default = default.factory()
    return bool(value.__class__ is default.__class__ and value == default)
