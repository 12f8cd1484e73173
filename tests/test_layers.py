"""No module imports from a layer to its right, nor what this package does without."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import trio_mcp

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(trio_mcp.__file__).parent

# Each may import from itself and from what stands before it; those in one row are strangers.
LAYERS = [
    {"_version", "_late_hints", "_checks", "_deprecation"},
    {"_exports"},
    {"types"},
    {"errors"},
    {"_variables"},
    {"_codec"},
    {"_protocol"},
    {"_rpc"},
    {"transports"},
    {"auth"},
    {"client", "server"},
    {"mcpserver"},
    {"extensions"},
    {"testing"},
    {"cli"},
    {""},  # trio_mcp/__init__.py, which nothing inside may import from
]
RANK = {layer: rank for rank, row in enumerate(LAYERS) for layer in row}

# Layers that users could have written: of `server` and `client` they see the public names.
BUILT_ON_PUBLIC_NAMES = {"mcpserver", "extensions"}

REFUSED = {"anyio", "asyncio", "mcp", "mcp_types", "pydantic", "sniffio", "starlette"}

MODULES = sorted(ROOT.rglob("*.py"))


def layer_of(module: str) -> str:
    """Name the layer of ``trio_mcp.client._session``: ``client``."""
    return module.partition(".")[2].partition(".")[0]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, module: str, *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Find every imported module: at the top, in functions, and for type checkers alone."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parts = module.split(".")
                kept = len(parts) - node.level + is_package
                origin = ".".join([*parts[:kept], *filter(None, [node.module])])
            if origin == "trio_mcp":
                yield from ((node.lineno, f"trio_mcp.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, origin


def faults_of(source: str, module: str, *, is_package: bool = False) -> list[str]:
    own = layer_of(module)
    faults: list[str] = []
    for line, imported in imports_of(source, module, is_package=is_package):
        package = imported.partition(".")[0]
        if package in REFUSED:
            faults.append(f"{module}:{line} imports {imported}")
        if package != "trio_mcp":
            continue
        # A name that is no layer is one of trio_mcp/__init__.py.
        other = layer_of(imported) if layer_of(imported) in RANK else ""
        if other != own and RANK[other] >= RANK[own]:
            faults.append(f"{module}:{line} imports {imported}, which stands to its right")
        if own in BUILT_ON_PUBLIC_NAMES and imported.startswith(
            ("trio_mcp.server._", "trio_mcp.client._")
        ):
            faults.append(f"{module}:{line} imports {imported}, which is not public")
    return faults


def test_every_layer_of_the_package_has_its_place():
    found = {layer_of(name_of(path)) for path in MODULES}
    assert found <= set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_to_the_left(path):
    source = path.read_text("utf-8")
    assert faults_of(source, name_of(path), is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("trio_mcp.types._tools", "import trio_mcp.errors"),
        ("trio_mcp.types._tools", "from trio_mcp import errors"),
        ("trio_mcp.types._tools", "from .. import errors"),
        ("trio_mcp.types._tools", "from ..errors import MCPError"),
        ("trio_mcp.types._tools", "from trio_mcp import MCPError"),
        ("trio_mcp._rpc._peer", "def f():\n    from trio_mcp.transports import x"),
        ("trio_mcp._rpc._peer", "if TYPE_CHECKING:\n    from trio_mcp.client import Client"),
        ("trio_mcp.client._client", "from trio_mcp.server import Server"),
        ("trio_mcp.server._server", "import trio_mcp.client"),
        ("trio_mcp.mcpserver._tools", "from trio_mcp.server._context import Context"),
        ("trio_mcp.client._client", "import anyio.abc"),
        ("trio_mcp.client._client", "def f():\n    from pydantic import BaseModel"),
    ],
)
def test_backward_or_refused_import_is_found(module, source):
    assert len(faults_of(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("trio_mcp.client._client", "from ._session import x\nfrom .._rpc._peer import y"),
        ("trio_mcp.client._client", "from trio_mcp import types, errors\nimport trio"),
        ("trio_mcp.mcpserver._server", "from trio_mcp.server import Server"),
        ("trio_mcp.cli._demo", "from trio_mcp.client import Client\nimport mcpx"),
    ],
)
def test_forward_import_is_fine(module, source):
    assert faults_of(source, module) == []


def test_relative_import_in_a_package_starts_at_the_package():
    assert faults_of("from ._tools import Tool", "trio_mcp.types", is_package=True) == []
    assert len(faults_of("from ..errors import x", "trio_mcp.types", is_package=True)) == 1
