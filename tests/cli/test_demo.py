"""The demo, as a person and as a script sees it."""

from __future__ import annotations

import re

import pytest
import trio

from trio_mcp.cli import _demo_roads, main
from trio_mcp.cli._demo import SCENES, ask_for_proof
from trio_mcp.cli._demo_crowd import at_once, serve_a_crowd
from trio_mcp.cli._demo_roads import is_running
from trio_mcp.cli._demo_screen import Step, screen_for
from trio_mcp.cli._demo_server import mcp as kitchen
from trio_mcp.cli._mistakes import Failure
from trio_mcp.cli._printer import Printer
from trio_mcp.client import Client
from trio_mcp.mcpserver import MCPServer

STEPS = ["start", "discover", *(name for name, _ in SCENES), "end"]
CROWD_STEPS = ["serve", "connect", "calls", "cancel", "proof", "stop", "end"]


def check_story(lines: list[str]) -> None:
    """Each step is there, with its time and what it is about."""
    steps: list[tuple[str, str]] = []
    for line in lines:
        match = re.match(r"(?:ok|✓)\s+(\w+)\s+\d+ ms  (.*)", line)
        if match:
            steps.append((match[1], match[2]))
    assert [name for name, _ in steps] == STEPS + CROWD_STEPS
    check_crowd(dict(steps[len(STEPS) :]))
    texts = dict(steps[: len(STEPS)])
    assert re.search(r"kitchen .* speaks 2026-07-28: tools, resources, prompts", texts["discover"])
    assert "flour 240 g" in texts["call"]
    assert "bread, pancakes, soup" in texts["read"]
    assert "8/8" in texts["progress"]
    assert "cancelled 0.3 s later" in texts["cancel"]
    proof = re.search(r"soup: cancelled after (\d\.\d\d) s; nothing is cooking", texts["proof"])
    assert proof is not None
    assert float(proof[1]) >= 0.25
    pid = re.search(r"a child process, (\d+)", texts["start"])
    assert pid is not None
    assert texts["end"] == f"exit status 0, process {pid[1]} is gone"
    assert not is_running(int(pid[1]))


def check_crowd(texts: dict[str, str]) -> None:
    assert re.fullmatch(r"one server at http://127\.0\.0\.1:\d+/mcp", texts["serve"])
    assert texts["connect"] == "20 clients, who speak 2026-07-28"
    assert "80/80" in texts["calls"]
    assert "cancelled; 19 others were answered" in texts["cancel"]
    proof = re.search(r"soup: cancelled after (\d\.\d\d) s; nothing is cooking", texts["proof"])
    assert proof is not None
    assert float(proof[1]) >= 0.15
    assert "stopped in the middle of a call, which was answered" in texts["stop"]
    assert "no more calls are taken" in texts["stop"]


def test_plain_demo_tells_the_whole_story(cli_process):
    done = cli_process("demo", "--plain")
    assert (done.status, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert "━" not in done.out
    check_story(done.out.splitlines())
    assert re.search(r"17 steps in \d+\.\d s", done.out)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MCP_JSON_RESPONSE", "true"),
        ("MCP_UNIX_SOCKET", "/nowhere/socket"),
        ("MCP_HEAD_TIMEOUT", "wrong"),
        ("MCP_DEBUG", "maybe"),
    ],
)
def test_the_demo_is_not_told_what_the_servers_of_its_user_are(
    variable, value, cli_process, monkeypatch
):
    monkeypatch.setenv(variable, value)
    done = cli_process("demo", "--plain")
    assert (done.status, done.err) == (0, "")
    check_story(done.out.splitlines())


def test_demo_as_json_is_one_document(cli):
    done = cli("demo", "--json")
    assert done.status == 0
    assert done.json["ok"] is True
    assert [(step["road"], step["name"]) for step in done.json["steps"]] == [
        *(("stdio", name) for name in STEPS),
        *(("Streamable HTTP", name) for name in CROWD_STEPS),
    ]
    assert all(step["ok"] and step["seconds"] >= 0 for step in done.json["steps"])


def test_demo_in_a_terminal_has_colours_a_bar_and_the_same_story(terminal):
    done = terminal("demo", NO_COLOR="")
    assert done.status == 0
    written = done.written
    assert "\x1b[32m✓" in written
    assert re.search(r"\d/8", written)
    assert "━━━━" in written
    check_story(done.last_state())
    # The cursor is visible again.
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")


def test_no_color_leaves_the_bar_and_takes_the_colours(terminal):
    done = terminal("demo", NO_COLOR="1")
    assert done.status == 0
    written = done.written
    assert "━━━━" in written
    assert not re.search(r"\x1b\[[0-9;]*m", written)
    check_story(done.last_state())


def test_plain_demo_in_a_terminal_has_neither(terminal):
    done = terminal("demo", "--plain")
    assert done.status == 0
    written = done.written
    assert "\x1b" not in written


def test_interrupted_demo_ends_with_one_line(start):
    running = start("demo", "--wire")
    assert running.end().status == 2  # it has no such option
    running = start("demo")
    assert running.process.stdout is not None
    for line in running.process.stdout:
        if " prompt " in line:  # the next step takes most of a second
            break
    running.interrupt()
    done = running.end()
    assert (done.status, done.err) == (130, "interrupted\n")
    assert "failed" not in done.out


@pytest.mark.parametrize("as_json", [False, True])
def test_step_that_fails_is_shown_and_ends_the_demo(as_json, cli, monkeypatch):
    monkeypatch.setattr(_demo_roads, "SERVER_MODULE", "calendar")  # prints a year, and ends
    done = cli("demo", *(["--json"] if as_json else []))
    assert done.status == 1
    assert done.err.splitlines()[-1].startswith("trio-mcp: server exited with status 0")
    if as_json:
        assert done.json["ok"] is False
        assert [(step["name"], step["ok"]) for step in done.json["steps"]] == [
            ("start", True),
            ("discover", False),
        ]
    else:
        assert re.search(
            r"^failed  discover .* server exited with status 0", done.out, re.MULTILINE
        )
        assert " list " not in done.out


async def test_proof_fails_while_something_cooks():
    server = MCPServer("kitchen")

    @server.tool()
    def look_at_stove() -> dict[str, list[str]]:
        return {"cooking": ["soup"], "log": []}

    async with Client(server) as client:
        with pytest.raises(Failure, match="the handler has not stopped"):
            await ask_for_proof(client, Step("proof"))


async def test_every_scene_holds_in_memory_and_again():
    for _ in range(2):
        async with Client(kitchen) as client:
            for name, scene in SCENES:
                step = Step(name)
                await scene(client, step)
                assert step.words


async def test_a_crowd_of_which_calls_fail_is_one_failure():
    async def fail():
        raise Failure("sold out")

    with pytest.raises(Failure, match="sold out"):
        await at_once([fail, fail])


async def test_a_crowd_leaves_nothing_and_may_come_again():
    for _ in range(2):
        screen = screen_for(Printer(json=True))
        await serve_a_crowd(screen)
        assert [step.name for step in screen.steps] == CROWD_STEPS
        assert trio.lowlevel.current_statistics().tasks_living < 5


def test_entry_point_returns_the_status(capfd):
    assert main(["version"]) == 0
    assert capfd.readouterr().out.startswith("trio-mcp ")
