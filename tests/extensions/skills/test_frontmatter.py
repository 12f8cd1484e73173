"""The head of a SKILL.md is YAML 1.2 that JSON can say, and nothing else."""

from __future__ import annotations

import pytest

from trio_mcp.extensions.skills._frontmatter import (
    MAX_FRONTMATTER,
    FrontmatterError,
    read_frontmatter,
)


@pytest.mark.req("R-713")
@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("2026-01-31", "2026-01-31"),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("-7", -7),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("[1, a, {b: c}]", [1, "a", {"b": "c"}]),
        ("|\n  two\n  lines", "two\nlines\n"),
        (">-\n  two\n  lines", "two lines"),
        ("{<<: x}", {"<<": "x"}),
    ],
)
def test_a_value_is_what_the_core_schema_says(yaml: str, value: object) -> None:
    read = read_frontmatter(f"---\nkey: {yaml}\nlast: 1\n---\nBody\n")
    assert read == {"key": value, "last": 1}
    assert type(read["key"]) is type(value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_end_as_on_either_system(end: str) -> None:
    assert read_frontmatter(end.join(["---", "name: x", "--- ", "Body"])) == {"name": "x"}
    assert read_frontmatter(end.join(["---", "name: x", "---"])) == {"name": "x"}


@pytest.mark.req("R-665")
@pytest.mark.parametrize(
    ("yaml", "why"),
    [
        ("a: &x 1\nb: *x", "alias"),
        ("a: &a [&b [*a]]", "alias"),
        ("a: " + "[" * 5000, "nests too deep"),
        ("- a", "no mapping"),
        ("text", "no mapping"),
        ("", "no mapping"),
        ("a: 1\na: 2", "'a' is there twice"),
        ("1: a", "the key 1 is no text"),
        ("[a]: b", "no text"),
        ("a: !!binary aGk=", "JSON has nothing for"),
        ("a: !!timestamp 2026-01-01", "JSON has nothing for"),
        ("a: !!set {b}", "JSON has nothing for"),
        ("a: !!python/object/apply:os.system [ls]", "JSON has nothing for"),
        ("a: !mine 1", "JSON has nothing for"),
        ("a: .nan", "no float of JSON"),
        ("a: -.inf", "no float of JSON"),
        ("a: " + "9" * 5000, "no int of JSON"),
        ('a: "\\ud800"', "no str of JSON"),
        ("a: [", r"no YAML: .*line 2"),
        ("a: b: c", "no YAML"),
        ("a: 1\n--- x\nb: 2", "no YAML"),
        ("a: \x00", "no YAML"),
        ('a: "\\UFFFFFFFF"', "no YAML"),
        ('a: "\\U00110000"', "no YAML"),
    ],
)
def test_what_json_cannot_say_is_refused(yaml: str, why: str) -> None:
    with pytest.raises(FrontmatterError, match=why):
        read_frontmatter(f"---\n{yaml}\n---\n")


def test_version_of_yaml_that_is_no_number_is_refused() -> None:
    with pytest.raises(FrontmatterError, match="no YAML"):
        read_frontmatter(f"---\n%YAML {'1' * 5000}.1\n--- a\n---\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Title",
        "---\nname: x\n",
        "\n---\nname: x\n---\n",
        "\ufeff---\nname: x\n---\n",
        "----\nname: x\n----\n",
        f"---\nname: {'x' * MAX_FRONTMATTER}\n---\n",
    ],
)
def test_a_file_without_a_head_is_refused(text: str) -> None:
    with pytest.raises(FrontmatterError, match="does not begin with a front matter"):
        read_frontmatter(text)
