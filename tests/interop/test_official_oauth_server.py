"""Our client and the official SDK's example of a protected server and its authorization server.

The examples are in no wheel. ``nox -s interop`` unpacks them from the source distribution, and
says where in ``TRIO_MCP_OFFICIAL_EXAMPLES``; without it these tests are skipped.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import trio

from trio_mcp import Client, OAuth
from trio_mcp.auth import InMemoryTokenStorage, LoopbackCallback, OAuthFlowError

ACTION = re.compile(r'action="([^"]+)"')
STATE = re.compile(r'name="state" value="([^"]+)"')


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@asynccontextmanager
async def example(module: str, port: int, *arguments: str):
    """Run a program of the examples until the block is left."""
    folder = os.environ.get("TRIO_MCP_OFFICIAL_EXAMPLES")
    if not folder:
        pytest.skip(
            "TRIO_MCP_OFFICIAL_EXAMPLES does not say where the examples are; see noxfile.py"
        )
    command = [sys.executable, "-m", f"mcp_simple_auth.{module}", f"--port={port}", *arguments]
    process = await trio.lowlevel.open_process(
        command, cwd=Path(folder) / "servers" / "simple-auth", stderr=subprocess.DEVNULL
    )
    try:
        await listening(port)
        yield
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


async def listening(port: int) -> None:
    while True:
        try:
            stream = await trio.open_tcp_stream("localhost", port)
        except OSError:
            # A process of somebody else tells nobody when it listens.
            await trio.sleep(0.05)
        else:
            await stream.aclose()
            return


@asynccontextmanager
async def protected_server():
    """Run the authorization server and the protected one; gives the URL of that."""
    port, auth_port = free_port(), free_port()
    issuer = f"--auth-server=http://localhost:{auth_port}"
    async with (
        example("auth_server", auth_port),
        example("server", port, issuer, "--oauth-strict"),
    ):
        yield f"http://localhost:{port}/mcp"


class Person:
    """Fills in the form of the example, which says the password itself."""

    def __init__(self, password: str = "demo_password") -> None:
        self.logins = 0
        self.password = password

    def open_page(self, url: str) -> None:
        self.logins += 1
        with httpx.Client(follow_redirects=True, trust_env=False) as browser:
            page = browser.get(url).text
            (action,), (state,) = ACTION.findall(page), STATE.findall(page)
            form = {"state": state, "username": "demo_user", "password": self.password}
            browser.post(action, data=form)


@pytest.mark.limit(60)
async def test_person_logs_in_once_and_calls():
    person = Person()
    storage = InMemoryTokenStorage()
    async with protected_server() as url:
        for _ in range(2):
            # The second time by the tokens that are kept.
            auth = OAuth(storage=storage, callback=LoopbackCallback(open_browser=person.open_page))
            async with Client(url, auth=auth) as client:
                result = await client.call_tool("get_time", {})
                assert result.structured_content is not None
                assert result.structured_content["timezone"] == "UTC"
    assert person.logins == 1


@pytest.mark.limit(60)
async def test_person_who_gives_up_is_told_as_one_error():
    person = Person("wrong")
    callback = LoopbackCallback(open_browser=person.open_page, timeout=1)
    async with protected_server() as url:
        with pytest.raises(OAuthFlowError, match=r"within|in time"):
            async with Client(url, auth=OAuth(callback=callback)):
                pass
    assert person.logins == 1
