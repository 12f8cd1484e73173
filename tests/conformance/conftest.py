"""One table of what the official suite has found, at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    legs: dict[str, Counter[str]] = defaultdict(Counter)
    skipped: list[str] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "call":
                continue
            for name, value in report.user_properties:
                if name == "conformance":
                    leg, scenario, counts = value
                    legs[leg].update({"scenarios": 1, **counts})
                    if counts.get("SKIPPED"):
                        skipped.append(f"{leg}: {scenario} ({counts['SKIPPED']} checks)")
    if not legs:
        return
    terminalreporter.section("official conformance suite")
    columns = ("scenarios", "SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO")
    terminalreporter.line(f"{'':46}" + "".join(f"{name:>10}" for name in columns))
    for leg, counts in sorted(legs.items()):
        row = "".join(f"{counts[name]:>10}" for name in columns)
        terminalreporter.line(f"{leg:46}{row}")
    for each in sorted(skipped):
        terminalreporter.line(f"skipped by the suite: {each}")
