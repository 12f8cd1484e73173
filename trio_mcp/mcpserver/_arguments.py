"""Arguments as they come from a client: checked, and made into keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._codec import excerpt
from trio_mcp._codec._json import JsonError, loads
from trio_mcp._codec._schema import compile_validator

from ._hints import Mismatch
from ._hints._scalars import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp._codec._schema import Validator, Violation
    from trio_mcp.types._base import JsonObject

    from ._hints import Scope, Shape
    from ._hints._shape import Conversion
    from ._resolve import Resolve


class ArgumentsError(ValueError):
    """The arguments do not fit; the text tells the model what to change."""


@attrs.frozen(eq=False)
class Parameter:
    """A parameter whose value comes from the arguments.

    Attributes:
      name: In the function.
      wire: In the schema: the name, unless a ``Field`` gave an alias.
      default: Makes the value to pass when it is absent, if the function's own default will
          not do (``Field(default_factory=list)``). Else None.

    """

    name: str
    wire: str
    shape: Shape
    required: bool
    default: Callable[[], Any] | None = None


@attrs.frozen(eq=False)
class Resolved:
    """A parameter that a resolver fills in, and what its hint says besides."""

    resolve: Resolve
    hint: Any


MAX_UNKNOWN: Final = 5
"""How many unknown arguments a message names: who sends thousands has made no typing error."""


@attrs.define(eq=False)
class Signature:
    """What a function takes.

    Attributes:
      name: Of the function, for titles and messages.
      schema: The input schema: self-contained, an object that refuses unknown members.
      parameters: In their order.
      context_kwarg: The parameter that gets the context, or None.
      resolved: Parameters filled in by resolvers.
      returns: The hint of the result, `inspect.Signature.empty` without one.
      scope: Where the names of that hint are looked up.
      ignore_unknown: Arguments that no parameter takes are dropped instead of refused.
      accepted: With a schema of the author's own: the arguments that the function takes, or
        None for any.
      opened: The schema of what is passed on to validators that see values first, if there
        are any.

    """

    name: str
    title: str
    schema: JsonObject
    parameters: tuple[Parameter, ...]
    context_kwarg: str | None
    resolved: dict[str, Resolved]
    returns: Any
    scope: Scope
    ignore_unknown: bool = False
    accepted: frozenset[str] | None = None
    opened: JsonObject | None = None
    _validator: Validator | None = attrs.field(default=None, init=False)
    _opened_validator: Validator | None = attrs.field(default=None, init=False)
    _converts: bool = attrs.field(init=False)
    _numbers: list[tuple[str, type[int | float], Conversion]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        # Arguments that are plain JSON values are passed on in the dict they came in.
        self._converts = self.ignore_unknown or not all(
            each.name == each.wire
            and each.default is None
            and (each.shape.structure is None or each.shape.structure in NUMBERS)
            for each in self.parameters
        )
        # By name: the type of number that it may come as and is not, and what mends that.
        self._numbers = [
            (each.wire, NUMBERS[mend], mend)
            for each in self.parameters
            if (mend := each.shape.structure) is not None and mend in NUMBERS
        ]

    @property
    def validator(self) -> Validator:
        """What checks arguments: its plan and the reason for it can be read from it."""
        if self._validator is None:
            self._validator = compile_validator(
                self.schema, trusted=True, where=f"the input schema of {self.name}"
            )
        return self._validator

    def prepare(self, arguments: JsonObject) -> dict[str, Any]:
        """Check arguments, and make of them what the function is called with.

        A value that fits its schema is not touched, but for numbers, which get the type of their
        hint: JSON does not tell 1 from 1.0. Only where one does not, and its schema
        admits no string, a string with a JSON array or object in it is read as that; and what
        stands where a validator comes first is left to that.

        Raises:
          ArgumentsError: if they do not fit; names the path, what was expected and got.

        """
        violation = (self._validator or self.validator).check(arguments)
        if violation is not None:
            arguments = self._repaired(arguments, violation)
        if self.accepted is not None and not self.accepted.issuperset(arguments):
            raise ArgumentsError("; ".join(self._unknown(arguments)))
        if self._converts:
            return self._converted(arguments)
        mended: dict[str, Any] | None = None
        for name, other, mend in self._numbers:
            value = arguments.get(name)
            if type(value) is other:
                mended = mended or dict(arguments)
                mended[name] = mend(value)
        return arguments if mended is None else mended

    def _converted(self, arguments: JsonObject) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for each in self.parameters:
            if each.wire in arguments:
                make = each.shape.structure
                value = arguments[each.wire]
                try:
                    made[each.name] = value if make is None else make(value)
                except Mismatch as mismatch:
                    raise ArgumentsError(str(mismatch.under(each.wire))) from mismatch
            elif each.default is not None:
                made[each.name] = each.default()
        return made

    def _repaired(self, arguments: JsonObject, violation: Violation) -> JsonObject:
        """Read JSON out of text where that makes the arguments fit, or tell what does not."""
        required = self.schema.get("required", ())
        faults = [f"missing argument {name!r}" for name in required if name not in arguments]
        if not self.ignore_unknown and self.accepted is None:
            faults += self._unknown(arguments)
        if faults:
            raise ArgumentsError("; ".join(faults))
        read = dict(arguments)
        for each in self.parameters:
            value = read.get(each.wire)
            if isinstance(value, str) and "string" not in each.shape.types:
                read[each.wire] = _json_in(value)
        if self.validator.check(read) is None:
            return read
        if self.opened is not None:
            opened = self._opened(self.opened)
            left = opened.check(read)
            if left is None:
                return read
            violation = opened.check(arguments) or left
        # Of the arguments as they came: the text is what the model wrote.
        raise ArgumentsError(violation.message)

    def _opened(self, schema: JsonObject) -> Validator:
        if self._opened_validator is None:
            self._opened_validator = compile_validator(
                schema, trusted=True, where=f"the input schema of {self.name}"
            )
        return self._opened_validator

    def _unknown(self, arguments: JsonObject) -> list[str]:
        known = list(self.schema.get("properties", ()))
        unknown = [name for name in arguments if name not in known]
        told = [_unknown(name, known) for name in unknown[:MAX_UNKNOWN]]
        more = len(unknown) - len(told)
        return [*told, f"and {more} more"] if more else told


def _unknown(name: str, known: list[str]) -> str:
    import difflib  # noqa: PLC0415 - loads for a mistake alone

    shown = excerpt(name)
    near = difflib.get_close_matches(shown, known, n=1)
    if near:
        return f"unknown argument {shown!r}; did you mean {near[0]!r}?"
    listed = ", ".join(repr(each) for each in known)
    return f"unknown argument {shown!r}; " + (
        f"the arguments are {listed}" if known else "there are no arguments"
    )


def _json_in(text: str) -> Any:
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        return loads(text)
    except JsonError:
        return text
