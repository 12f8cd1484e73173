"""A notification goes to whoever's revision has it, and to nobody else."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import pytest
import trio

from trio_mcp import Client, Context, MCPServer
from trio_mcp.errors import MCPDeprecationWarning
from trio_mcp.testing import open_client
from trio_mcp.types import (
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    Notification,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    RootsListChangedNotification,
    ToolListChangedNotification,
)
from trio_mcp.types._revisions import KNOWN_REVISIONS, LATEST_HANDSHAKE, LATEST_MODERN


def telling_server() -> MCPServer[Any]:
    mcp = MCPServer()

    @mcp.tool()
    async def tell(ctx: Context) -> None:
        updated = ResourceUpdatedNotificationParams(uri="text://a")
        await ctx.session.send_elicit_complete("e")
        await ctx.session.send_notification(ToolListChangedNotification())
        await ctx.session.send_notification(ResourceUpdatedNotification(params=updated))

    return mcp


@pytest.mark.parametrize("road", ["direct", "text"])
@pytest.mark.parametrize("revision", KNOWN_REVISIONS, ids=str)
async def test_a_server_tells_what_the_revision_has(autojump_clock, revision, road):
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(message.method)

    mode = "auto" if revision.is_modern else revision.version
    async with open_client(telling_server(), road, mode=mode, message_handler=hear) as client:
        await client.call_tool("tell")
        await trio.testing.wait_all_tasks_blocked()
    changes = ["notifications/tools/list_changed", "notifications/resources/updated"]
    expected = [] if revision.is_modern else changes
    if revision == LATEST_HANDSHAKE:
        expected = ["notifications/elicitation/complete", *expected]
    assert heard == expected


@pytest.mark.parametrize("revision", [LATEST_HANDSHAKE, LATEST_MODERN], ids=str)
async def test_a_client_tells_what_the_revision_has(autojump_clock, caplog, revision):
    caplog.set_level(logging.DEBUG, "trio_mcp.client")
    heard: list[str] = []

    async def look(ctx: Any, call_next: Any) -> Any:
        heard.append(ctx.method)
        return await call_next(ctx)

    mcp = MCPServer(middleware=[look])
    mode = "auto" if revision.is_modern else revision.version
    async with Client(mcp, mode=mode) as client:
        await trio.testing.wait_all_tasks_blocked()
        heard.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await client.send_roots_list_changed()
            await client.session.send_notification(RootsListChangedNotification())
            await client.send_progress_notification("token", 1.0)
        await client.session.send_notification(
            Notification(method="notifications/com.example/own", params={})
        )
        await trio.testing.wait_all_tasks_blocked()
    roots = ["notifications/roots/list_changed"] * 2
    own = ["notifications/com.example/own"]
    assert [each for each in heard if "progress" not in each] == (
        own if revision.is_modern else [*roots, *own]
    )
    assert ("is not sent" in caplog.text) == revision.is_modern


@pytest.mark.req("R-322")
@pytest.mark.parametrize("road", ["direct", "text"])
@pytest.mark.parametrize("wanted", [None, "info", "error"])
async def test_a_log_message_made_by_hand_goes_to_who_asked_for_its_level(
    autojump_clock, road, wanted
):
    heard: list[Any] = []
    mcp = MCPServer()

    @mcp.tool()
    async def tell(ctx: Context) -> None:
        for level in ("debug", "warning", "error"):
            params = LoggingMessageNotificationParams(level=level, data=level)
            await ctx.session.send_notification(LoggingMessageNotification(params=params))

    async def hear(params: LoggingMessageNotificationParams) -> None:
        heard.append(params.data)

    async with open_client(mcp, road, logging_callback=hear, log_level=wanted) as client:
        await client.call_tool("tell")
        await trio.testing.wait_all_tasks_blocked()
    assert heard == {None: [], "info": ["warning", "error"], "error": ["error"]}[wanted]
