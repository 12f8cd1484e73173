"""What people know from `mcp` is here, or `docs/coming-from-mcp.md` says where it differs and why.

The page's tables are the lists that these tests hold: a difference that stands in none of them
fails, and so does a row that no longer tells of a difference.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import mcp
import pytest

from ._signatures import differences

if TYPE_CHECKING:
    from types import ModuleType

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-mcp.md"

WORDS = re.compile(r"`([^`]+)`")
IMPORT = re.compile(r"from ([\w.]+) import")

PACKAGES = [
    "trio_mcp",
    "trio_mcp.client",
    "trio_mcp.server",
    "trio_mcp.mcpserver",
    "trio_mcp.errors",
    "trio_mcp.transports",
    "trio_mcp.auth",
    "trio_mcp.testing",
]


@attrs.frozen
class Moved:
    """A row of the table of imports."""

    modules: list[str]
    target: str
    names: list[str] | None  # None: all that the target has

    def has(self, name: str) -> bool:
        return (
            name in import_module(self.target).__all__
            if self.names is None
            else name in self.names
        )


@attrs.frozen
class Absent:
    """A row of the table of what is not here."""

    modules: list[str]
    names: list[str] | None  # None: all of them

    def has(self, module: str, name: str) -> bool:
        if self.names is None:
            return any(module == each or module.startswith(f"{each}.") for each in self.modules)
        return module in self.modules and name in self.names


def rows(heading: str) -> list[list[str]]:
    """Read the cells of the table below a heading of the page."""
    text = PAGE.read_text("utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def named_in(cell: str) -> list[str] | None:
    return None if cell.startswith("every") else WORDS.findall(cell)


MOVED = [
    Moved(IMPORT.findall(before), IMPORT.findall(after)[-1], named_in(names))
    for before, after, names in rows("Imports")
]
ABSENT = [
    Absent(WORDS.findall(modules), named_in(names))
    for modules, names, _ in rows("What is not here")
]
LISTED = [
    (place, what)
    for places, kinds, _ in rows("Every difference in a signature")
    for place in WORDS.findall(places)
    for what in kinds.split("; ")
]


@cache
def public_modules() -> list[ModuleType]:
    """Import every module of `mcp` whose path has no underscore."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = [each.name for each in pkgutil.walk_packages(mcp.__path__, "mcp.")]
        # fastmcp: its import only says that it is no longer there.
        public = [each for each in paths if "._" not in each and each != "mcp.server.fastmcp"]
        return [mcp, *map(import_module, public)]


def names_of(module: ModuleType) -> list[str]:
    """Name what a module offers: its ``__all__``, or else what it defines."""
    names: set[str] = set(getattr(module, "__all__", ()))
    if not names:
        assert module.__file__ is not None
        for node in ast.parse(Path(module.__file__).read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names.update(each.id for each in targets if isinstance(each, ast.Name))
    kinds = {name: type(getattr(module, name, None)).__name__ for name in names}
    return sorted(
        name
        for name in names
        if name[0] != "_" and kinds[name] not in {"TypeVar", "Logger", "NoneType"}
    )


PUBLIC = [(module.__name__, name) for module in public_modules() for name in names_of(module)]


def ours_for(module: str, name: str) -> list[Any]:
    return [
        getattr(import_module(row.target), name)
        for row in MOVED
        if module in row.modules and row.has(name)
    ]


def test_every_public_name_of_mcp_is_told_of():
    untold = [
        f"{module}.{name}"
        for module, name in PUBLIC
        if not ours_for(module, name) and not any(row.has(module, name) for row in ABSENT)
    ]
    assert "\n".join(untold) == ""


def test_no_name_is_both_here_and_not_here():
    assert [
        f"{module}.{name}"
        for module, name in PUBLIC
        if ours_for(module, name) and any(row.has(module, name) for row in ABSENT)
    ] == []


@pytest.mark.parametrize("row", MOVED, ids=lambda row: f"{row.modules[0]} {row.target}")
def test_row_of_imports_names_what_can_be_imported_there(row):
    known = [names_of(import_module(each)) for each in row.modules]
    assert [name for name in row.names or () if not any(name in names for names in known)] == []
    if row.names is not None:
        idle = [
            each
            for each, names in zip(row.modules, known, strict=True)
            if not {*names} & {*row.names}
        ]
        assert idle == []


@pytest.mark.parametrize("row", ABSENT, ids=lambda row: row.modules[0])
def test_row_of_what_is_not_here_tells_of_something(row):
    for each in row.modules:
        assert [
            name for module, name in PUBLIC if row.has(module, name) and module.startswith(each)
        ]
    gone = set(row.names or ()) - {name for module, name in PUBLIC if module in row.modules}
    assert gone == set()


def home_of(module: str) -> list[str]:
    """Say where a name of a module of `mcp` would be expected."""
    for prefix, package in (
        ("mcp.client", "trio_mcp.client"),
        ("mcp.server.mcpserver", "trio_mcp.mcpserver"),
        ("mcp.server", "trio_mcp.server"),
        ("mcp.types", "trio_mcp.types"),
    ):
        if module.startswith(prefix):
            return [package]
    return PACKAGES


def test_what_is_not_here_is_really_not_here():
    assert [
        f"{module}.{name}"
        for module, name in PUBLIC
        if any(row.has(module, name) for row in ABSENT)
        and any(name in import_module(package).__all__ for package in home_of(module))
    ] == []


def signature_differences() -> list[tuple[str, str]]:
    """Compare each class and function of `mcp` with ours, once each."""
    # Until its first server is made, pydantic has not finished a model of `mcp`.
    mcp.server.MCPServer("first")
    found: list[tuple[str, str]] = []
    seen: set[int] = set()
    for module, name in PUBLIC:
        theirs = getattr(import_module(module), name)
        is_code = inspect.isclass(theirs) or inspect.isfunction(theirs)
        if is_code and theirs.__module__ == "builtins":
            continue  # a name for text
        # The classes of the wire are compared field by field in tests/types/test_names.py.
        if id(theirs) in seen or (is_code and theirs.__module__.startswith("mcp_types")):
            continue
        for ours in ours_for(module, name)[:1]:
            seen.add(id(theirs))
            if is_code:
                found.extend(differences(name, theirs, ours))
            elif isinstance(theirs, list | tuple):
                found.extend([] if list(theirs) == list(ours) else [(name, "another value")])
            elif isinstance(theirs, bool | int | float | str | frozenset):
                found.extend([] if theirs == ours else [(name, "another value")])
    return found


def lines(differing: set[tuple[str, str]]) -> str:
    return "\n".join(f"| `{place}` | {what} |" for place, what in sorted(differing))


def test_every_difference_in_a_signature_stands_on_the_page():
    found = signature_differences()
    assert lines(set(found) - set(LISTED)) == ""
    assert lines(set(LISTED) - set(found)) == ""


def test_same_names_in_several_packages_are_the_same():
    for name in {name for package in PACKAGES for name in import_module(package).__all__}:
        if name in {"Resource", "ResourceTemplate", "Prompt", "PromptArgument", "Tool"}:
            continue  # in `trio_mcp` the classes of the wire, as in `mcp`
        values = [
            getattr(import_module(each), name)
            for each in PACKAGES
            if name in import_module(each).__all__
        ]
        assert all(each is values[0] for each in values), name
