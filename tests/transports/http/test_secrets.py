"""What names a session is known to its two ends alone."""

from __future__ import annotations

import logging

import pytest

from trio_mcp import Client
from trio_mcp.errors import MCPError

from ._scripted import OlderScripted, Seen, scripted


@pytest.mark.req("R-566")
@pytest.mark.parametrize("status", [200, 400, 500])
async def test_the_id_of_a_session_is_in_no_log_and_no_error(caplog, status):
    caplog.set_level(logging.DEBUG)

    class Failing(OlderScripted):
        async def tools_call(self, seen: Seen) -> None:
            await seen.raw(status, b"{", "application/json")

    server = Failing()
    async with scripted(server) as url, Client(url) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("x")
        (call,) = server.asked("tools/call")
        used = call.headers["mcp-session-id"]
    assert used not in f"{caught.value!r} {caught.value.data}"
    ours = [each for each in caplog.records if each.name.startswith("trio_mcp")]
    assert ours
    assert all(used not in each.getMessage() for each in ours)
