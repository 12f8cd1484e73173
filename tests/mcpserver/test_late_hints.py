"""Hints that name what their module defines later, or never."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from trio_mcp.client import Client
from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver import MCPServer
from trio_mcp.transports import open_memory_channel_pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

HEAD = """
from __future__ import annotations
from typing import Annotated
from trio_mcp.mcpserver import Context, MCPServer, Resolve
mcp = MCPServer("late")
"""

NEVER = {
    "tool": ('@mcp.tool()\ndef book(trip: Trip) -> str: return ""', "book: parameter 'trip'"),
    "result": ('@mcp.tool()\ndef book() -> Trip: return ""', "book: the result"),
    "prompt": ('@mcp.prompt()\ndef ask(trip: Trip) -> str: return ""', "ask: parameter 'trip'"),
    "template": (
        '@mcp.resource("a://{trip}", name="t")\ndef t(trip: Trip) -> str: return ""',
        "t: parameter 'trip'",
    ),
    "resolver": (
        (
            "def find(trip: Trip) -> str: return ''\n"
            "@mcp.tool()\n"
            "def book(trip: str, way: Annotated[str, Resolve(find)]) -> str: return ''"
        ),
        "book: the resolver find, parameter 'trip'",
    ),
}


class Loader:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[str] = []

    def __call__(self, text: str) -> ModuleType:
        name = f"late_{len(self.made)}"
        path = self.folder / f"{name}.py"
        path.write_text(HEAD + textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        self.made.append(name)
        spec.loader.exec_module(module)
        return module


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Loader]:
    loader = Loader(tmp_path)
    yield loader
    for name in loader.made:
        del sys.modules[name]


def run(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
        input="",
    )


@pytest.mark.parametrize("kind", NEVER)
async def test_what_is_never_defined_is_told_when_serving_starts(kind: str, load: Loader) -> None:
    text, message = NEVER[kind]
    mcp = load(text).mcp
    expected = f"{message}.*the name 'Trip' is not known"
    with pytest.raises(InvalidSignature, match=expected):
        async with Client(mcp):
            raise NotImplementedError
    with pytest.raises(InvalidSignature, match=expected):
        async with mcp.open():
            raise NotImplementedError
    _, there = open_memory_channel_pair()
    with pytest.raises(InvalidSignature, match=expected):
        await mcp.lowlevel_server.run(there)


async def test_the_lifespan_is_not_entered_for_what_cannot_be_served(load: Loader) -> None:
    module = load(
        """
        from contextlib import asynccontextmanager
        entered = []

        @asynccontextmanager
        async def lifespan(server):
            entered.append(server)
            yield {}

        mcp = MCPServer("late", lifespan=lifespan)

        @mcp.tool()
        def book(trip: Trip) -> str: return ""
        """
    )
    with pytest.raises(InvalidSignature):
        async with module.mcp.open():
            raise NotImplementedError
    assert module.entered == []


def test_a_program_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(HEAD + NEVER["tool"][0] + "\nmcp.run()\n")
    done = run(path)
    assert done.returncode == 1
    *_, last = done.stderr.strip().splitlines()
    assert last.startswith("trio_mcp.errors.InvalidSignature: book: parameter 'trip'")
    assert "ExceptionGroup" not in done.stderr


@pytest.mark.parametrize("kind", NEVER)
def test_what_is_added_while_the_server_runs_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    # In a program whose module is still being executed while it serves, as all of them are.
    path = tmp_path / "program.py"
    text, message = NEVER[kind]
    path.write_text(
        f"{HEAD}\nfrom trio_mcp.errors import InvalidSignature\nimport trio\n"
        "async def main():\n"
        "    async with mcp.open():\n"
        "        try:\n"
        f"            exec({text!r}, globals())\n"
        "        except InvalidSignature as exc:\n"
        "            print(exc)\n"
        "        print(len(await mcp.list_tools()), len(await mcp.list_prompts()),\n"
        "              len(await mcp.list_resource_templates()))\n"
        "trio.run(main)\n"
    )
    done = run(path)
    assert done.stderr == ""
    told, counts = done.stdout.splitlines()
    assert message in told
    assert counts == "0 0 0"


async def test_what_came_later_works(load: Loader) -> None:
    mcp = load(
        """
        from dataclasses import dataclass

        @mcp.tool()
        def book(trip: Trip, ctx: Here) -> Trip: return trip

        @mcp.prompt()
        def ask(ctx: Here, trip: Trip | None = None) -> str: return type(ctx).__name__

        @mcp.resource("here://now")
        def now(ctx: Context) -> str: return type(ctx).__name__

        @mcp.resource("trips://{number}")
        def one(number: Number, ctx: Context) -> str: return repr(number + 1)

        Here = Context
        Number = int

        @dataclass
        class Trip:
            goal: str
        """
    ).mcp
    async with Client(mcp, mode="legacy") as client:
        result = await client.call_tool("book", {"trip": {"goal": "Rome"}})
        assert result.structured_content == {"goal": "Rome"}
        prompt: Any = await client.get_prompt("ask", {})
        assert prompt.messages[0].content.text == "Context"
        read: Any = await client.read_resource("trips://7")
        assert read.contents[0].text == "8"


async def test_a_context_that_is_found_late_announces_logging(load: Loader) -> None:
    mcp = load("""
        @mcp.tool()
        def book(ctx: Here) -> str: return ""

        Here = Context
    """).mcp
    async with Client(mcp, mode="legacy") as client:
        assert client.server_capabilities.logging is not None


async def test_a_run_leaves_nothing_behind() -> None:
    mcp = MCPServer()
    async with mcp.open():
        assert len(mcp._runs) == 1
        async with mcp.open():
            assert len(mcp._runs) == 2
    assert not mcp._runs
