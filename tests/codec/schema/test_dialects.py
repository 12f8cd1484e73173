from __future__ import annotations

from typing import Any

import pytest

from trio_mcp._codec._schema import DIALECTS, SchemaError, compile_validator

TUPLE: dict[str, Any] = {"items": [{"type": "integer"}, {"type": "string"}]}


@pytest.mark.req("R-036", "R-033")
@pytest.mark.parametrize("trusted", [True, False])
def test_the_default_dialect_is_2020_12(*, trusted: bool) -> None:
    validator = compile_validator(
        {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, trusted=trusted
    )
    assert validator.check([1, "a", "b"]) is None
    assert validator.check([1, 2]) is not None
    # What a tuple was called before is no schema now.
    with pytest.raises(SchemaError):
        compile_validator(TUPLE, trusted=trusted)


@pytest.mark.req("R-037")
@pytest.mark.parametrize("mark", ["", "#"])
@pytest.mark.parametrize(
    "uri",
    [
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    ],
)
def test_an_older_schema_is_checked_by_its_own_rules(uri: str, mark: str) -> None:
    validator = compile_validator({"$schema": uri + mark, **TUPLE}, trusted=True)
    assert validator.engine == "full"
    assert validator.check([1, "a", None]) is None
    assert validator.check(["a"]) is not None
    # A keyword that the dialect does not know says nothing.
    later = compile_validator({"$schema": uri, "prefixItems": [{"type": "integer"}]}, trusted=True)
    assert later.check(["a"]) is None


@pytest.mark.req("R-037")
def test_what_older_drafts_mean_by_a_keyword() -> None:
    four = "http://json-schema.org/draft-04/schema#"
    exclusive = compile_validator(
        {"$schema": four, "minimum": 1, "exclusiveMinimum": True}, trusted=False
    )
    assert exclusive.check(1) is not None
    assert exclusive.check(2) is None
    seven = "http://json-schema.org/draft-07/schema#"
    ignored = compile_validator(
        {"$schema": seven, "definitions": {"a": {}}, "$ref": "#/definitions/a", "type": "null"},
        trusted=False,
    )
    assert ignored.check(1) is None
    anchored = compile_validator(
        {
            "$schema": seven,
            "items": {"$ref": "#n"},
            "definitions": {"n": {"$id": "#n", "type": "null"}},
        },
        trusted=False,
    )
    assert anchored.check([1]) is not None
    nineteen = "https://json-schema.org/draft/2019-09/schema"
    tree = compile_validator(
        {
            "$schema": nineteen,
            "$recursiveAnchor": True,
            "type": "object",
            "additionalProperties": {"$recursiveRef": "#"},
        },
        trusted=False,
    )
    assert tree.check({"a": {"b": {}}}) is None
    assert tree.check({"a": {"b": 1}}) is not None


@pytest.mark.req("R-038")
@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    "uri",
    [
        "http://json-schema.org/draft-03/schema#",
        "http://json-schema.org/schema#",
        "https://example.com/my-dialect",
        "https://json-schema.org/draft/2020-12/schema##",
        "",
        7,
    ],
)
def test_any_other_dialect_is_an_error_that_names_the_supported_ones(
    uri: Any, *, trusted: bool
) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_validator({"$schema": uri}, trusted=trusted, where="inputSchema")
    assert str(caught.value).startswith("inputSchema.$schema: unsupported")
    assert all(supported in str(caught.value) for supported in DIALECTS)
    assert isinstance(caught.value, ValueError)


@pytest.mark.req("R-038")
def test_a_part_cannot_have_another_dialect() -> None:
    seven = "http://json-schema.org/draft-07/schema#"
    with pytest.raises(SchemaError, match=r"properties\.a: .*another dialect"):
        compile_validator({"properties": {"a": {"$schema": seven, "$id": "x"}}}, trusted=True)
    same = "https://json-schema.org/draft/2020-12/schema#"
    assert (
        compile_validator({"items": {"$schema": same, "$id": "x:y"}}, trusted=True).check([])
        is None
    )


@pytest.mark.req("R-039")
@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    ("schema", "path", "words"),
    [
        ({"properties": {"a": {"type": "strnig"}}}, "properties.a.type", "one of 'array'"),
        ({"minLength": -1}, "minLength", "at least 0"),
        ({"required": ["a", "a"]}, "required", "items that all differ"),
        ({"$defs": {"unused": {"title": 5}}}, "$defs.unused.title", "string, got integer 5"),
        ({"allOf": []}, "allOf", "at least 1 item"),
        ({"multipleOf": 0}, "multipleOf", "more than 0"),
        ({"pattern": "("}, "pattern", "'(' is no regular expression"),
        ({"items": {"patternProperties": {"[": {}}}}, "items.patternProperties", "'['"),
        (5, "", "object or boolean, got integer 5"),
        ([], "", "object or boolean, got empty array"),
        ({"$schema": "http://json-schema.org/draft-04/schema", "id": 5}, "id", "string"),
    ],
    ids=lambda part: str(part)[:40],
)
def test_an_invalid_schema_is_refused_where_it_is_wrong(
    schema: Any, path: str, words: str, *, trusted: bool
) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_validator(schema, trusted=trusted, where="tool")
    assert caught.value.path.startswith(path)
    assert words in caught.value.reason
    assert str(caught.value).startswith("tool" + ("." if path else ":") + path)
