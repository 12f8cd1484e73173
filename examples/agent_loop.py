"""An agent: a model with the tools of two servers, a budget, and a stop button.

The model is scripted, so everybody sees the same; the loop would be the same for a real one.
Both servers run as child processes of this program::

    python examples/agent_loop.py

Whatever ends the loop ends the calls that it waits for, and the servers stop working on them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
import trio

from trio_mcp import CallToolResult, ClientSessionGroup, MCPError, StdioServerParameters
from trio_mcp.types import TextContent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).parent
SERVERS = [
    StdioServerParameters(command=sys.executable, args=[str(HERE / name)])
    for name in ("library.py", "workshop.py")
]
# Which tool of each server tells what runs.
ASK_WHAT_RUNS = ("reading", "building")

BUDGET = 2.0
"""Seconds that the agent may take."""


# The model


@attrs.frozen
class ToolCall:
    """What a model says when it wants a tool to be called."""

    name: str
    arguments: dict[str, Any]


Turn = list[ToolCall] | str
"""What a model says: tools to call, all at once, or its last word."""


class ScriptedModel:
    """Stands in for a language model.

    Args:
      tools: What it may call: the name, description and input schema of each tool.
      script: Its turns, in order.

    """

    def __init__(self, tools: list[dict[str, Any]], script: Iterable[Turn]) -> None:
        self.tools = {tool["name"]: tool for tool in tools}
        self.script = iter(script)

    async def answer(self, conversation: list[str]) -> Turn:
        """Say what comes next. A real model would read the conversation, over a network."""
        await trio.lowlevel.checkpoint()
        turn = next(self.script)
        if isinstance(turn, str):
            return turn.format(*conversation)
        for call in turn:
            known = self.tools[call.name]["input_schema"]["properties"]
            assert call.arguments.keys() <= known.keys()
        return turn


def tools_for_a_model(group: ClientSessionGroup) -> list[dict[str, Any]]:
    """List the tools of all servers, in the words of the servers.

    The key is the name under which the group calls a tool. It is the tool's own name, unless
    two servers have the same one.
    """
    return [
        {"name": name, "description": tool.description, "input_schema": tool.input_schema}
        for name, tool in group.tools.items()
    ]


# The loop


@attrs.frozen
class Agent:
    """A model, and the tools that it may call."""

    group: ClientSessionGroup
    model: ScriptedModel
    on_progress: Callable[[str], None] = print

    async def run(self, task: str) -> str:
        """Let the model call tools until it has an answer.

        It knows neither of the budget nor of the stop button: both are cancel scopes of Trio
        round this call.
        """
        conversation = [task]
        while True:
            turn = await self.model.answer(conversation)
            if isinstance(turn, str):
                return turn
            conversation += await self.call_all(turn)

    async def call_all(self, calls: list[ToolCall]) -> list[str]:
        """Call tools at the same time; the results are in the order of the calls."""
        results = [""] * len(calls)

        async def call(index: int, tool: ToolCall) -> None:
            results[index] = await self.call(tool)

        async with trio.open_nursery() as nursery:
            for index, tool in enumerate(calls):
                nursery.start_soon(call, index, tool)
        return results

    async def call(self, tool: ToolCall) -> str:
        """Call a tool. What goes wrong is for the model to read: it may know what to do."""
        try:
            result = await self.group.call_tool(
                tool.name, tool.arguments, progress_callback=self.report
            )
        except MCPError as exc:
            return f"Error: {exc}"
        return text_of(result)

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Take what a tool tells of its progress."""
        del progress, total  # none of the tools knows how far it is
        if message is not None:
            self.on_progress(message)


def text_of(result: CallToolResult) -> str:
    return ", ".join(each.text for each in result.content if isinstance(each, TextContent))


# Three runs


async def work_to_the_end(group: ClientSessionGroup) -> None:
    """The model calls tools of both servers, and answers."""
    model = ScriptedModel(
        tools_for_a_model(group),
        [
            [
                ToolCall("find_books", {"subject": "whales"}),
                ToolCall("sketch", {"subject": "a whale"}),
            ],
            "Read {1}. Here is {2}.",
        ],
    )
    print("answer:", await Agent(group, model).run("Teach me about whales."))


async def run_out_of_budget(group: ClientSessionGroup) -> None:
    """The time is over while a tool is at work."""
    model = ScriptedModel(
        tools_for_a_model(group), [[ToolCall("read_book", {"title": "Moby-Dick"})], "Done."]
    )
    with trio.move_on_after(BUDGET) as budget:
        await Agent(group, model).run("Read Moby-Dick to me.")
    print("the budget is used up:", budget.cancelled_caught)


async def press_stop(group: ClientSessionGroup) -> None:
    """Somebody presses the stop button while both servers are at work."""
    calls = [
        ToolCall("read_book", {"title": "The Bridge on the Drina"}),
        ToolCall("build_model", {"subject": "a bridge", "scale": 100}),
    ]
    model = ScriptedModel(tools_for_a_model(group), [calls, "Done."])
    at_work: list[str] = []
    both_at_work = trio.Event()

    def watch(message: str) -> None:
        at_work.append(message)
        if len(at_work) == len(calls):
            both_at_work.set()

    with trio.CancelScope() as stop:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press_when, both_at_work, stop)
            await Agent(group, model, watch).run("Build me a bridge.")
            nursery.cancel_scope.cancel()  # the agent has ended by itself: no button any more
    # Which server is the first to begin is a matter of luck.
    print(*sorted(at_work), sep="\n")
    print("stopped:", stop.cancelled_caught)


async def press_when(event: trio.Event, stop: trio.CancelScope) -> None:
    """Press the stop button; in a real program, a task that waits for the user does."""
    await event.wait()
    stop.cancel(reason="the user pressed stop")


async def show_what_runs(group: ClientSessionGroup) -> None:
    """Ask both servers what their tools are at."""
    for name in ASK_WHAT_RUNS:
        result = await group.call_tool(name)
        told = cast("dict[str, list[str]]", result.structured_content)
        print(f"{name}:", f"running {told['running']}, given up {told['given_up']}")


async def main() -> None:
    async with ClientSessionGroup() as group:
        for outcome in await group.connect_all(SERVERS):
            if outcome.error is not None:
                raise outcome.error
        for tool in tools_for_a_model(group):
            arguments = ", ".join(tool["input_schema"]["properties"])
            print(f"{tool['name']}({arguments}): {tool['description'].splitlines()[0]}")

        for run in (work_to_the_end, run_out_of_budget, press_stop):
            print()
            await run(group)
            await show_what_runs(group)


if __name__ == "__main__":
    trio.run(main)
