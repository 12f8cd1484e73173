"""What extensions can do beside adding tools and methods: run along, and let work outlive requests."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio

from trio_mcp import Client, Context, InputRequiredResult, MCPServer, ToolError
from trio_mcp.client import ClientExtension, ResultClaim, advertise
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Extension, compose_tool_call_handler
from trio_mcp.server import Server
from trio_mcp.types import (
    INTERNAL_ERROR,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    Result,
    TextContent,
    wire_field,
    wire_model,
)


class Running(Extension):
    identifier = "com.example/running"

    def __init__(self, log: list[str]) -> None:
        self.log = log

    @asynccontextmanager
    async def lifespan(self, server: MCPServer) -> Any:
        names = [tool.name for tool in await server.list_tools()]
        self.log.append(f"begins with {names}")
        try:
            yield object()
        finally:
            self.log.append("ends")


async def test_an_extension_runs_inside_of_the_lifespan_of_each_run():
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer) -> Any:
        log.append("server begins")
        yield {}
        log.append("server ends")

    mcp = MCPServer("running", lifespan=lifespan, extensions=[Running(log)])

    @mcp.tool()
    def state(ctx: Context) -> str:
        states = ctx.request_context.lifespan_states
        assert [*states] == ["com.example/running"]
        return str(id(states["com.example/running"]))

    async with Client(mcp) as one, Client(mcp) as other:
        mine = (await one.call_tool("state")).content[0].text
        assert (await one.call_tool("state")).content[0].text == mine
        assert (await other.call_tool("state")).content[0].text != mine
    assert log == [
        *("server begins", "begins with ['state']") * 2,
        *("ends", "server ends") * 2,
    ]


async def test_a_failure_of_a_client_does_not_reach_what_runs_along():
    log: list[str] = []
    mcp = MCPServer("running", extensions=[Running(log)])
    with pytest.raises(RuntimeError, match="its own"):
        async with Client(mcp):
            raise RuntimeError("its own")
    assert log == ["begins with []", "ends"]


def test_two_lifespans_cannot_have_one_name():
    server = Server("twice")
    server.add_lifespan("one", trio.open_nursery)
    with pytest.raises(ValueError, match="lifespan of the name 'one'"):
        server.add_lifespan("one", trio.open_nursery)
    with pytest.raises(TypeError, match="lifespan"):
        server.add_lifespan("two", 7)


# Work that goes another way


class Asking(Extension):
    """Answers the questions of tools by itself."""

    identifier = "com.example/asking"

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = seconds
        self.asked: list[str] = []

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        with trio.CancelScope() as scope:
            inner = ctx.detach(scope, self.ask)
            result = await call_next(inner)
            if isinstance(result, InputRequiredResult):
                answers = {"colour": {"action": "accept", "content": {"name": "blue"}}}
                again = {**ctx.params, "inputResponses": answers, "requestState": "again"}
                result = await call_next(attrs.evolve(inner, params=again))
            inner.mute()
            return inner.write_answer(result)

    async def ask(self, request: Any) -> ElicitResult:
        self.asked.append(request.params.message)
        await trio.sleep(self.seconds)
        return ElicitResult(action="accept", content={"name": "red"})


@attrs.frozen
class Colour:
    name: str


async def never_asked(context: Any, params: Any) -> ElicitResult:
    raise AssertionError


def asking_server(extension: Extension, **options: Any) -> MCPServer:
    mcp = MCPServer("asking", extensions=[extension])

    @mcp.tool(**options)
    async def paint(ctx: Context) -> str:
        answer = await ctx.elicit("Which colour?", Colour)
        return answer.data.name

    @mcp.tool()
    def pick(ctx: Context) -> str | InputRequiredResult:
        if ctx.input_responses is None:
            asked = ElicitRequestFormParams(message="?", requested_schema={"type": "object"})
            return InputRequiredResult(input_requests={"colour": ElicitRequest(params=asked)})
        return f"{ctx.input_responses['colour'].content['name']} {ctx.request_state}"

    return mcp


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_extension_may_bring_questions_to_the_client_in_its_own_way(mode):
    extension = Asking()
    mcp = asking_server(extension)
    async with Client(mcp, mode=mode, elicitation_callback=never_asked) as client:
        result = await client.call_tool("paint")
        assert (result.content[0].text, result.structured_content) == ("red", {"result": "red"})
        assert extension.asked == ["Which colour?"]


async def test_an_extension_may_answer_what_a_tool_asks_by_its_result():
    async with Client(asking_server(Asking()), elicitation_callback=never_asked) as client:
        assert (await client.call_tool("pick")).content[0].text == "blue again"


async def test_the_time_of_a_tool_stands_still_while_an_extension_asks(autojump_clock):
    mcp = asking_server(Asking(seconds=60), timeout=5)
    async with Client(mcp, elicitation_callback=never_asked) as client:
        assert (await client.call_tool("paint")).content[0].text == "red"


async def test_a_question_that_the_client_cannot_answer_goes_nowhere():
    extension = Asking()
    async with Client(asking_server(extension)) as client:
        with pytest.raises(Exception, match="elicitation") as caught:
            await client.call_tool("paint")
        assert caught.value.code == -32021
    assert extension.asked == []


# The client's half


@wire_model
class Receipt(Result):
    result_type: str = wire_field(default="receipt", always=True)
    number: int


class Selling(Extension):
    identifier = "com.example/receipts"
    result_types = frozenset({"receipt"})

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        return {"resultType": "receipt", "number": 7}


class Buying(ClientExtension):
    identifier = "com.example/receipts"

    def claims(self) -> list[ResultClaim[Any]]:
        async def resolve(receipt: Receipt, context: Any) -> CallToolResult:
            raise ToolError("nobody finishes it")

        return [ResultClaim(result_type="receipt", model=Receipt, resolve=resolve)]


async def test_a_caller_may_finish_the_call_by_hand():
    mcp = MCPServer("selling", extensions=[Selling()])

    @mcp.tool()
    def buy() -> CallToolResult:
        return CallToolResult(content=[TextContent(text="never")])

    async with Client(mcp, extensions=[Buying()]) as client:
        receipt = await client.call_tool("buy", allow_claimed=True)
        assert isinstance(receipt, Receipt)
        assert receipt.number == 7
        with pytest.raises(TypeError, match="allow_claimed"):
            await client.call_tool("buy", allow_claimed="yes")


# The marks of its results


def selling(extension: Extension | None = None, **options: Any) -> MCPServer[Any]:
    mcp = MCPServer("selling", extensions=[extension or Selling()], **options)

    @mcp.tool()
    def buy() -> str:
        return "never"

    return mcp


@pytest.mark.req("R-664", "R-009")
@pytest.mark.parametrize(
    "declared",
    [[], [advertise("com.example/other")]],
    ids=["nothing", "another"],
)
async def test_a_result_of_an_extension_goes_only_to_who_declared_it(
    declared: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(selling(), extensions=declared) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("buy", {})
        assert caught.value.code == INTERNAL_ERROR
    assert "receipt" not in str(caught.value)
    assert "tools/call: the resultType 'receipt' is of the extension com.example/receipts" in (
        caplog.text
    )


@pytest.mark.parametrize("declared", ["yes", None, []])
async def test_a_declaration_that_is_no_object_is_none(
    declared: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(selling()) as client:
        session: Any = client.session
        capabilities = {"extensions": {Selling.identifier: declared}}
        meta = {**session._envelope, "io.modelcontextprotocol/clientCapabilities": capabilities}
        with pytest.raises(MCPError) as caught:
            await session._link.request("tools/call", {"name": "buy", "_meta": meta})
        assert caught.value.code == INTERNAL_ERROR
    assert "which the client did not declare" in caplog.text


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ("parcel", "no extension of this server brings the resultType 'parcel'"),
        (5, "no extension of this server brings the resultType 5"),
        (["receipt"], "no extension of this server brings"),
        (None, "no extension of this server brings the resultType None"),
    ],
)
async def test_a_mark_that_no_extension_brings_is_not_sent(
    mark: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(Selling):
        async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
            return {"resultType": mark, "number": 7}

    async with Client(selling(Odd()), extensions=[Buying()]) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("buy", {}, allow_claimed=True)
        assert caught.value.code == INTERNAL_ERROR
    assert why in caplog.text


async def test_a_tool_cannot_mark_its_result_as_an_extension_would(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mcp = MCPServer("plain")

    @mcp.tool()
    def buy() -> CallToolResult:
        return CallToolResult(content=[], result_type="receipt")

    async with Client(mcp, extensions=[Buying()]) as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.call_tool("buy", {})
    assert "no extension of this server brings the resultType 'receipt'" in caplog.text


async def test_marks_of_extensions_are_on_tool_calls_alone_among_the_cores_methods(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def instead(ctx: Any, call_next: Any) -> Any:
        return {"resultType": "receipt"} if ctx.method == "tools/list" else await call_next(ctx)

    async with Client(selling(middleware=[instead]), extensions=[Buying()]) as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.list_tools()
    assert "tools/list: its result has no resultType but the core's, got 'receipt'" in caplog.text


async def test_an_extension_brings_its_marks_at_its_revisions(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Older(Selling):
        protocol_versions = frozenset({"2025-11-25"})

    async with Client(selling(Older()), extensions=[advertise(Older.identifier)]) as client:
        with pytest.raises(MCPError, match="Internal server error"):
            await client.call_tool("buy", {})
    assert "(its Extension.result_types names it) at 2026-07-28" in caplog.text


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_lowlevel_server_is_told_of_the_marks(is_told: bool) -> None:
    async def call(ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[])

    server = Server("low", on_call_tool=compose_tool_call_handler([Selling()], call))
    server.extensions[Selling.identifier] = {}
    if is_told:
        server.extension_result_types[Selling.identifier] = Selling.result_types
    async with Client(server, extensions=[Buying()]) as client:
        if is_told:
            assert isinstance(await client.call_tool("buy", {}, allow_claimed=True), Receipt)
        else:
            with pytest.raises(MCPError, match="Internal server error"):
                await client.call_tool("buy", {}, allow_claimed=True)


@pytest.mark.parametrize(
    ("marks", "error", "why"),
    [
        ("receipt", TypeError, "put it into a list"),
        ([5], TypeError, "result_types of com.example/receipts"),
        (["complete"], ValueError, "'complete' belongs to the core protocol"),
        (["other"], ValueError, "'other' is one of com.example/other"),
    ],
)
def test_marks_are_the_extensions_own(marks: Any, error: type[Exception], why: str) -> None:
    class Other(Extension):
        identifier = "com.example/other"
        result_types = frozenset({"other"})

    class Odd(Selling):
        result_types = marks

    with pytest.raises(error, match=why):
        MCPServer("odd", extensions=[Other(), Odd()])
