"""The TypeScript SDK's client and our server, over stdio and HTTP, in both eras."""

from __future__ import annotations

import json
import subprocess
from contextlib import nullcontext
from typing import Any

import pytest

from ._programs import MODES, OUR_SERVER, node_program, serving

Report = dict[str, Any]


@pytest.fixture(scope="module", params=["stdio", "http"])
def carrier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def reports(carrier: str) -> dict[str, Report]:
    """What the client found out, by mode."""
    program = node_program("client.mjs")
    stdio = json.dumps([*OUR_SERVER, "stdio"])
    with nullcontext(stdio) if carrier == "stdio" else serving(OUR_SERVER) as target:
        ran = subprocess.run(
            [*program, target, *MODES], capture_output=True, timeout=60, check=False
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


def text_of(result: Any) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


def test_it_learns_what_the_server_is(report: Report, mode: str) -> None:
    who = report["who"]
    assert who["version"] == MODES[mode]
    assert who["info"] == {"name": "trio", "version": "7"}
    assert who["instructions"] == "Call add."
    assert {"tools", "resources"} <= set(who["capabilities"])


def test_it_discovers_the_server_again(reports: dict[str, Report]) -> None:
    discovered = reports["auto"]["discovered"]
    assert MODES["auto"] in discovered["supportedVersions"]
    assert discovered["capabilities"] == reports["auto"]["who"]["capabilities"]


def test_it_lists_the_tools(report: Report) -> None:
    tools = {tool["name"]: tool for tool in report["tools"]}
    assert set(tools) == {"add", "echo", "fail", "count", "nap", "wait_ended", "confirm"}
    assert (tools["add"]["title"], tools["add"]["description"]) == ("Addition", "Add two numbers.")
    assert tools["add"]["inputSchema"]["required"] == ["a", "b"]
    assert tools["add"]["outputSchema"]["properties"] == {"result": {"type": "integer"}}
    # What a resolver answers is no argument of the tool.
    assert set(tools["confirm"]["inputSchema"]["properties"]) == {"what"}


def test_it_calls_them(report: Report) -> None:
    assert text_of(report["add"]) == "42"
    assert report["add"]["structuredContent"] == {"result": 42}
    assert text_of(report["echo"]) == "ünd 🎈\n\u2028"


def test_it_is_told_what_went_wrong(report: Report) -> None:
    assert report["fail"]["isError"]
    assert text_of(report["fail"]) == "Error executing tool fail: no luck"
    assert report["wrong"]["isError"]
    assert "a: expected integer" in text_of(report["wrong"])
    assert report["refused"] == {"code": -32602, "message": "there is no note missing"}


def test_it_sees_progress(report: Report, carrier: str) -> None:
    steps = [[n, 20, f"step {n}"] for n in range(1, 21)]
    seen = report["progress"]
    if carrier == "stdio":
        # Of what comes out of the pipe together with the answer, this client drops the progress;
        # the call that is cancelled by its first progress shows that it hears of it.
        steps = steps[: len(seen)]
    assert seen == steps


def test_it_cancels_a_call_and_the_handler_ends(report: Report) -> None:
    assert report["cancel"]["refused"]["message"] == "enough"
    assert text_of(report["cancel"]["ended"]) == "cancelled"


def test_its_user_is_asked(report: Report) -> None:
    assert report["asked"] == ["build?", "destroy?"]
    assert text_of(report["accepted"]) == "build: yes"
    assert text_of(report["declined"]) == "destroy: no"
