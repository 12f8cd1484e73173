"""The official SDK's client and our low-level server: what decorators do not reach."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from ._peers import PEERS

MODES = ["auto", "legacy"]

Report = dict[str, Any]


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """What the client found out, by mode."""
    programs = [str(PEERS / "lowlevel_client.py"), str(PEERS / "lowlevel.py")]
    ran = subprocess.run(
        [sys.executable, *programs, *MODES], capture_output=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr.decode()
    found: dict[str, Report] = json.loads(ran.stdout)
    return found


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def report(reports: dict[str, Report], mode: str) -> Report:
    return reports[mode]


def test_it_goes_through_every_list_page_by_page(report: Report) -> None:
    pages = [["n0", "n1"], ["n2", "n3"], ["n4"]]
    members = ["tools", "resources", "resource_templates", "prompts"]
    assert report["pages"] == dict.fromkeys(members, pages)
    assert report["refused"] == [-32602, {"cursor": "mine"}]


def test_it_keeps_what_our_server_calls_fresh(report: Report, mode: str) -> None:
    assert report["asked"] == (3 if mode == "auto" else 6)


def test_it_answers_every_question(report: Report) -> None:
    filled_in = {"count": 3, "size": "l"}
    assert report["form"] == {"action": "accept", "content": filled_in}
    assert report["talk"] == {"stop": "toolUse", "blocks": ["text", "tool_use"]}
    assert report["roots"] == ["file:///a"]
    assert report["visit"]["action"] == "accept"
    [contents] = report["resource"]
    assert contents["text"] == f"page {filled_in}"
    [message] = report["prompt"]
    assert message["content"]["text"] == f"tone {filled_in}"


def test_it_reads_our_questions_as_they_were_meant(report: Report, mode: str) -> None:
    form, conversation, page, *_ = report["questions"]
    assert form["message"] == "How much?"
    assert form["requestedSchema"]["properties"]["size"]["default"] == "s"
    assert conversation["toolChoice"] == {"mode": "auto"}
    assert [tool["name"] for tool in conversation["tools"]] == ["weather"]
    [result] = conversation["messages"][1]["content"]
    assert (result["type"], result["toolUseId"]) == ("tool_result", "u1")
    assert (page["mode"], page["url"]) == ("url", "https://a.example/")
    assert page.get("elicitationId") == (None if mode == "auto" else "visit-1")


def test_the_older_era_is_told_and_asked_more(reports: dict[str, Report]) -> None:
    report = reports["legacy"]
    assert report["told"] == [
        "subscribe item://n0",
        "unsubscribe item://n0",
        "level error",
        "roots",
    ]
    assert report["ping"] == "alive"
    assert report["impatient"] == "gave up"
    heard = [(each["method"], each["params"]) for each in report["heard"]]
    assert heard == [
        ("notifications/elicitation/complete", {"elicitationId": "visit-1"}),
        ("notifications/resources/updated", {"uri": "item://n0"}),
    ]
