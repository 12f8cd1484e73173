"""Every public name resolves, shows its public path, and costs nothing before it is used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PUBLIC = [
    name
    for name in (
        "trio_mcp",
        "trio_mcp.types",
        "trio_mcp.errors",
        "trio_mcp.transports",
        "trio_mcp.auth",
        "trio_mcp.client",
        "trio_mcp.server",
        "trio_mcp.mcpserver",
        "trio_mcp.extensions",
        "trio_mcp.testing",
    )
    if (spec := find_spec(name)) is not None and spec.origin is not None
]

NAMES = [(package, name) for package in PUBLIC for name in import_module(package).__all__]

HEAVY = [
    "cattrs", "coredis", "cryptography", "h11", "httpcore", "httpx", "hypercorn", "joserfc",
    "jsonschema_rs", "rich", "trio_websocket", "typer", "wsproto", "yaml",
]  # fmt: skip


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_public_name_resolves_and_is_listed(package, name):
    module = import_module(package)
    assert getattr(module, name) is not None
    assert name in dir(module)


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_class_or_function_is_found_where_its_module_says(package, name):
    value = getattr(import_module(package), name)
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return
    home = value.__module__
    if home.partition(".")[0] != "trio_mcp":
        return
    assert not any(part.startswith("_") for part in home.split(".")), home
    assert getattr(import_module(home), value.__name__) is value


def test_error_shows_its_public_path_whether_or_not_anybody_imported_it():
    program = """
import sys
from importlib import import_module
for each in sys.stdin.read().split():
    module, _, name = each.partition(":")
    value = getattr(import_module(module), name)
    if isinstance(value, type) and issubclass(value, Exception) and "._" in value.__module__:
        print(each)
"""
    homes = {
        f"{origin}:{own_name}"
        for package in PUBLIC
        for _, (origin, own_name) in checked_imports(import_module(package))
        if "._" in origin
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=" ".join(homes),
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == []


@pytest.mark.parametrize("package", PUBLIC)
def test_names_are_listed_once(package):
    names = import_module(package).__all__
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("package", PUBLIC)
def test_what_type_checkers_see_is_what_is_loaded(package):
    module = import_module(package)
    assert inspect.getsourcefile(module) is not None
    promised = dict(checked_imports(module))
    if not hasattr(module, "__getattr__"):
        return
    public = {name for name in promised if not name.startswith("_") and name in module.__all__}
    for name in public:
        origin, own_name = promised[name]
        assert getattr(module, name) is getattr(import_module(origin), own_name)
    # A name that is neither defined here nor promised would be unknown to type checkers.
    assert set(module.__all__) - public <= names_defined_in(module)


@pytest.mark.parametrize("package", PUBLIC)
def test_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="no_such_name"):
        import_module(package).no_such_name  # noqa: B018 - reading it is the test


@pytest.mark.parametrize(
    "statement",
    [
        "import trio_mcp; dir(trio_mcp)",
        "import trio_mcp.testing",
        "from trio_mcp import Client, StdioServerParameters, stdio_client",
        "from trio_mcp import MCPServer, Context, ToolError, stdio_server",
        "from trio_mcp.extensions import Apps, SkillsClient, SkillsExtension",
    ],
)
def test_import_loads_nothing_heavy(statement):
    program = f"{statement}\nimport sys\nprint(*sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []


def test_package_says_that_it_is_typed():
    assert (Path(import_module("trio_mcp").__file__).parent / "py.typed").exists()


def checked_imports(module: ModuleType) -> Iterator[tuple[str, tuple[str, str]]]:
    """Read ``from x import y as z`` under ``if TYPE_CHECKING`` as ``z: (x, y)``."""
    for statement in tree_of(module).body:
        if not (
            isinstance(statement, ast.If)
            and isinstance(statement.test, ast.Name)
            and statement.test.id == "TYPE_CHECKING"
        ):
            continue
        for node in statement.body:
            if isinstance(node, ast.ImportFrom):
                origin = node.module or ""
                if node.level:
                    package = module.__name__.rsplit(".", node.level - 1)[0]
                    origin = ".".join(filter(None, (package, node.module)))
                for alias in node.names:
                    yield alias.asname or alias.name, (origin, alias.name)


def names_defined_in(module: ModuleType) -> set[str]:
    names: set[str] = set()
    for statement in tree_of(module).body:
        match statement:
            case ast.ImportFrom(names=aliases) | ast.Import(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {each.id for each in targets if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return names


def tree_of(module: ModuleType) -> ast.Module:
    source = inspect.getsourcefile(module)
    assert source is not None
    return ast.parse(Path(source).read_text("utf-8"))
