"""What a handler still needs: asked in the words of each era, and of nobody who cannot answer."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
import trio.testing

from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import Server, ServerRequestContext
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    GetPromptResult,
    InputRequiredResult,
    JSONRPCRequest,
    JSONRPCResponse,
    ListRootsRequest,
    ListRootsResult,
    ReadResourceResult,
    Root,
    SamplingCapability,
    SamplingMessage,
    SamplingToolsCapability,
    TextContent,
    Tool,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
FORM = ElicitRequest(params=ElicitRequestFormParams(message="Who?", requested_schema=SCHEMA))
URL = ElicitRequest(params=ElicitRequestURLParams(message="Log in", url="https://a.example/"))
ROOTS = ListRootsRequest()
HELLO = SamplingMessage(role="user", content=TextContent(text="Hello"))
TOOL = Tool(name="t", input_schema={"type": "object"})


def sampling(*messages: SamplingMessage, **options: Any) -> CreateMessageRequest:
    params = CreateMessageRequestParams(
        messages=list(messages) or [HELLO], max_tokens=5, **options
    )
    return CreateMessageRequest(params=params)


def asking(*rounds: InputRequiredResult, seen: list[Any] | None = None) -> Server:
    """A server whose every method asks these things, round by round, before it answers."""

    def next_round(params: Any) -> InputRequiredResult | None:
        if seen is not None:
            seen.append((params.input_responses, params.request_state))
        index = int((params.request_state or "0").rpartition(":")[2])
        return rounds[index] if index < len(rounds) else None

    async def call_tool(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        return next_round(params) or CallToolResult(content=[TextContent(text="done")])

    async def get_prompt(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        return next_round(params) or GetPromptResult(messages=[], description="done")

    async def read_resource(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        return next_round(params) or ReadResourceResult(contents=[])

    return Server(
        "asking", on_call_tool=call_tool, on_get_prompt=get_prompt, on_read_resource=read_resource
    )


async def fill_in(context: Any, params: Any) -> ElicitResult:
    if isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action="accept")
    return ElicitResult(action="accept", content={"name": "Ann"})


async def say(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="Hi"), model="m")


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///a")])


EVERYTHING: dict[str, Any] = {
    "elicitation_callback": fill_in,
    "sampling_callback": say,
    "list_roots_callback": roots,
}


@pytest.mark.req("R-176", "R-180")
@BOTH_ERAS
async def test_a_handler_asks_in_rounds_whatever_the_client_speaks(mode: str) -> None:
    seen: list[Any] = []
    server = asking(
        InputRequiredResult(input_requests={"who": FORM, "where": ROOTS}, request_state="1"),
        InputRequiredResult(input_requests={"what": sampling()}, request_state="2"),
        seen=seen,
    )
    async with Client(server, mode=mode, **EVERYTHING) as client:
        result = await client.call_tool("t", {})
        assert result.content == [TextContent(text="done")]
        assert [state for _, state in seen] == [None, "1", "2"]
        assert seen[1][0]["who"] == ElicitResult(action="accept", content={"name": "Ann"})
        assert seen[1][0]["where"].roots[0].uri == "file:///a"
        assert seen[2][0]["what"].content.text == "Hi"
        assert (await client.get_prompt("p")).description == "done"
        assert (await client.read_resource("a://b")).contents == []


@BOTH_ERAS
async def test_a_result_given_as_json_asks_too(mode: str) -> None:
    async def call_tool(ctx: Any, params: Any) -> Any:
        if params.input_responses:
            return {
                "content": [{"type": "text", "text": params.input_responses["r"].roots[0].uri}]
            }
        return {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}

    async with Client(Server("a", on_call_tool=call_tool), mode=mode, **EVERYTHING) as client:
        assert (await client.call_tool("t")).content == [TextContent(text="file:///a")]


async def test_the_questions_of_a_round_are_asked_at_the_same_time() -> None:
    waiting = 0
    both = trio.Event()

    async def answer(context: Any, params: Any) -> ElicitResult:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            both.set()
        await both.wait()
        return await fill_in(context, params)

    server = asking(InputRequiredResult(input_requests={"a": FORM, "b": FORM}, request_state="1"))
    async with Client(server, mode="legacy", elicitation_callback=answer) as client:
        await client.call_tool("t")
    assert waiting == 2


async def test_a_state_without_questions_is_tried_again_after_a_while(
    autojump_clock: trio.testing.MockClock,
) -> None:
    server = asking(*(InputRequiredResult(request_state=str(n)) for n in range(1, 5)))
    async with Client(server, mode="legacy") as client:
        started = trio.current_time()
        await client.call_tool("t")
        assert trio.current_time() - started == pytest.approx(0.05 + 0.1 + 0.2 + 0.25)


async def test_rounds_have_a_bound_in_the_older_era(
    autojump_clock: trio.testing.MockClock,
) -> None:
    seen: list[Any] = []
    server = asking(*[InputRequiredResult(request_state="0")] * 2, seen=seen)
    async with Client(server, mode="legacy") as client:
        with pytest.raises(MCPError, match="still needed after 10 rounds") as caught:
            await client.call_tool("t")
    assert caught.value.code == -32603
    assert len(seen) == 11


async def test_an_id_is_made_for_a_url_where_the_revision_wants_one() -> None:
    seen: list[Any] = []

    async def visit(context: Any, params: Any) -> ElicitResult:
        seen.append(params)
        return ElicitResult(action="accept")

    server = asking(InputRequiredResult(input_requests={"u": URL}, request_state="1"))
    for mode in ("legacy", "auto"):
        async with Client(server, mode=mode, elicitation_callback=visit) as client:
            await client.call_tool("t")
    assert len(seen[0].elicitation_id) == 36
    assert seen[1].elicitation_id is None
    assert seen[0].url == seen[1].url == "https://a.example/"


async def test_an_error_of_the_callback_ends_the_call() -> None:
    async def refuse(context: Any, params: Any) -> ErrorData:
        return ErrorData(code=-1, message="not today")

    server = asking(InputRequiredResult(input_requests={"u": FORM}, request_state="1"))
    async with Client(server, mode="legacy", elicitation_callback=refuse) as client:
        with pytest.raises(MCPError, match="not today"):
            await client.call_tool("t")


NEEDS: list[tuple[Any, str, dict[str, Any]]] = [
    (FORM, "form elicitation", {"elicitation": {"form": {}}}),
    (URL, "url elicitation", {"elicitation": {"url": {}}}),
    (ROOTS, "roots", {"roots": {}}),
    (sampling(), "sampling", {"sampling": {}}),
    (sampling(tools=[TOOL]), "sampling.tools", {"sampling": {"tools": {}}}),
    (
        sampling(tool_choice=ToolChoice(mode="none")),
        "sampling.tools",
        {"sampling": {"tools": {}}},
    ),
    (
        sampling(include_context="thisServer"),
        "sampling.context",
        {"sampling": {"context": {}}},
    ),
]


@pytest.mark.req("R-053", "R-054", "R-187", "R-342", "R-409")
@pytest.mark.parametrize(("request_", "name", "required"), NEEDS)
@BOTH_ERAS
async def test_nobody_is_asked_what_it_did_not_declare(
    mode: str, request_: Any, name: str, required: dict[str, Any]
) -> None:
    server = asking(InputRequiredResult(input_requests={"q": request_}, request_state="1"))
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("t")
    assert caught.value.code == -32021
    assert caught.value.message.startswith(f"Client did not declare the {name} capability")
    assert caught.value.data == {"requiredCapabilities": required}


@pytest.mark.req("R-384", "R-387")
@BOTH_ERAS
async def test_tools_and_context_need_more_than_sampling(mode: str) -> None:
    for request, name, required in NEEDS[4:]:
        server = asking(InputRequiredResult(input_requests={"q": request}, request_state="1"))
        async with Client(server, mode=mode, sampling_callback=say) as client:
            with pytest.raises(MCPError, match=f"the {name} capability") as caught:
                await client.call_tool("t")
        assert caught.value.data == {"requiredCapabilities": required}
    declared = SamplingCapability(tools=SamplingToolsCapability())
    server = asking(
        InputRequiredResult(input_requests={"q": sampling(tools=[TOOL])}, request_state="1")
    )
    async with Client(
        server, mode=mode, sampling_callback=say, sampling_capabilities=declared
    ) as client:
        assert (await client.call_tool("t")).content == [TextContent(text="done")]


@pytest.mark.req("R-178")
@BOTH_ERAS
async def test_other_methods_cannot_ask(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    async def list_tools(ctx: Any, params: Any) -> Any:
        return InputRequiredResult(request_state="1")

    async with Client(Server("a", on_list_tools=list_tools), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
    assert caught.value.code == -32603
    assert "tools/list cannot ask for input" in caplog.text


@pytest.mark.req("R-188")
async def test_nothing_is_left_of_a_client_that_never_comes_back() -> None:
    server = asking(InputRequiredResult(input_requests={"q": FORM}, request_state="1"))
    async with Client(server, elicitation_callback=fill_in) as client:
        for _ in range(3):
            first = await client.session.call_tool("t", {}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
        # The server is not waiting: another request is answered, and leaving takes no time.
        assert (await client.read_resource("a://b")).contents == []


# Conversations with tools

USE = ToolUseContent(name="t", id="1", input={})
RESULT = ToolResultContent(tool_use_id="1", content=[TextContent(text="x")])


def turn(role: Any, *blocks: Any) -> SamplingMessage:
    return SamplingMessage(role=role, content=list(blocks))


@pytest.mark.req("R-388", "R-389", "R-396")
@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([turn("assistant", USE), turn("user", RESULT, TextContent(text="a"))], "stand alone"),
        ([turn("assistant", USE), turn("user", TextContent(text="a"))], "'1' has no result"),
        ([turn("assistant", USE)], "'1' has no result"),
        ([turn("user", RESULT)], "no use of a tool with the id '1'"),
        ([turn("assistant", USE), turn("user", RESULT), turn("user", RESULT)], "no use of a tool"),
        ([turn("assistant", USE), turn("assistant", RESULT)], "stand alone"),
        ([turn("user", USE), turn("user", RESULT)], "only the assistant"),
    ],
)
@BOTH_ERAS
async def test_uses_of_tools_and_their_results_must_match(
    mode: str, messages: list[SamplingMessage], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    declared = SamplingCapability(tools=SamplingToolsCapability())
    request = sampling(HELLO, *messages, tools=[TOOL])
    server = asking(InputRequiredResult(input_requests={"q": request}, request_state="1"))

    async def never(context: Any, params: Any) -> Any:
        raise AssertionError("the model was asked")

    async with Client(
        server, mode=mode, sampling_callback=never, sampling_capabilities=declared
    ) as client:
        with (
            caplog.at_level(logging.ERROR),
            pytest.raises(MCPError, match="Internal server error"),
        ):
            await client.call_tool("t")
    assert reason in caplog.text


@BOTH_ERAS
async def test_a_conversation_with_tools(mode: str) -> None:
    request = sampling(
        HELLO,
        turn("assistant", USE),
        turn("user", RESULT),
        turn("assistant", TextContent(text="y")),
    )
    seen: list[Any] = []
    server = asking(
        InputRequiredResult(input_requests={"q": request}, request_state="1"),
        InputRequiredResult(input_requests={"q": sampling(tools=[TOOL])}, request_state="2"),
        seen=seen,
    )

    async def use(context: Any, params: Any) -> Any:
        if params.tools is None:
            return await say(context, params)
        return CreateMessageResultWithTools(role="assistant", content=[USE], model="m")

    declared = SamplingCapability(tools=SamplingToolsCapability())
    async with Client(
        server, mode=mode, sampling_callback=use, sampling_capabilities=declared
    ) as client:
        await client.call_tool("t")
    assert seen[2][0]["q"].content_as_list == [USE]


@BOTH_ERAS
async def test_of_several_answers_that_are_errors_the_first_questions_is_told(mode: str) -> None:
    other = FORM.params.evolve(message="Where?")
    asked = {"x": FORM, "b": FORM.evolve(params=other)}
    server = asking(InputRequiredResult(input_requests=asked, request_state="1"))

    async def refuse(context: Any, params: Any) -> ErrorData:
        return ErrorData(code=-5, message=params.message)

    async with Client(server, mode=mode, elicitation_callback=refuse) as client:
        for _ in range(10):
            with pytest.raises(MCPError, match="Who"):
                await client.call_tool("t")


# What the client sends in each round


@pytest.mark.req("R-177", "R-189", "R-190", "R-191", "R-192")
async def test_a_retry_is_the_same_request_with_answers_and_the_state_as_it_came() -> None:
    state = '  not {"JSON": \u00e9, \u2028\n ' + "x" * 5000
    seen: list[Any] = []
    rounds = [
        InputRequiredResult(input_requests={"q": FORM}),
        InputRequiredResult(input_requests={"q": ROOTS}, request_state=state),
        InputRequiredResult(request_state=""),
        CallToolResult(content=[]),
    ]

    async def call_tool(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        own = {key: value for key, value in (ctx.params or {}).items() if key != "_meta"}
        seen.append((ctx.request_id, own))
        return rounds[len(seen) - 1]

    async with Client(Server("a", on_call_tool=call_tool), **EVERYTHING) as client:
        await client.call_tool("t", {"a": [1]})
    asked = {"name": "t", "arguments": {"a": [1]}}
    assert [params for _, params in seen] == [
        asked,
        {**asked, "inputResponses": {"q": {"action": "accept", "content": {"name": "Ann"}}}},
        {
            **asked,
            "inputResponses": {"q": {"roots": [{"uri": "file:///a"}]}},
            "requestState": state,
        },
        {**asked, "requestState": ""},
    ]
    assert len({request_id for request_id, _ in seen}) == 4


# The older era has no rounds


STRAY = {
    "inputResponses": {"q": {"action": "accept", "content": {"name": "Eve"}}},
    "requestState": "1",
}


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
@pytest.mark.parametrize("stray", [STRAY, {"inputResponses": 5, "requestState": {}}])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "t", "arguments": {}}),
        ("prompts/get", {"name": "p"}),
        ("resources/read", {"uri": "a://b"}),
    ],
)
async def test_answers_of_an_older_client_are_members_that_nobody_knows(
    version: str, stray: dict[str, Any], method: str, params: dict[str, Any]
) -> None:
    seen: list[Any] = []
    asked = InputRequiredResult(input_requests={"q": ROOTS}, request_state="1")
    async with Client(asking(asked, seen=seen), mode=version, list_roots_callback=roots) as client:
        await client.session._require_link().request(method, {**params, **stray})
    # The first is the client's, the second has the answer to the question it was asked.
    assert seen[0] == (None, None)
    assert (seen[1][0]["q"].roots[0].uri, seen[1][1]) == ("file:///a", "1")


async def test_a_sealed_state_of_an_older_client_is_not_even_looked_at() -> None:
    mcp = MCPServer("a")
    seen: list[Any] = []

    @mcp.tool()
    async def t(ctx: Context) -> str:
        seen.append(
            (ctx.input_responses, ctx.request_state, dict(ctx.request_context.params or {}))
        )
        return "done"

    async with Client(mcp, mode="legacy") as client:
        params = {"name": "t", "arguments": {}}
        result = await client.session._require_link().request("tools/call", {**params, **STRAY})
    assert result["content"][0]["text"] == "done"
    assert seen == [(None, None, params)]


async def test_the_own_method_of_an_extension_may_have_members_of_these_names() -> None:
    seen: list[Any] = []

    async def handle(ctx: Any, params: Any) -> dict[str, Any]:
        seen.append(params)
        return {}

    server = Server("a")
    server.add_request_handler("acme/ask", dict, handle)
    async with Client(server, mode="legacy") as client:
        await client.session._require_link().request("acme/ask", STRAY)
    assert seen == [STRAY]


@pytest.mark.req("R-194")
@pytest.mark.parametrize("result", [{"action": "perhaps"}, {}, {"roots": []}])
async def test_what_is_no_answer_is_refused_in_the_older_era_too(
    autojump_clock: Any, result: dict[str, Any]
) -> None:
    near, far = open_memory_channel_pair()
    asked = InputRequiredResult(input_requests={"q": FORM})
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "old", "version": "1"},
    }
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asking(asked).run, far)
        await near.send([JSONRPCRequest(id=1, method="initialize", params=hello)])
        await near.receive()
        await near.send([JSONRPCRequest(id=2, method="tools/call", params={"name": "t"})])
        [question] = await near.receive()
        await near.send([JSONRPCResponse(id=question.id, result=result)])
        [answer] = await near.receive()
        nursery.cancel_scope.cancel()
    assert answer.id == 2
    assert answer.error.code == -32602
    assert answer.error.message.startswith("The question 'q' got a wrong answer: ")
