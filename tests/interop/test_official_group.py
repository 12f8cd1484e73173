"""Groups, handles, restarts and extensions, with servers of the official SDK over stdio."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
import trio
import trio.testing

from trio_mcp.client import (
    Client,
    ClientExtension,
    ClientSessionGroup,
    ClientSessionParameters,
    NotificationBinding,
    RestartPolicy,
    ResultClaim,
    connect,
)
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError
from trio_mcp.transports import StdioServerParameters
from trio_mcp.types import CallToolResult, Request, Result, TextContent
from trio_mcp.types._base import WireModel, wire_field, wire_model

from ._peers import PEERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.client import ClaimContext, ConnectedClient

pytestmark = pytest.mark.limit(60)

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
TOOLS = ["pid", "nap", "naps", "measure", "wrong", "print", "grow", "exit_with"]


def official(name: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=[str(PEERS / "group_server.py"), name]
    )


def value_of(result: Any) -> Any:
    assert isinstance(result, CallToolResult)
    structured = result.structured_content
    assert isinstance(structured, dict)
    return structured.get("result", structured)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def nap_until(
    running: trio.Event, caller: ClientSessionGroup | Client, tool: str, name: str
) -> None:
    async def began(progress: float, total: float | None, message: str | None) -> None:
        running.set()

    await caller.call_tool(tool, {"name": name}, progress_callback=began)


# Groups


async def open_both(group: ClientSessionGroup, **options: Any) -> list[int]:
    """Connect a modern server and an older one; gives their process ids.

    The tools of the second one are named ``old_…``.
    """
    for name, mode in (("new", "auto"), ("old", "legacy")):
        parameters = ClientSessionParameters(mode=mode, **options)
        await group.connect_to_server(official(name), parameters)
    return [value_of(await group.call_tool(tool)) for tool in ("pid", "old_pid")]


@pytest.mark.case("C017")
async def test_servers_of_three_revisions_with_the_same_names_are_all_usable() -> None:
    async with ClientSessionGroup() as group:
        pids = await open_both(group)
        [outcome] = await group.connect_all(
            [official("oldest")], ClientSessionParameters(mode="2024-11-05")
        )
        assert outcome.error is None
        versions = [session.protocol_version for session in group.sessions]
        assert versions == ["2026-07-28", "2025-11-25", "2024-11-05"]
        prefixes = ["", "old_", "oldest_"]
        assert list(group.tools) == [prefix + name for prefix in prefixes for name in TOOLS]
        assert set(group.resources) == {f"{prefix}motto" for prefix in prefixes}
        assert set(group.prompts) == {f"{prefix}greet" for prefix in prefixes}
        assert group.tools["oldest_nap"].description == "Sleep until cancelled."
        pids.append(value_of(await group.call_tool("oldest_pid")))
        assert len(set(pids)) == 3
        await group.disconnect_from_server(group.sessions[0])
        assert [is_running(pid) for pid in pids] == [False, True, True]
        assert value_of(await group.call_tool("old_pid")) == pids[1]
    assert children() == []


async def test_what_members_add_is_followed_and_results_are_checked_in_both_eras() -> None:
    async with ClientSessionGroup() as group:
        pids = await open_both(group)
        for prefix in ("", "old_"):
            assert value_of(await group.call_tool(f"{prefix}measure")) == {"value": 8}
            with pytest.raises(InvalidResponse, match=r"'wrong' does not fit .*structuredContent"):
                await group.call_tool(f"{prefix}wrong")
            await group.call_tool(f"{prefix}grow", {"name": f"more_{prefix}"})
        with trio.fail_after(10):
            while not {"more_", "more_old_"} <= set(group.tools):  # noqa: ASYNC110 - as it is told
                await trio.sleep(0.01)
        assert [value_of(await group.call_tool(name)) for name in ("more_", "more_old_")] == pids


@pytest.mark.case("C017")
async def test_one_that_is_refused_leaves_no_process() -> None:
    async with ClientSessionGroup(on_collision="refuse") as group:
        await group.connect_to_server(official("one"))
        before = children()
        with pytest.raises(MCPError, match="the second one is 'two'"):
            await group.connect_to_server(official("two"))
        assert children() == before
    assert children() == []


def children() -> list[str]:
    threads = Path("/proc/self/task").iterdir()
    return [pid for thread in threads for pid in (thread / "children").read_text().split()]


@pytest.mark.case("C020")
async def test_a_budget_that_ends_in_mid_call_leaves_nothing_running() -> None:
    async with ClientSessionGroup() as group:
        await open_both(group)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                begun = {tool: trio.Event() for tool in ("nap", "old_nap")}
                for tool, event in begun.items():
                    nursery.start_soon(nap_until, event, group, tool, tool)
                for event in begun.values():
                    await event.wait()
                scope.cancel()
        assert scope.cancelled_caught
        for tool in begun:
            told = value_of(await group.call_tool(f"{tool}s"))
            assert told == {"running": [], "ended": [tool]}


@pytest.mark.parametrize("victim", ["", "old_"])
async def test_a_member_that_is_killed_in_mid_call_harms_nobody(victim: str) -> None:
    other = "old_" if victim == "" else ""
    async with ClientSessionGroup() as group, trio.open_nursery() as nursery:
        pid = (await open_both(group))[0 if victim == "" else 1]
        killed, spared = trio.Event(), trio.Event()

        async def call_the_killed() -> None:
            with pytest.raises(ConnectionLost) as caught:
                await nap_until(killed, group, f"{victim}nap", "killed")
            assert caught.value.exit_status == -signal.SIGKILL

        nursery.start_soon(nap_until, spared, group, f"{other}nap", "spared")
        async with trio.open_nursery() as calls:
            calls.start_soon(call_the_killed)
            await killed.wait()
            await spared.wait()
            os.kill(pid, signal.SIGKILL)
        with trio.fail_after(10):
            while f"{victim}pid" in group.tools:  # noqa: ASYNC110 - until it is noticed
                await trio.sleep(0.01)
        with pytest.raises(ConnectionLost, match="has left the group"):
            await group.call_tool(f"{victim}pid")
        assert value_of(await group.call_tool(f"{other}measure")) == {"value": 8}
        nursery.cancel_scope.cancel()


async def test_a_result_is_checked_although_nobody_has_listed_its_tool() -> None:
    async with Client(official("one")) as client:
        with pytest.raises(InvalidResponse, match="expected number, got string 'eight'"):
            await client.call_tool("wrong")


# Handles


@pytest.mark.case("C013")
@BOTH_ERAS
async def test_a_handle_is_opened_used_and_closed_in_different_tasks(
    mode: str, recwarn: pytest.WarningsRecorder
) -> None:
    handles: list[ConnectedClient] = []
    pids: list[int] = []

    async def opening(owner: trio.Nursery) -> None:
        handles.append(await connect(owner, official("one"), mode=mode))

    async def using() -> None:
        pids.append(value_of(await handles[0].call_tool("pid")))

    async with trio.open_nursery() as owner:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opening, owner)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(using)
            nursery.start_soon(using)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(handles[0].aclose)
            nursery.start_soon(handles[0].aclose)
        assert not is_running(pids[0])
        assert not owner.child_tasks
    assert pids[0] == pids[1]
    assert not recwarn.list


async def test_a_handle_whose_server_is_killed_says_so_and_leaves_the_nursery_alone() -> None:
    async with trio.open_nursery() as owner:
        client = await connect(owner, official("one"))
        os.kill(value_of(await client.call_tool("pid")), signal.SIGKILL)
        lost = await client.wait_closed()
        assert lost.exit_status == -signal.SIGKILL
        with pytest.raises(ConnectionLost):
            await client.call_tool("pid")
        assert not owner.cancel_scope.cancel_called


# Restarts

POLICY = RestartPolicy(initial_delay=0.01, max_restarts=10)


@pytest.mark.req("R-092")
@BOTH_ERAS
async def test_a_server_that_is_killed_between_calls_is_there_for_the_next(mode: str) -> None:
    async with Client(official("one"), mode=mode, restart=POLICY) as client:
        before = value_of(await client.call_tool("pid"))
        os.kill(before, signal.SIGKILL)
        await wait_gone(before)
        after = value_of(await client.call_tool("pid"))
        assert after != before
        assert [tool.name async for tool in client.iter_tools()] == TOOLS
    assert not is_running(after)


async def wait_gone(pid: int) -> None:
    """Wait until the child was reaped, and so its end noticed."""
    with trio.fail_after(10):
        while is_running(pid):  # noqa: ASYNC110 - nobody else tells
            await trio.sleep(0.01)


@BOTH_ERAS
async def test_calls_that_wait_when_it_is_killed_fail_and_are_not_repeated(mode: str) -> None:
    async with Client(official("one"), mode=mode, restart=POLICY) as client:
        pid = value_of(await client.call_tool("pid"))
        begun = trio.Event()
        errors: list[ConnectionLost] = []

        async def call(name: str) -> None:
            with pytest.raises(ConnectionLost) as caught:
                await nap_until(begun, client, "nap", name)
            errors.append(caught.value)

        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(call, str(number))
            await begun.wait()
            os.kill(pid, signal.SIGKILL)
        assert [each.exit_status for each in errors] == [-signal.SIGKILL] * 5
        assert value_of(await client.call_tool("naps")) == {"running": [], "ended": []}
        assert value_of(await client.call_tool("pid")) != pid


async def test_members_of_a_group_come_back_with_all_their_names() -> None:
    async with ClientSessionGroup() as group:
        pids = await open_both(group, restart=POLICY)
        before = list(group.tools)
        for prefix, pid in zip(("", "old_"), pids, strict=True):
            with pytest.raises(ConnectionLost, match="exited with status 3"):
                await group.call_tool(f"{prefix}exit_with", {"status": 3})
            assert value_of(await group.call_tool(f"{prefix}pid")) != pid
        assert list(group.tools) == before


async def test_one_that_dies_again_and_again_is_given_up_with_the_reason() -> None:
    policy = RestartPolicy(initial_delay=0.01, max_restarts=1)
    async with Client(official("one"), restart=policy) as client:
        for status in (3, 4):
            with pytest.raises(ConnectionLost, match=f"exited with status {status}"):
                await client.call_tool("exit_with", {"status": status})
        with pytest.raises(ConnectionLost, match=r"given up after 1 restart; .*status 4"):
            await client.call_tool("pid")


async def test_a_nursery_may_be_cancelled_while_a_restart_is_under_way() -> None:
    async with trio.open_nursery() as owner:
        client = await connect(owner, official("one"), restart=POLICY)
        os.kill(value_of(await client.call_tool("pid")), signal.SIGKILL)
        with trio.move_on_after(0.3):
            await client.wait_closed()
        owner.cancel_scope.cancel()
    assert client.closed
    assert children() == []


# Extensions

RECEIPTS = "com.example/receipts"


@wire_model
class Receipt(Result):
    result_type: Literal["receipt"] = wire_field(default="receipt", always=True)
    number: str


@wire_model
class Paper(Result):
    text: str


@wire_model
class Printed(WireModel):
    number: str


class Receipts(ClientExtension):
    identifier = RECEIPTS

    def __init__(self) -> None:
        self.printed: list[str] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="receipt", model=Receipt, resolve=self.resolve)]

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        method = "notifications/com.example/printed"
        return [NotificationBinding(method=method, params_type=Printed, handler=self.hear)]

    async def resolve(self, receipt: Receipt, context: ClaimContext) -> CallToolResult:
        request = Request(method="com.example/receipts/get", params={"number": receipt.number})
        paper = await context.session.send_request(request, Paper)
        return CallToolResult(
            content=[TextContent(text=paper.text)], structured_content={"result": paper.text}
        )

    async def hear(self, params: Printed) -> None:
        self.printed.append(params.number)


@pytest.mark.req("R-009", "R-070")
async def test_a_claimed_result_is_finished_with_the_server() -> None:
    receipts = Receipts()
    async with Client(official("one"), extensions=[receipts]) as client:
        declared = client.server_capabilities.extensions or {}
        assert RECEIPTS in declared
        assert text_of(await client.call_tool("print", {"claimed": True})) == "paper r-1"
        assert text_of(await client.call_tool("print", {"claimed": False})) == "printed"
        raw = await client.session.call_tool("print", {"claimed": True}, allow_claimed=True)
        assert isinstance(raw, Receipt)
        assert raw.number == "r-1"
        with trio.fail_after(5):
            while receipts.printed != ["r-1", "r-1"]:  # noqa: ASYNC110 - they come by themselves
                await trio.sleep(0.01)


async def test_members_of_a_group_have_the_extensions_they_were_given() -> None:
    async with ClientSessionGroup() as group:
        await group.connect_to_server(
            official("with"), ClientSessionParameters(extensions=[Receipts()])
        )
        await group.connect_to_server(official("without"))
        claimed = {"claimed": True}
        assert text_of(await group.call_tool("print", claimed)) == "paper r-1"
        with pytest.raises(InvalidResponse, match="resultType 'receipt'"):
            await group.call_tool("without_print", claimed)


async def test_an_extension_with_claims_is_nothing_to_older_servers() -> None:
    async with Client(official("one"), mode="legacy", extensions=[Receipts()]) as client:
        assert text_of(await client.call_tool("print", {"claimed": False})) == "printed"
        # The official server refuses to send what this revision cannot say.
        with pytest.raises(MCPError):
            await client.call_tool("print", {"claimed": True})
