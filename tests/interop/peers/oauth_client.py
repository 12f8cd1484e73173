"""A person with a browser, and the client of the official SDK.

``python oauth_client.py BACKEND URL [METHOD]``: the client registers itself, for a method of
authentication if one is given, has the person log in, calls tools, asks for more when a tool takes
more, and refreshes its token. What came of it is printed as JSON.
"""

from __future__ import annotations

import json
import re
import sys
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

BACKEND, URL, *_methods = sys.argv[1:]
METHOD: Any = _methods[0] if _methods else None
REDIRECT = "http://127.0.0.1:9/callback"  # nobody listens: the person reads the address bar


class Storage:
    """Keeps everything in memory."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client_info: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client_info

    async def set_client_info(self, client_info: Any) -> None:
        self.client_info = client_info


class Person:
    """Goes where a browser is sent, and logs in."""

    def __init__(self) -> None:
        self.logins: list[str] = []
        self.answer: dict[str, str] = {}

    async def go_to(self, url: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=False) as browser:
            sent = await browser.get(url)
            page = await browser.get(sent.headers["location"])
            fields = dict(re.findall(r'name="([a-z]+)" value="([^"]*)"', page.text))
            self.logins.append(parse_qs(urlsplit(url).query)["scope"][0])
            form = {**fields, "user": "alice", "password": "wonderland", "answer": "allow"}
            action = str(page.url)
            done = await browser.post(action, data=form, headers={"origin": origin_of(action)})
            query = parse_qs(urlsplit(done.headers["location"]).query)
            self.answer = {name: values[0] for name, values in query.items()}

    async def read_address_bar(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**self.answer)


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


async def main() -> None:
    person, storage = Person(), Storage()
    metadata = OAuthClientMetadata(
        client_name="official client",
        redirect_uris=[AnyUrl(REDIRECT)],
        token_endpoint_auth_method=METHOD,
    )
    auth = OAuthClientProvider(URL, metadata, storage, person.go_to, person.read_address_bar)
    report: dict[str, Any] = {}
    async with (
        create_mcp_http_client(auth=auth) as http,
        Client(streamable_http_client(URL, http_client=http)) as client,
    ):
        report["first"] = text_of(await client.call_tool("whoami"))
        report["tokens"] = [storage.tokens.access_token]
        report["more"] = text_of(await client.call_tool("change"))
        report["tokens"].append(storage.tokens.access_token)
        auth.context.token_expiry_time = time.time() - 1
        report["refreshed"] = text_of(await client.call_tool("whoami"))
        report["tokens"].append(storage.tokens.access_token)
    report["logins"] = person.logins
    report["method"] = storage.client_info.token_endpoint_auth_method
    print(json.dumps(report))


def text_of(result: Any) -> str:
    return result.content[0].text


anyio.run(main, backend=BACKEND)
