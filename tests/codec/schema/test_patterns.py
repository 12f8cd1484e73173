"""Patterns are those of ECMA-262, whatever the engine spells in another way."""

from __future__ import annotations

from typing import Any

import pytest

from trio_mcp._codec._schema import SchemaError, UnsupportedPattern, compile_validator

both = pytest.mark.parametrize("trusted", [True, False], ids=["own", "remote"])

# pattern: a text that it matches, and one that it does not
PATTERNS = {
    r"^(?<y>a)$": ("a", "b"),
    r"^(?<y>a|b)\k<y>$": ("bb", "ba"),
    r"^(x)(?:-)(?<y>a|b)\k<y>0$": ("x-aa0", "x-ab0"),
    r"^[(](?<y>a|b)\k<y>$": ("(aa", "(ab"),
    r"^\((?<y>a|b)\k<y>$": ("(aa", "(ab"),
    r"^\ud83d\ude00$": ("😀", "😁"),
    r"^\uD83D\uDE00{2}$": ("😀😀", "😀"),
    r"^[\ud83d\ude00-\ud83d\ude4f]+$": ("😀🙏", "a"),
    r"^[^\ud83d\ude00]$": ("😁", "😀"),
    r"^\\ud83d\\ude00$": (r"\ud83d\ude00", "😀"),
    r"^\0$": ("\0", "0"),
    r"^[\0]$": ("\0", "0"),
    r"^[\b]$": ("\b", "b"),
    r"\bb[)\]]$": ("a b]", "ab]"),
    r"^[^]$": ("\n", ""),
    r"^(?:[]|a)$": ("a", "]"),
    r"^\[]$": ("[]", "["),
}


@both
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_it_means_in_ecma_262(pattern: str, *, trusted: bool) -> None:
    fits, other = PATTERNS[pattern]
    validator = compile_validator({"items": {"pattern": pattern}}, trusted=trusted)
    assert validator.check([fits]) is None
    violation = validator.check([fits, other])
    assert violation is not None
    assert (violation.path, violation.keyword) == ("[1]", "pattern")
    # What others see of the schema is what was given.
    assert validator.schema == {"items": {"pattern": pattern}}


@both
@pytest.mark.parametrize(
    "pattern", [r"^\ud83d\ude00$", r"^[\ud83d\ude00]$", r"^[\b]$", r"^\0$", r"^[^]$"]
)
def test_names_of_properties_are_matched_in_the_same_way(pattern: str, *, trusted: bool) -> None:
    fits, _ = PATTERNS.get(pattern, ("😀", ""))
    schema: dict[str, Any] = {
        "patternProperties": {pattern: {"type": "null"}, "^zz": False},
        "properties": {"other": {"$ref": "#/properties/more"}, "more": {"type": "integer"}},
    }
    validator = compile_validator(schema, trusted=trusted)
    assert validator.check({fits: None, "other": 1}) is None
    assert validator.check({fits: 1}) is not None
    assert validator.check({"zz": 1}) is not None
    assert validator.check({"other": "x"}) is not None


@both
def test_two_spellings_of_one_name_are_not_made_one(*, trusted: bool) -> None:
    schema = {
        "patternProperties": {r"^\ud83d\ude00": {"minimum": 1}, r"^\u{1F600}": {"maximum": 2}}
    }
    # Made the same, one of them would be lost.
    with pytest.raises(UnsupportedPattern):
        compile_validator(schema, trusted=trusted)


@both
@pytest.mark.parametrize(
    "pattern",
    ["(", r"^\ud83d$", r"^[\ud800-\udbff][\udc00-\udfff]$", r"\k<unheard>", r"\q", "a{100000000}"],
)
@pytest.mark.parametrize(
    "place",
    [lambda pattern: {"pattern": pattern}, lambda pattern: {"patternProperties": {pattern: {}}}],
)
def test_what_cannot_be_decided_is_told_as_that(
    place: Any, pattern: str, *, trusted: bool
) -> None:
    with pytest.raises(
        UnsupportedPattern, match="no regular expression that can be used"
    ) as caught:
        compile_validator({"properties": {"a": place(pattern)}}, trusted=trusted)
    assert isinstance(caught.value, SchemaError)
    assert caught.value.path.startswith("properties.a")
