"""Our authorization server does what the official suite asks of one.

The suite plays the client: it prints the authorization request, and waits at its own port for the
redirect. A person would open it in a browser; here the provider asks nobody.
"""

from __future__ import annotations

import re
import socket
import subprocess
from contextlib import asynccontextmanager
from functools import partial

import httpx
import pytest
import trio

from trio_mcp import MCPServer
from trio_mcp.auth import (
    AuthSettings,
    ClientMetadataDocuments,
    InMemoryOAuthProvider,
    OAuthClientInformationFull,
)
from trio_mcp.transports import serve_http

from ._suite import announce, read_outcome, suite_command

CLIENT_ID = "suite"
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

LISTENS = b"Callback server started"
PRINTED = re.compile(rb"http://127\.0\.0\.1:\d+/authorize\?[^\s\"'\x1b]+")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@asynccontextmanager
async def authorization_server(redirect_uri: str):
    """Serve a server that is its own authorization server; gives its URL."""
    # The port has to be known before the server is made: it is in all names of OAuth.
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    # Without a secret: the suite never uses one where a server takes clients that have none.
    client = OAuthClientInformationFull(
        client_id=CLIENT_ID,
        redirect_uris=[redirect_uri],
        token_endpoint_auth_method="none",
    )
    provider = InMemoryOAuthProvider(
        auto_approve="alice", clients=[client], client_documents=ClientMetadataDocuments()
    )
    settings = AuthSettings(issuer_url=url, resource_server_url=f"{url}/mcp")
    mcp = MCPServer("protected", auth=settings, auth_server_provider=provider)
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve_http, mcp, binds=[f"fd:{listener.detach()}"]))
        yield url
        nursery.cancel_scope.cancel()


async def open_what_is_printed(process: trio.Process) -> bytes:
    """Be the person in front of the suite; gives all that it has printed."""
    assert process.stdout is not None
    output = b""
    opened = False
    async for data in process.stdout:
        output += data
        found = PRINTED.search(output)
        # The suite listens for the redirect a moment after it has said where to go.
        if found and not opened and LISTENS in output:
            opened = True
            async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as browser:
                await browser.get(found.group().decode())
    return output


@pytest.mark.limit(60)
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.req("R-415", "R-419", "R-506")
async def test_scenarios(revision, tmp_path, record_property):
    leg = f"authorization --spec-version {revision}"
    announce(leg, record_property)
    port = free_port()
    # The second scenario goes by what the first has found, so they are run together.
    command = suite_command(
        "authorization", "--spec-version", revision, "--client-id", CLIENT_ID,
        "--port", str(port), "--output-dir", str(tmp_path),
    )  # fmt: skip
    redirect_uri = f"http://127.0.0.1:{port}/callback"
    async with authorization_server(redirect_uri) as url:
        command += ["--url", url, "--resource", f"{url}/mcp"]
        async with trio.open_nursery() as nursery:
            process = await nursery.start(
                partial(
                    trio.run_process,
                    command,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
            )
            output = await open_what_is_printed(process)
    assert process.returncode is not None
    outcome = read_outcome(process.returncode, tmp_path, output.decode())
    outcome.record(leg, record_property)
    outcome.require()
    assert list(outcome.scenarios) == [
        "authorization-code-grant",
        "authorization-server-metadata-endpoint",
    ]
