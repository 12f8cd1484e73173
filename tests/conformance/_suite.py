"""The official conformance suite, one scenario at a time.

``nox -s conformance`` installs it and says where in ``TRIO_MCP_CONFORMANCE``; without that its
tests are skipped. It is a program for Node; it starts the client, or asks a server of ours.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

SECONDS = 60


@attrs.frozen
class Outcome:
    """What the suite found in one scenario."""

    status: int
    checks: list[dict[str, Any]]
    output: str

    def require(self) -> None:
        """Fail unless everything was looked at and found right: a warning is a failure, too."""
        wrong = [each for each in self.checks if each["status"] in {"FAILURE", "WARNING"}]
        told = [f"{each['status']} {each['id']}: {_reason(each)}" for each in wrong]
        assert told == [], self.output
        assert self.status == 0, self.output
        assert any(each["status"] == "SUCCESS" for each in self.checks), self.output


def _reason(check: Mapping[str, Any]) -> str:
    return str(check.get("errorMessage") or check["description"])


def suite_command(*arguments: str) -> list[str]:
    """The command that runs the suite."""
    folder = os.environ.get("TRIO_MCP_CONFORMANCE")
    if not folder:
        pytest.skip("TRIO_MCP_CONFORMANCE does not say where the suite is; see noxfile.py")
    return ["node", str(Path(folder) / PROGRAM), *arguments]


def run_suite(results: Path, *arguments: str) -> Outcome:
    """Run one scenario to its end."""
    done = subprocess.run(
        [*suite_command(*arguments), "--output-dir", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Outcome(done.returncode, read_checks(results), done.stdout + _outputs_of(results))


def read_checks(results: Path) -> list[dict[str, Any]]:
    """Read what the suite has written about one scenario."""
    found: list[dict[str, Any]] = []
    for path in results.rglob("checks.json"):
        found += json.loads(path.read_text("utf-8"))
    return found


def _outputs_of(results: Path) -> str:
    return "".join(path.read_text("utf-8") for path in sorted(results.rglob("std*.txt")))
