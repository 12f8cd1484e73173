"""The tools of the fixture server that become tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import trio

from trio_mcp import Context, MCPError, ToolError
from trio_mcp.extensions import TasksExtension
from trio_mcp.types import (
    INTERNAL_ERROR,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

if TYPE_CHECKING:
    from trio_mcp import MCPServer

tasks = TasksExtension(
    {
        "slow_compute": "optional",
        "failing_job": "required",
        "protocol_error_job": "optional",
        "confirm_delete": "optional",
        "multi_input": "optional",
        "test_tool_with_task": "required",
    },
    poll_interval=0.2,
)


@attrs.frozen
class Confirmation:
    confirm: bool


def greet(name: str) -> str:
    """Greet at once."""
    return f"Hello, {name}!"


async def slow_compute(seconds: float, label: str = "") -> str:
    """Take a while."""
    await trio.sleep(seconds)
    return f"Computed {label}".rstrip()


async def failing_job() -> str:
    """Fail after a while."""
    await trio.sleep(1)
    raise ToolError("This job always fails")


async def protocol_error_job() -> str:
    """Fail after a while, by an error of the protocol."""
    await trio.sleep(0.5)
    raise MCPError(INTERNAL_ERROR, "This job always breaks")


async def confirm_delete(filename: str, ctx: Context) -> str:
    """Ask before it goes on."""
    answer = await ctx.elicit(f"Delete {filename}?", Confirmation)
    return f"{filename}: {answer.action}"


async def multi_input(ctx: Context) -> str:
    """Ask two things at the same time."""
    answers: dict[str, str] = {}

    async def ask(what: str) -> None:
        answers[what] = (await ctx.elicit(f"{what}?", Confirmation)).action

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, "First")
        nursery.start_soon(ask, "Second")
    return str(sorted(answers.items()))


async def test_tool_with_task(ctx: Context) -> str | InputRequiredResult:
    """Ask for a name before there is a task."""
    answer = (ctx.input_responses or {}).get("user_name")
    if not isinstance(answer, ElicitResult):
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        asked = ElicitRequestFormParams(message="What is your name?", requested_schema=schema)
        return InputRequiredResult(input_requests={"user_name": ElicitRequest(params=asked)})
    return f"Hello, {(answer.content or {}).get('name')}!"


def add_tasks(mcp: MCPServer) -> None:
    """Give a server the tools; `tasks` is one of its extensions."""
    for tool in (
        greet,
        slow_compute,
        failing_job,
        protocol_error_job,
        confirm_delete,
        multi_input,
        test_tool_with_task,
    ):
        mcp.add_tool(tool)
