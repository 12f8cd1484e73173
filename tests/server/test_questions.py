"""What a server may ask its client for, and with which words."""

from __future__ import annotations

import logging

import pytest

from trio_mcp.client import Client
from trio_mcp.errors import MCPError, UrlElicitationRequiredError
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import Server
from trio_mcp.types import (
    CallToolResult,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResultWithTools,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    FormElicitationCapability,
    InputRequiredResult,
    SamplingCapability,
    SamplingMessage,
    SamplingToolsCapability,
    TextContent,
    Tool,
    ToolResultContent,
    ToolUseContent,
)

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def accept(context, params):
    return ElicitResult(action="accept")


def asking_server(request):
    async def call(ctx, params):
        if params.input_responses is None:
            return InputRequiredResult(input_requests={"q": request})
        return CallToolResult(content=[TextContent(text="answered")])

    return Server("asking", on_call_tool=call)


def visit(url):
    return ElicitRequest(params=ElicitRequestURLParams(message="Pay there.", url=url))


@BOTH_ERAS
@pytest.mark.req("R-348", "R-363")
@pytest.mark.parametrize(
    "url",
    ["", "pay", "/pay", "example.com/pay", "https://", "https:///pay", "javascript:alert(1)",
     "data:text/html,x", "https://example.com/pay me", "https://example.com/\npay",
     "https://exa\\mple.com", "https://example.com:port/", "https://[::1/",
     "https://ada:secret@example.com/pay", "https://ada@example.com/pay"],
)  # fmt: skip
async def test_a_client_is_never_sent_to_what_is_no_proper_url(mode, url, caplog):
    told = []

    async def elicit(context, params):
        told.append(params.url)
        return ElicitResult(action="accept")

    server = asking_server(visit(url))
    async with Client(server, mode=mode, elicitation_callback=elicit) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("pay")
    assert caught.value.code == -32603
    assert "secret" not in caught.value.message
    assert told == []
    [record] = caplog.records
    assert "secret" not in str(record.exc_info[1])


@BOTH_ERAS
@pytest.mark.req("R-348", "R-366")
@pytest.mark.parametrize(
    ("url", "warns"),
    [
        ("https://example.com/pay?order=1", False),
        ("http://localhost:8000/pay", False),
        ("http://app.localhost/pay", False),
        ("http://127.0.0.1/pay", False),
        ("http://[::1]:8000/pay", False),
        ("http://example.com/pay", True),
        ("http://127.0.0.1.example.com/pay", True),
    ],
)
async def test_a_url_that_is_not_secure_is_logged(mode, url, warns, caplog):
    caplog.set_level(logging.WARNING, "trio_mcp.server")
    server = asking_server(visit(url))
    async with Client(server, mode=mode, elicitation_callback=accept) as client:
        assert (await client.call_tool("pay")).content[0].text == "answered"
    assert any("is not https" in message for message in caplog.messages) is warns


@pytest.mark.req("R-348")
@pytest.mark.parametrize(
    ("url", "code"), [("https://example.com/pay", -32042), ("javascript:alert(1)", -32603)]
)
async def test_the_older_error_sends_nobody_to_a_wrong_url_either(url, code):
    async def call(ctx, params):
        required = ElicitRequestURLParams(message="Pay.", url=url, elicitation_id="e1")
        raise UrlElicitationRequiredError([required])

    async with Client(Server("pay", on_call_tool=call), mode="legacy") as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("pay")
    assert caught.value.code == code


@pytest.mark.req("R-589")
@pytest.mark.parametrize(
    "raised",
    [
        UrlElicitationRequiredError([]),
        UrlElicitationRequiredError(
            [ElicitRequestURLParams(message="Pay.", url="https://example.com/pay")]
        ),
        UrlElicitationRequiredError(
            [
                ElicitRequestURLParams(
                    message="Pay.", url="https://example.com/pay", elicitation_id="e1"
                ),
                ElicitRequestURLParams(message="Pay.", url="https://example.com/again"),
            ]
        ),
        MCPError(-32042, "Visit something"),
        MCPError(-32042, "Visit this", {"elicitations": [{"mode": "form", "message": "Who?"}]}),
    ],
    ids=["nothing", "no id", "an id and none", "no data", "a form"],
)
async def test_that_error_names_what_to_visit_each_with_its_id(raised, caplog):
    async def call(ctx, params):
        raise raised

    async with Client(Server("pay", on_call_tool=call), mode="legacy") as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("pay")
    assert caught.value.code == -32603
    assert "UrlElicitationRequiredError" in caplog.text


@pytest.mark.req("R-588")
async def test_that_error_is_for_urls_that_are_needed_and_nothing_else():
    server = asking_server(visit("https://example.com/pay"))
    # Neither a client that cannot open URLs nor a user who declines is a reason for it.
    async with Client(server, mode="legacy") as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("pay")
    assert caught.value.code == -32021

    async def decline(context, params):
        return ElicitResult(action="decline")

    async with Client(server, mode="legacy", elicitation_callback=decline) as client:
        assert (await client.call_tool("pay")).content[0].text == "answered"


# Sampling


FORECAST = Tool(
    name="forecast",
    input_schema={"type": "object"},
    output_schema={
        "type": "object",
        "properties": {"degrees": {"type": "number"}},
        "required": ["degrees"],
    },
)


def continued_with(**result):
    use = ToolUseContent(id="u1", name="forecast", input={})
    answer = ToolResultContent(tool_use_id="u1", **result)
    return CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=[
                SamplingMessage(role="user", content=TextContent(text="How warm?")),
                SamplingMessage(role="assistant", content=use),
                SamplingMessage(role="user", content=answer),
            ],
            max_tokens=10,
            tools=[FORECAST],
        )
    )


async def say(context, params):
    return CreateMessageResultWithTools(
        role="assistant", content=TextContent(text="Warm."), model="m", stop_reason="endTurn"
    )


def sampling_client(server, mode):
    return Client(
        server,
        mode=mode,
        sampling_callback=say,
        sampling_capabilities=SamplingCapability(tools=SamplingToolsCapability()),
    )


@BOTH_ERAS
@pytest.mark.req("R-397")
@pytest.mark.parametrize(
    "result",
    [
        {"structured_content": {"degrees": "21"}},
        {"structured_content": {}},
        {"structured_content": [21]},
        {"extra": {"structuredContent": None}},
    ],
)
async def test_a_tool_result_that_breaks_its_output_schema_is_not_sent(mode, result, caplog):
    server = asking_server(continued_with(**result))
    async with sampling_client(server, mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("weather")
    assert caught.value.code == -32603
    [record] = caplog.records
    assert "the result of 'forecast' does not fit its output schema" in str(record.exc_info[1])


@BOTH_ERAS
@pytest.mark.req("R-397")
@pytest.mark.parametrize(
    "result",
    [
        {"structured_content": {"degrees": 21}},
        {"content": [TextContent(text="21")]},
        {"structured_content": {"why": "no sensor"}, "is_error": True},
    ],
)
async def test_a_tool_result_that_fits_or_tells_of_a_failure_is_sent(mode, result):
    server = asking_server(continued_with(**result))
    async with sampling_client(server, mode) as client:
        assert (await client.call_tool("weather")).content[0].text == "answered"


# Capabilities


FORMS = ClientCapabilities(elicitation=ElicitationCapability(form=FormElicitationCapability()))
TOOLS = ClientCapabilities(sampling=SamplingCapability(tools=SamplingToolsCapability()))


@pytest.mark.req("R-053")
@pytest.mark.parametrize(
    ("mode", "wanted", "declared"),
    [
        ("2026-07-28", FORMS, True),
        ("2025-11-25", FORMS, True),
        ("2026-07-28", TOOLS, False),
        ("2025-11-25", TOOLS, False),
        # Revisions that have no words for it.
        ("2024-11-05", FORMS, False),
        ("2025-06-18", TOOLS, False),
        # An empty object has stood for forms since there are any.
        ("2025-06-18", FORMS, True),
    ],
)
async def test_a_client_has_what_it_declared_and_nothing_more(mode, wanted, declared):
    seen = []
    mcp = MCPServer()

    @mcp.tool()
    async def look(ctx: Context) -> None:
        seen.append(ctx.session.check_client_capability(wanted))
        ctx.session.require_client_capability(wanted)

    async with Client(
        mcp, mode=mode, elicitation_callback=accept, sampling_callback=say
    ) as client:
        if declared:
            await client.call_tool("look")
        else:
            with pytest.raises(MCPError, match="Client did not declare the"):
                await client.call_tool("look")
    assert seen == [declared]
