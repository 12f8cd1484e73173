"""What a client's callbacks are told, what they may answer, and what never reaches them."""

from __future__ import annotations

import pickle
import socket
import subprocess
import webbrowser

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trio_mcp.client import Client, ClientExtension, InputRequiredRoundsExceededError
from trio_mcp.errors import MCPDeprecationWarning, MCPError
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import Server
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    FormElicitationCapability,
    InputRequiredResult,
    JSONRPCRequest,
    JSONRPCResponse,
    ListRootsRequest,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingCapability,
    SamplingMessage,
    SamplingToolsCapability,
    TextContent,
    Tool,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
    UrlElicitationCapability,
)

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "integer", "minimum": 1, "default": 3},
        "colours": {"type": "array", "items": {"enum": ["red", "blue"]}, "default": ["red"]},
    },
    "required": ["name"],
}
WITH_TOOLS = SamplingCapability(tools=SamplingToolsCapability())


def asking_server(request, answers=None):
    """Make a server that asks once, and keeps what it was answered."""

    async def call(ctx, params):
        if params.input_responses is None:
            return InputRequiredResult(input_requests={"q": request})
        if answers is not None:
            answers.append(params.input_responses["q"])
        return CallToolResult(content=[TextContent(text="answered")])

    return Server("asker", version="7", on_call_tool=call)


def form(**more):
    return ElicitRequest(
        params=ElicitRequestFormParams(message="Who?", requested_schema=FORM, **more)
    )


def sample(*contents, **more):
    roles = ["user", "assistant"] * len(contents)
    messages = [
        SamplingMessage(role=role, content=content)
        for role, content in zip(roles, contents, strict=False)
    ]
    params = CreateMessageRequestParams(messages=messages, max_tokens=10, **more)
    return CreateMessageRequest(params=params)


async def answered(server, request_id="s1"):
    await wait_all_tasks_blocked()
    return next(
        each
        for each in server.received
        if getattr(each, "id", None) == request_id and not hasattr(each, "method")
    )


# What is declared


async def _elicit(context, params):
    return ElicitResult(action="decline")


async def _sample(context, params):
    return CreateMessageResult(role="assistant", content=TextContent(text="Hm."), model="m")


async def _roots(context):
    return ListRootsResult(roots=[Root(uri="file:///home")])


@pytest.mark.req("R-341", "R-340", "R-385", "R-404", "R-584")
@pytest.mark.parametrize(
    ("options", "declared"),
    [
        ({}, {}),
        ({"elicitation_callback": _elicit}, {"elicitation": {"form": {}, "url": {}}}),
        ({"sampling_callback": _sample}, {"sampling": {}}),
        ({"list_roots_callback": _roots}, {"roots": {"listChanged": True}}),
    ],
)
@BOTH_ERAS
async def test_a_callback_is_what_declares_it(
    autojump_clock, connect, script, discovery, initialized, options, declared, mode
):
    answers = {"tools__list": {"resultType": "complete", "tools": []}, "initialize": initialized()}
    server = script(server__discover=discovery, **answers)
    async with connect(server, mode=mode, **options) as client:
        await client.list_tools(cache_mode="bypass")
        await client.list_tools(cache_mode="bypass")
    requests = [each for each in server.received if getattr(each, "id", None) is not None]
    if mode == "legacy":
        said = [requests[0].params["capabilities"]]
    else:
        # Each request declares it for itself.
        said = [each.params["_meta"][CAPABILITIES] for each in requests]
        assert len(said) == 3
        if "roots" in declared:
            declared = {"roots": {}}
    assert said == [declared] * len(said)


@pytest.mark.req("R-383")
@BOTH_ERAS
async def test_tools_are_offered_by_those_who_declare_it(mode):
    tools = [Tool(name="look", input_schema={"type": "object"})]
    server = asking_server(sample(TextContent(text="Look."), tools=tools))

    async def use(context, params):
        return CreateMessageResultWithTools(
            role="assistant",
            content=ToolUseContent(id="u", name=params.tools[0].name, input={}),
            model="m",
            stop_reason="toolUse",
        )

    async with Client(server, mode=mode, sampling_callback=use) as client:
        with pytest.raises(MCPError, match=r"sampling\.tools") as caught:
            await client.call_tool("x")
        assert caught.value.code == -32021
    async with Client(
        server, mode=mode, sampling_callback=use, sampling_capabilities=WITH_TOOLS
    ) as client:
        assert (await client.call_tool("x")).content[0].text == "answered"


# Who asks


@pytest.mark.req("R-336", "R-361", "R-370")
@BOTH_ERAS
async def test_a_callback_knows_which_server_asks_and_for_what(mode):
    told = []

    async def elicit(context, params):
        told.append((context.session.server_info.name, context.session.server_info.version))
        told.append((params.mode, params.message, params.url))
        return ElicitResult(action="accept")

    url = "https://xn--exmple-cua.example/pay?order=1"
    request = ElicitRequest(params=ElicitRequestURLParams(message="Pay.", url=url))
    async with Client(asking_server(request), mode=mode, elicitation_callback=elicit) as client:
        await client.call_tool("x")
    # The whole URL, as it came: what is shown and opened is for the application.
    assert told == [("asker", "7"), ("url", "Pay.", url)]


@BOTH_ERAS
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
@pytest.mark.req("R-339", "R-368", "R-369")
async def test_a_url_is_neither_fetched_nor_opened_whatever_a_user_says(mode, action, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda *given: opened.append(given))
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **more: opened.append(given))
    told = []

    async def elicit(context, params):
        told.append(params.url)
        return ElicitResult(action=action)

    with socket.create_server(("127.0.0.1", 0)) as page:
        page.setblocking(False)
        url = f"http://127.0.0.1:{page.getsockname()[1]}/pay?order=1"
        request = ElicitRequest(params=ElicitRequestURLParams(message="Pay.", url=url))
        server = asking_server(request)
        async with Client(server, mode=mode, elicitation_callback=elicit) as client:
            await client.call_tool("x")
        with pytest.raises(BlockingIOError):
            page.accept()
    assert (told, opened) == ([url], [])


@BOTH_ERAS
async def test_an_answer_to_a_url_has_no_content(mode, caplog):
    got = []

    async def elicit(context, params):
        return ElicitResult(action="accept", content={"card": "4711"})

    asked = ElicitRequestURLParams(message="Pay.", url="https://example.com/pay")
    server = asking_server(ElicitRequest(params=asked), got)
    async with Client(server, mode=mode, elicitation_callback=elicit) as client:
        await client.call_tool("x")
    assert got == [ElicitResult(action="accept")]
    assert "The answer to a URL elicitation has no content" in caplog.text
    assert "4711" not in caplog.text


async def test_a_server_takes_no_content_with_a_url(monkeypatch):
    got = []
    mcp = MCPServer()

    @mcp.tool()
    async def pay(ctx: Context) -> None:
        got.append(await ctx.session.elicit_url("Pay.", "https://example.com/pay", "e-1"))

    async def elicit(context, params):
        return ElicitResult(action="accept", content={"card": "4711"})

    # A client that sends what its callback gave.
    monkeypatch.setattr(
        "trio_mcp.client._serving.with_defaults", lambda params, answer, repeats: answer
    )
    async with Client(mcp, mode="legacy", elicitation_callback=elicit) as client:
        await client.call_tool("pay")
    assert got == [ElicitResult(action="accept")]


# Forms


@pytest.mark.req("R-346")
@BOTH_ERAS
@pytest.mark.parametrize(
    ("filled_in", "sent"),
    [
        ({"name": "Ada"}, {"name": "Ada", "size": 3, "colours": ["red"]}),
        ({"name": "Ada", "size": 5, "colours": []}, {"name": "Ada", "size": 5, "colours": []}),
        (None, {"size": 3, "colours": ["red"]}),
    ],
)
async def test_fields_left_alone_have_their_defaults(mode, filled_in, sent):
    async def fill_in(context, params):
        return ElicitResult(action="accept", content=filled_in)

    answers = []
    server = asking_server(form(), answers)
    async with Client(server, mode=mode, elicitation_callback=fill_in) as client:
        await client.call_tool("x")
    assert answers[0].content == sent


@pytest.mark.req("R-337")
@BOTH_ERAS
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_may_decline_or_cancel_and_gives_nothing_away(mode, action):
    async def refuse(context, params):
        return ElicitResult(action=action)

    answers = []
    server = asking_server(form(), answers)
    async with Client(server, mode=mode, elicitation_callback=refuse) as client:
        await client.call_tool("x")
    assert (answers[0].action, answers[0].content) == (action, None)


@pytest.mark.req("R-376")
@BOTH_ERAS
async def test_an_answer_that_does_not_fit_is_told_in_the_log_without_what_it_says(mode, caplog):
    async def misread(context, params):
        return ElicitResult(action="accept", content={"name": "secret name", "size": "secret"})

    server = asking_server(form())
    async with Client(server, mode=mode, elicitation_callback=misread) as client:
        await client.call_tool("x")
    [message] = caplog.messages
    assert message == "The answer to an elicitation does not fit its form, at size"


async def test_a_form_that_cannot_be_read_does_not_stand_in_the_way(caplog):
    async def accept(context, params):
        return ElicitResult(action="accept", content={"name": "Ada"})

    odd = {"type": "object", "properties": {"name": {"type": "text"}}}
    request = ElicitRequest(params=ElicitRequestFormParams(message="Who?", requested_schema=odd))
    async with Client(asking_server(request), elicitation_callback=accept) as client:
        assert (await client.call_tool("x")).content[0].text == "answered"
    assert "cannot be used to check" in caplog.text


@pytest.mark.req("R-344")
async def test_a_question_without_a_mode_is_a_form(autojump_clock, connect, script, initialized):
    seen = []

    async def elicit(context, params):
        seen.append(params)
        return ElicitResult(action="decline")

    server = script(initialize=initialized())
    async with connect(server, mode="legacy", elicitation_callback=elicit):
        await server.ask("elicitation/create", {"message": "m", "requestedSchema": FORM})
        assert (await answered(server)).result == {"action": "decline"}
    assert isinstance(seen[0], ElicitRequestFormParams)
    assert seen[0].requested_schema == FORM


@pytest.mark.req("R-592")
@pytest.mark.parametrize(
    "params",
    [
        {"mode": "phone", "message": "m", "requestedSchema": FORM},
        {"mode": "url", "message": "m", "elicitationId": "e"},
        {"mode": "form", "message": "m"},
    ],
)
async def test_a_mode_that_there_is_not_is_invalid_params(
    autojump_clock, connect, script, initialized, params
):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", elicitation_callback=_elicit):
        await server.ask("elicitation/create", params)
        assert (await answered(server)).error.code == -32602


@pytest.mark.req("R-592")
@pytest.mark.parametrize(
    ("declared", "mode", "is_asked"),
    [
        (ElicitationCapability(form=FormElicitationCapability()), "url", False),
        (ElicitationCapability(), "url", False),
        (ElicitationCapability(url=UrlElicitationCapability()), "form", False),
        (ElicitationCapability(url=UrlElicitationCapability()), "url", True),
        (ElicitationCapability(), "form", True),
    ],
)
async def test_a_mode_that_was_not_declared_is_invalid_params(
    autojump_clock, connect, script, initialized, declared, mode, is_asked
):
    class Declaring(ClientExtension):
        identifier = "com.example/declaring"

        def capabilities(self, capabilities):
            return capabilities.evolve(elicitation=declared)

    asked = []

    async def elicit(context, params):
        asked.append(params.mode)
        return ElicitResult(action="decline")

    server = script(initialize=initialized())
    options = {"elicitation_callback": elicit, "extensions": [Declaring()]}
    async with connect(server, mode="legacy", **options):
        said = server.received[0].params["capabilities"]["elicitation"]
        params = {"mode": mode, "message": "m", "requestedSchema": FORM}
        if mode == "url":
            params = {
                "mode": mode,
                "message": "m",
                "url": "https://x.example",
                "elicitationId": "e",
            }
        await server.ask("elicitation/create", params)
        answer = await answered(server)
    assert ("url" in said) == (declared.url is not None)
    assert asked == ([mode] if is_asked else [])
    if not is_asked:
        assert answer.error.code == -32602
        assert f"did not declare the {mode} elicitation mode" in answer.error.message


@BOTH_ERAS
async def test_without_a_callback_nothing_is_opened_and_the_server_hears_so(mode):
    request = ElicitRequest(
        params=ElicitRequestURLParams(message="Pay.", url="https://example.com/pay")
    )
    async with Client(asking_server(request), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("x")
    assert caught.value.code == -32021


@pytest.mark.req("R-586")
async def test_a_completed_elicitation_that_nobody_knows_harms_nobody(
    autojump_clock, connect, script, initialized
):
    told = []

    async def hear(message):
        told.append(message)

    server = script(initialize=initialized(), tools__list={"tools": []})
    async with connect(server, mode="legacy", message_handler=hear) as client:
        for elicitation_id in ("never-heard-of", "never-heard-of"):
            await server.tell(
                "notifications/elicitation/complete", {"elicitationId": elicitation_id}
            )
        await wait_all_tasks_blocked()
        assert (await client.list_tools()).tools == []
    assert [each.params.elicitation_id for each in told] == ["never-heard-of"] * 2


@pytest.mark.req("R-585")
async def test_only_the_client_that_was_asked_hears_that_it_is_done():
    mcp = MCPServer()

    @mcp.tool()
    async def pay(ctx: Context) -> None:
        await ctx.elicit_url("Pay.", "https://example.com/pay", "e-1")
        await ctx.session.send_elicit_complete("e-1")

    told = {"one": [], "other": []}

    def hearing(name):
        async def hear(message):
            told[name].append(message.params.elicitation_id)

        return hear

    async def accept(context, params):
        return ElicitResult(action="accept")

    options = {"mode": "legacy", "elicitation_callback": accept}
    async with (
        Client(mcp, message_handler=hearing("one"), **options) as one,
        Client(mcp, message_handler=hearing("other"), **options),
    ):
        await one.call_tool("pay")
        await wait_all_tasks_blocked()
    assert told == {"one": ["e-1"], "other": []}


@pytest.mark.req("R-238")
async def test_a_call_is_sent_again_under_another_id(autojump_clock, connect, script, discovery):
    question = {"method": "roots/list"}

    def answer(params):
        if "inputResponses" in params:
            return {"resultType": "complete", "content": []}
        return {"resultType": "input_required", "inputRequests": {"q": question}}

    server = script(server__discover=discovery, tools__call=answer)
    async with connect(server, list_roots_callback=_roots) as client:
        await client.call_tool("x")
    first, again = [each for each in server.received if each.method == "tools/call"]
    assert first.id != again.id


# Sampling


@pytest.mark.req("R-394")
@pytest.mark.parametrize("extra", [{"tools": []}, {"toolChoice": {"mode": "auto"}}])
async def test_tools_that_were_not_declared_are_an_error(
    autojump_clock, connect, script, initialized, extra
):
    asked = []

    async def answer(context, params):
        asked.append(params)

    server = script(initialize=initialized())
    params = {"messages": [], "maxTokens": 1, **extra}
    async with connect(server, mode="legacy", sampling_callback=answer):
        await server.ask("sampling/createMessage", params)
        error = (await answered(server)).error
    assert (error.code, asked) == (-32602, [])


USE = {"type": "tool_use", "id": "u1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "toolUseId": "u1", "content": []}


@pytest.mark.req("R-594", "R-390", "R-401")
@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": USE}],
        [{"role": "assistant", "content": USE}, {"role": "user", "content": []}],
        [{"role": "assistant", "content": USE},
         {"role": "user", "content": [RESULT, {"type": "text", "text": "and"}]}],
        [{"role": "user", "content": RESULT}],
        [{"role": "system", "content": {"type": "text", "text": "x"}}],
        [{"role": "user"}],
        [{"role": "user", "content": {"type": "text"}}],
        [{"role": "user", "content": {"type": "video", "data": ""}}],
        [{"role": "user", "content": "just text"}],
    ],
)  # fmt: skip
async def test_a_conversation_that_breaks_the_rules_never_reaches_the_model(
    autojump_clock, connect, script, initialized, messages
):
    asked = []

    async def answer(context, params):
        asked.append(params)

    server = script(initialize=initialized())
    async with connect(
        server, mode="legacy", sampling_callback=answer, sampling_capabilities=WITH_TOOLS
    ):
        await server.ask("sampling/createMessage", {"messages": messages, "maxTokens": 1})
        error = (await answered(server)).error
    assert (error.code, asked) == (-32602, [])


@pytest.mark.req("R-401", "R-390")
@pytest.mark.parametrize(
    "said",
    [
        {"role": "assistant", "model": "m"},
        {"role": "system", "model": "m", "content": {"type": "text", "text": "x"}},
        {"role": "assistant", "model": "m", "content": {"type": "text", "text": 1}},
        {"role": "assistant", "content": {"type": "text", "text": "x"}},
    ],
)
async def test_a_message_of_a_model_that_is_none_is_refused_by_the_server(said, caplog):
    near, far = open_memory_channel_pair(as_text=True)
    server = asking_server(sample(TextContent(text="Hi.")))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, near)
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"sampling": {}},
            "clientInfo": {"name": "c", "version": "1"},
        }
        await far.send([JSONRPCRequest(id=1, method="initialize", params=hello)])
        await far.receive()
        await far.send([JSONRPCRequest(id=2, method="tools/call", params={"name": "x"})])
        (question,) = await far.receive()
        await far.send([JSONRPCResponse(id=question.id, result=said)])
        (answer,) = await far.receive()
        nursery.cancel_scope.cancel()
    assert answer.error.code == -32602


@pytest.mark.req("R-594")
@BOTH_ERAS
async def test_a_user_who_rejects_the_request_is_an_error_of_the_call(mode):
    async def reject(context, params):
        return ErrorData(code=-1, message="User rejected sampling request")

    server = asking_server(sample(TextContent(text="Hi.")))
    async with Client(server, mode=mode, sampling_callback=reject) as client:
        with pytest.raises(MCPError, match="User rejected") as caught:
            await client.call_tool("x")
    assert caught.value.code == -1


@pytest.mark.req("R-399", "R-391")
@BOTH_ERAS
async def test_a_callback_gets_this_conversation_alone_with_its_meta(mode):
    seen = []

    async def answer(context, params):
        seen.append(params)
        return CreateMessageResultWithTools(
            role="assistant",
            content=[ToolUseContent(id="u2", name="look", input={}, meta={"com.example/a": 2})],
            model="m",
            stop_reason="toolUse",
        )

    use = ToolUseContent(id="u1", name="look", input={}, meta={"com.example/a": 1})
    result = ToolResultContent(tool_use_id="u1", meta={"com.example/b": [1]})
    tools = [Tool(name="look", input_schema={"type": "object"})]
    answers = []
    request = sample(TextContent(text="Look."), use, result, tools=tools)
    server = asking_server(request, answers)
    options = {"sampling_callback": answer, "sampling_capabilities": WITH_TOOLS}
    async with Client(server, mode=mode, **options) as client:
        await client.call_tool("x")
        await client.call_tool("x")
    # The second request brings its own messages, and nothing of the first.
    assert [each.messages for each in seen] == [request.params.messages] * 2
    assert [each.content[0].meta for each in answers] == [{"com.example/a": 2}] * 2


@BOTH_ERAS
@pytest.mark.req("R-382")
async def test_a_server_gets_the_words_of_the_callback_and_no_others(mode):
    asked = []

    async def edit(context, params):
        asked.append(params.messages[0].content.text)
        return CreateMessageResult(
            role="assistant", content=TextContent(text="As reviewed."), model="by hand"
        )

    answers = []
    server = asking_server(sample(TextContent(text="Tell me all.")), answers)
    async with Client(server, mode=mode, sampling_callback=edit) as client:
        assert (asked, answers) == ([], [])
        await client.call_tool("x")
    assert asked == ["Tell me all."]
    assert [(each.content.text, each.model) for each in answers] == [("As reviewed.", "by hand")]


@BOTH_ERAS
@pytest.mark.parametrize("choice", ["auto", "required", "none"])
@pytest.mark.req("R-393")
async def test_a_callback_is_told_whether_to_use_a_tool(mode, choice):
    seen = []

    async def answer(context, params):
        seen.append((params.tool_choice.mode, [tool.name for tool in params.tools]))
        return CreateMessageResultWithTools(
            role="assistant", content=[TextContent(text=".")], model="m"
        )

    tools = [Tool(name="look", input_schema={"type": "object"})]
    request = sample(TextContent(text="Hi."), tools=tools, tool_choice=ToolChoice(mode=choice))
    options = {"sampling_callback": answer, "sampling_capabilities": WITH_TOOLS}
    async with Client(asking_server(request), mode=mode, **options) as client:
        await client.call_tool("x")
    assert seen == [(choice, ["look"])]


@BOTH_ERAS
@pytest.mark.req("R-392", "R-395")
async def test_what_the_server_prefers_comes_in_its_order(mode):
    seen = []

    async def answer(context, params):
        seen.append(params)
        return CreateMessageResult(role="assistant", content=TextContent(text="."), model="m")

    preferences = ModelPreferences(
        hints=[ModelHint(name="sonnet"), ModelHint(name="claude"), ModelHint(name="a")],
        cost_priority=0.2,
        speed_priority=1,
        intelligence_priority=0,
    )
    server = asking_server(sample(TextContent(text="Hi."), model_preferences=preferences))
    async with Client(server, mode=mode, sampling_callback=answer) as client:
        await client.call_tool("x")
    assert seen[0].model_preferences == preferences
    assert seen[0].max_tokens == 10


@pytest.mark.req("R-403")
@BOTH_ERAS
async def test_a_tool_loop_over_rounds_has_a_limit(mode, autojump_clock):
    rounds = []

    async def call(ctx, params):
        rounds.append(1)
        return InputRequiredResult(
            input_requests={f"q{len(rounds)}": sample(TextContent(text="And on."))}
        )

    async with Client(
        Server("loop", on_call_tool=call),
        mode=mode,
        sampling_callback=_sample,
        input_required_max_rounds=10,
    ) as client:
        error = InputRequiredRoundsExceededError if mode == "auto" else MCPError
        with pytest.raises(error, match="10 rounds"):
            await client.call_tool("x")
    assert len(rounds) == 11


# Roots


@pytest.mark.req("R-405")
@BOTH_ERAS
@pytest.mark.parametrize("uri", ["https://example.com", "/home", "file:/home", ""])
async def test_a_root_that_is_no_file_never_leaves_the_client(mode, uri, caplog):
    async def roots(context):
        return ListRootsResult(roots=[Root(uri="file:///home"), Root(uri=uri)])

    answers = []
    server = asking_server(ListRootsRequest(), answers)
    async with Client(server, mode=mode, list_roots_callback=roots) as client:
        if mode == "legacy":
            with pytest.raises(MCPError) as caught:
                await client.call_tool("x")
            assert caught.value.code == -32603
            assert "a root is a file:// URI" in caplog.text
        else:
            # The callback is the caller's own: it hears what is wrong with it.
            with pytest.raises(ValueError, match="a root is a file:// URI"):
                await client.call_tool("x")
    assert answers == []


@pytest.mark.req("R-595")
async def test_changed_roots_are_told_by_those_who_declared_it(
    autojump_clock, connect, script, initialized
):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", list_roots_callback=_roots) as client:
        with pytest.warns(MCPDeprecationWarning, match="send_roots_list_changed"):
            await client.send_roots_list_changed()
        await wait_all_tasks_blocked()
    assert server.received[0].params["capabilities"]["roots"] == {"listChanged": True}
    assert server.methods[-1] == "notifications/roots/list_changed"


def test_the_error_of_too_many_rounds_says_so_and_pickles():
    error = InputRequiredRoundsExceededError(3)
    assert str(error) == "The server still needs input after 3 rounds"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.max_rounds) == (str(error), 3)
