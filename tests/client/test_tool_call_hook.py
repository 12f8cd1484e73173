"""What an extension of a client may do round the calls of tools."""

from __future__ import annotations

from typing import Any, Literal

import pytest
import trio
import trio.testing

from trio_mcp.client import (
    Client,
    ClientExtension,
    ClientSessionGroup,
    ClientSessionParameters,
    RestartPolicy,
    ResultClaim,
    UnexpectedClaimedResult,
)
from trio_mcp.errors import InvalidResponse, RequestTimeout
from trio_mcp.mcpserver import MCPServer
from trio_mcp.server import Server
from trio_mcp.testing import cancel_everywhere, open_client, open_session
from trio_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    EmptyResult,
    Result,
    TextContent,
    wire_field,
    wire_model,
)

from .test_restart import Mortal

both_eras = pytest.mark.parametrize("mode", ["2026-07-28", "2025-11-25"])
DONE = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}


@wire_model
class Receipt(Result):
    result_type: Literal["receipt"] = wire_field(default="receipt", always=True)
    number: str


class Watching(ClientExtension):
    """Takes note of calls, and does what `act` says with them."""

    def __init__(self, act: Any = None, identifier: str = "com.example/watching") -> None:
        self.identifier = identifier
        self.act = act
        self.seen: list[CallToolRequestParams] = []
        self.contexts: list[Any] = []

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        self.seen.append(params)
        self.contexts.append(ctx)
        if self.act is None:
            return await call_next(params)
        return await self.act(params, ctx, call_next)


class Claiming(Watching):
    def claims(self) -> list[ResultClaim[Receipt]]:
        async def resolve(receipt: Receipt, context: Any) -> CallToolResult:
            return text(f"bought by {receipt.number}")

        return [ResultClaim(result_type="receipt", model=Receipt, resolve=resolve)]


def text(said: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=said)], structured_content={"result": said})


def echoing() -> MCPServer:
    mcp = MCPServer("echo")

    @mcp.tool()
    def echo(word: str) -> str:
        return word

    return mcp


@both_eras
async def test_a_call_passes_through_and_nothing_of_it_changes(autojump_clock, mode):
    watching = Watching()
    async with open_client(echoing(), mode=mode, extensions=[watching]) as client:
        result = await client.call_tool("echo", {"word": "hi"}, 5, meta={"com.example/a": 1})
        assert result.structured_content == {"result": "hi"}
        [params], [context] = watching.seen, watching.contexts
        assert (params.name, params.arguments) == ("echo", {"word": "hi"})
        assert params.meta == {"com.example/a": 1}
        assert context.session is client.session
        assert (context.allow_claimed, context.read_timeout_seconds) == (False, 5)
        await client.call_tool("echo", {"word": "hi"}, allow_claimed=True)
        assert watching.contexts[-1].allow_claimed


@both_eras
async def test_the_first_extension_is_the_outermost_and_each_may_change_what_is_sent(
    autojump_clock, mode
):
    def adding(what: str) -> Any:
        async def add(params: Any, ctx: Any, call_next: Any) -> Any:
            answer = await call_next(
                params.evolve(arguments={"word": params.arguments["word"] + what})
            )
            answer["content"].append({"type": "text", "text": what})
            return answer

        return Watching(add, f"com.example/{what}")

    extensions = [adding("a"), adding("b")]
    async with open_client(echoing(), mode=mode, extensions=extensions) as client:
        result = await client.call_tool("echo", {"word": "-"})
    assert [each.text for each in result.content] == ["-ab", "b", "a"]


@both_eras
async def test_an_extension_may_answer_instead_and_is_held_to_the_output_schema(
    autojump_clock, mode
):
    async def answer(params: Any, ctx: Any, call_next: Any) -> Any:
        return CallToolResult(content=[], structured_content={"result": params.arguments["word"]})

    calls = []

    async def note(ctx: Any, call_next: Any) -> Any:
        calls.append(ctx.method)
        return await call_next(ctx)

    mcp = echoing()
    mcp.lowlevel_server.middleware.append(note)
    async with open_client(mcp, mode=mode, extensions=[Watching(answer)]) as client:
        assert (await client.call_tool("echo", {"word": "x"})).structured_content == {
            "result": "x"
        }
        with pytest.raises(InvalidResponse, match="output schema"):
            await client.call_tool("echo", {"word": 5})
    assert "tools/call" not in calls


@both_eras
async def test_an_extension_may_answer_with_what_it_claims_at_any_revision(autojump_clock, mode):
    async def answer(params: Any, ctx: Any, call_next: Any) -> Any:
        return Receipt(number="r-1")

    extension = Claiming(answer)
    async with open_client(echoing(), mode=mode, extensions=[extension]) as client:
        assert (await client.call_tool("echo")).content[0].text == "bought by r-1"
        assert await client.call_tool("echo", allow_claimed=True) == Receipt(number="r-1")
    async with open_session(echoing(), mode=mode, extensions=[extension]) as session:
        with pytest.raises(UnexpectedClaimedResult):
            await session.call_tool("echo")
        assert await session.call_tool("echo", allow_claimed=True) == Receipt(number="r-1")
        finished = await session.call_tool("echo", finish_claimed=True)
        assert finished.content[0].text == "bought by r-1"


async def test_each_round_of_a_call_is_one(autojump_clock, connect, script, discovery):
    question = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}  # fmt: skip
    wanted = {
        "resultType": "input_required",
        "requestState": "s",
        "inputRequests": {"q": question},
    }

    async def decline(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    server = script(
        server__discover=discovery,
        tools__call=lambda params: DONE if "requestState" in params else wanted,
    )
    watching = Watching()
    options = {"extensions": [watching], "elicitation_callback": decline}
    async with connect(server, **options) as client:
        assert (await client.call_tool("x")).content[0].text == "done"
    first, second = watching.seen
    assert (first.request_state, second.request_state) == (None, "s")
    assert second.input_responses["q"].action == "decline"
    assert server.received[-1].params["inputResponses"] == {"q": {"action": "decline"}}


async def test_what_an_extension_raises_leaves_the_call(autojump_clock):
    async def refuse(params: Any, ctx: Any, call_next: Any) -> Any:
        raise PermissionError(params.name)

    async with open_client(echoing(), extensions=[Watching(refuse)]) as client:
        with pytest.raises(PermissionError, match="echo"):
            await client.call_tool("echo")


@pytest.mark.parametrize("allow_claimed", [False, True])
@pytest.mark.parametrize(
    "returned", [None, "done", [DONE], EmptyResult(), Receipt(number="7"), Result()]
)
async def test_what_is_no_answer_is_told_as_such(autojump_clock, returned, allow_claimed):
    async def answer(params: Any, ctx: Any, call_next: Any) -> Any:
        return returned

    async with open_client(echoing(), extensions=[Watching(answer)]) as client:
        with pytest.raises(TypeError, match=r"Watching\.intercept_tool_call returned: expected"):
            await client.call_tool("echo", allow_claimed=allow_claimed)


async def test_only_what_is_claimed_is_finished_by_an_extension(autojump_clock):
    async with open_client(echoing()) as client:
        with pytest.raises(TypeError, match=r"result: expected one that .* claims, got Receipt"):
            await client.session.resolve_claimed(Receipt(number="7"), "echo")


async def test_only_params_of_a_call_are_passed_on(autojump_clock):
    async def pass_on(params: Any, ctx: Any, call_next: Any) -> Any:
        return await call_next({"name": "echo"})

    async with open_client(echoing(), extensions=[Watching(pass_on)]) as client:
        with pytest.raises(TypeError, match="passed on: expected CallToolRequestParams, got dict"):
            await client.call_tool("echo")


async def test_the_tool_stays_the_one_that_was_called(autojump_clock):
    async def pass_on(params: Any, ctx: Any, call_next: Any) -> Any:
        return await call_next(params.evolve(name="other"))

    async with open_client(echoing(), extensions=[Watching(pass_on)]) as client:
        with pytest.raises(ValueError, match="expected a call of 'echo', got 'other'"):
            await client.call_tool("echo")


async def test_a_call_may_be_sent_more_than_once(autojump_clock):
    async def twice(params: Any, ctx: Any, call_next: Any) -> Any:
        await call_next(params)
        return await call_next(params.evolve(arguments={"word": "again"}))

    async with open_client(echoing(), extensions=[Watching(twice)]) as client:
        result = await client.call_tool("echo", {"word": "once"})
        assert result.content[0].text == "again"


def test_what_is_no_function_is_refused_when_the_client_is_made():
    class Wrong(ClientExtension):
        identifier = "com.example/wrong"
        intercept_tool_call = 5

    with pytest.raises(TypeError, match=r"Wrong\.intercept_tool_call: expected a function"):
        Client(Server("x"), extensions=[Wrong()])


@pytest.mark.parametrize("road", ["direct", "text"])
@both_eras
async def test_whoever_names_the_token_of_progress_hears_of_it(autojump_clock, mode, road):
    heard: list[Any] = []
    called: list[Any] = []
    messages: list[Any] = []

    async def handle(message: Any) -> None:
        messages.append(message)

    async def call_back(*report: Any) -> None:
        called.append(report)

    async def name_token(params: Any, ctx: Any, call_next: Any) -> Any:
        assert ctx.progress_callback is call_back
        remove = ctx.session.on_progress("own", lambda *report: heard.append(report))
        with pytest.raises(ValueError, match="listens to the progress token 'own' already"):
            ctx.session.on_progress("own", print)
        answer = await call_next(
            params.evolve(meta={**(params.meta or {}), "progress_token": "own"})
        )
        await trio.testing.wait_all_tasks_blocked()
        remove()
        return answer

    async def run(ctx: Any, params: Any) -> CallToolResult:
        await ctx.session.report_progress(1, 2)
        return text("worked")

    server = Server("reporting", on_call_tool=run)
    options = {"mode": mode, "extensions": [Watching(name_token)], "message_handler": handle}
    async with open_client(server, road, **options) as client:
        await client.call_tool("work", progress_callback=call_back)
    assert heard == [(1, 2, None)]
    # It goes neither to the callback of the call nor to the handler of everything else.
    assert (called, messages) == ([], [])


async def test_the_limit_for_all_of_a_call_holds_for_what_stands_round_it(autojump_clock):
    async def dawdle(params: Any, ctx: Any, call_next: Any) -> Any:
        await trio.sleep_forever()

    async with open_session(echoing(), extensions=[Watching(dawdle)]) as session:
        with pytest.raises(RequestTimeout, match="5 s in all"):
            await session.call_tool("echo", max_total_timeout=5)
        assert trio.current_time() == pytest.approx(5, abs=0.1)


@both_eras
async def test_a_call_with_extensions_round_it_may_be_cancelled_anywhere(autojump_clock, mode):
    await cancel_everywhere(
        lambda: open_client(
            echoing(), mode=mode, extensions=[Watching(), Watching(None, "a.b/c")]
        ),
        lambda client: client.call_tool("echo", {"word": "hi"}),
    )


@both_eras
async def test_a_group_calls_as_a_client_does(autojump_clock, mode):
    async def answer(params: Any, ctx: Any, call_next: Any) -> Any:
        assert not ctx.allow_claimed
        return Receipt(number=params.name)

    parameters = ClientSessionParameters(mode=mode, extensions=[Claiming(answer)])
    async with ClientSessionGroup() as group:
        await group.connect_to_server(echoing(), parameters)
        [name] = group.tools
        assert (await group.call_tool(name)).content[0].text == "bought by echo"


async def test_a_client_whose_server_is_restarted_asks_the_one_that_is_there(
    autojump_clock, script, initialized
):
    seen: list[Any] = []

    async def note(params: Any, ctx: Any, call_next: Any) -> Any:
        seen.append(ctx.session.server_info.version)
        return await call_next(params)

    def life(version: str) -> Any:
        answer = initialized()
        answer["serverInfo"] = {"name": "mortal", "version": version}
        return script(initialize=answer, tools__call=DONE)

    mortal = Mortal(life("1"), life("2"))
    policy = RestartPolicy(initial_delay=3)
    options = {"mode": "legacy", "restart": policy, "extensions": [Watching(note)]}
    async with Client(mortal, **options) as client:
        await client.call_tool("x")
        await mortal.die()
        await client.call_tool("x")
    assert seen == ["1", "2"]


def test_what_no_extension_stands_round_is_sent_as_ever():
    class Plain(ClientExtension):
        identifier = "com.example/plain"

    client = Client(Server("x"), extensions=[Plain()])
    assert not client._extensions.interceptors
