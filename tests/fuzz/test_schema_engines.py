"""Both schema engines on the same schemas and values: they must never differ.

Schemas are made at random out of what the compile plan takes and of what it does not, values in
part at random and in part to nearly fit. Each schema gets the plan's engine and the full one.
Every difference fails, with the seed that brings it back:
``pytest tests/fuzz --fuzz-seed=N --fuzz-schemas=8 --fuzz-seconds=0`` (one for each part).
"""

from __future__ import annotations

import json
import random
import time
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from trio_mcp._codec._schema import (
    SchemaError,
    compile_validator,
    plan_schema,
)

Json = Any

NAMES = [
    "a",
    "b",
    "c",
    "A",
    "a b",
    "a-b",
    "a_b",
    "é",
    "",
    "$x",
    "id",
    "'",
    '"',
    "{a}",
    "\\",
    "\n",
    "data",
    "x" * 40,
]
TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "A",
    "é",
    "𝄞",
    "a\n",
    "\n",
    " ",
    "0",
    "12",
    "a-b",
    "2024-01-02",
    "a" * 70,
    "'",
    '"',
    "{}",
    "\\",
    "null",
]
NUMBERS: list[int | float] = [
    0,
    1,
    -1,
    2,
    3,
    1.0,
    0.0,
    -0.0,
    1.5,
    2.5,
    -1.5,
    1e16,
    1e300,
    2**53,
    2**53 - 1,
    2**53 + 1,
    -(2**53) - 1,
    2**64,
    10**30,
    0.1,
    5e-324,
]
LIMITS: list[int | float] = [0, 1, -1, 2, 1.0, 1.5, 0.1, -2.5, 3, 10, 2**53, 1e15, 1e300, 2**60]
COUNTS: list[int | float] = [0, 1, 2, 3, 1.0, 2.0, 70]
PATTERNS = [
    "^a",
    "a$",
    "^a$",
    "^[a-z]+$",
    "^[a-z]{2}$",
    "^[A-Za-z0-9_-]{1,64}$",
    "b",
    "",
    "^$",
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "^[a-z ]*$",
    "a\\.b",
    "^a?",
    "(a|b)+",
    "^\\d+$",
    "é",
]
TYPES = ["null", "boolean", "number", "integer", "string", "array", "object"]
ANNOTATIONS: list[tuple[str, Json]] = [("title", "t"), ("description", '"""'), ("default", {"$ref": "#/x"}), ("format", "date"), ("examples", [1]), ("deprecated", True), ("$comment", "c"), ("x-more", {"$ref": "http://localhost/"}), ("contentEncoding", "base64"), ("title", 5), ("unknown", 1)]  # fmt: skip


class Maker:
    """Makes schemas and values out of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.definitions = [f"D{n}" for n in range(self.random.randrange(3))]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def schema(self) -> Json:
        schema = self.subschema(0)
        if isinstance(schema, dict) and self.definitions:
            keyword = "$defs" if self.chance(0.8) else "definitions"
            self.random.shuffle(self.definitions)
            schema[keyword] = {name: self.subschema(1) for name in self.definitions}
        if isinstance(schema, dict) and self.chance(0.2):
            schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        return schema

    def subschema(self, depth: int) -> Json:
        if self.chance(0.06):
            return self.random.choice([True, False, {}])
        if self.definitions and self.chance(0.12):
            return {"$ref": f"#/$defs/{self.random.choice(self.definitions)}"}
        keywords = [
            self.scalar,
            self.scalar,
            self.of_strings,
            self.of_numbers,
            self.of_arrays,
            self.of_objects,
        ]
        if depth < 4:
            keywords += [self.children, self.children, self.combined]
        schema: dict[str, Json] = {}
        for _ in range(self.random.choice([1, 1, 2, 2, 3, 4])):
            schema.update(self.random.choice(keywords)(depth))
        if self.chance(0.1):
            keyword, value = self.random.choice(ANNOTATIONS)
            schema[keyword] = value
        if self.chance(0.03):
            schema.update(self.beyond(depth))
        return schema

    def scalar(self, depth: int) -> dict[str, Json]:
        kind = self.random.randrange(6)
        if kind == 0:
            return {"enum": [self.value(2) for _ in range(self.random.choice([1, 2, 4]))]}
        if kind == 1:
            return {"const": self.value(2)}
        if kind == 2:
            return {"type": self.random.sample(TYPES, self.random.choice([1, 2, 3]))}
        return {"type": self.random.choice(TYPES)}

    def of_strings(self, depth: int) -> dict[str, Json]:
        if self.chance(0.4):
            return {"pattern": self.random.choice(PATTERNS)}
        return {self.random.choice(["minLength", "maxLength"]): self.random.choice(COUNTS)}

    def of_numbers(self, depth: int) -> dict[str, Json]:
        keyword = self.random.choice(
            ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
        )
        return {keyword: self.random.choice(LIMITS)}

    def of_arrays(self, depth: int) -> dict[str, Json]:
        return {self.random.choice(["minItems", "maxItems"]): self.random.choice(COUNTS)}

    def of_objects(self, depth: int) -> dict[str, Json]:
        if self.chance(0.5):
            return {"required": self.random.sample(NAMES, self.random.choice([0, 1, 2]))}
        return {self.random.choice(["minProperties", "maxProperties"]): self.random.choice(COUNTS)}

    def children(self, depth: int) -> dict[str, Json]:
        kind = self.random.randrange(5)
        if kind == 0:
            return {"items": self.subschema(depth + 1)}
        if kind == 1:
            return {"additionalProperties": self.subschema(depth + 1)}
        names = self.random.sample(NAMES, self.random.choice([1, 2, 3]))
        made: dict[str, Json] = {"properties": {name: self.subschema(depth + 1) for name in names}}
        if self.chance(0.3):
            made["additionalProperties"] = False
        if self.chance(0.5):
            made["required"] = names[:1]
        return made

    def combined(self, depth: int) -> dict[str, Json]:
        keyword = self.random.choice(["allOf", "anyOf", "oneOf"])
        return {keyword: [self.subschema(depth + 1) for _ in range(self.random.choice([1, 2, 3]))]}

    def beyond(self, depth: int) -> dict[str, Json]:
        """Something that the plan must send to the full engine, or that is no schema."""
        return self.random.choice(
            [
                {"prefixItems": [self.subschema(5)]},
                {"uniqueItems": True},
                {"not": self.subschema(5)},
                {"multipleOf": 0.5},
                {"dependentRequired": {"a": ["b"]}},
                {"unevaluatedProperties": False},
                {"propertyNames": {"maxLength": 1}},
                {"contains": self.subschema(5), "minContains": 0},
                {"patternProperties": {"^a": self.subschema(5)}},
                {"if": self.subschema(5), "then": self.subschema(5)},
                {"items": {"$ref": "#"}},
                {"type": "nothing"},
                {"minLength": -1},
                {"definition_rule": '"+1/0+"'},
            ]
        )

    def value(self, depth: int) -> Json:
        kind = self.random.randrange(7 if depth < 4 else 5)
        if kind == 0:
            return self.random.choice([None, True, False])
        if kind in (1, 2):
            return self.random.choice(NUMBERS)
        if kind in (3, 4):
            return self.random.choice(TEXTS)
        size = self.random.choice([0, 1, 2, 3])
        if kind == 5:
            return [self.value(depth + 1) for _ in range(size)]
        return {name: self.value(depth + 1) for name in self.random.sample(NAMES, size)}

    def near(self, schema: Json, root: Json, depth: int = 0) -> Json:
        """A value that goes along with a schema, mostly."""
        if not isinstance(schema, dict) or depth > 6 or self.chance(0.08):
            return self.value(depth)
        if isinstance(schema.get("$ref"), str):
            name = schema["$ref"].rpartition("/")[2]
            target = root.get("$defs", {}).get(name, True) if isinstance(root, dict) else True
            return self.near(target, root, depth + 1)
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in schema and self.chance(0.4):
                return self.near(self.random.choice(schema[keyword]), root, depth + 1)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self.random.choice(schema["enum"])
        types = schema.get("type", [])
        kind = self.random.choice(types or [None]) if isinstance(types, list) else types
        if kind == "object" or (kind is None and {"properties", "required"} & schema.keys()):
            return self.near_object(schema, root, depth)
        if kind == "array" or (kind is None and "items" in schema):
            size = self.random.choice([0, 1, 2, 3])
            return [self.near(schema.get("items", True), root, depth + 1) for _ in range(size)]
        choices: dict[str | None, list[Json]] = {
            "null": [None],
            "boolean": [True, False],
            "integer": NUMBERS,
            "number": [*NUMBERS, *LIMITS],
            "string": TEXTS,
        }
        return self.random.choice(choices[kind]) if kind in choices else self.value(depth)

    def near_object(self, schema: dict[str, Json], root: Json, depth: int) -> Json:
        properties = schema.get("properties", {})
        names = [name for name in properties if self.chance(0.7)]
        names += [name for name in schema.get("required", []) if self.chance(0.9)]
        if self.chance(0.3):
            names.append(self.random.choice(NAMES))
        more = schema.get("additionalProperties", True)
        return {name: self.near(properties.get(name, more), root, depth + 1) for name in names}


def difference(schema: Json, values: list[Json]) -> str | None:
    """How the two engines differ on a schema, if they do."""
    try:
        full = compile_validator(schema, trusted=False)
    except SchemaError as exc:
        plan = plan_schema(schema)
        return f"planned {plan.engine}, yet {exc}" if plan.engine == "fast" else None
    own = compile_validator(schema, trusted=True)
    own.prepare()
    for value in values:
        before = json.dumps(value)
        verdict, reference = own.check(value), full.check(value)
        if verdict != reference:
            return f"{json.dumps(value)}: {own.engine} says {verdict}, full says {reference}"
        if json.dumps(value) != before:
            return f"{before} was changed"
    return None


# A search is cut up so that no one test looks like one that hangs.
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_engines_agree_on_random_schemas(
    part: int,
    search_seconds: float,
    search_schemas: int,
    search_seed: int | None,
) -> None:
    first = random.SystemRandom().randrange(2**48) if search_seed is None else search_seed + part
    begun = time.monotonic()
    fast = fitting = checks = tried = 0
    while tried < search_schemas / PARTS or time.monotonic() - begun < search_seconds / PARTS:
        maker = Maker(first + tried)
        schema = maker.schema()
        values = [maker.near(schema, schema) for _ in range(8)]
        values += [maker.value(0) for _ in range(4)]
        found = difference(schema, values)
        assert found is None, f"--fuzz-seed={first + tried}: {json.dumps(schema)}: {found}"
        tried += 1
        checks += len(values)
        if plan_schema(schema).engine == "fast":
            fast += 1
            validator = compile_validator(schema, trusted=True)
            fitting += sum(validator.check(value) is None for value in values)
    print(
        f"\n{tried} schemas ({fast} fast), {checks} checks ({fitting} fit fast ones), from {first}"
    )
    # A search that met only one engine, or only refusals, would prove nothing.
    if tried >= 200:
        assert 0.25 < fast / tried < 0.99
        assert fitting > tried / 2


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"enum": [True, 0]}, [1, True, 0, False, 1.0, 0.0]),
        ({"const": {"a": [1, {"b": 2}]}}, [{"a": [1.0, {"b": 2}]}, {"a": [True, {"b": 2}]}]),
        ({"pattern": "^a$"}, ["a\n", "a", "\na"]),
        ({"minLength": 2}, ["𝄞", "é\u0301", "𝄞a"]),
        ({"type": "integer"}, [1.0, 1e300, 2**70, True]),
        ({"maximum": 2**53}, [2**53 + 1, float(2**53), 2**53]),
        ({"minimum": 0.1}, [0.1, 0, 0.10000000000000002]),
        ({"properties": {"a": {}}, "additionalProperties": {}}, [{"a": 1, "b": 2}, []]),
        ({"items": False}, [[], [1], {}]),
        ({"properties": {"a": {}, "b": {}}, "required": ["b", "a"], "additionalProperties": False}, [{"a": 1, "b": 2}, {"a": 1}, {"a": 1, "c": 2}, {}, [], {"a": 1, "b": 2, "c": 3}]),
        ({"properties": {"a": {}}, "required": ["a"], "additionalProperties": False, "minProperties": 2}, [{"a": 1}, {"a": 1, "b": 2}]),
        ({"properties": {"a": False}, "required": ["a"], "additionalProperties": False}, [{"a": 1}, {}, {"b": 2}]),
        ({"$defs": {"a-b": {"type": "null"}, "a_b": {"type": "string"}}, "items": {"$ref": "#/$defs/a-b"}}, [["x"], [None]]),
    ],
    ids=str,
)  # fmt: skip
def test_engines_agree_where_they_once_might_not(schema: Json, values: list[Json]) -> None:
    assert plan_schema(schema).engine == "fast"
    assert difference(schema, values) is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def objects_of(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES),
            "items": inner,
            "properties": st.dictionaries(st.text(max_size=5), inner, max_size=3),
            "required": st.lists(st.text(max_size=5), unique=True, max_size=2),
            "additionalProperties": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "minLength": st.integers(0, 5),
            "maxItems": st.integers(0, 3),
            "minimum": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        },
    )


SCHEMAS = st.recursive(
    st.booleans()
    | st.builds(lambda value: {"const": value}, JSON)
    | st.builds(lambda name: {"type": name}, st.sampled_from(TYPES)),
    objects_of,
    max_leaves=8,
)


@hypothesis.settings(max_examples=60)
@hypothesis.given(schema=SCHEMAS, values=st.lists(JSON, min_size=1, max_size=6))
def test_engines_agree_on_generated_schemas(schema: Json, values: list[Json]) -> None:
    assert difference(schema, values) is None
