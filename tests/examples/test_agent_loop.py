"""``examples/agent_loop.py``: an agent with two servers, a budget and a stop button."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio
import trio.testing

from trio_mcp import ClientSessionGroup
from trio_mcp.client import ClientSessionParameters

EXAMPLES = Path(__file__).parents[2] / "examples"

REPORT = """\
find_books(subject): Find books on a subject.
read_book(title): Read a book from cover to cover.
reading(): Tell which books are being read at this moment, and which were put away half-read.
sketch(subject): Sketch something.
build_model(subject, scale): Build a wooden model of something.
building(): Tell what is being built at this moment, and what was left unfinished.

answer: Read Moby-Dick, In the Heart of the Sea. Here is a sketch of a whale.
reading: running [], given up []
building: running [], given up []

opened Moby-Dick
the budget is used up: True
reading: running [], given up ['Moby-Dick']
building: running [], given up []

began to build a bridge
opened The Bridge on the Drina
stopped: True
reading: running [], given up ['Moby-Dick', 'The Bridge on the Drina']
building: running [], given up ['a bridge']
"""


def load(name):
    spec = importlib.util.spec_from_file_location(f"{name}_example", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


@pytest.fixture
def agent_loop():
    return load("agent_loop")


@pytest.fixture
def servers():
    """Both servers, in this process."""
    return [load("library"), load("workshop")]


@pytest.mark.case("C020")
def test_it_runs_as_a_program_and_nothing_runs_on():
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "agent_loop.py")],
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == REPORT


def test_the_page_about_it_shows_what_it_prints():
    page = EXAMPLES.parent / "docs" / "howto" / "agent.md"
    assert f"```text\n{REPORT}```" in page.read_text("utf-8")


async def test_the_model_is_given_the_tools_as_they_are_listed(agent_loop, servers):
    async with ClientSessionGroup() as group:
        listed = []
        for server in servers:
            session = await group.connect_to_server(server.mcp)
            listed += (await session.list_tools()).tools
        assert agent_loop.tools_for_a_model(group) == [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            }
            for tool in listed
        ]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_it_may_be_stopped_at_any_step(autojump_clock, agent_loop, servers, mode):
    library, workshop = servers
    for steps in range(60):
        async with ClientSessionGroup() as group:
            parameters = ClientSessionParameters(mode=mode)
            await group.connect_all([library.mcp, workshop.mcp], parameters)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(agent_loop.press_stop, group)
                for _ in range(steps):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            assert library.being_read == workshop.on_the_bench == []
            for name in agent_loop.ASK_WHAT_RUNS:
                assert (await group.call_tool(name)).structured_content["running"] == []
    # At some steps both were at work.
    assert library.put_away
    assert workshop.left_unfinished


async def test_what_a_tool_cannot_do_is_told_to_the_model(agent_loop, servers):
    async with ClientSessionGroup() as group:
        session = await group.connect_to_server(servers[0].mcp)
        tools = agent_loop.tools_for_a_model(group)
        calls = [agent_loop.ToolCall("find_books", {"subject": "whales"})]
        model = agent_loop.ScriptedModel(tools, [calls, "It said: {1}"])
        await group.disconnect_from_server(session)
        answer = await agent_loop.Agent(group, model).run("Find books.")
    assert answer.startswith("It said: Error: ")
    assert "find_books" in answer
