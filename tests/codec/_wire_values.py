"""Made-up objects of every wire type, as a program of some revision may give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from hypothesis import strategies as st

from trio_mcp import types
from trio_mcp._codec._downgrade import downgrade_for
from trio_mcp._codec._shapes import (
    Choice,
    Field,
    Items,
    Members,
    Named,
    Plain,
    Shape,
    Words,
    fields_of,
    shape_of,
)

if TYPE_CHECKING:
    from trio_mcp.types import Revision

TEXT = st.text('abcäß€ \U0001f600"\\\n', max_size=6)
NAMES = st.text("abcxyz", min_size=1, max_size=4)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6)
JSON = st.recursive(
    st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
# The published schemas know no fractions and no null in some objects.
OBJECTS = st.dictionaries(
    NAMES, st.integers() | TEXT | st.lists(st.booleans(), max_size=2), max_size=2
)

INPUT_SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(
            NAMES, st.just({"type": "string"}) | st.booleans(), max_size=2
        ),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
    },
)
OUTPUT_SCHEMAS = INPUT_SCHEMAS | st.sampled_from([{"type": "string"}, {"anyOf": [{}]}, {}])

CHOICES = st.lists(st.fixed_dictionaries({"const": NAMES, "title": TEXT}), min_size=1, max_size=2)
TITLES = {"title": TEXT, "description": TEXT}


def form_fields(revision: Revision) -> st.SearchStrategy[Any]:
    one = st.fixed_dictionaries(
        {"type": st.just("string"), "enum": st.lists(NAMES, min_size=1)}, optional=TITLES
    )
    titled = st.fixed_dictionaries(
        {"type": st.just("string"), "oneOf": CHOICES}, optional={**TITLES, "default": NAMES}
    )
    plain = (
        st.fixed_dictionaries(
            {"type": st.just("string")},
            optional={**TITLES, "default": TEXT, "maxLength": st.integers(0, 9)},
        )
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["integer", "number"])},
            optional={**TITLES, "default": st.integers(0, 9)},
        )
        | st.fixed_dictionaries(
            {"type": st.just("boolean")}, optional={**TITLES, "default": st.booleans()}
        )
    )
    if not revision.has_titled_enums:
        return plain | one | titled
    many = st.fixed_dictionaries(
        {"type": st.just("array"), "items": st.fixed_dictionaries({"anyOf": CHOICES})},
        optional={**TITLES, "default": st.lists(NAMES, max_size=2)},
    )
    return plain | one | titled | many


def forms(revision: Revision) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(NAMES, form_fields(revision), max_size=2),
        }
    )


def request_meta(revision: Revision) -> st.SearchStrategy[Any]:
    token = {"progress_token": st.integers(0, 9) | TEXT}
    if not revision.is_modern:
        return st.fixed_dictionaries({}, optional=token)
    return st.fixed_dictionaries(
        {
            types.PROTOCOL_VERSION_META_KEY: st.just(revision.version),
            types.CLIENT_CAPABILITIES_META_KEY: st.just({}),
        },
        optional=token,
    )


def form_values(revision: Revision) -> st.SearchStrategy[Any]:
    value = TEXT | st.integers(-9, 9) | st.booleans() | st.none()
    if revision.has_titled_enums:
        value |= st.lists(TEXT, max_size=2)
    return st.dictionaries(NAMES, value, max_size=2)


def values_of(cls: type, revision: Revision) -> st.SearchStrategy[Any]:
    """Make objects of a class, whose fields are what the revision may be given."""
    given: dict[str, st.SearchStrategy[Any]] = {}
    for field in fields_of(cls):
        strategy = special(cls, field, revision)
        if strategy is None:
            strategy = shaped(field.shape, revision, field)
        demanded = revision.version in field.required
        if field.wire == "resultType" or (
            field.name in {"type", "method", "mode"} and field.default is not attrs.NOTHING
        ):
            continue
        if field.nullable and not demanded:
            strategy = st.none() | strategy
        elif field.default is not attrs.NOTHING and not demanded:
            default = field.default
            strategy = strategy | (
                st.builds(default.factory)
                if isinstance(default, attrs.Factory)
                else st.just(default)
            )
        given[field.name] = strategy
    if cls is types.InputRequiredResult:
        given["request_state"] = TEXT
    return st.builds(cls, **given)


def special(cls: type, field: Field, revision: Revision) -> st.SearchStrategy[Any] | None:
    """Make values that the specification restricts more than their type says."""
    match cls.__name__, field.name:
        case "Tool", "input_schema":
            return INPUT_SCHEMAS
        case "Tool", "output_schema":
            return OUTPUT_SCHEMAS
        case _, "requested_schema":
            return forms(revision)
        case "ElicitResult", "content":
            return form_values(revision)
        case "Root", "uri":
            return st.just("file:///home/user")
        case "SubscriptionsListenResult", "meta":
            return st.just({types.SUBSCRIPTION_ID_META_KEY: 1})
        case _, "ttl_ms" | "poll_interval" | "size" | "ttl" | "max_tokens":
            return st.integers(0, 2**40)
        case _, "code":
            return st.integers(-40_000, 0)
        case _, "uri" | "url" if field.shape == Plain("string"):
            return st.just("https://example.com/a")
    return None


def exists(shape: Shape, revision: Revision) -> bool:
    """Whether a revision has a class, or other words for it."""
    cls = shape.load() if isinstance(shape, Named) else None
    if not isinstance(cls, type) or revision.includes(cls.wire_since, None):
        return True
    return downgrade_for(cls, revision) is not None


def shaped(shape: Shape, revision: Revision, field: Field | None = None) -> st.SearchStrategy[Any]:
    """Make values of a shape."""
    match shape:
        case Words():
            return st.sampled_from(shape.words)
        case Items():
            return st.lists(shaped(shape.of, revision), max_size=2)
        case Members():
            return st.dictionaries(NAMES, shaped(shape.of, revision), max_size=2)
        case Choice():
            said = [each for each in shape.of if exists(each, revision)]
            return st.one_of(*(shaped(each, revision) for each in said))
        case Named():
            loaded = shape.load()
            if isinstance(loaded, type):
                return st.deferred(lambda: values_of(loaded, revision))
            return shaped(shape_of(loaded), revision)
        case Plain(kind="number") if field is not None and field.bounds is not None:
            return st.floats(0, 1)
        case Plain(kind="meta"):
            return request_meta(revision)
    return {
        "any": JSON,
        "string": TEXT,
        "integer": st.integers(0, 2**40),
        "number": NUMBERS,
        "boolean": st.booleans(),
        "id": TEXT | st.integers(0, 2**40),
        "object": OBJECTS,
    }[shape.kind]
