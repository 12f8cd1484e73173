"""A server of 2026-07-28 that says of its one task what a test wants."""

from __future__ import annotations

from typing import Any

import trio

from trio_mcp import MCPError, MCPServer
from trio_mcp.mcpserver import Extension, MethodBinding

from ._studio import TASKS


class Scripted(Extension):
    """Answers calls with a task, and ``tasks/get`` with what a test says."""

    identifier = TASKS
    result_types = frozenset({"task"})

    def __init__(self, created: dict[str, Any], *answers: Any) -> None:
        self.created = {"resultType": "task", **task("working"), **created}
        self.answers = [*answers]
        self.asked: list[float] = []
        self.cancelled: list[str] = []
        self.updates: list[Any] = []

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        self.asked.append(trio.current_time())
        return self.created

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding("tasks/get", dict, self.get, name_param="taskId"),
            MethodBinding("tasks/update", dict, self.update, name_param="taskId"),
            MethodBinding("tasks/cancel", dict, self.cancel, name_param="taskId"),
        ]

    async def get(self, ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(trio.current_time())
        if not self.answers:
            raise MCPError(-32602, "Unknown task: t")
        answer = self.answers.pop(0)
        if isinstance(answer, MCPError):
            raise answer
        return answer

    async def update(self, ctx: Any, params: dict[str, Any]) -> None:
        self.updates.append(params["inputResponses"])

    async def cancel(self, ctx: Any, params: dict[str, Any]) -> None:
        self.cancelled.append(params["taskId"])

    @property
    def pauses(self) -> list[float]:
        return [round(b - a, 3) for a, b in zip(self.asked, self.asked[1:], strict=False)]


def task(status: str, **more: Any) -> dict[str, Any]:
    times = {"createdAt": "2026-11-30T12:00:00Z", "lastUpdatedAt": "2026-11-30T12:00:00Z"}
    return {"taskId": "t", "status": status, "ttlMs": None, **times, **more}


DONE = task("completed", result={"content": [{"type": "text", "text": "done"}]})


def scripted(extension: Scripted) -> MCPServer:
    mcp = MCPServer("odd", extensions=[extension])

    @mcp.tool(structured_output=False)
    def work() -> str:
        return "worked"

    return mcp
