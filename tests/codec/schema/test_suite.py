"""The official suite of JSON Schema 2020-12, through the door.

How those tests count that need a document from elsewhere (`refRemote`, custom metaschemas, some of
`dynamicRef`): nothing is ever fetched, so the right behaviour is to refuse the schema with an
error. They are checked to be refused, and to be just those that the engine, offline, cannot
resolve either, or that declare a dialect of their own.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from trio_mcp._codec._schema import DIALECTS, SchemaError, compile_validator, plan_schema

Groups = list[tuple[str, dict[str, Any]]]


def needs_another_document(schema: Any) -> bool:
    """Whether a schema is refused by the engine itself, when it may not fetch."""
    if isinstance(schema, dict):
        declared = schema.get("$schema")
        if declared is not None and declared.removesuffix("#") not in DIALECTS:
            return True
    try:
        jsonschema_rs.Draft202012Validator(schema, offline=True)
    except jsonschema_rs.ValidationError as exc:
        return "Retrieval is disabled" in str(exc)
    return False


@pytest.mark.req("R-033", "R-036", "R-043")
@pytest.mark.parametrize("trusted", [True, False], ids=["own", "remote"])
def test_every_required_verdict_is_right(required_groups: Groups, *, trusted: bool) -> None:
    wrong: list[str] = []
    verdicts = {"fast": 0, "full": 0, "refused": 0}
    for file, group in required_groups:
        schema = group["schema"]
        if needs_another_document(schema):
            with pytest.raises(SchemaError):
                compile_validator(schema, trusted=trusted)
            verdicts["refused"] += len(group["tests"])
            continue
        validator = compile_validator(schema, trusted=trusted)
        for test in group["tests"]:
            verdicts[validator.engine] += 1
            if (validator.check(test["data"]) is None) != test["valid"]:
                wrong.append(f"{file}: {group['description']}: {test['description']}")
    assert wrong == []
    assert sum(verdicts.values()) == sum(len(group["tests"]) for _, group in required_groups)
    assert verdicts["refused"] < 60
    if trusted:
        assert verdicts["fast"] > 500
    else:
        assert verdicts["fast"] == 0


def test_the_plan_alone_is_right_about_what_it_takes(required_groups: Groups) -> None:
    """What is planned as fast gets the same verdict from either engine."""
    taken = 0
    for file, group in required_groups:
        if plan_schema(group["schema"]).engine != "fast":
            continue
        fast = compile_validator(group["schema"], trusted=True)
        full = compile_validator(group["schema"], trusted=False)
        assert (fast.engine, full.engine) == ("fast", "full")
        for test in group["tests"]:
            taken += 1
            story = f"{file}: {group['description']}: {test['description']}"
            assert fast.check(test["data"]) == full.check(test["data"]), story
            assert (fast.check(test["data"]) is None) == test["valid"], story
    assert taken > 500


def test_a_schema_without_dollar_schema_gets_the_same_verdicts(required_groups: Groups) -> None:
    checked = 0
    for file, group in required_groups:
        schema = group["schema"]
        if not isinstance(schema, dict) or needs_another_document(schema):
            continue
        bare = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
        validator = compile_validator(bare, trusted=False)
        for test in group["tests"]:
            checked += 1
            fits = validator.check(test["data"]) is None
            assert fits == test["valid"], f"{file}: {group['description']}"
    assert checked > 1_000


def test_all_violations_begin_with_the_first(required_groups: Groups) -> None:
    told = 0
    for _file, group in required_groups:
        try:
            validator = compile_validator(group["schema"], trusted=True)
        except SchemaError:
            continue
        for test in group["tests"]:
            first = validator.check(test["data"])
            everything = validator.violations(test["data"])
            assert everything[:1] == ([] if first is None else [first])
            told += first is not None
    assert told > 400
