# ruff: noqa: PYI061
# Hints are data here, in each spelling that authors use.
from __future__ import annotations

import datetime as dt
import enum
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import annotated_types
import attrs
import msgspec
import pydantic
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp._codec._json import checked_copy, dumps, loads
from trio_mcp._codec._schema import compile_validator
from trio_mcp.mcpserver._hints import Scope, Walker

SCALARS: list[tuple[Any, Any]] = [
    (int, st.integers()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (str, st.text(st.characters(codec="utf-8"))),
    (bool, st.booleans()),
    (None, st.none()),
    (Literal["a", 1, None], st.sampled_from(["a", 1, None])),
    (Annotated[int, annotated_types.Ge(3)], st.integers(min_value=3)),
    (dt.date, st.dates().map(dt.date.isoformat)),
    (uuid.UUID, st.uuids().map(str)),
    (Any, st.none() | st.lists(st.integers()) | st.dictionaries(st.text("ab"), st.booleans())),
]


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


SCALARS.append((Color, st.sampled_from(["red", "green"])))


def attrs_class(members: dict[str, Any]) -> Any:
    return attrs.make_class(
        "Made", {name: attrs.field(type=hint) for name, hint in members.items()}
    )


def dataclass_of(members: dict[str, Any]) -> Any:
    return dataclass(type("Made", (), {"__annotations__": members, "__module__": __name__}))


def typed_dict(members: dict[str, Any]) -> Any:
    return TypedDict("Made", members)  # type: ignore[operator]


def named_tuple(members: dict[str, Any]) -> Any:
    return NamedTuple("Made", members.items())  # type: ignore[misc]


def struct(members: dict[str, Any]) -> Any:
    return msgspec.defstruct("Made", members.items())


MAKERS = [attrs_class, dataclass_of, typed_dict, named_tuple, struct]


def grown(inner: st.SearchStrategy[tuple[Any, Any]]) -> st.SearchStrategy[tuple[Any, Any]]:
    def record(made: tuple[Any, list[tuple[Any, Any]]]) -> tuple[Any, Any]:
        maker, members = made
        names = [f"member{place}" for place in range(len(members))]
        hint = maker(dict(zip(names, (hint for hint, _ in members), strict=True)))
        values = dict(zip(names, (values for _, values in members), strict=True))
        return hint, st.fixed_dictionaries(values)

    return st.one_of(
        inner.map(lambda each: (list[each[0]], st.lists(each[1], max_size=3))),
        inner.map(lambda each: (tuple[each[0], ...], st.lists(each[1], max_size=3))),
        inner.map(
            lambda each: (dict[str, each[0]], st.dictionaries(st.text("ab"), each[1], max_size=3))
        ),
        inner.map(lambda each: (each[0] | None if each[0] else None, st.none() | each[1])),
        st.tuples(inner, inner).map(
            lambda two: (tuple[two[0][0], two[1][0]], st.tuples(two[0][1], two[1][1]).map(list))
        ),
        st.tuples(st.sampled_from(MAKERS), st.lists(inner, max_size=3)).map(record),
    )


HINTS = st.recursive(st.sampled_from(SCALARS), grown, max_leaves=6)


@given(st.data())
def test_what_fits_the_schema_comes_back_the_same(data: st.DataObject) -> None:
    hint, values = data.draw(HINTS)
    value = data.draw(values)
    walker = Walker(Scope(globals()))
    shape = walker.shape(hint)
    validator = compile_validator(walker.document(shape.schema), trusted=True)
    assert validator.check(value) is None

    made = value if shape.structure is None else shape.structure(value)
    outgoing = Walker(Scope(globals()), is_result=True)
    result = outgoing.shape(hint)
    written = made if result.unstructure is None else result.unstructure(made)
    assert checked_copy(written, "result") == value
    published = compile_validator(outgoing.document(result.schema), trusted=True)
    assert published.check(checked_copy(written, "result")) is None


class Everything(pydantic.BaseModel):
    number: int
    when: dt.date | None = None
    color: Color = Color.RED


@attrs.define
class Leaf:
    when: dt.date
    color: Color | None = None


@dataclass
class Branch:
    leaves: dict[str, Leaf] = field(default_factory=dict)
    branches: list[Branch] = field(default_factory=list)


class Loose(TypedDict):
    branch: NotRequired[Branch]
    everything: Everything


LEAVES = st.fixed_dictionaries(
    {"when": st.dates().map(dt.date.isoformat), "color": st.sampled_from(["red", None])}
)
BRANCHES: Any = st.deferred(
    lambda: st.fixed_dictionaries(
        {
            "leaves": st.dictionaries(st.text("ab", max_size=2), LEAVES, max_size=2),
            "branches": st.lists(BRANCHES, max_size=2),
        }
    )
)
LOOSE = st.fixed_dictionaries(
    {
        "everything": st.fixed_dictionaries(
            {
                "number": st.integers(),
                "when": st.none() | st.dates().map(dt.date.isoformat),
                "color": st.sampled_from(["red", "green"]),
            }
        )
    },
    optional={"branch": BRANCHES},
)


@given(LOOSE)
def test_recursive_classes_of_several_kinds_come_back_the_same(value: Any) -> None:
    walker = Walker(Scope(globals()))
    shape = walker.shape(Loose)
    validator = compile_validator(walker.document(shape.schema), trusted=True)
    assert validator.check(value) is None
    assert shape.structure is not None
    made = shape.structure(loads(dumps(value)))
    assert isinstance(made["everything"], Everything)
    assert shape.unstructure is not None
    assert shape.unstructure(made) == value
