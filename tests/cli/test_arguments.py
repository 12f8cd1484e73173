from __future__ import annotations

import pytest

from trio_mcp.cli._arguments import read_json_object, read_value, split_words, types_of
from trio_mcp.cli._mistakes import UsageMistake

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
NULL = {"type": "null"}
ARRAY = {"type": "array"}
OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (STRING, "tea", "tea"),
        (STRING, "5", "5"),
        (STRING, "true", "true"),
        (STRING, '"quoted"', '"quoted"'),
        (STRING, "", ""),
        (STRING, "a=b", "a=b"),
        (INTEGER, "5", 5),
        (INTEGER, "-5", -5),
        (INTEGER, "123456789012345678901234567890", 123456789012345678901234567890),
        (NUMBER, "8.5", 8.5),
        (NUMBER, "1e3", 1000.0),
        (BOOLEAN, "true", True),
        (NULL, "null", None),
        (ARRAY, '["a", 1]', ["a", 1]),
        (OBJECT, '{"a": {"b": 1}}', {"a": {"b": 1}}),
        # What does not fit is for the server to refuse.
        (INTEGER, "5.5", 5.5),
        (BOOLEAN, "1", 1),
        # A string or something else: JSON of the other type, or else the string.
        ({"anyOf": [STRING, NULL]}, "null", None),
        ({"anyOf": [STRING, NULL]}, "5", "5"),
        ({"anyOf": [STRING, NULL]}, "tea", "tea"),
        ({"type": ["string", "integer"]}, "5", 5),
        ({"type": ["string", "integer"]}, '"5"', "5"),
        ({"type": ["string", "integer"]}, "true", "true"),
        ({"oneOf": [STRING, ARRAY]}, "[1]", [1]),
        ({"oneOf": [STRING, ARRAY]}, "[1", "[1"),
        # Types are found where they stand.
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"const": "x"}, "7", "7"),
        ({"allOf": [STRING]}, "7", "7"),
        ({"$ref": "#/$defs/Size"}, "7", "7"),
        ({"$ref": "#/$defs/a~1b~0c"}, "7", 7),
        # Nothing is known of the type.
        ({}, "5", 5),
        ({}, "tea", "tea"),
        (True, "5", 5),
        ({"$ref": "#/$defs/Missing"}, "5", 5),
        ({"$ref": "https://example.com/schema"}, "tea", "tea"),
        ({"$ref": "#/$defs/Loop"}, "5", 5),
        ({"allOf": [STRING, {"minLength": 1}]}, "5", 5),
    ],
)
def test_text_is_read_by_the_schema_of_its_argument(schema, text, value):
    root = {
        "properties": {"x": schema},
        "$defs": {"Size": STRING, "a/b~c": INTEGER, "Loop": {"$ref": "#/$defs/Loop"}},
    }
    read = read_value("x", text, root)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (NUMBER, "five", "a number"),
        (BOOLEAN, "yes", "true or false"),
        (BOOLEAN, "True", "true or false"),
        (ARRAY, "a,b", "a JSON array"),
        (INTEGER, "", "an integer"),
        (NUMBER, "NaN", "a number"),
        ({"type": ["integer", "null"]}, "none", "an integer or null"),
    ],
)
def test_text_that_is_no_json_is_refused_with_what_was_expected(schema, text, expected):
    with pytest.raises(UsageMistake) as caught:
        read_value("x", text, {"properties": {"x": schema}})
    assert str(caught.value) == f"x: expected {expected}, got {text!r}"


def test_argument_that_no_property_describes_follows_additional_properties():
    assert read_value("x", "5", {"additionalProperties": STRING}) == "5"
    assert read_value("x", "5", {"additionalProperties": False}) == 5
    assert read_value("x", "5", {"properties": {"y": STRING}}) == 5
    assert read_value("x", "5", {}) == 5


def test_types_of_the_root_schema():
    assert types_of({"$ref": "#"}, {"type": "object"}) == {"object"}


def test_words_are_told_apart():
    assert split_words(["a=1", "b=x=y", '{"c": 2}'], None) == ({"c": 2}, {"a": "1", "b": "x=y"})
    assert split_words(["a="], '{"c": null}') == ({"c": None}, {"a": ""})
    assert split_words([], None) == ({}, {})


@pytest.mark.parametrize(
    ("words", "json_text", "message"),
    [
        (["five"], None, "not 'five'"),
        (["=5"], None, "not '=5'"),
        (["a=1", "a=2"], None, "a is given twice"),
        (["a=1", '{"a": 1}'], None, "a is given twice"),
        (["{}"], "{}", "given twice"),
        (["{"], None, "no JSON"),
        ([], "[1]", "a JSON object"),
        ([], '{"a": NaN}', "no JSON"),
    ],
)
def test_words_that_say_nothing_clear_are_refused(words, json_text, message):
    with pytest.raises(UsageMistake, match=message):
        split_words(words, json_text)


def test_json_keeps_types_and_big_numbers():
    assert read_json_object('{"n": 12345678901234567890123}') == {"n": 12345678901234567890123}
