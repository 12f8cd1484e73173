"""The official conformance suite, which is a program for Node.

``nox -s conformance`` installs it and says where in ``TRIO_MCP_CONFORMANCE``; without that its
tests are skipped. It starts a client of ours, asks a server of ours, or is a client of our
authorization server; what it found it writes into a folder for each scenario.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROGRAM: Final = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
LIMIT: Final = 150
"""Seconds for what takes a few, where nothing else runs."""

_STAMP: Final = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
_KINDS: Final = ("authorization-server-", "server-")

_CLIENT_FAILED: Final = re.compile(r"^Client exited with code (\S+)$", re.MULTILINE)
_CLIENT_HUNG: Final = re.compile(r"^Client timed out after ", re.MULTILINE)

_LISTED: Final = re.compile(r"^  - (\S+) \[(.*)\]$", re.MULTILINE)

SKIPPED: Final = {
    # The suite never looks at these.
    "tasks-status-notifications": 1,
    # `initialize` and what follows it, which no client of this revision sends.
    "http-standard-headers": 2,
}
"""How many checks of a scenario may be skipped; of all others none."""

Check = dict[str, Any]


@attrs.frozen
class Outcome:
    """What the suite found.

    Attributes:
      status: What it exited with.
      scenarios: Its checks, by scenario.
      output: What it printed, and what the client did.
      client: What the client printed: its errors, and then the rest.

    """

    status: int
    scenarios: dict[str, list[Check]]
    output: str = attrs.field(repr=False)
    client: str = attrs.field(default="", repr=False)

    def record(self, leg: str, record_property: Callable[[str, object], None]) -> None:
        """Put what was found into the table at the end; before anything is asserted of it."""
        for scenario, checks in self.scenarios.items():
            counts = Counter(each["status"] for each in checks)
            record_property("conformance", [leg, scenario, dict(counts)])

    def require_client_end(self, status: int, last_line: str) -> None:
        """Fail unless the client ended so: the suite passes over that where it may fail.

        Args:
          status: What it exited with.
          last_line: How the last line begins that it printed.

        """
        assert not _CLIENT_HUNG.search(self.output), self.output
        # The suite tells it only of a client that failed.
        failed = _CLIENT_FAILED.search(self.output)
        assert (failed.group(1) if failed else "0") == str(status), self.output
        lines = self.client.rstrip().splitlines()
        assert lines or not last_line, self.output
        assert not lines or lines[-1].startswith(last_line), self.output

    def require(self, skipped: Mapping[str, int] = SKIPPED) -> None:
        """Fail unless everything was looked at and found right: a warning is a failure, too.

        Args:
          skipped: How many checks of a scenario are; of others none.

        """
        assert self.scenarios, self.output
        wrong = [
            f"{scenario}: {each['status']} {each['id']}: {_reason(each)}"
            for scenario, checks in self.scenarios.items()
            for each in checks
            if each["status"] not in {"SUCCESS", "INFO", "SKIPPED"}
        ]
        assert wrong == [], self.output
        assert self._not_looked_at(skipped) == {}, self.output
        assert self.status == 0, self.output

    def _not_looked_at(self, skipped: Mapping[str, int]) -> dict[str, int]:
        """Give the number of skipped checks where it is not the known one, or nothing is left.

        The suite skips what a fixture does not offer, and calls that passed.
        """
        unknown: dict[str, int] = {}
        for scenario, checks in self.scenarios.items():
            counts = Counter(each["status"] for each in checks)
            known = skipped.get(scenario, 0)
            if counts["SKIPPED"] != known or not (counts["SUCCESS"] or known):
                unknown[scenario] = counts["SKIPPED"]
        return unknown


def _reason(check: Mapping[str, Any]) -> str:
    return str(check.get("errorMessage") or check["description"])


def announce(leg: str, record_property: Callable[[str, object], None]) -> None:
    """Give a leg its row in the table at the end, whatever becomes of its run."""
    nothing: dict[str, int] = {}
    record_property("conformance", [leg, None, nothing])


def suite_command(*arguments: str) -> list[str]:
    """The command that runs the suite."""
    folder = os.environ.get("TRIO_MCP_CONFORMANCE")
    if not folder:
        pytest.skip("TRIO_MCP_CONFORMANCE does not say where the suite is; see noxfile.py")
    return ["node", str(Path(folder) / PROGRAM), *arguments]


def listed_scenarios(side: str) -> dict[str, set[str]]:
    """Ask the suite for its scenarios, and for the revisions of each; "client" or "server"."""
    command = suite_command("list", f"--{side}")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True)
    return {name: set(told.split(",")) for name, told in _LISTED.findall(done.stdout)}


def run_suite(results: Path, *arguments: str) -> Outcome:
    """Run the suite to its end."""
    done = subprocess.run(
        [*suite_command(*arguments), "--output-dir", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    return read_outcome(done.returncode, results, done.stdout)


def read_outcome(status: int, results: Path, output: str) -> Outcome:
    """Read what the suite has written."""
    scenarios: dict[str, list[Check]] = {}
    for path in sorted(results.rglob("checks.json")):
        name = _STAMP.sub("", str(path.parent.relative_to(results)))
        for kind in _KINDS:
            # Some scenarios are called so themselves.
            if name.removeprefix(kind) != name:
                name = name.removeprefix(kind)
                break
        scenarios.setdefault(name, []).extend(json.loads(path.read_text("utf-8")))
    client = "".join(path.read_text("utf-8") for path in sorted(results.rglob("std*.txt")))
    return Outcome(status, scenarios, output + client, client)
