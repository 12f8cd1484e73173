"""Our client and a server of the official SDK, over stdio, in every revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from trio_mcp.errors import MCPError, RequestTimeout
from trio_mcp.types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    GetPromptResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    PromptReference,
    ReadResourceResult,
    ResourceTemplateReference,
    Root,
    TextContent,
)

from ._peers import OLDER_REVISIONS, connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.client import Client, ClientRequestContext

TOOLS = [
    "add",
    "echo",
    "measure",
    "fail",
    "crash",
    "count",
    "speak",
    "nap",
    "wait_ended",
    "wait_running",
    "protocol",
    "roots",
    "sample",
]


@pytest.mark.req("R-002")
@pytest.mark.limit(60)
@pytest.mark.parametrize("mode", ["auto", "2026-07-28", "legacy", *OLDER_REVISIONS])
async def test_every_feature_of_a_server(mode: str) -> None:
    logged: list[LoggingMessageNotificationParams] = []

    async def log(params: LoggingMessageNotificationParams) -> None:
        logged.append(params)

    async with connect(
        "mcp",
        mode=mode,
        logging_callback=log,
        log_level="info",
        list_roots_callback=list_roots,
        sampling_callback=sample,
    ) as client:
        await check_what_the_server_says_of_itself(client, mode)
        await check_lists(client)
        await check_calls(client)
        await check_errors(client)
        await check_progress(client)
        await check_cancelling(client)
        await check_resources(client)
        await check_prompts_and_completion(client)
        await check_logging(client, logged)
        await check_what_a_server_may_ask(client)


def is_modern(client: Client) -> bool:
    return client.protocol_version == "2026-07-28"


def since(client: Client, version: str) -> bool:
    versions = [*OLDER_REVISIONS, "2026-07-28"]
    return versions.index(client.protocol_version) >= versions.index(version)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def check_what_the_server_says_of_itself(client: Client, mode: str) -> None:
    expected = {"auto": "2026-07-28", "legacy": "2025-11-25"}.get(mode, mode)
    assert client.protocol_version == expected
    assert text_of(await client.call_tool("protocol")) == expected
    if mode == "2026-07-28":
        # A pinned modern server is asked nothing, so nothing is known of it.
        assert client.session.discover_result is not None
        assert client.server_info is None
        return
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("interop", "7")
    assert client.instructions == "Call add."
    capabilities = client.server_capabilities
    assert capabilities.tools is not None
    assert capabilities.resources is not None
    assert capabilities.prompts is not None
    if since(client, "2025-03-26"):
        assert capabilities.completions is not None


async def check_lists(client: Client) -> None:
    tools = [tool async for tool in client.iter_tools()]
    assert [tool.name for tool in tools] == TOOLS
    by_name = {tool.name: tool for tool in tools}
    add = by_name["add"]
    assert add.description == "Add two numbers."
    assert add.input_schema["required"] == ["a", "b"]
    assert set(by_name["nap"].input_schema["properties"]) == {"name"}
    # It came with 2025-06-18, as titles did. This SDK sends both to older clients, too, which is
    # forgiven, and the values are there.
    assert add.title == "Addition"
    output = by_name["measure"].output_schema
    assert output is not None
    assert set(output["properties"]) == {"value", "unit"}
    resources = {str(each.uri): each async for each in client.iter_resources()}
    assert set(resources) == {"text://motto", "bytes://all"}
    assert resources["text://motto"].mime_type == "text/markdown"
    templates = [each async for each in client.iter_resource_templates()]
    assert [(each.uri_template, each.name) for each in templates] == [("note://{name}", "note")]
    (prompt,) = [each async for each in client.iter_prompts()]
    assert prompt.name == "greet"
    assert [(each.name, each.required) for each in prompt.arguments or ()] == [
        ("name", True),
        ("style", False),
    ]


async def check_calls(client: Client) -> None:
    result = await client.call_tool("add", {"a": 20, "b": 22})
    assert not result.is_error
    assert text_of(result) == "42"
    measured = await client.call_tool("measure", {"value": 8.5})
    assert result.structured_content == {"result": 42}
    assert measured.structured_content == {"value": 8.5, "unit": "m"}
    for text in ("", "line\nline\r\n\u2028", "ünd 🎈", '{"a": 1}', "x" * (1 << 20)):
        assert text_of(await client.call_tool("echo", {"text": text})) == text


async def check_errors(client: Client) -> None:
    failed = await client.call_tool("fail", {"text": "no luck"})
    assert failed.is_error
    assert text_of(failed) == "Error executing tool fail: no luck"
    crashed = await client.call_tool("crash")
    assert crashed.is_error
    assert text_of(crashed) == "Error executing tool crash"
    wrong = await client.call_tool("add", {"a": "one", "b": 2})
    assert wrong.is_error
    assert "integer" in text_of(wrong)
    unknown = await client.call_tool("nope")
    assert unknown.is_error
    assert text_of(unknown) == "Unknown tool: nope"
    with pytest.raises(MCPError):
        await client.get_prompt("nope")
    if is_modern(client):
        with pytest.raises(MCPError) as caught:
            await client.send_ping()
        assert caught.value.code == -32601
    else:
        await client.send_ping()


async def check_progress(client: Client) -> None:
    seen = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    await client.call_tool("count", {"to": 20}, progress_callback=watch)
    assert [each[:2] for each in seen] == [(n, 20) for n in range(1, 21)]
    if since(client, "2025-03-26"):
        assert [each[2] for each in seen] == [f"step {n}" for n in range(1, 21)]
    await client.call_tool("count", {"to": 3})  # nobody listens


async def check_cancelling(client: Client) -> None:
    with trio.CancelScope() as scope:

        async def started(progress: float, total: float | None, message: str | None) -> None:
            scope.cancel()

        await client.call_tool("nap", {"name": "scope"}, progress_callback=started)
    assert scope.cancelled_caught
    assert text_of(await client.call_tool("wait_ended", {"name": "scope"})) == "cancelled"

    with pytest.raises(RequestTimeout):
        await client.call_tool("nap", {"name": "timeout"}, 0.2)
    assert text_of(await client.call_tool("wait_running", {"number": 0})) == "0"


def contents_of(result: ReadResourceResult) -> tuple[str, str | None, str | None]:
    (contents,) = result.contents
    value = getattr(contents, "text", None) or getattr(contents, "blob", None)
    return str(contents.uri), contents.mime_type, value


async def check_resources(client: Client) -> None:
    assert contents_of(await client.read_resource("text://motto")) == (
        "text://motto",
        "text/markdown",
        "*Many* languages, ünd one.",
    )
    uri, mime_type, blob = contents_of(await client.read_resource("bytes://all"))
    assert (uri, mime_type) == ("bytes://all", "application/octet-stream")
    assert blob is not None
    assert blob.startswith("AAECAwQF")
    note = await client.read_resource("note://first%20one")
    assert contents_of(note) == ("note://first%20one", "text/plain", "note of first one")
    for missing in ("note://missing", "other://x"):
        with pytest.raises(MCPError) as caught:
            await client.read_resource(missing)
        assert caught.value.code in ((-32602,) if is_modern(client) else (-32602, -32002))
        assert caught.value.data == {"uri": missing}


def prompt_text(result: GetPromptResult) -> str:
    (message,) = result.messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def check_prompts_and_completion(client: Client) -> None:
    assert prompt_text(await client.get_prompt("greet", {"name": "Ada"})) == "Greet Ada, plain."
    filled = await client.get_prompt("greet", {"name": "Ada", "style": "warm"})
    assert prompt_text(filled) == "Greet Ada, warm."
    with pytest.raises(MCPError):
        await client.get_prompt("greet")
    argument = {"name": "name", "value": "a"}
    completed = await client.complete(PromptReference(name="greet"), argument)
    assert completed.completion.values == ["ada", "alan"]
    assert completed.completion.total == 2
    template = ResourceTemplateReference(uri="note://{name}")
    completed = await client.complete(template, {"name": "name", "value": "g"}, {"style": "s"})
    told = since(client, "2025-06-18")
    assert completed.completion.values == ["grace (s)" if told else "grace"]


async def check_logging(client: Client, logged: list[LoggingMessageNotificationParams]) -> None:
    assert logged == []
    assert text_of(await client.call_tool("speak")) == "spoke"
    # A modern client asked for this level; in the older era it is the session's, and not set.
    expected = ["info", "error"] if is_modern(client) else ["debug", "info", "error"]
    await settle(lambda: len(logged) == len(expected))
    assert [each.level for each in logged] == expected
    assert [each.data for each in logged] == [{"said": level} for level in expected]
    assert {each.logger for each in logged} == {"speaker"}


async def settle(done: Callable[[], bool]) -> None:
    """Let the callbacks of messages that have arrived run."""
    for _ in range(100):
        if done():
            return
        await trio.lowlevel.checkpoint()


async def list_roots(context: ClientRequestContext) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///home/ada")])


async def sample(
    context: ClientRequestContext, params: CreateMessageRequestParams
) -> CreateMessageResult:
    (message,) = params.messages
    assert isinstance(message.content, TextContent)
    text = TextContent(text=message.content.text.upper())
    return CreateMessageResult(role="assistant", content=text, model="loud")


async def check_what_a_server_may_ask(client: Client) -> None:
    if is_modern(client):
        # It would have to return what it wants to know.
        for tool, arguments in (("roots", {}), ("sample", {"text": "x"})):
            with pytest.raises(MCPError):
                await client.call_tool(tool, arguments)
        return
    assert "file:///home/ada" in text_of(await client.call_tool("roots"))
    assert text_of(await client.call_tool("sample", {"text": "hi"})) == "loud: HI"
