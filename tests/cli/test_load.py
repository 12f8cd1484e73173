from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from trio_mcp.cli._load import load_server
from trio_mcp.cli._mistakes import Failure, UsageMistake

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write a file to load; what loading does to `sys` is undone."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", {**sys.modules})

    def write(source: str, name: str = "served_file.py") -> str:
        (tmp_path / name).write_text(f"from trio_mcp import MCPServer, Server\n{source}", "utf-8")
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize("name", ["mcp", "server", "app"])
@pytest.mark.parametrize("kind", ["MCPServer", "Server"])
def test_server_is_found_by_its_usual_names(name, kind, write):
    assert load_server(write(f"{name} = {kind}('x')"), None).name == "x"


def test_first_usual_name_that_is_a_server_counts(write):
    source = "mcp = 'no server'\napp = MCPServer('app')\nserver = MCPServer('server')"
    assert load_server(write(source), None).name == "server"


def test_object_is_found_by_its_name_with_dots(write):
    source = "mcp = MCPServer('mcp')\nclass holder:\n    inner = MCPServer('inner')"
    assert load_server(write(source), "holder.inner").name == "inner"


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("mine = MCPServer('x')", None, "did you mean .*served_file.py:mine"),
        ("", None, "no server called mcp, server or app$"),
        ("mcp = MCPServer('x')", "other", "has no other; did you mean .*:mcp"),
        ("mcp = 5", "mcp", "mcp in .* is a int, not an MCPServer"),
        ("def make(): return MCPServer('x')", "make", "is a function"),
    ],
)
def test_file_without_the_server_is_a_usage_mistake(source, name, message, write):
    with pytest.raises(UsageMistake, match=message):
        load_server(write(source), name)


def test_missing_file_is_a_usage_mistake(tmp_path):
    with pytest.raises(UsageMistake, match="no file"):
        load_server(str(tmp_path / "gone.py"), None)
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(UsageMistake, match="no Python file"):
        load_server(str(tmp_path / "text.txt"), None)


def test_main_guard_is_not_executed(write):
    source = "mcp = MCPServer('x')\nif __name__ == '__main__':\n    raise AssertionError"
    assert load_server(write(source), None).name == "x"


def test_files_beside_it_can_be_imported(write):
    write("name = 'from beside'", "beside_it.py")
    source = "from beside_it import name\nmcp = MCPServer(name)"
    assert load_server(write(source), None).name == "from beside"


def test_module_that_others_use_is_not_replaced(write):
    import json

    assert load_server(write("mcp = MCPServer('x')", "json.py"), None).name == "x"
    assert sys.modules["json"] is json


def test_print_while_importing_goes_to_stderr(write, capsys):
    load_server(write("print('hello')\nmcp = MCPServer('x')"), None)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


def test_failing_import_shows_the_traceback_of_the_file_alone(write, capsys):
    with pytest.raises(Failure, match="cannot be imported: ZeroDivisionError: division") as caught:
        load_server(write("1 / 0"), None)
    assert caught.value.status == 1
    err = capsys.readouterr().err
    assert "1 / 0" in err
    assert "_load.py" not in err


def test_file_that_does_not_parse_is_shown(write, capsys):
    with pytest.raises(Failure, match="SyntaxError"):
        load_server(write("def f(:"), None)
    assert "def f(:" in capsys.readouterr().err


def test_file_that_exits_is_a_failure(write):
    with pytest.raises(Failure, match="ended the program while it was imported: 3"):
        load_server(write("raise SystemExit(3)"), None)
