"""``python -m benchmarks``: see the package."""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import benchmarks.rows  # noqa: F401 - fills MEASURES
from benchmarks.measures import MEASURES
from benchmarks.report import HEAD, to_json, to_text
from benchmarks.rounds import Failure, run_rounds

ROUNDS = 5


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure trio_mcp against the official SDK; only the ratios say something.",
    )
    parser.add_argument("--quick", action="store_true", help="only show that everything runs")
    parser.add_argument(
        "--rows",
        nargs="+",
        default=[""],
        metavar="NAME",
        help=f"what to measure; the beginning of a name is enough: {', '.join(MEASURES)}",
    )
    parser.add_argument("--rounds", type=int, help=f"how many ({ROUNDS}; 1 with --quick)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.rows if not any(each.startswith(name) for each in MEASURES)]
    if unknown:
        parser.error(f"there is no row {unknown[0]!r}")
    measures = [each for name, each in MEASURES.items() if name.startswith(tuple(chosen.rows))]
    rounds = chosen.rounds or (1 if chosen.quick else ROUNDS)

    def say(name: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{name} ...", end="\r", file=sys.stderr, flush=True)

    print(
        f"trio_mcp {version('trio-mcp')}, mcp {version('mcp')}, Python {sys.version.split()[0]}, "
        f"{os.cpu_count()} cores; medians of {rounds} rounds"
    )
    print(HEAD)
    lines = []
    failed = False
    for outcome in run_rounds(measures, rounds, quick=chosen.quick, say=say):
        if isinstance(outcome, Failure):
            failed = True
            print(f"{outcome.measure} failed with {outcome.side}:\n{outcome.text}")
        else:
            lines.append(outcome)
            print(to_text(outcome), flush=True)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([to_json(each) for each in lines], indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
