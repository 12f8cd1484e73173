"""Callbacks that are plain functions: as good as others if they return a coroutine, else told."""

from __future__ import annotations

import functools
import logging
import re

import pytest
import trio

from trio_mcp._codec import Malformed
from trio_mcp.client import Client, NotificationBinding, ResultClaim, ToolsListChanged, listen
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Context, MCPServer
from trio_mcp.server import Server
from trio_mcp.testing import open_client
from trio_mcp.types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    ListToolsResult,
    SamplingMessage,
    TextContent,
)

from .test_extensions import RECEIPT, Printed, Receipt, Receipts

pytestmark = pytest.mark.filterwarnings("ignore::trio_mcp.errors.MCPDeprecationWarning")

HELLO = [SamplingMessage(role="user", content=TextContent(text="Hello"))]
SAID = CreateMessageResult(role="assistant", content=TextContent(text="Hi"), model="m")
QUESTIONS = {
    "sampling_callback": (
        CreateMessageRequest(params=CreateMessageRequestParams(messages=HELLO, max_tokens=5)),
        SAID,
    ),
    "elicitation_callback": (
        ElicitRequest(params=ElicitRequestFormParams(message="?", requested_schema={})),
        ElicitResult(action="decline"),
    ),
    "list_roots_callback": (ListRootsRequest(), ListRootsResult(roots=[])),
}
ASKED = pytest.mark.parametrize("callback", list(QUESTIONS))
BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


def asking(question):
    async def call(ctx, params):
        if params.input_responses is None:
            return InputRequiredResult(input_requests={"q": question})
        return CallToolResult(content=[TextContent(text="answered")])

    async def list_tools(ctx, params):
        return ListToolsResult(tools=[])

    return Server("asking", on_call_tool=call, on_list_tools=list_tools)


@ASKED
@BOTH_ERAS
async def test_a_plain_function_that_returns_a_coroutine_answers(callback, mode):
    question, answer = QUESTIONS[callback]

    async def give(value):
        await trio.lowlevel.checkpoint()
        return value

    plain = functools.partial(lambda value, *_: give(value), answer)
    async with Client(asking(question), mode=mode, **{callback: plain}) as client:
        assert (await client.call_tool("x")).content[0].text == "answered"


@ASKED
async def test_what_answers_at_once_is_a_mistake_that_is_named(callback):
    question, answer = QUESTIONS[callback]
    plain = {callback: lambda *_: answer}
    expected = f"^{callback}: expected an async function, got one that returned "
    async with Client(asking(question), **plain) as client:
        with pytest.raises(TypeError, match=expected + type(answer).__name__):
            await client.call_tool("x")


@ASKED
async def test_a_server_that_waits_hears_of_an_internal_error(caplog, callback):
    question, answer = QUESTIONS[callback]
    async with Client(asking(question), mode="legacy", **{callback: lambda *_: answer}) as client:
        with pytest.raises(MCPError, match=r"^Internal server error$") as caught:
            await client.call_tool("x")
        assert caught.value.code == -32603
        # Nothing of that has harmed the connection.
        await client.send_ping()
    assert f"{callback}: expected an async function" in caplog.text


MISFITS = {
    "sampling_callback": (42, "Hi", None, {"role": "assistant"}, ElicitResult(action="decline")),
    "elicitation_callback": (42, "accept", None, {"action": "accept"}, ListRootsResult(roots=[])),
    "list_roots_callback": (42, "file:///", None, [], {"roots": []}, SAID),
}


@pytest.mark.parametrize(
    ("callback", "answer"),
    [(callback, each) for callback, answers in MISFITS.items() for each in answers],
)
@pytest.mark.parametrize("road", ["direct", "memory", "text", "lines"])
async def test_an_answer_of_another_kind_is_named_and_harms_nothing_else(
    caplog, road, callback, answer
):
    async def give(*_):
        return answer

    mistake = (
        f"the answer of {callback}: expected {type(QUESTIONS[callback][1]).__name__} or "
        f"(.* or )?ErrorData, got {type(answer).__name__}"
    )
    server = asking(QUESTIONS[callback][0])
    async with open_client(server, road, **{callback: give}) as client:
        with pytest.raises(TypeError, match=f"^{mistake}$"):
            await client.call_tool("x")
        await client.list_tools()
    assert caplog.text == ""
    async with open_client(server, road, mode="legacy", **{callback: give}) as client:
        with pytest.raises(MCPError, match=r"^Internal server error$") as caught:
            await client.call_tool("x")
        assert caught.value.code == -32603
        await client.list_tools()
    assert re.search(mistake, caplog.text)


@pytest.mark.parametrize(
    ("callback", "answer", "place"),
    [
        ("sampling_callback", SAID.evolve(content="Hi"), "content"),
        ("sampling_callback", SAID.evolve(model=None), "model"),
        ("elicitation_callback", ElicitResult(action=5), "action"),
        ("elicitation_callback", ElicitResult(action="accept", content=["x"]), "content"),
        (
            "list_roots_callback",
            ListRootsResult(roots=["file:///"]),
            r"roots.*\[0\]: expected Root",
        ),
        ("list_roots_callback", ListRootsResult(roots=None), r"roots.*: expected a list of Root"),
    ],
)
@pytest.mark.parametrize("road", ["direct", "memory", "text", "lines"])
async def test_so_is_what_is_wrong_inside_of_an_answer(caplog, road, callback, answer, place):
    async def give(*_):
        return answer

    server = asking(QUESTIONS[callback][0])
    async with open_client(server, road, **{callback: give}) as client:
        with pytest.raises((TypeError, ValueError), match=place):
            await client.call_tool("x")
        await client.list_tools()
    assert caplog.text == ""
    async with open_client(server, road, mode="legacy", **{callback: give}) as client:
        with pytest.raises(MCPError, match=r"^Internal server error$"):
            await client.call_tool("x")
        await client.list_tools()
    assert re.search(place, caplog.text)


@BOTH_ERAS
@pytest.mark.parametrize("callback", ["logging_callback", "message_handler"])
async def test_what_is_told_to_a_plain_function_arrives_and_the_mistake_is_logged(
    caplog, callback, mode
):
    mcp = MCPServer("telling")
    told = []

    @mcp.tool()
    async def tell(ctx: Context) -> str:
        await ctx.info("hello")
        return "done"

    options = {"log_level": "info", callback: told.append}
    async with Client(mcp, mode=mode, **options) as client:
        assert (await client.call_tool("tell")).content[0].text == "done"
    assert len(told) == 1
    assert f"{callback}: expected an async function, got one that returned NoneType" in caplog.text


async def test_so_is_what_is_told_of_what_is_no_message(
    autojump_clock, caplog, connect, script, discovery
):
    told = []
    server = script(server__discover=discovery)
    async with connect(server, message_handler=told.append):
        lane = server.channel._outbound
        lane.waiting.append(Malformed(-32700, "Parse error"))
        lane.wake()
        await trio.sleep(1)
    assert len(told) == 1
    assert "message_handler: expected an async function" in caplog.text


async def test_a_plain_progress_callback_hears_and_the_call_goes_on(caplog):
    mcp = MCPServer("working")
    heard = []

    @mcp.tool()
    async def work(ctx: Context) -> str:
        await ctx.report_progress(1, 2)
        return "done"

    async with Client(mcp) as client:
        result = await client.call_tool("work", {}, None, lambda *report: heard.append(report))
    assert (result.content[0].text, heard) == ("done", [(1, 2, None)])
    assert "progress_callback: expected an async function" in caplog.text


async def test_what_extensions_bring_is_named_too(
    autojump_clock, caplog, connect, script, discovery
):
    heard = []

    class Plain(Receipts):
        def claims(self):
            done = CallToolResult(content=[])
            return [ResultClaim(result_type="receipt", model=Receipt, resolve=lambda *_: done)]

        def notifications(self):
            method = "notifications/com.example/printed"
            return [NotificationBinding(method=method, params_type=Printed, handler=heard.append)]

    declared = {**discovery, "capabilities": {"tools": {}, "extensions": {Plain.identifier: {}}}}
    server = script(server__discover=declared, tools__call=RECEIPT)
    async with connect(server, extensions=[Plain()]) as client:
        await server.tell("notifications/com.example/printed", {"number": "7"})
        with pytest.raises(TypeError, match=r"^resolve of 'receipt': expected an async function"):
            await client.call_tool("x")
        await trio.sleep(1)
    assert [each.number for each in heard] == ["7"]
    assert "handler of notifications/com.example/printed: expected an async" in caplog.text


async def test_what_listens_to_events_is_named(autojump_clock):
    mcp = MCPServer("changing")
    mcp.add_tool(lambda: "", name="first")
    seen = []
    async with Client(mcp) as client:
        listening = listen(client.session, tools_list_changed=True, on_event=seen.append)
        async with listening as changes:
            mcp.add_tool(lambda: "", name="second")
            with pytest.raises(TypeError, match=r"^on_event: expected an async function"):
                await anext(changes)
    assert seen == [ToolsListChanged()]


async def test_a_plain_handler_of_a_server_is_logged_by_its_method(caplog):
    server = Server("plain", on_call_tool=lambda ctx, params: CallToolResult(content=[]))
    async with Client(server) as client:
        with caplog.at_level(logging.ERROR), pytest.raises(MCPError, match="Internal"):
            await client.call_tool("x")
    assert "handler of tools/call: expected an async function" in caplog.text
