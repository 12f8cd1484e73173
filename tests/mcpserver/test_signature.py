# ruff: noqa: B008, RUF013, UP037, UP045
# Hints are data here, in each spelling that authors use.
from __future__ import annotations

import functools
import inspect
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, get_origin

import attrs
import pydantic
import pytest

from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver._resolve import Resolve
from trio_mcp.mcpserver._signature import (
    ArgumentsError,
    callable_docstring,
    callable_name,
    find_context_parameter,
    read_signature,
    read_signature_for,
)

T = TypeVar("T")


class Ctx(Generic[T]):
    pass


class OwnCtx(Ctx[int]):
    pass


@attrs.define
class Place:
    city: str
    zip: int | None = None


def is_context(hint: Any) -> bool:
    cls = get_origin(hint) or hint
    return isinstance(cls, type) and issubclass(cls, Ctx)


def read(fn: Any, **options: Any) -> Any:
    return read_signature(fn, is_context=is_context, **options)


def test_schema_of_a_function() -> None:
    def convert(value: float, unit: Literal["km", "mi"] = "km", places: list[Place] = []) -> float:  # noqa: B006
        """Convert.

        Args:
            value: How far.
            unit: In what.
        """
        return value

    signature = read(convert)
    assert signature.name == "convert"
    assert signature.schema == {
        "type": "object",
        "title": "convertArguments",
        "properties": {
            "value": {"type": "number", "description": "How far."},
            "unit": {
                "type": "string",
                "enum": ["km", "mi"],
                "description": "In what.",
                "default": "km",
            },
            "places": {
                "type": "array",
                "items": {
                    "type": "object",
                    "title": "Place",
                    "properties": {
                        "city": {"type": "string"},
                        "zip": {"type": ["integer", "null"], "default": None},
                    },
                    "required": ["city"],
                    "additionalProperties": False,
                },
                "default": [],
            },
        },
        "required": ["value"],
        "additionalProperties": False,
    }
    assert signature.context_kwarg is None
    assert signature.resolved == {}


def test_function_without_parameters() -> None:
    assert read(lambda: 0).schema == {
        "type": "object",
        "title": "<lambda>Arguments",
        "properties": {},
        "additionalProperties": False,
    }


def test_parameter_without_a_hint_takes_anything() -> None:
    def use(a, b=1): ...  # type: ignore[no-untyped-def]

    assert read(use).schema["properties"] == {"a": {}, "b": {"default": 1}}
    assert read(use).schema["required"] == ["a"]


def test_default_without_a_json_form_is_not_shown() -> None:
    marker = object()

    def use(a: Any = marker) -> None: ...

    assert read(use).schema["properties"] == {"a": {}}
    assert "required" not in read(use).schema


@pytest.mark.case("C061")
def test_default_none_makes_null_possible() -> None:
    def use(
        a: Annotated[str | None, "A."] = None,
        b: Optional[int] = None,
        c: int = None,  # type: ignore[assignment]
        d: Annotated[int, "D."] = None,  # type: ignore[assignment]
    ) -> None: ...

    signature = read(use)
    assert signature.schema["properties"] == {
        "a": {"type": ["string", "null"], "description": "A.", "default": None},
        "b": {"type": ["integer", "null"], "default": None},
        "c": {"type": ["integer", "null"], "default": None},
        "d": {"type": ["integer", "null"], "description": "D.", "default": None},
    }
    assert "required" not in signature.schema
    nulls = {"a": None, "b": None, "c": None, "d": None}
    assert signature.prepare({}) == {}
    assert signature.prepare(nulls) == nulls


def test_the_annotation_wins_over_the_docstring() -> None:
    def use(a: Annotated[int, "From the hint."]) -> None:
        """Use.

        :param a: From the docstring.
        """

    assert read(use).schema["properties"]["a"]["description"] == "From the hint."


def test_pydantic_field_as_default() -> None:
    def use(
        a: int = pydantic.Field(ge=1, description="A."),
        b: list[int] = pydantic.Field(default_factory=list),
        c: str = pydantic.Field("c", alias="See"),
        d: Annotated[int, pydantic.Field(alias="dee")] = 4,
    ) -> None: ...

    signature = read(use)
    assert signature.schema["properties"] == {
        "a": {"type": "integer", "minimum": 1, "description": "A."},
        "b": {"type": "array", "items": {"type": "integer"}, "default": []},
        "See": {"type": "string", "default": "c"},
        "dee": {"type": "integer", "default": 4},
    }
    assert signature.schema["required"] == ["a"]
    assert signature.prepare({"a": 1}) == {"a": 1, "b": [], "c": "c"}
    assert signature.prepare({"a": 1, "See": "x", "dee": 1}) == {
        "a": 1,
        "b": [],
        "c": "x",
        "d": 1,
    }


class Callables:
    def method(self, value: int, ctx: Ctx[str]) -> None:
        """Of a method."""

    @classmethod
    def of_class(cls, value: int, ctx: Ctx[str]) -> None:
        """Of a class method."""

    @staticmethod
    def static(value: int, ctx: Ctx[str]) -> None:
        """Of a static method."""

    def __call__(self, value: int, ctx: Ctx[str]) -> None:
        """Of an object."""


class Constructed:
    """Of a class."""

    def __init__(self, value: int, ctx: Ctx[str]) -> None: ...


def plain(value: int, ctx: Ctx[str]) -> None:
    """Of a function."""


async def asynchronous(value: int, ctx: Ctx[str]) -> None:
    """Of a coroutine function."""


@functools.wraps(plain)
def wrapper(*args: Any, **kwargs: Any) -> None:
    return plain(*args, **kwargs)


CALLABLES = [
    (plain, "plain", "Of a function."),
    (asynchronous, "asynchronous", "Of a coroutine function."),
    (wrapper, "plain", "Of a function."),
    (functools.partial(plain), "plain", "Of a function."),
    (functools.partial(functools.partial(plain), other=1), "plain", "Of a function."),
    (Callables(), "Callables", "Of an object."),
    (Callables().method, "method", "Of a method."),
    (Callables.of_class, "of_class", "Of a class method."),
    (Callables.static, "static", "Of a static method."),
    (Constructed, "Constructed", "Of a class."),
]


@pytest.mark.case("C058")
@pytest.mark.parametrize(
    ("fn", "name", "text"),
    CALLABLES,
    ids=[type(fn).__name__ + "-" + name for fn, name, _ in CALLABLES],
)
def test_the_context_is_recognised_in_any_callable(fn: Any, name: str, text: str) -> None:
    if isinstance(fn, functools.partial) and fn.keywords:
        fn = functools.partial(fn.func)
    signature = read(fn)
    assert signature.context_kwarg == "ctx"
    assert list(signature.schema["properties"]) == ["value"]
    assert callable_name(fn) == name
    assert callable_docstring(fn) == text
    assert find_context_parameter(fn, is_context) == "ctx"


@pytest.mark.case("C058")
def test_the_context_is_recognised_behind_other_hints() -> None:
    def one(ctx: Ctx[int] | None = None) -> None: ...
    def two(ctx: Optional[Ctx[int]]) -> None: ...
    def three(ctx: Annotated[Ctx[int], "The context."]) -> None: ...
    def four(ctx: "Ctx") -> None: ...  # type: ignore[type-arg]
    def five(ctx: Optional["OwnCtx"]) -> None: ...
    def six(*, ctx: OwnCtx) -> None: ...

    for fn in (one, two, three, four, five, six):
        assert read(fn).context_kwarg == "ctx"
        assert read(fn).schema["properties"] == {}


def test_the_context_may_be_named() -> None:
    def use(value: int, where) -> None: ...  # type: ignore[no-untyped-def]

    signature = read(use, context_kwarg="where")
    assert signature.context_kwarg == "where"
    assert list(signature.schema["properties"]) == ["value"]


def test_one_context_is_enough() -> None:
    def use(one: Ctx[int], two: Ctx[int]) -> None: ...

    with pytest.raises(InvalidSignature, match="'one' and 'two' both take the context"):
        read(use)


def test_finding_the_context_needs_no_other_hint() -> None:
    def use(a: Missing, ctx: Ctx[int]) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert find_context_parameter(use, is_context) == "ctx"
    assert find_context_parameter(lambda: 0, is_context) is None
    assert find_context_parameter(dict, is_context) is None


def test_what_a_partial_has_bound_is_not_published() -> None:
    def use(key: str, value: int, other: int = 0) -> None: ...

    signature = read(functools.partial(use, "secret", other=1))
    assert list(signature.schema["properties"]) == ["value"]


def test_resolved_parameters_are_left_out_and_listed() -> None:
    marker = Resolve(lambda: "yes")

    def use(value: int, answer: Annotated[str, marker]) -> None: ...

    signature = read(use)
    assert list(signature.schema["properties"]) == ["value"]
    assert signature.resolved["answer"].resolve is marker


def test_skipped_parameters() -> None:
    def use(value: int, other: complex) -> None: ...

    assert list(read(use, skip=["other"]).schema["properties"]) == ["value"]


def _args(a: int, *args: int) -> None: ...
def _kwargs(**kwargs: int) -> None: ...
def _positional(a: int, /) -> None: ...
def _private(_a: int) -> None: ...
def _complex(a: complex) -> None: ...
def _nested(a: dict[str, list[complex]]) -> None: ...
def _positional_context(ctx: Ctx[int], /) -> None: ...


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (_args, r"_args: \*args cannot be published"),
        (_kwargs, r"_kwargs: \*\*kwargs cannot be published"),
        (_positional, "_positional: parameter 'a': arguments are passed by name"),
        (_private, "_private: parameter '_a': a name that begins with '_'"),
        (_complex, "_complex: parameter 'a': complex: it has no JSON Schema"),
        (_nested, r"parameter 'a' with the hint dict\[str, list\[complex\]\]: complex: it has"),
        (_positional_context, "parameter 'ctx': the context is passed by name"),
        (dict, "dict has no signature that can be read"),
        (print, "cannot be published"),
    ],
)
def test_what_cannot_be_published(fn: Any, text: str) -> None:
    with pytest.raises(InvalidSignature, match=text):
        read(fn)


def test_messages_name_the_tool() -> None:
    with pytest.raises(InvalidSignature, match=r"^add: parameter 'a'"):
        read(_complex, name="add")


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def test_schema_of_the_author() -> None:
    def use(a: int, ctx: Ctx[int], b: str = "") -> None: ...

    signature = read_signature_for(SCHEMA, use, is_context=is_context)
    assert signature.schema is SCHEMA
    assert signature.context_kwarg == "ctx"
    assert signature.prepare({"a": 1}) == {"a": 1}
    assert signature.prepare({"a": 1, "b": 2}) == {"a": 1, "b": 2}
    with pytest.raises(ArgumentsError, match="unknown argument 'c'"):
        signature.prepare({"a": 1, "c": 2})
    with pytest.raises(ArgumentsError, match="a: expected integer, got string 'x'"):
        signature.prepare({"a": "x"})
    with pytest.raises(ArgumentsError, match="missing argument 'a'"):
        signature.prepare({})


def test_schema_of_the_author_with_any_keywords() -> None:
    def use(**arguments: Any) -> None: ...

    signature = read_signature_for(SCHEMA, use, is_context=is_context)
    assert signature.prepare({"a": 1, "more": [2]}) == {"a": 1, "more": [2]}


def test_schema_of_the_author_that_does_not_fit_the_function() -> None:
    def other(b: int) -> None: ...
    def without() -> None: ...
    def many(*a: int) -> None: ...

    for fn, text in [
        (other, "'b': it has no default, and the schema does not require it"),
        (without, "the schema lists 'a', which the function does not take"),
        (many, "arguments are passed by name"),
    ]:
        with pytest.raises(InvalidSignature, match=text):
            read_signature_for(SCHEMA, fn, is_context=is_context)


def test_signature_keeps_the_hint_of_the_result() -> None:
    def use() -> int: ...
    def nothing(): ...  # type: ignore[no-untyped-def]

    assert read(use).returns == "int"
    assert read(nothing).returns is inspect.Signature.empty
