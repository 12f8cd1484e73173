"""The examples in the README and the documentation run, and print what they say.

A block whose first line is ``# name.py`` is written to that file, beside the others of its
page. Programs that call ``trio.run`` are run, and must print the ``text`` block that follows;
files of tests are run by pytest; everything else must at least be imported without an error.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import attrs
import pytest

from trio_mcp._codec._schema import DIALECTS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# (\w+\.py)\n")


@attrs.frozen
class Example:
    page: Path
    name: str
    source: str
    prints: str | None  # None: the page does not say

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.name}"


def examples_of(page: Path) -> list[Example]:
    examples: list[Example] = []
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "python" and (match := FILE_NAME.match(text)):
            examples.append(Example(page, match[1], text, None))
        elif language == "text" and examples and examples[-1].prints is None:
            examples[-1] = attrs.evolve(examples[-1], prints=text)
    return examples


EXAMPLES = [example for page in PAGES for example in examples_of(page)]


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with all files of the page of an example."""
    for each in examples_of(request.getfixturevalue("example").page):
        (tmp_path / each.name).write_text(each.source, "utf-8")
    return tmp_path


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_runs_and_prints_what_the_page_says(example, folder):
    if example.name.startswith("test_"):
        command = ["-m", "pytest", "-q", "-p", "trio_mcp.testing.pytest_plugin", "-p", "no:anyio"]
    elif "trio.run(" in example.source:
        command = []
    else:
        command = ["-c", f"import {example.name.removesuffix('.py')}", "ignored"]
    done = subprocess.run(
        [sys.executable, *command, *([] if "-c" in command else [example.name])],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # The log of a server may stand there, and nothing worse.
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    if example.prints is not None:
        assert done.stdout == example.prints


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_of_a_page_are_python(page):
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            compile(text, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.req("R-034")
def test_dialects_of_json_schema_that_are_understood_are_named():
    page = (ROOT / "docs" / "promises.md").read_text("utf-8")
    for dialect in DIALECTS.values():
        assert re.search(rf"(?<!\S){re.escape(dialect.name)}\b", page), dialect.name


@pytest.mark.req("R-078")
@pytest.mark.parametrize("page", ["own-transport.md", "websocket.md"])
def test_transports_beyond_the_specification_have_a_page_with_examples_that_run(page):
    assert [each for each in EXAMPLES if each.page == ROOT / "docs" / "howto" / page]


def names_to_import() -> list[tuple[str, str]]:
    """Read the table of imports: the package to write, and each name in backticks."""
    page = (ROOT / "docs" / "coming-from-mcp.md").read_text("utf-8")
    rows = re.findall(r"^\| `from mcp.*?\| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    return [
        (re.findall(r"from (trio_mcp(?:\.\w+)*) import", target)[-1], name)
        for target, names in rows
        for name in re.findall(r"`(\w+)`", names)
    ]


@pytest.mark.parametrize(("package", "name"), names_to_import())
def test_name_stands_where_the_table_of_imports_says(package, name):
    assert name in import_module(package).__all__
