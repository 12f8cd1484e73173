"""Asking while the call waits, as the older era allows; and by hand in both."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from trio_mcp import (
    AcceptedElicitation,
    CancelledElicitation,
    Context,
    DeclinedElicitation,
    MCPDeprecationWarning,
    MCPError,
    MCPServer,
)
from trio_mcp.client import Client
from trio_mcp.mcpserver import AcceptedUrlElicitation, Sample
from trio_mcp.types import (
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    Implementation,
    InputRequiredResult,
    ListRootsResult,
    Root,
    SamplingCapability,
    SamplingMessage,
    SamplingToolsCapability,
    TextContent,
    TextResourceContents,
    Tool,
    ToolResultContent,
    ToolUseContent,
)

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


@attrs.frozen
class Name:
    name: str = "nobody"


@attrs.frozen
class Nested:
    inner: Name


def text_of(result: Any) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


def asker(seen: list[Any]) -> MCPServer:
    mcp = MCPServer("a")

    @mcp.tool()
    async def form(ctx: Context) -> None:
        seen.append(await ctx.elicit("Who?", Name))

    @mcp.tool()
    async def nested(ctx: Context) -> None:
        with pytest.raises(TypeError, match=r"Nested\.inner"):
            await ctx.elicit("Who?", Nested)
        seen.append("refused")

    @mcp.tool()
    async def url(ctx: Context) -> None:
        seen.append(await ctx.elicit_url("Log in", "https://a.example/", "id-1"))

    return mcp


@pytest.mark.req("R-343", "R-358", "R-359")
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (
            ElicitResult(action="accept", content={"name": "Ann"}),
            AcceptedElicitation(data=Name("Ann")),
        ),
        (ElicitResult(action="accept", content={}), AcceptedElicitation(data=Name())),
        (ElicitResult(action="decline"), DeclinedElicitation()),
        (ElicitResult(action="cancel"), CancelledElicitation()),
    ],
)
async def test_a_form(answer: ElicitResult, outcome: Any) -> None:
    seen: list[Any] = []

    async def fill_in(context: Any, params: Any) -> ElicitResult:
        assert params.message == "Who?"
        assert params.requested_schema == {
            "type": "object",
            "properties": {"name": {"type": "string", "default": "nobody"}},
        }
        return answer

    async with Client(asker(seen), mode="legacy", elicitation_callback=fill_in) as client:
        assert not (await client.call_tool("form")).is_error
    assert seen == [outcome]


@pytest.mark.req("R-347")
@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        ("accept", AcceptedUrlElicitation()),
        ("decline", DeclinedElicitation()),
        ("cancel", CancelledElicitation()),
    ],
)
async def test_a_url(action: Any, outcome: Any) -> None:
    seen: list[Any] = []

    async def visit(context: Any, params: Any) -> ElicitResult:
        assert params == ElicitRequestURLParams(
            message="Log in", url="https://a.example/", elicitation_id="id-1"
        )
        return ElicitResult(action=action)

    async with Client(asker(seen), mode="legacy", elicitation_callback=visit) as client:
        assert not (await client.call_tool("url")).is_error
    assert seen == [outcome]


async def test_what_is_no_form_is_never_sent() -> None:
    seen: list[Any] = []

    async def never(context: Any, params: Any) -> ElicitResult:
        raise AssertionError

    async with Client(asker(seen), mode="legacy", elicitation_callback=never) as client:
        assert not (await client.call_tool("nested")).is_error
    assert seen == ["refused"]


@pytest.mark.req("R-377")
async def test_an_answer_that_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    async def wrong(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": 7})

    async with Client(asker([]), mode="legacy", elicitation_callback=wrong) as client:
        result = await client.call_tool("form")
    assert result.is_error
    assert "name: expected string" in caplog.text


@pytest.mark.req("R-342", "R-187")
@pytest.mark.parametrize(("name", "kind"), [("form", "form"), ("url", "url")])
async def test_nobody_is_asked_who_did_not_offer_it(name: str, kind: str) -> None:
    async with Client(asker([]), mode="legacy") as client:
        with pytest.raises(MCPError, match=f"did not declare the {kind} elicitation") as caught:
            await client.call_tool(name)
    assert caught.value.code == -32021


@pytest.mark.req("R-175", "R-176")
async def test_a_modern_client_is_not_asked_while_it_waits() -> None:
    async def never(context: Any, params: Any) -> ElicitResult:
        raise AssertionError

    async with Client(asker([]), elicitation_callback=never) as client:
        with pytest.raises(MCPError, match="return an InputRequiredResult instead"):
            await client.call_tool("form")


async def test_the_model_and_the_roots() -> None:
    mcp = MCPServer("a")

    @mcp.tool()
    async def tool(ctx: Context) -> str:
        hello = [SamplingMessage(role="user", content=TextContent(text="Hello"))]
        with pytest.warns(MCPDeprecationWarning, match="sampling"):
            said = await ctx.sample(hello, max_tokens=5, temperature=0.5)
        with pytest.warns(MCPDeprecationWarning, match="roots"):
            roots = await ctx.list_roots()
        assert isinstance(said.content, TextContent)
        return f"{said.content.text} {roots[0].uri}"

    async def say(context: Any, params: Any) -> CreateMessageResult:
        assert (params.max_tokens, params.temperature) == (5, 0.5)
        return CreateMessageResult(role="assistant", content=TextContent(text="Hi"), model="m")

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///a")])

    async with Client(
        mcp, mode="legacy", sampling_callback=say, list_roots_callback=roots
    ) as client:
        assert text_of(await client.call_tool("tool")) == "Hi file:///a"


async def test_the_model_may_be_given_tools() -> None:
    mcp = MCPServer("a")
    look = Tool(name="look", input_schema={"type": "object"})

    @mcp.tool()
    async def tool(ctx: Context) -> str:
        messages = [SamplingMessage(role="user", content=TextContent(text="Look."))]
        with pytest.warns(MCPDeprecationWarning):
            said = await ctx.sample(messages, max_tokens=5, tools=[look])
        assert isinstance(said, CreateMessageResultWithTools)
        use = said.content_as_list[0]
        assert isinstance(use, ToolUseContent)
        messages += [
            SamplingMessage(role="assistant", content=use),
            SamplingMessage(role="user", content=ToolResultContent(tool_use_id=use.id)),
        ]
        with pytest.warns(MCPDeprecationWarning):
            said = await ctx.sample(messages, max_tokens=5, tools=[look])
        return f"{use.name} {said.stop_reason}"

    async def say(context: Any, params: Any) -> CreateMessageResultWithTools:
        assert params.tools == [look]
        uses = len(params.messages) == 1
        content: Any = ToolUseContent(id="1", name="look", input={}) if uses else []
        return CreateMessageResultWithTools(
            role="assistant", content=content, model="m", stop_reason="toolUse" if uses else "end"
        )

    async with Client(
        mcp,
        mode="legacy",
        sampling_callback=say,
        sampling_capabilities=SamplingCapability(tools=SamplingToolsCapability()),
    ) as client:
        assert text_of(await client.call_tool("tool")) == "look end"


@pytest.mark.req("R-386")
def test_a_context_for_the_model_is_deprecated() -> None:
    with pytest.warns(MCPDeprecationWarning, match="thisServer"):
        Sample([], max_tokens=1, include_context="thisServer")


@BOTH_ERAS
async def test_who_asks(mode: str) -> None:
    mcp = MCPServer("a")
    info = Implementation(name="me", version="3", title="Me")

    @mcp.tool()
    def tool(ctx: Context) -> None:
        assert ctx.client_info == info

    async with Client(mcp, mode=mode, client_info=info) as client:
        assert not (await client.call_tool("tool")).is_error


# By hand

ASK = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Who?",
        requested_schema={"type": "object", "properties": {"name": {"type": "string"}}},
    )
)


@pytest.mark.req("R-197")
@BOTH_ERAS
async def test_functions_may_ask_by_hand(mode: str) -> None:
    mcp = MCPServer("a")
    states: list[str | None] = []

    def answer_in(ctx: Context) -> str | InputRequiredResult:
        states.append(ctx.request_state)
        answer = (ctx.input_responses or {}).get("who")
        if not isinstance(answer, ElicitResult) or answer.content is None:
            return InputRequiredResult(input_requests={"who": ASK}, request_state="asked")
        return str(answer.content["name"])

    @mcp.tool()
    def tool(ctx: Context) -> str | InputRequiredResult:
        return answer_in(ctx)

    @mcp.prompt()
    def prompt(ctx: Context) -> str | InputRequiredResult:
        return answer_in(ctx)

    @mcp.resource("a://{x}")
    def template(x: str, ctx: Context) -> str | InputRequiredResult:
        return answer_in(ctx)

    async def fill_in(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ann"})

    async with Client(mcp, mode=mode, elicitation_callback=fill_in) as client:
        assert text_of(await client.call_tool("tool")) == "Ann"
        [message] = (await client.get_prompt("prompt")).messages
        assert message.content == TextContent(text="Ann")
        [contents] = (await client.read_resource("a://x")).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.text == "Ann"
    assert states == [None, "asked"] * 3
