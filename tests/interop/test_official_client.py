"""The official SDK's client, on asyncio and on Trio, and our server, over stdio and HTTP."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from ._peers import OLDER_REVISIONS, PEERS, SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator

# "legacy" is the newest of the older revisions.
MODES = ["auto", "legacy", *OLDER_REVISIONS[:-1]]

Report = dict[str, Any]


ROADS: list[tuple[str, dict[str, Any] | None]] = [
    ("asyncio", None),
    ("trio", None),
    ("asyncio", {}),
    ("asyncio", {"store": True}),
    ("asyncio", {"sse": True}),
]


def name_of(road: tuple[str, dict[str, Any] | None]) -> str:
    backend, options = road
    return f"{backend}-" + ("stdio" if options is None else "-".join(["http", *options]))


@pytest.fixture(scope="module", params=ROADS, ids=name_of)
def reports(request: pytest.FixtureRequest) -> dict[str, Report]:
    """What the client found out, by mode."""
    backend, options = request.param
    with nullcontext(str(SERVER)) if options is None else served_over_http(options) as server:
        ran = subprocess.run(
            [sys.executable, str(PEERS / "client.py"), backend, server, *MODES],
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr.decode()
    found: dict[str, Report] = json.loads(ran.stdout)
    return found


@contextmanager
def served_over_http(options: dict[str, Any]) -> Iterator[str]:
    """Run our server in a process of its own; yields its URL."""
    program = [sys.executable, str(PEERS / "trio_http_server.py"), "trio_mcp", json.dumps(options)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.stdin.close()
        assert process.wait(25) == 0


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def report(reports: dict[str, Report], mode: str) -> Report:
    return reports[mode]


def version_of(mode: str) -> str:
    return {"auto": "2026-07-28", "legacy": "2025-11-25"}.get(mode, mode)


def since(mode: str, version: str) -> bool:
    versions = [*OLDER_REVISIONS, "2026-07-28"]
    return versions.index(version_of(mode)) >= versions.index(version)


def text_of(result: Any) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


@pytest.mark.req("R-002", "R-068")
@pytest.mark.case("C033")
def test_it_learns_what_the_server_is(report: Report, mode: str) -> None:
    who = report["who"]
    assert who["version"] == version_of(mode)
    assert text_of(report["calls"]["protocol"]) == version_of(mode)
    info = {"name": "interop", "version": "7"}
    if since(mode, "2025-06-18"):
        info["title"] = "Interop"
    if since(mode, "2025-11-25"):
        info["websiteUrl"] = "https://example.com/interop"
    assert who["info"] == info
    assert who["instructions"] == "Call add."
    assert {"tools", "resources", "prompts"} <= set(who["capabilities"])
    assert ("completions" in who["capabilities"]) == since(mode, "2025-03-26")


def test_it_lists_everything(report: Report, mode: str) -> None:
    lists = report["lists"]
    tools = {tool["name"]: tool for tool in lists["tools"]}
    assert len(tools) == 13
    assert tools["add"]["description"] == "Add two numbers."
    assert tools["add"]["inputSchema"]["required"] == ["a", "b"]
    assert set(tools["nap"]["inputSchema"]["properties"]) == {"name"}
    # Fields that the revision does not have are not sent.
    assert ("title" in tools["add"]) == since(mode, "2025-06-18")
    assert ("outputSchema" in tools["measure"]) == since(mode, "2025-06-18")
    assert {each["uri"] for each in lists["resources"]} == {"text://motto", "bytes://all"}
    assert [each["uriTemplate"] for each in lists["templates"]] == ["note://{name}"]
    (prompt,) = lists["prompts"]
    assert [(each["name"], each["required"]) for each in prompt["arguments"]] == [
        ("name", True),
        ("style", False),
    ]


def test_it_calls_tools(report: Report, mode: str) -> None:
    calls = report["calls"]
    assert calls["echoed"]
    assert text_of(calls["add"]) == "42"
    assert not calls["add"]["isError"]
    if since(mode, "2025-06-18"):
        assert calls["add"]["structuredContent"] == {"result": 42}
        assert calls["measure"]["structuredContent"] == {"value": 8.5, "unit": "m"}
    else:
        assert "structuredContent" not in calls["add"]
        assert "structuredContent" not in calls["measure"]
    assert json.loads(text_of(calls["measure"])) == {"value": 8.5, "unit": "m"}


def test_it_learns_why_a_tool_failed_and_nothing_of_a_defect(report: Report) -> None:
    calls = report["calls"]
    assert all(calls[name]["isError"] for name in ("fail", "crash", "wrong"))
    assert text_of(calls["fail"]) == "Error executing tool fail: no luck"
    assert text_of(calls["crash"]) == "Error executing tool crash"
    assert text_of(calls["wrong"]).endswith("a: expected integer, got string 'one'")


def test_it_is_refused_what_the_server_does_not_have(report: Report, mode: str) -> None:
    refused = report["refused"]
    assert refused["tool"]["code"] == -32602
    assert refused["tool"]["message"] == "Unknown tool: nope"
    assert refused["prompt"]["code"] == -32602
    assert refused["argument"]["code"] == -32602
    assert "'name'" in refused["argument"]["message"]
    # A missing resource had a code of its own until 2026-07-28.
    assert refused["resource"]["code"] == (-32602 if mode == "auto" else -32002)
    assert refused["resource"]["data"] == {"uri": "note://missing"}


@pytest.mark.req("R-224")
def test_it_sees_progress_in_order(report: Report, mode: str) -> None:
    messages = since(mode, "2025-03-26")
    assert report["progress"] == [[n, 20, f"step {n}" if messages else None] for n in range(1, 21)]


@pytest.mark.req("R-088")
@pytest.mark.case("C021")
def test_its_cancels_and_timeouts_stop_the_handler(report: Report) -> None:
    assert report["cancel"] == {
        "cancelled": True,
        "timeout": -32001,
        "ended": "cancelled",
        "running": "0",
    }


def test_it_reads_resources(report: Report) -> None:
    read = report["read"]
    assert read["motto"] == [
        {
            "uri": "text://motto",
            "mimeType": "text/markdown",
            "text": "*Many* languages, ünd one.",
        }
    ]
    (contents,) = read["bytes"]
    assert contents["mimeType"] == "application/octet-stream"
    assert base64.b64decode(contents["blob"], validate=True) == bytes(range(256))
    assert [each["text"] for each in read["note"]] == ["note of first one"]


def test_it_fills_prompts_and_completes_arguments(report: Report) -> None:
    prompts = report["prompts"]
    assert prompts["prompt"] == [
        {"role": "user", "content": {"type": "text", "text": "Greet Ada, plain."}}
    ]
    assert prompts["completed"] == [["ada", "alan"], ["grace (s)"]]


def test_it_gets_the_log_messages_that_it_wants(report: Report, mode: str) -> None:
    levels = [level for level, _, _ in report["logged"]]
    if mode == "auto":
        assert levels == ["info", "error"]
    else:
        # First without a level, then with the session's set to "error".
        assert levels == ["debug", "info", "error", "error"]
    assert all(data == {"said": level} for level, data, _ in report["logged"])
    assert {logger for _, _, logger in report["logged"]} == {"speaker"}


def test_it_pings_and_is_asked_in_the_older_era_only(report: Report, mode: str) -> None:
    if mode == "auto":
        assert report["ping"]["code"] == -32601
        assert "code" in report["refused"]["roots"]
    else:
        assert report["ping"] == {}
        assert text_of(report["refused"]["roots"]) == "file:///home/ada"
        assert text_of(report["asked"]) == "loud: HI"
