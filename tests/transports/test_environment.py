from __future__ import annotations

import runpy
import sys

import pytest

from trio_mcp.transports import (
    DEFAULT_INHERITED_ENV_VARS,
    _environment,
    get_default_environment,
)


@pytest.mark.case("C011")
def test_only_listed_variables_are_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("SECRET", "x")
    environment = get_default_environment()
    assert environment["PATH"] == "/bin"
    assert "SECRET" not in environment
    assert environment.keys() <= set(DEFAULT_INHERITED_ENV_VARS)


def test_shell_functions_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "() { :; }; echo hacked")
    assert "TERM" not in get_default_environment()


@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_the_names_include_those_that_people_know() -> None:
    assert {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG"} <= set(
        DEFAULT_INHERITED_ENV_VARS
    )


@pytest.mark.case("C011")
def test_windows_has_names_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "APPDATA", "SECRET"):
        monkeypatch.setenv(name, "x")
    environment = runpy.run_path(_environment.__file__)["get_default_environment"]()
    assert environment.keys() >= {"PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "APPDATA"}
    assert "SECRET" not in environment
