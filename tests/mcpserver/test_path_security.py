from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from trio_mcp.mcpserver._path_security import (
    DEFAULT_RESOURCE_SECURITY,
    PathEscapeError,
    ResourceSecurity,
    ResourceSecurityError,
    contains_path_traversal,
    is_absolute_path,
    safe_join,
)
from trio_mcp.mcpserver._uri_template import UriTemplate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("value", "climbs"),
    [
        ("", False),
        ("a/b/c", False),
        ("a/../b", False),
        ("a/./../b", False),
        ("1.0..2.0", False),
        ("...", False),
        ("..", True),
        ("../etc", True),
        ("a/../../b", True),
        ("a//../..", True),
        ("./..", True),
        ("..\\etc", True),
        ("a\\..\\..\\b", True),
        ("a/..\\../b", True),
    ],
)
def test_contains_path_traversal(value: str, climbs: bool) -> None:
    assert contains_path_traversal(value) is climbs


@pytest.mark.parametrize(
    ("value", "absolute"),
    [
        ("", False),
        ("a/b", False),
        ("12:30", False),
        ("ab:c", False),
        ("/etc/passwd", True),
        ("\\Windows", True),
        ("\\\\host\\share", True),
        ("//host/share", True),
        ("C:\\Windows", True),
        ("c:x", True),
    ],
)
def test_is_absolute_path(value: str, absolute: bool) -> None:
    assert is_absolute_path(value) is absolute


@pytest.mark.req("R-282")
@pytest.mark.parametrize(
    "parts",
    [("../x",), ("a", "../../x"), ("/etc/passwd",), ("C:x",), ("\\x",), ("a\0b",), ("link", "x")],
)
def test_safe_join_refuses_what_leads_out(tmp_path: Path, parts: tuple[str, ...]) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "link").symlink_to(tmp_path)
    with pytest.raises(PathEscapeError):
        safe_join(base, *parts)


def test_safe_join_gives_the_resolved_path(tmp_path: Path) -> None:
    assert safe_join(tmp_path, "a/../b", "c.txt") == tmp_path.resolve() / "b" / "c.txt"
    assert safe_join(str(tmp_path)) == tmp_path.resolve()


@pytest.mark.req("R-282")
@pytest.mark.parametrize(
    "written",
    [
        "../secret",
        "%2e%2e/secret",
        "%2E%2E%2Fsecret",
        "..%5Csecret",
        "a/../../secret",
        "%2Fetc%2Fpasswd",
        "/etc/passwd",
        "C%3A%5Cx",
        "C:x",
        "a%00.txt",
    ],
)
@pytest.mark.parametrize("template", ["file:///{+path}", "file://{/path*}"])
def test_unsafe_values_are_refused_however_they_are_written(template: str, written: str) -> None:
    found = UriTemplate.parse(template).match(f"file:///{written}")
    assert found is not None
    assert DEFAULT_RESOURCE_SECURITY.validate(found) == "path"


@pytest.mark.parametrize(
    "written", ["a/b.txt", "a/../b", "%252e%252e%252fsecret", "..a/b..", "caf%C3%A9"]
)
def test_safe_values_pass(written: str) -> None:
    found = UriTemplate.parse("file:///{+path}").match(f"file:///{written}")
    assert found is not None
    assert DEFAULT_RESOURCE_SECURITY.validate(found) is None


def test_each_check_can_be_switched_off() -> None:
    values: dict[str, str | list[str]] = {"safe": "x", "range": "../a", "list": ["", "etc"]}
    assert DEFAULT_RESOURCE_SECURITY.validate(values) == "range"
    assert ResourceSecurity(reject_path_traversal=False).validate(values) == "list"
    assert ResourceSecurity(exempt_params={"range", "list"}).validate(values) is None
    assert ResourceSecurity(reject_null_bytes=False).validate({"x": "\0"}) is None
    assert ResourceSecurity(reject_absolute_paths=False).validate({"x": "/a"}) is None


def test_a_security_error_names_template_and_variable_and_pickles() -> None:
    error = pickle.loads(pickle.dumps(ResourceSecurityError("a://{x}", "x")))
    assert (error.template, error.param) == ("a://{x}", "x")
    assert str(error) == "The value of 'x' in 'a://{x}' is not allowed"
