from __future__ import annotations

from pathlib import Path

import pytest
import requirements

LISTS = {
    "requirements.md": """
## Part 1. Base

### Messages

| No. | Level | Side | Era | Topic | Requirement | Observe by |
| --- | --- | --- | --- | --- | --- | --- |
| R-001 | MUST | both | +L | jsonrpc | Be exact | look |
| R-002 | MUST NOT | client |  | jsonrpc | Be vague | look |

### stdio

| R-003 | SHOULD | server | L | stdio | End | look |
| R-004 | SHOULD | server | L | stdio | Flush | look |
| R-005 | SHOULD | server | L | stdio | Read | look |
| R-006 | SHOULD | server | L | stdio | Write | look |
""",
    "cases.md": "## Life\n\n| C001 | It ends. Always. |\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in LISTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


@pytest.fixture
def claim(tree):
    """Write a test file, and read back what it proves and what is wrong with it."""

    def claim(source: str) -> tuple[set[str], list[str]]:
        (tree / "test_it.py").write_text("import pytest\n" + source, "utf-8")
        report = requirements.Report.of(tree)
        return set(report.marks.tests_of), report.problems()

    return claim


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.req("R-001", "R-002")\ndef test_it(): ...',
        '@pytest.mark.req("R-001")\n@pytest.mark.req("R-002")\nasync def test_it(): ...',
        '@pytest.mark.req("R-001", "R-002")\nclass TestIt:\n    def test_it(self): ...',
        (
            'class TestIt:\n    pytestmark = [pytest.mark.req("R-001", "R-002")]\n'
            "    def test_it(self): ..."
        ),
        'pytestmark = pytest.mark.req("R-001")\n\n@pytest.mark.req("R-002")\ndef test_it(): ...',
        (
            '@pytest.mark.req("R-001")\n@pytest.mark.parametrize("a", [1, pytest.param(2, '
            'marks=pytest.mark.req("R-002"))])\ndef test_it(a): ...'
        ),
        'ROWS = [pytest.param(1, marks=[pytest.mark.req("R-001"), pytest.mark.req("R-002")])]',
    ],
)
def test_mark_counts_wherever_pytest_takes_it(claim, source):
    assert claim(source) == ({"R-001", "R-002"}, [])


def test_mark_on_a_class_or_module_without_tests_counts_for_nothing(claim):
    source = 'pytestmark = pytest.mark.req("R-001")\n@pytest.mark.req("R-002")\nclass TestIt: ...'
    assert claim(source) == (set(), [])


@pytest.mark.parametrize("mark", ["skip", 'skip(reason="later")', "xfail"])
def test_test_that_never_passes_proves_nothing(claim, mark):
    source = f'@pytest.mark.{mark}\n@pytest.mark.req("R-001")\ndef test_it(): ...'
    assert claim(source) == (set(), [])


def test_test_that_is_skipped_on_some_machines_proves_its_number(claim):
    source = (
        '@pytest.mark.skipif(False, reason="x")\n@pytest.mark.req("R-001")\ndef test_it(): ...'
    )
    assert claim(source)[0] == {"R-001"}


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ('@pytest.mark.req("R-999")\ndef test_it(): ...', "there is no R-999"),
        ('@pytest.mark.case("C999")\ndef test_it(): ...', "there is no C999"),
        ('@pytest.mark.req("R-001")\ndef helper(): ...', "is no test"),
        ("@pytest.mark.req\ndef test_it(): ...", "names no number"),
        ("@pytest.mark.req(*ALL)\ndef test_it(): ...", "write the numbers"),
        (
            (
                '@pytest.mark.req("R-001", "R-002", "R-003", "R-004", "R-005", "R-006")\n'
                "def test_it(): ..."
            ),
            "claims 6",
        ),
        (
            (
                'pytestmark = pytest.mark.req("R-001", "R-002", "R-003")\n'
                '@pytest.mark.req("R-004", "R-005", "R-006")\ndef test_it(): ...'
            ),
            "claims 6",
        ),
    ],
)
def test_wrong_mark_is_refused_with_its_place(claim, source, problem):
    [text] = claim(source)[1]
    assert text.startswith("test_it.py::")
    assert problem in text


def test_same_number_on_test_and_class_is_one_claim(claim):
    source = (
        '@pytest.mark.req("R-001", "R-002", "R-003", "R-004", "R-005")\nclass TestIt:\n'
        '    @pytest.mark.req("R-001")\n    def test_it(self): ...'
    )
    assert claim(source)[1] == []


def test_report_lists_open_numbers_by_section(claim, tree, capsys):
    claim('@pytest.mark.req("R-001", "R-003", "R-004", "R-005", "R-006")\ndef test_it(): ...')
    assert requirements.main(["--tests", str(tree)]) == 0
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "1 of   2  Part 1. Base / Messages",
        "R-002  MUST NOT, client, jsonrpc: Be vague",
        "4 of   4  Part 1. Base / stdio",
        "0 of   1  Life",
        "C001  It ends",
        "5 of   7  proven or explained",
    ]


def test_strict_looks_at_the_named_sections_alone(claim, tree):
    claim('@pytest.mark.req("R-001", "R-002")\ndef test_it(): ...')
    assert requirements.main(["--tests", str(tree), "--strict", "messages"]) == 0
    assert requirements.main(["--tests", str(tree), "--strict", "messages", "stdio"]) == 1
    assert requirements.main(["--tests", str(tree), "stdio"]) == 0


def test_topic_narrows_a_section(claim, tree):
    claim('@pytest.mark.req("R-003", "R-004", "R-005", "R-006")\ndef test_it(): ...')
    assert requirements.main(["--tests", str(tree), "--strict", "base/stdio"]) == 0
    assert requirements.main(["--tests", str(tree), "--strict", "base/jsonrpc"]) == 1


def test_explained_number_is_not_open(claim, tree):
    claim('@pytest.mark.req("R-001")\ndef test_it(): ...')
    (tree / "requirements-explained.md").write_text("| R-002 | Taste. |\n", "utf-8")
    assert requirements.main(["--tests", str(tree), "--strict", "messages"]) == 0


def test_explanation_of_nothing_or_of_a_proven_number_is_refused(claim, tree, capsys):
    claim('@pytest.mark.req("R-001")\ndef test_it(): ...')
    (tree / "requirements-explained.md").write_text("| R-001 | A. |\n| R-999 | B. |\n", "utf-8")
    assert requirements.main(["--tests", str(tree)]) == 1
    errors = capsys.readouterr().err
    assert "R-001 has a test after all" in errors
    assert "R-999 does not exist" in errors


def test_unknown_section_is_an_error(tree, capsys):
    with pytest.raises(SystemExit) as caught:
        requirements.main(["--tests", str(tree), "nonsense"])
    assert caught.value.code == 2
    assert "nonsense" in capsys.readouterr().err


def test_number_that_stands_twice_is_an_error(tree):
    path = tree / "requirements.md"
    path.write_text(path.read_text("utf-8") + "| R-001 | again |\n", "utf-8")
    with pytest.raises(ValueError, match="R-001 stands there twice"):
        requirements.read_entries(path)


def test_lists_of_this_project_are_whole_and_every_mark_in_its_tests_is_sound():
    report = requirements.Report.of(Path(__file__).parents[1])
    numbers = sorted(number for number in report.entries if number.startswith("R"))
    assert numbers == [f"R-{number:03}" for number in range(1, 730)]
    assert report.problems() == []
