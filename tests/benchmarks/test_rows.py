"""Every row runs with both SDKs, a few times only; nothing here looks at a time."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

pytest.importorskip("benchmarks", reason="this installation has no benchmarks")

import benchmarks.rows
from benchmarks.measures import MEASURES, Figure, Measure
from benchmarks.report import to_json, to_text, verdict
from benchmarks.rounds import Line
from benchmarks.worker import MeasureFailed, Worker

ROOT = Path(benchmarks.rows.__file__).parents[2]


@pytest.fixture(scope="module")
def workers():
    with Worker("trio_mcp") as ours, Worker("mcp") as theirs:
        yield {"trio_mcp": ours, "mcp": theirs}


@pytest.mark.parametrize("name", MEASURES)
def test_row_gives_its_figures_on_both_sides(workers, name):
    measure = MEASURES[name]
    for side in ["trio_mcp"] if measure.against else workers:
        values = workers[side].take(name, 1)
        assert len(values) == len(measure.figures) * (2 if measure.against else 1)
        assert all(math.isfinite(each) and each > 0 for each in values)


def test_row_that_fails_is_told_and_the_worker_goes_on(workers):
    with pytest.raises(MeasureFailed, match="KeyError"):
        workers["trio_mcp"].take("no_such_row", 1)
    assert workers["trio_mcp"].take("check_nested", 1)


def test_command_prints_the_table_and_writes_json(tmp_path):
    report = tmp_path / "report.json"
    command = ("-m", "benchmarks", "--quick", "--rows", "check", "--json", report)
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    labels = [figure.label for figure in MEASURES["check_nested"].figures]
    assert [each["label"] for each in json.loads(report.read_text())] == labels
    assert all(label in done.stdout for label in labels)


def test_unknown_row_is_refused():
    command = ("-m", "benchmarks", "--rows", "warp")
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no row 'warp'" in done.stderr


def test_ratio_is_the_median_of_the_rounds():
    # Not the ratio of the medians: both sides of a round met the same machine.
    line = Line(Figure("x", "us", 0.5, 0.2), "mcp", [10.0, 40.0, 90.0], [100.0, 100.0, 100.0])
    assert line.ratio == 0.4
    assert to_json(line)["ratios"] == [0.1, 0.4, 0.9]
    assert "0.400" in to_text(line)


@pytest.mark.parametrize(
    ("ratio", "expected"), [(0.1, "stretch"), (0.2, "stretch"), (0.5, "aim"), (0.51, "MISSED")]
)
def test_verdict_compares_with_aim_and_stretch(ratio, expected):
    line = Line(Figure("x", "us", 0.5, 0.2), "mcp", [ratio], [1.0])
    assert verdict(line) == expected
    assert verdict(attrs.evolve(line, figure=Figure("x", "us"))) == ""


def test_measure_refuses_a_function_that_gives_too_few_numbers():
    measure = Measure("short", (Figure("x", "us"),), 1, 1, None, lambda side, count: [])
    with pytest.raises(AssertionError, match="gave 0 numbers, not 1"):
        measure.take(object(), 1)
