"""One table of what the official suite has found, at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

STATUSES = ("SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO")
COLUMNS = ("passed", "failed", "skipped", *STATUSES, "bad runs")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say for each leg how many scenarios passed, failed, or were skipped, and its checks.

    A bad run is a test that failed: for what the suite found, or because it came to no end.
    """
    legs: dict[str, Counter[str]] = defaultdict(Counter)
    skipped: list[str] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "call":
                continue
            found = [value for name, value in report.user_properties if name == "conformance"]
            for leg in {leg for leg, _, _ in found}:
                legs[leg]["bad runs"] += report.failed
            for leg, scenario, counts in found:
                if scenario is not None:
                    legs[leg].update({_verdict(counts): 1, **counts})
                if counts.get("SKIPPED"):
                    skipped.append(f"{leg}: {scenario} ({counts['SKIPPED']} checks)")
    if not legs:
        return
    terminalreporter.section("official conformance suite")
    terminalreporter.line(f"{'':46}{'scenarios':>27}{'checks':>45}")
    terminalreporter.line(f"{'':46}" + "".join(f"{name:>9}" for name in COLUMNS))
    for leg, counts in sorted(legs.items()):
        row = "".join(f"{counts[name]:>9}" for name in COLUMNS)
        terminalreporter.line(f"{leg:46}{row}")
    terminalreporter.write("".join(f"skipped by the suite: {each}\n" for each in sorted(skipped)))


def _verdict(counts: dict[str, int]) -> str:
    """Say what became of a scenario: one in which nothing succeeded has not passed."""
    if counts.get("FAILURE") or counts.get("WARNING"):
        return "failed"
    return "passed" if counts.get("SUCCESS") else "skipped"
