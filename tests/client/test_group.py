"""Many servers, one set of names."""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio
import trio.testing

from trio_mcp.client import (
    Client,
    ClientSessionGroup,
    ClientSessionParameters,
    RestartPolicy,
    SseServerParameters,
    StreamableHttpParameters,
    WebSocketServerParameters,
)
from trio_mcp.errors import ConnectionLost, MCPError, RequestTimeout
from trio_mcp.mcpserver import MCPServer
from trio_mcp.server import Server
from trio_mcp.transports import StdioServerParameters, open_memory_channel_pair
from trio_mcp.types import CallToolResult, ElicitResult, Implementation, InputRequiredResult

PROCESS = """
import os, sys
from trio_mcp.mcpserver import MCPServer
mcp = MCPServer(sys.argv[1])

@mcp.tool()
def pid() -> int:
    return os.getpid()

@mcp.tool()
def die(status: int) -> str:
    os._exit(status)

mcp.run("stdio")
"""

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the processes of this one are read from /proc"
)


def process(name):
    return StdioServerParameters(command=sys.executable, args=["-c", PROCESS, name])


def named(server_name, *tools, resources=(), prompts=()):
    mcp = MCPServer(server_name)
    for tool in tools:
        mcp.add_tool(saying(f"{tool} of {server_name}"), name=tool)
    for name in resources:
        mcp.resource(f"res://{name}", name=name)(saying(name))
    for name in prompts:
        mcp.prompt(name=name)(saying(name))
    return mcp


def saying(text):
    def say() -> str:
        return text

    return say


async def said(group, tool):
    return (await group.call_tool(tool)).content[0].text


async def pid_of(group, tool="pid"):
    return (await group.call_tool(tool)).structured_content["result"]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_two_servers_are_one_set_of_names():
    async with ClientSessionGroup() as group:
        files = await group.connect_to_server(
            named("files", "read", resources=["readme"], prompts=["summary"])
        )
        mail = await group.connect_to_server(named("mail", "send"))
        assert group.sessions == [files, mail]
        assert set(group.tools) == {"read", "send"}
        assert set(group.resources) == {"readme"}
        assert set(group.prompts) == {"summary"}
        assert await said(group, "read") == "read of files"
        assert await said(group, "send") == "send of mail"
    assert (group.sessions, group.tools, group.resources, group.prompts) == ([], {}, {}, {})


@pytest.mark.req("R-247", "R-248")
@pytest.mark.case("C017")
async def test_the_same_name_twice_gives_two_usable_names():
    async with ClientSessionGroup() as group:
        for server in ("web", "my notes!", "my notes!"):
            await group.connect_to_server(
                named(server, "search", resources=["index"], prompts=["ask"])
            )
        names = {"", "my_notes_", "my_notes_2_"}
        assert set(group.tools) == {f"{prefix}search" for prefix in names}
        assert set(group.resources) == {f"{prefix}index" for prefix in names}
        assert set(group.prompts) == {f"{prefix}ask" for prefix in names}
        assert await said(group, "search") == "search of web"
        assert await said(group, "my_notes_search") == "search of my notes!"
        # Each is as its server lists it.
        assert {tool.name for tool in group.tools.values()} == {"search"}


@needs_proc
@pytest.mark.case("C017")
async def test_a_refused_server_leaves_no_process():
    async with ClientSessionGroup(on_collision="refuse") as group:
        await group.connect_to_server(process("one"))
        first = await pid_of(group)
        before = children()
        with pytest.raises(MCPError, match="a tool 'pid'; the second one is 'two'"):
            await group.connect_to_server(process("two"))
        assert children() == before == {first}
        assert len(group.sessions) == 1
        assert await pid_of(group) == first
    assert not is_running(first)
    assert not children()


def children():
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(process.name))
    return found


async def test_a_hook_names_things_and_collisions_are_still_settled():
    def hook(name, info):
        return f"{info.name}.{name}"

    async with ClientSessionGroup(component_name_hook=hook) as group:
        for _ in range(2):
            await group.connect_to_server(named("web", "search"))
        assert set(group.tools) == {"web.search", "web_web.search"}
        assert await said(group, "web.search") == "search of web"


async def test_a_failing_hook_refuses_that_server_alone():
    def hook(name, info):
        if info.name == "bad":
            raise KeyError(name)
        return name

    async with ClientSessionGroup(component_name_hook=hook) as group:
        await group.connect_to_server(named("good", "a"))
        with pytest.raises(KeyError):
            await group.connect_to_server(named("bad", "b"))
        assert set(group.tools) == {"a"}
        assert len(group.sessions) == 1


@pytest.mark.case("C018")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_server_that_offers_nothing_is_a_member(
    autojump_clock, script, discovery, initialized, mode
):
    nothing = {"capabilities": {}}
    server = script(
        server__discover={**discovery, **nothing}, initialize={**initialized(), **nothing}
    )
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with ClientSessionGroup() as group:
            session = await group.connect_to_server(near, ClientSessionParameters(mode=mode))
            assert group.sessions == [session]
            assert (group.tools, group.resources, group.prompts) == ({}, {}, {})
            await group.disconnect_from_server(session)
            assert group.sessions == []
        nursery.cancel_scope.cancel()
    assert not [method for method in server.methods if method.endswith("/list")]


@pytest.mark.case("C018")
async def test_the_smallest_server_of_ours_is_a_member_too():
    async with ClientSessionGroup() as group:
        for mode in ("auto", "legacy"):
            await group.connect_to_server(Server("empty"), ClientSessionParameters(mode=mode))
        assert len(group.sessions) == 2


@pytest.mark.parametrize("era", ["modern", "older"])
async def test_every_page_is_read_and_a_missing_list_is_empty(
    autojump_clock, script, discovery, initialized, era
):
    page = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    def tools(params):
        number = int((params or {}).get("cursor") or 1)
        listed = [{"name": f"t{number}", "inputSchema": {"type": "object"}}]
        return {**page, "tools": listed, **({"nextCursor": str(number + 1)} if number < 3 else {})}

    announced = {"capabilities": {"tools": {}, "prompts": {}}}
    server = script(
        server__discover={**discovery, **announced},
        initialize={**initialized(), **announced},
        tools__list=tools,
    )
    near, far = open_memory_channel_pair()
    mode = "auto" if era == "modern" else "legacy"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with ClientSessionGroup() as group:
            await group.connect_to_server(near, ClientSessionParameters(mode=mode))
            assert set(group.tools) == {"t1", "t2", "t3"}
            assert group.prompts == {}
        nursery.cancel_scope.cancel()


async def test_a_list_that_fails_refuses_the_server(autojump_clock, script, discovery):
    server = script(server__discover=discovery, tools__list=MCPError(-32603, "disk full"))
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with ClientSessionGroup() as group:
            with pytest.raises(MCPError, match="disk full"):
                await group.connect_to_server(near)
            assert group.sessions == []
        nursery.cancel_scope.cancel()


async def test_many_connect_at_once_and_some_fail(autojump_clock, script, discovery):
    silent_near, silent_far = open_memory_channel_pair()
    slow_near, slow_far = open_memory_channel_pair()
    page = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    slow = script(
        server__discover=discovery,
        tools__list={**page, "tools": [{"name": "find", "inputSchema": {"type": "object"}}]},
    )

    async def run_slow():
        await trio.sleep(3)
        await slow.run(slow_far)

    silent = script(server__discover=script.SILENCE, initialize=script.SILENCE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_slow)
        nursery.start_soon(silent.run, silent_far)
        async with ClientSessionGroup() as group:
            servers = [
                slow_near,
                named("quick", "find"),
                StdioServerParameters(command="no-such-command-here"),
                silent_near,
                SseServerParameters(url="no URL"),
            ]
            outcomes = await group.connect_all(servers, connect_timeout=5)
            assert trio.current_time() == pytest.approx(5)
            assert [each.server for each in outcomes] == servers
            assert group.sessions == [outcomes[0].session, outcomes[1].session]
            # Names go by the order of the servers, not by who is ready first.
            assert set(group.tools) == {"find", "quick_find"}
            assert await said(group, "quick_find") == "find of quick"
            errors = [type(each.error) for each in outcomes]
            assert errors == [type(None), type(None), ConnectionLost, RequestTimeout, ValueError]
            assert "was not ready within 5 s" in str(outcomes[3].error)
        nursery.cancel_scope.cancel()


async def test_a_cancelled_connect_all_closes_what_it_opened(autojump_clock, script):
    seen = []
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(script(server__discover=script.SILENCE).run, far)
        async with ClientSessionGroup() as group:
            await group.connect_to_server(named("before", "a"))
            with trio.move_on_after(1) as scope:
                try:
                    await group.connect_all([named("quick", "find"), near])
                except BaseException as exc:
                    seen.append(type(exc))
                    raise
            assert scope.cancelled_caught
            assert seen == [trio.Cancelled]
            assert set(group.tools) == {"a"}
            assert len(group.sessions) == 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("parameters", [StreamableHttpParameters, WebSocketServerParameters])
def test_headers_are_not_shown(parameters):
    shown = repr(parameters(url="http://x/", headers={"Authorization": "secret"}))
    assert "Authorization" in shown
    assert "secret" not in shown


async def test_servers_come_and_go_from_any_task():
    async with ClientSessionGroup() as group:
        for _ in range(3):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(group.connect_to_server, named("a", "x"))
                nursery.start_soon(group.connect_to_server, named("b", "y"))
            assert set(group.tools) == {"x", "y"}
            async with trio.open_nursery() as nursery:
                for session in group.sessions:
                    nursery.start_soon(group.disconnect_from_server, session)
            assert group.tools == {}
        with pytest.raises(MCPError, match="not in the group"):
            await group.disconnect_from_server(session)
        with pytest.raises(MCPError, match="not in the group"):
            await group.refresh(session)
        with pytest.raises(MCPError, match="No server of the group has a tool 'x'"):
            await group.call_tool("x")


@needs_proc
async def test_a_member_that_dies_takes_its_names_along_and_harms_nobody(caplog):
    async with ClientSessionGroup() as group:
        await group.connect_all([process("mortal"), named("other", "x")])
        mortal = await pid_of(group)
        assert set(group.tools) == {"pid", "die", "x"}
        with pytest.raises(ConnectionLost, match="exited with status 4"):
            await group.call_tool("die", {"status": 4})
        while "pid" in group.tools:
            await trio.testing.wait_all_tasks_blocked()
        assert set(group.tools) == {"x"}
        assert len(group.sessions) == 1
        with pytest.raises(
            ConnectionLost, match=r"'mortal' has left the group: .*status 4"
        ) as one:
            await group.call_tool("pid")
        assert one.value.exit_status == 4
        assert await said(group, "x") == "x of other"
        # The name is free again.
        await group.connect_to_server(process("next"))
        assert await pid_of(group) != mortal
    assert not children()


async def test_a_member_with_a_policy_comes_back():
    async with ClientSessionGroup() as group:
        policy = RestartPolicy(initial_delay=0.01)
        await group.connect_to_server(process("cat"), ClientSessionParameters(restart=policy))
        before = await pid_of(group)
        with pytest.raises(ConnectionLost):
            await group.call_tool("die", {"status": 1})
        assert await pid_of(group) != before
        assert set(group.tools) == {"pid", "die"}


async def test_what_a_server_lists_anew_is_taken_over(autojump_clock):
    mcp = named("growing", "a")
    async with ClientSessionGroup() as group:
        session = await group.connect_to_server(mcp, ClientSessionParameters(mode="legacy"))
        await group.connect_to_server(named("other", "b"))
        mcp.add_tool(saying("more"), name="b")
        mcp.remove_tool("a")
        await group.refresh(session)
        assert set(group.tools) == {"b", "growing_b"}
        assert await said(group, "growing_b") == "more"


async def test_a_change_that_is_told_is_followed_without_haste(
    autojump_clock, script, initialized
):
    listed = []

    def tools(params):
        listed.append(trio.current_time())
        return {"tools": [{"name": f"t{len(listed)}", "inputSchema": {"type": "object"}}]}

    class Careless(script):
        async def answer(self, request):
            await super().answer(request)
            if request.method == "tools/list":
                await self.tell("notifications/tools/list_changed")

    near, far = open_memory_channel_pair()
    server = Careless(initialize=initialized(), tools__list=tools)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with ClientSessionGroup() as group:
            await group.connect_to_server(near, ClientSessionParameters(mode="legacy"))
            assert set(group.tools) == {"t1"}
            await trio.sleep(60)
            assert set(group.tools) == {f"t{len(listed)}"}
        nursery.cancel_scope.cancel()
    assert 2 < len(listed) < 25


async def test_a_session_of_ones_own_may_join_and_stays_ones_own():
    async with Client(named("mine", "a")) as client, ClientSessionGroup() as group:
        info = Implementation(name="called", version="1")
        assert await group.connect_with_session(info, client.session) is client.session
        assert await said(group, "a") == "a of mine"
        with pytest.raises(MCPError, match="in the group already"):
            await group.connect_with_session(info, client.session)
        await group.disconnect_from_server(client.session)
        assert group.tools == {}
        assert len((await client.list_tools()).tools) == 1


async def test_questions_of_a_tool_are_answered_or_handed_out(autojump_clock, script, discovery):
    def call(params):
        if "inputResponses" in params:
            return {
                "resultType": "complete",
                "content": [{"type": "text", "text": params["inputResponses"]["q"]["action"]}],
            }
        question = {
            "method": "elicitation/create",
            "params": {
                "message": "sure?",
                "requestedSchema": {"type": "object", "properties": {}},
            },
        }
        return {"resultType": "input_required", "inputRequests": {"q": question}}

    async def elicit(context, params):
        return ElicitResult(action="accept", content={})

    tools = [{"name": "ask", "inputSchema": {"type": "object"}}]
    page = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools}
    server = script(server__discover=discovery, tools__list=page, tools__call=call)
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, far)
        async with ClientSessionGroup() as group:
            parameters = ClientSessionParameters(elicitation_callback=elicit)
            await group.connect_to_server(near, parameters)
            result = await group.call_tool("ask")
            assert isinstance(result, CallToolResult)
            assert result.content[0].text == "accept"
            asked = await group.call_tool("ask", allow_input_required=True)
            assert isinstance(asked, InputRequiredResult)
            answers = {"q": ElicitResult(action="decline")}
            result = await group.call_tool("ask", input_responses=answers)
            assert result.content[0].text == "decline"
        nursery.cancel_scope.cancel()


@needs_proc
async def test_leaving_ends_calls_and_processes():
    errors = []
    mcp = MCPServer("waiting")

    @mcp.tool()
    async def wait() -> str:
        await trio.sleep_forever()

    async def call(group):
        try:
            await group.call_tool("wait")
        except ConnectionLost as exc:
            errors.append(str(exc))

    async with trio.open_nursery() as nursery:
        async with ClientSessionGroup() as group:
            await group.connect_all([mcp, process("a"), process("b")])
            assert len(children()) == 2
            nursery.start_soon(call, group)
            await trio.testing.wait_all_tasks_blocked()
        assert not children()
    assert errors == ["The connection was closed on this side"]
    with pytest.raises(RuntimeError, match="async with ClientSessionGroup"):
        await group.connect_to_server(mcp)


async def test_an_exit_stack_may_own_the_group():
    async with AsyncExitStack() as stack:
        group = ClientSessionGroup(stack)
        await group.connect_to_server(named("a", "x"))
        async with AsyncExitStack() as other:
            same = ClientSessionGroup(other)
            async with same:
                await same.connect_to_server(named("b", "y"))
            assert set(same.tools) == {"y"}
        assert same.tools == {}
        assert await said(group, "x") == "x of a"
    assert group.sessions == []


async def test_a_group_is_entered_once_at_a_time():
    group = ClientSessionGroup()
    with pytest.raises(RuntimeError, match="async with ClientSessionGroup"):
        await group.connect_to_server(named("a", "x"))
    for _ in range(2):
        async with group:
            await group.connect_to_server(named("a", "x"))
            with pytest.raises(RuntimeError, match="open already"):
                await group.__aenter__()
    with pytest.raises(ValueError, match="on_collision"):
        ClientSessionGroup(on_collision="ignore")


async def test_what_the_body_raises_leaves_as_it_is():
    async def use():
        async with ClientSessionGroup() as group:
            await group.connect_to_server(named("a", "x"))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await use()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda group: ClientSessionGroup("x"), "exit_stack: expected AsyncExitStack, got str"),
        (lambda group: ClientSessionGroup(None, "x"), "component_name_hook: expected a function"),
        (lambda group: ClientSessionGroup(on_collision=1), "on_collision: expected one of"),
        (lambda group: group.call_tool(5), "name: expected str, got int"),
        (lambda group: group.connect_to_server(named("a"), {}), "session_params: expected"),
        (lambda group: group.connect_all([], {}), "session_params: expected"),
        (lambda group: group.connect_all([], connect_timeout=-1), "connect_timeout: expected"),
        (lambda group: group.connect_all([], connect_timeout="1"), "connect_timeout: expected"),
        (lambda group: group.connect_with_session("a", None), "server_info: expected"),
        (
            lambda group: group.connect_with_session(Implementation(name="a", version="1"), None),
            "session: expected ClientSession, got None",
        ),
    ],
)
async def test_wrong_arguments_are_told_at_once(wrong, message):
    async with ClientSessionGroup() as group:
        with pytest.raises((TypeError, ValueError), match=message):
            await wrong(group)
