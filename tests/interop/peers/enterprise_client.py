"""The client of the official SDK, with an identity assertion: ``python enterprise_client.py URL ASSERTION SECRET``.

Prints what the tool ``whoami`` answers.
"""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp import Client
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

URL, ASSERTION, SECRET = sys.argv[1:]
ISSUER = f"{urlsplit(URL).scheme}://{urlsplit(URL).netloc}"


class Storage:
    """Keeps everything in memory."""

    tokens: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return None

    async def set_client_info(self, client_info: Any) -> None:
        raise AssertionError("nobody registers")


async def give_assertion(audience: str, resource: str) -> str:
    assert (audience, resource) == (ISSUER, URL)
    return ASSERTION


async def main() -> None:
    auth = IdentityAssertionOAuthProvider(
        URL, Storage(), "assistant", SECRET, ISSUER, give_assertion, scope="use change"
    )
    async with (
        create_mcp_http_client(auth=auth) as http,
        Client(streamable_http_client(URL, http_client=http)) as client,
    ):
        result: Any = await client.call_tool("whoami")
    print(result.content[0].text)


anyio.run(main)
