from __future__ import annotations

import pytest
import trio

from trio_mcp.errors import ConnectionLost, MCPError


@pytest.mark.req("R-579")
async def test_an_older_server_is_pinged_as_often_as_asked(
    autojump_clock, connect, script, initialized
):
    server = script(initialize=initialized(), ping=MCPError(-32601, "what?"))
    async with connect(server, mode="legacy", ping_interval=5):
        await trio.sleep(22)
    assert server.methods.count("ping") == 4


async def test_no_pings_unless_asked_and_none_in_the_modern_era(
    autojump_clock, connect, script, initialized, discovery
):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy"):
        await trio.sleep(1000)
    assert "ping" not in server.methods
    server = script(server__discover=discovery)
    async with connect(server, ping_interval=1):
        await trio.sleep(1000)
    assert server.methods == ["server/discover"]


@pytest.mark.req("R-580")
async def test_an_unanswered_ping_ends_the_connection_and_is_logged(
    autojump_clock, connect, script, initialized, caplog
):
    server = script(initialize=initialized(), ping=script.SILENCE, tools__call=script.SILENCE)
    async with connect(server, mode="legacy", ping_interval=5) as client:
        with pytest.raises(ConnectionLost, match="no answer to a ping within 5 s"):
            await client.call_tool("x")
        assert trio.current_time() == pytest.approx(10)
        with pytest.raises(ConnectionLost):
            await client.list_tools()
    assert "did not answer a ping" in caplog.text
