"""List the requirements that no test proves, and the cases that no test shows.

Reads tests/requirements.md, tests/cases.md and the marks in the test files, without importing
any of them::

    @pytest.mark.req("R-001", "R-002")     this test proves these requirements, at most five
    @pytest.mark.case("C001")              this test shows that this case holds

Marks count on functions and classes, in `pytestmark`, and in `pytest.param(marks=...)`; those of
a test that is skipped or expected to fail on every machine prove nothing. Why a requirement
has no test is said in tests/requirements-explained.md, in a row `| R-001 | sentence |`.

Exit status 1 tells of a wrong mark or row, and with `--strict` of a requirement in the named
sections that is neither proven nor explained.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_PER_TEST: Final = 5
"""A test that claims more has a name too general to be believed."""

ROW: Final = re.compile(r"^\| ([RC]-?\d{3}) \| (.*) \|\s*$")


@dataclass(frozen=True)
class Entry:
    """A row of one of the lists: its number, the section it stands in, its text."""

    number: str
    section: str
    text: str

    def answers_to(self, wanted: str) -> bool:
        """Whether `section` or `section/topic` is in the name of its section, and its topic."""
        section, _, topic = wanted.lower().partition("/")
        own_topic = self.cells[3].lower() if len(self.cells) > 3 else ""
        return section in self.section.lower() and topic in {"", own_topic}

    @property
    def cells(self) -> list[str]:
        """The cells of its row, without the number."""
        return [cell.strip() for cell in self.text.split(" | ")]


@dataclass
class Marks:
    """What the tests claim, and what is wrong with the claims."""

    tests_of: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    problems: list[str] = field(default_factory=list[str])


def read_entries(path: Path) -> dict[str, Entry]:
    """Read the numbered rows of a list; sections are named `Part / Section`.

    Raises:
      ValueError: if a number stands there twice.

    """
    entries: dict[str, Entry] = {}
    part = section = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("## "):
            part, section = line[3:].strip(), ""
        elif line.startswith("### "):
            section = line[4:].strip()
        elif match := ROW.match(line):
            number, text = match.groups()
            if number in entries:
                raise ValueError(f"{path.name}: {number} stands there twice")
            entries[number] = Entry(number, " / ".join(filter(None, (part, section))), text)
    return entries


def read_marks(tests: Path) -> Marks:
    """Read the marks of every test file below a folder."""
    marks = Marks()
    for path in sorted(tests.rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"), str(path))
        _FileReader(path.relative_to(tests).as_posix(), marks).read(tree)
    return marks


class _FileReader:
    def __init__(self, file: str, marks: Marks) -> None:
        self.file = file
        self.marks = marks

    def read(self, tree: ast.Module) -> None:
        self._read_scope(tree.body, _assigned_marks(tree.body), prefix="")
        # Params may be written in a list of their own, outside of any test.
        for statement in tree.body:
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._read_params(statement, [], self.file)

    def _read_scope(self, body: list[ast.stmt], inherited: list[ast.expr], prefix: str) -> None:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                own = [*statement.decorator_list, *_assigned_marks(statement.body)]
                self._read_scope(statement.body, [*inherited, *own], f"{prefix}{statement.name}::")
            elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self._read_function(statement, inherited, f"{self.file}::{prefix}{statement.name}")

    def _read_function(
        self,
        function: ast.FunctionDef | ast.AsyncFunctionDef,
        inherited: list[ast.expr],
        where: str,
    ) -> None:
        own = function.decorator_list
        if not function.name.startswith("test"):
            if any(self._numbers_in(own, where)):
                self.marks.problems.append(f"{where}: has a mark, and is no test")
            return
        if _never_passes([*inherited, *own]):
            return
        numbers = list(self._numbers_in([*inherited, *own], where))
        self._note(numbers, where)
        for decorator in own:
            self._read_params(decorator, numbers, where)

    def _read_params(self, node: ast.AST, numbers: list[str], where: str) -> None:
        for call in ast.walk(node):
            if not (isinstance(call, ast.Call) and _dotted(call.func) == "pytest.param"):
                continue
            given = next((each.value for each in call.keywords if each.arg == "marks"), None)
            marks = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
            found = [each for each in marks if each is not None]
            if not _never_passes(found):
                self._note([*numbers, *self._numbers_in(found, where)], where)

    def _note(self, numbers: Sequence[str], where: str) -> None:
        for number in numbers:
            self.marks.tests_of[number].add(where)
        requirements = {number for number in numbers if number.startswith("R")}
        if len(requirements) > MOST_PER_TEST:
            self.marks.problems.append(
                f"{where}: claims {len(requirements)} requirements; {MOST_PER_TEST} is the most"
            )

    def _numbers_in(self, marks: Sequence[ast.expr], where: str) -> Iterator[str]:
        for mark in marks:
            name = _dotted(mark.func) if isinstance(mark, ast.Call) else _dotted(mark)
            if name not in {"pytest.mark.req", "pytest.mark.case"}:
                continue
            arguments = mark.args if isinstance(mark, ast.Call) else []
            if not arguments:
                self.marks.problems.append(f"{where}: {name} names no number")
            for argument in arguments:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value
                else:
                    self.marks.problems.append(
                        f"{where}: write the numbers of {name} out, as strings"
                    )


def _assigned_marks(body: list[ast.stmt]) -> list[ast.expr]:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                return list(value.elts) if isinstance(value, ast.List | ast.Tuple) else [value]
            case _:
                pass
    return []


def _never_passes(marks: Sequence[ast.expr]) -> bool:
    names = {_dotted(mark.func) if isinstance(mark, ast.Call) else _dotted(mark) for mark in marks}
    return not names.isdisjoint({"pytest.mark.skip", "pytest.mark.xfail"})


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@dataclass(frozen=True)
class Report:
    """What is demanded, what is proven, and what has a reason not to be."""

    entries: dict[str, Entry]
    explained: dict[str, Entry]
    marks: Marks

    @classmethod
    def of(cls, tests: Path) -> Report:
        """Read the lists and the test files of a folder."""
        explained = tests / "requirements-explained.md"
        return cls(
            entries=read_entries(tests / "requirements.md") | read_entries(tests / "cases.md"),
            explained=read_entries(explained) if explained.exists() else {},
            marks=read_marks(tests),
        )

    def problems(self) -> list[str]:
        """Say what is wrong with marks and rows, a line each."""
        unknown = [
            f"{test}: there is no {number}"
            for number, tests in self.marks.tests_of.items()
            if number not in self.entries
            for test in tests
        ]
        reasons = [
            f"requirements-explained.md: {number} "
            + ("has a test after all" if number in self.marks.tests_of else "does not exist")
            for number in self.explained
            if number in self.marks.tests_of or number not in self.entries
        ]
        return sorted({*self.marks.problems, *unknown, *reasons})

    def sections(self, wanted: Sequence[str]) -> dict[str, list[Entry]]:
        """Group the entries by section; all, or those that answer to a wanted word.

        Raises:
          ValueError: if no section answers to a wanted word.

        """
        for word in wanted:
            if not any(entry.answers_to(word) for entry in self.entries.values()):
                raise ValueError(f"no section has {word!r} in its name")
        groups: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries.values():
            if not wanted or any(entry.answers_to(word) for word in wanted):
                groups[entry.section].append(entry)
        return groups

    def open(self, entries: Sequence[Entry]) -> list[Entry]:
        """Leave those entries that are neither proven nor explained."""
        return [
            entry
            for entry in entries
            if entry.number not in self.marks.tests_of and entry.number not in self.explained
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; see the docstring of this file."""
    parser = argparse.ArgumentParser(
        description="List the requirements and cases that no test names yet."
    )
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION[/TOPIC]",
        help="only sections with this in their name, and only their rows on this topic",
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail when something in these sections is open"
    )
    parser.add_argument("--counts", action="store_true", help="print the counts alone")
    parser.add_argument(
        "--tests", type=Path, default=Path(__file__).parent.parent / "tests", help="the test tree"
    )
    options = parser.parse_args(arguments)

    report = Report.of(options.tests)
    try:
        sections = report.sections(options.sections)
    except ValueError as exc:
        parser.error(str(exc))
    open_count = _print_sections(report, sections, with_rows=not options.counts)
    problems = report.problems()
    for problem in problems:
        print(f"wrong: {problem}", file=sys.stderr)
    return 1 if problems or (options.strict and open_count) else 0


def _print_sections(report: Report, sections: dict[str, list[Entry]], *, with_rows: bool) -> int:
    total = open_total = 0
    for section, entries in sections.items():
        left = report.open(entries)
        total += len(entries)
        open_total += len(left)
        print(f"{len(entries) - len(left):4} of {len(entries):3}  {section}")
        for entry in left if with_rows else ():
            print(f"             {entry.number}  {_sentence(entry)}")
    print(f"{total - open_total:4} of {total:3}  proven or explained")
    return open_total


def _sentence(entry: Entry) -> str:
    if entry.number.startswith("C"):
        return entry.text.split(". ")[0]
    level, side, era, topic, requirement, *_ = entry.cells
    return f"{level}, {side}{f' ({era})' if era else ''}, {topic}: {requirement}"


if __name__ == "__main__":
    sys.exit(main())
