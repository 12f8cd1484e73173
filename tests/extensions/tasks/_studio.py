"""A server whose tools become tasks, and clients of it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import pytest
import trio
import trio.testing

from trio_mcp import Client, Context, Elicit, MCPError, MCPServer, Resolve, ToolError
from trio_mcp.client import advertise
from trio_mcp.extensions import Task, TasksClientExtension, TasksExtension
from trio_mcp.testing import open_client
from trio_mcp.transports import ServeOptions, serve_http_app
from trio_mcp.types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    Request,
    Result,
    SamplingMessage,
    TextContent,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

TASKS = "io.modelcontextprotocol/tasks"

TOOLS = {
    "paint": "optional",
    "train": "required",
    "break_down": "optional",
    "ask": "optional",
    "ask_twice": "optional",
    "ask_by_result": "required",
    "ask_late_by_result": "optional",
    "ask_by_resolver": "required",
    "ask_in_vain": "optional",
    "ask_all_kinds": "optional",
    "report": "optional",
}


@attrs.frozen
class Colour:
    name: str


@attrs.define
class Studio:
    """A server, and what its tools have seen.

    Attributes:
      mcp: The server.
      seen: What the tools took note of.
      methods: Of the requests that came.
      called: The ids of calls of tools.
      given_up: The ids of requests of which clients said so.

    """

    mcp: MCPServer
    tasks: TasksExtension
    seen: list[Any]
    methods: list[str]
    called: list[Any] = attrs.Factory(list)
    given_up: list[Any] = attrs.Factory(list)


def ask_colour() -> Elicit[Colour]:
    return Elicit("Which colour?", Colour)


def colour_question(message: str) -> ElicitRequest:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    params = ElicitRequestFormParams(message=message, requested_schema=schema)
    return ElicitRequest(params=params)


def studio(
    tools: dict[str, Any] | None = None, *, server: dict[str, Any] | None = None, **options: Any
) -> Studio:
    seen: list[Any] = []

    async def note(ctx: Any, call_next: Any) -> Any:
        made.methods.append(ctx.method)
        if ctx.method == "tools/call":
            made.called.append(ctx.request_id)
        elif ctx.method == "notifications/cancelled":
            made.given_up.append(ctx.params["requestId"])
        return await call_next(ctx)

    tasks = TasksExtension(TOOLS if tools is None else tools, **options)
    mcp = MCPServer("studio", extensions=[tasks], middleware=[note], **(server or {}))

    add_workers(mcp, seen)
    add_askers(mcp)
    add_askers_between_rounds(mcp)
    made = Studio(mcp, tasks, seen, [])
    return made


def add_workers(mcp: MCPServer, seen: list[Any]) -> None:
    @mcp.tool()
    async def paint(seconds: float, ctx: Context) -> str:
        """Take a while."""
        try:
            await trio.sleep(seconds)
        except trio.Cancelled:
            seen.append(ctx.cancel_reason)
            raise
        seen.append("painted")
        return f"painted for {seconds:g} s"

    @mcp.tool()
    async def train(seconds: float = 1) -> str:
        """Fail after a while."""
        await trio.sleep(seconds)
        raise ToolError("the model does not converge")

    @mcp.tool()
    async def break_down() -> str:
        """Fail by an error of the protocol, after a while."""
        await trio.sleep(1)
        raise MCPError(-31000, "broken", {"part": "wheel"})

    @mcp.tool()
    async def report(ctx: Context) -> str:
        """Report progress now and then."""
        for each in range(5):
            await ctx.report_progress(each, 5)
            await ctx.session.send_log_message("info", f"step {each}")
            await trio.sleep(1)
        return "reported"

    @mcp.tool()
    def greet(name: str) -> str:
        """Never be a task."""
        return f"Hello, {name}!"


def add_askers(mcp: MCPServer) -> None:
    @mcp.tool()
    async def ask(ctx: Context) -> str:
        """Ask while it works."""
        answer = await ctx.elicit("Which colour?", Colour)
        return f"{answer.action} {getattr(getattr(answer, 'data', None), 'name', '')}"

    @mcp.tool()
    async def ask_twice(ctx: Context) -> str:
        """Ask two things at the same time, and one more after them."""
        answers: dict[str, str] = {}

        async def ask(what: str) -> None:
            answers[what] = (await ctx.elicit(what, Colour)).data.name

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "wall")
            nursery.start_soon(ask, "door")
        await ask("roof")
        return " ".join(f"{what}={answers[what]}" for what in ("wall", "door", "roof"))

    @mcp.tool()
    async def ask_all_kinds(ctx: Context) -> str:
        """Ask the user, the model, and for roots."""
        colour = await ctx.elicit("Which colour?", Colour)
        message = SamplingMessage(role="user", content=TextContent(text="Praise it"))
        params = CreateMessageRequestParams(messages=[message], max_tokens=10)
        praise = await ctx.session.ask(CreateMessageRequest(params=params))
        roots = await ctx.session.ask(ListRootsRequest())
        return f"{colour.data.name}: {praise.content.text} {roots.roots[0].uri}"

    @mcp.tool()
    async def ask_in_vain(ctx: Context) -> str:
        """Stop waiting for an answer."""
        with trio.move_on_after(5):
            await ctx.elicit("Which colour?", Colour)
        await trio.sleep(5)
        return "no answer"


def add_askers_between_rounds(mcp: MCPServer) -> None:
    @mcp.tool()
    async def ask_by_result(ctx: Context) -> str | InputRequiredResult:
        """Ask before there is a task."""
        answer = (ctx.input_responses or {}).get("colour")
        if not isinstance(answer, ElicitResult):
            asked = {"colour": colour_question("Which colour?")}
            return InputRequiredResult(input_requests=asked, request_state="asked")
        return f"{answer.content['name']}, {ctx.request_state}"

    @mcp.tool()
    async def ask_late_by_result(ctx: Context) -> str | InputRequiredResult:
        """Ask by the result when there is a task."""
        await trio.sleep(1)
        return await ask_by_result(ctx)

    @mcp.tool()
    async def ask_by_resolver(colour: Annotated[Colour, Resolve(ask_colour)]) -> str:
        """Ask by a resolver."""
        return colour.name


async def answer_blue(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "blue"})


async def start(client: Client, tool: str, arguments: dict[str, Any] | None = None) -> Task:
    """Call a tool that becomes a task, and take the handle."""
    return Task(client, await client.call_tool(tool, arguments, allow_claimed=True))


async def ask_raw(client: Client, method: str, **params: Any) -> dict[str, Any]:
    """Send a request as it is, and give the result as it came."""
    request = Request(method=method, params=params)
    if "taskId" in params:
        request = NamedRequest(method=method, params=params)
    result = await client.session.send_request(request, Result)
    return {name: each for name, each in result.extra.items() if name != "_meta"}


class NamedRequest(Request):
    name_param = "taskId"


async def error_of(asked: Any) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await asked
    return caught.value


@asynccontextmanager
async def connect(
    server: MCPServer, road: str, *, knows_tasks: bool = True, **options: Any
) -> AsyncGenerator[Client, None]:
    """Connect a client over memory ("direct", "text") or HTTP."""
    extension = TasksClientExtension() if knows_tasks else advertise("com.example/nothing")
    options = {"extensions": [extension], **options}
    if road != "http":
        async with open_client(server, road, **options) as client:
            yield client
        return
    async with serve(server) as url, Client(url, **options) as client:
        yield client


@asynccontextmanager
async def serve(server: MCPServer) -> AsyncGenerator[str, None]:
    async with trio.open_nursery() as nursery:
        app = server.streamable_http_app()
        served = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        yield served.url + "/mcp"
        nursery.cancel_scope.cancel()


on_every_road = pytest.mark.parametrize("road", ["direct", "text", "http"])
in_memory = pytest.mark.parametrize("road", ["direct", "text"])


async def settle(condition: Callable[[], Any]) -> None:
    """Wait until something is so."""
    while not condition():  # noqa: ASYNC110 - what changes it is the code under test
        await trio.sleep(0.01)


async def until(asked: Any, status: str) -> Any:
    """Ask for a task until it has come to a status."""
    while True:
        task = await asked()
        if task.status == status:
            return task
        await trio.sleep(0.05)
