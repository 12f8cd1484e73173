"""Subscriptions and changes over stdio: with the official SDK on either side, and alone."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from trio_mcp.client import Client, ResourceUpdated, SubscriptionLost, ToolsListChanged
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports import StdioServerParameters, stdio_client
from trio_mcp.types import SubscriptionFilter

from ._peers import PEERS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PROGRAM = str(PEERS / "subscriptions_server.py")
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


@asynccontextmanager
async def connect(sdk: str, **options: Any) -> AsyncGenerator[Client, None]:
    parameters = StdioServerParameters(command=sys.executable, args=[PROGRAM, sdk])
    async with Client(stdio_client(parameters, errlog=None), **options) as client:
        yield client


both_sdks = pytest.mark.parametrize("sdk", ["mcp", "trio_mcp"])


@pytest.mark.limit(60)
@pytest.mark.req("R-085", "R-202")
async def test_our_client_listens() -> None:
    async with (
        connect("mcp") as client,
        client.listen(tools_list_changed=True) as tools,
        client.listen(resource_subscriptions=["note://1"]) as notes,
    ):
        assert tools.honored == SubscriptionFilter(tools_list_changed=True)
        assert notes.honored == SubscriptionFilter(resource_subscriptions=["note://1"])
        assert tools.subscription_id != notes.subscription_id
        await client.call_tool("touch", {"uri": "note://1"})
        await client.call_tool("grow", {"name": "one"})
        assert await anext(notes) == ResourceUpdated("note://1")
        assert await anext(tools) == ToolsListChanged()
        assert "one" in {tool.name for tool in (await client.list_tools()).tools}
        await client.call_tool("finish")
        assert [change async for change in notes] == []
        assert [change async for change in tools] == []
        # Whatever the server says after that, the connection is in order.
        async with client.listen(tools_list_changed=True) as again:
            await client.call_tool("grow", {"name": "two"})
            assert await anext(again) == ToolsListChanged()


@both_sdks
@pytest.mark.limit(60)
async def test_a_server_that_dies_is_a_loss_and_its_successor_is_listened_to(sdk: str) -> None:
    async with (
        connect(sdk) as client,
        client.listen(tools_list_changed=True) as changes,
        trio.open_nursery() as nursery,
    ):

        @nursery.start_soon
        async def crash() -> None:
            with pytest.raises(ConnectionLost):
                await client.call_tool("crash")

        with pytest.raises(SubscriptionLost) as caught:
            await anext(changes)
        assert isinstance(caught.value.__cause__, ConnectionLost)
        assert caught.value.__cause__.exit_status == 3
    async with (
        connect(sdk) as client,
        client.listen(tools_list_changed=True) as changes,
    ):
        await client.call_tool("grow", {"name": "one"})
        assert await anext(changes) == ToolsListChanged()


@pytest.mark.limit(60)
async def test_our_client_hears_changes_of_the_older_era() -> None:
    told = trio.Event()

    async def handler(message: Any) -> None:
        if message.method == "notifications/tools/list_changed":
            told.set()

    async with connect("mcp", mode="legacy", message_handler=handler) as client:
        await client.call_tool("grow", {"name": "one"})
        await told.wait()


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run_official_client(backend: str, mode: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, str(PEERS / "subscriptions_client.py"), backend, PROGRAM, mode],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def test_the_official_client_listens_to_our_server(backend: str) -> None:
    report = run_official_client(backend, "auto")
    assert report == {
        # Also of lists that are still empty, as the server tells of their first entry.
        "honored": [
            {"toolsListChanged": True, "promptsListChanged": True},
            {"resourceSubscriptions": ["note://1"]},
        ],
        "updated": "ResourceUpdated(uri='note://1')",
        "changed": "ToolsListChanged()",
        "rest": [],
        "listed": ["crash", "finish", "grow", "one", "touch", "two"],
        "again": "ToolsListChanged()",
        "lost": True,
    }


@pytest.mark.req("R-597")
def test_the_official_client_hears_our_server_in_the_older_era(backend: str) -> None:
    report = run_official_client(backend, "legacy")
    assert report["capabilities"]["tools"] == {"listChanged": True}
    assert report["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    assert report["heard"] == [
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ]


@pytest.mark.req("R-059", "R-199", "R-203", "R-206")
def test_the_end_of_stdin_ends_subscriptions_in_good_order() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    listens = [
        {
            "jsonrpc": "2.0",
            "id": request_id,
            "method": "subscriptions/listen",
            "params": {"notifications": {"toolsListChanged": True}, "_meta": meta},
        }
        for request_id in (1, "1")
    ]
    ran = subprocess.run(
        [sys.executable, PROGRAM, "trio_mcp"],
        input="".join(json.dumps(each) + "\n" for each in listens).encode(),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    for request_id in (1, "1"):
        acknowledged, result, cancelled = [
            line for line in lines if belongs_to(line) == (type(request_id), request_id)
        ]
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert result["result"]["resultType"] == "complete"
        assert result["result"]["_meta"][SUBSCRIPTION_ID] == request_id
        assert cancelled["method"] == "notifications/cancelled"
    assert len(lines) == 6


def belongs_to(line: dict[str, Any]) -> tuple[type, Any]:
    params = line.get("params", {})
    found = line.get("id", params.get("requestId"))
    if found is None:
        found = params["_meta"][SUBSCRIPTION_ID]
    return type(found), found
