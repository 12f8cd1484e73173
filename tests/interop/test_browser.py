"""A person logs in with a real browser: page, consent, redirect, token, tool call."""

from __future__ import annotations

import shutil
import socket
import threading
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

from trio_mcp import Client, MCPServer, OAuth
from trio_mcp.auth import (
    AuthSettings,
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    LoopbackCallback,
    OAuthFlowError,
    get_access_token,
)
from trio_mcp.transports import serve_http

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip


@pytest.fixture
def browser(tmp_path):
    pytest.importorskip("selenium", reason="selenium drives the browser; see noxfile.py")
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path}"):
        options.add_argument(flag)
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


class Person:
    """Sits in front of a browser; called in a thread, as browsers are opened."""

    def __init__(self, browser: Any, answer: str) -> None:
        self.browser = browser
        self.answer = answer
        self.page = ""
        self.last_page = ""
        self.is_done = threading.Event()

    def open_page(self, url: str) -> None:
        try:
            self._log_in(url)
        finally:
            self.is_done.set()

    async def wait_done(self) -> None:
        """Wait until the last page is read: the client goes on before that."""
        await trio.to_thread.run_sync(self.is_done.wait, 60)

    def _log_in(self, url: str) -> None:
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.ui import WebDriverWait

        browser = self.browser
        browser.get(url)
        self.page = browser.find_element(By.TAG_NAME, "main").text
        if self.answer == "allow":
            browser.find_element(By.NAME, "user").send_keys("alice")
            browser.find_element(By.NAME, "password").send_keys("wonderland")
        browser.find_element(By.CSS_SELECTOR, f"button[value={self.answer}]").click()
        WebDriverWait(browser, 20).until(lambda _: "/callback" in browser.current_url)
        self.last_page = browser.find_element(By.TAG_NAME, "body").text


def make_server(url: str) -> MCPServer:
    settings = AuthSettings(
        issuer_url=url,
        resource_server_url=f"{url}/mcp",
        required_scopes=["notes"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["notes"]
        ),
    )
    provider = InMemoryOAuthProvider({"alice": "wonderland"}, resources=[f"{url}/mcp"])
    mcp = MCPServer("notes", auth=settings, auth_server_provider=provider)

    @mcp.tool()
    def whoami() -> str:
        token = get_access_token()
        assert token is not None
        return f"{token.subject} may {' '.join(token.scopes)}"

    return mcp


@asynccontextmanager
async def protected_server():
    """Serve until the block is left; gives the URL."""
    # The port has to be known before the server is made: it is in all names of OAuth.
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with trio.open_nursery() as nursery:
        serve = partial(serve_http, make_server(url), binds=[f"fd:{listener.detach()}"])
        await nursery.start(serve)
        yield f"{url}/mcp"
        nursery.cancel_scope.cancel()


def auth_with(person: Person) -> OAuth:
    callback = LoopbackCallback(open_browser=person.open_page)
    return OAuth(client_name="My agent", callback=callback)


@pytest.mark.limit(90)
async def test_person_consents_and_the_tool_is_called_in_their_name(browser):
    person = Person(browser, "allow")
    async with protected_server() as url, Client(url, auth=auth_with(person)) as client:
        result = await client.call_tool("whoami", {})
        await person.wait_done()
    assert result.content[0].text == "alice may notes"
    assert "My agent" in person.page
    assert "127.0.0.1" in person.page
    assert "notes" in person.page
    assert "You can close this window" in person.last_page


@pytest.mark.limit(90)
async def test_person_refuses_and_the_client_ends_with_one_error(browser):
    person = Person(browser, "deny")
    async with protected_server() as url:
        with pytest.raises(OAuthFlowError, match="refused"):
            async with Client(url, auth=auth_with(person)):
                pass
        await person.wait_done()
    assert "You can close this window" in person.last_page
