"""Tools with a user interface, and what hosts find of it."""

from __future__ import annotations

import logging
from base64 import b64decode
from typing import Any

import pytest

from trio_mcp.client import Client, advertise
from trio_mcp.extensions import (
    APP_MIME_TYPE,
    Apps,
    AppsClientExtension,
    ResourceCsp,
    ResourcePermissions,
    client_supports_apps,
)
from trio_mcp.mcpserver import BinaryResource, Context, FileResource, MCPServer, TextResource
from trio_mcp.types import CallToolResult, TextContent

UI = "io.modelcontextprotocol/ui"
CLOCK = "ui://clock/face.html"
HTML = "<!doctype html><title>Clock</title>"

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


def clock(**options: Any) -> tuple[Apps, MCPServer[Any]]:
    apps = Apps()

    @apps.tool(resource_uri=CLOCK, **options)
    def get_time(ctx: Context) -> str:
        return "shown" if client_supports_apps(ctx) else "12:00"

    apps.add_html_resource(CLOCK, HTML)
    return apps, MCPServer("clock", extensions=[apps])


@pytest.mark.req("R-704", "R-705")
@both_eras
async def test_a_tool_names_its_user_interface_which_can_be_read(mode: str) -> None:
    _, mcp = clock(title="Time")
    async with Client(mcp, mode=mode, extensions=[AppsClientExtension()]) as client:
        assert client.server_capabilities.extensions == {UI: {}}
        [tool] = (await client.list_tools()).tools
        assert (tool.name, tool.title) == ("get_time", "Time")
        assert tool.meta == {"ui": {"resourceUri": CLOCK}}
        [content] = (await client.read_resource(CLOCK)).contents
        assert (content.mime_type, content.text, content.meta) == (APP_MIME_TYPE, HTML, None)
        [listed] = (await client.list_resources()).resources
        assert (listed.uri, listed.name, listed.mime_type) == (CLOCK, CLOCK, APP_MIME_TYPE)


@pytest.mark.parametrize(
    ("visibility", "written"),
    [
        (["model"], ["model"]),
        (("app",), ["app"]),
        (["app", "model", "app"], ["app", "model"]),
    ],
)
async def test_for_whom_a_tool_is_stands_with_its_user_interface(
    visibility: Any, written: list[str]
) -> None:
    _, mcp = clock(visibility=visibility, meta={"com.example/ink": 1})
    async with Client(mcp) as client:
        [tool] = (await client.list_tools()).tools
        assert tool.meta == {
            "com.example/ink": 1,
            "ui": {"resourceUri": CLOCK, "visibility": written},
        }


async def test_a_user_interface_says_what_it_would_like_to_use() -> None:
    apps = Apps()
    apps.add_html_resource(
        CLOCK,
        HTML,
        name="face",
        title="Face",
        description="Shows the time",
        csp=ResourceCsp(connect_domains=["https://time.example.com"], frame_domains=[]),
        permissions=ResourcePermissions(clipboard_write={}),
        domain="clock",
        prefers_border=False,
    )
    ui = {
        "csp": {"connectDomains": ["https://time.example.com"], "frameDomains": []},
        "permissions": {"clipboardWrite": {}},
        "domain": "clock",
        "prefersBorder": False,
    }
    async with Client(MCPServer("clock", extensions=[apps])) as client:
        [listed] = (await client.list_resources()).resources
        assert (listed.name, listed.title, listed.description) == (
            "face",
            "Face",
            "Shows the time",
        )
        [content] = (await client.read_resource(CLOCK)).contents
        assert content.meta == listed.meta == {"ui": ui}


async def test_a_file_may_be_a_user_interface(tmp_path: Any) -> None:
    (tmp_path / "face.html").write_text(HTML)
    apps = Apps()
    apps.add_resource(FileResource(uri=CLOCK, path=tmp_path / "face.html"))
    async with Client(MCPServer("clock", extensions=[apps])) as client:
        [content] = (await client.read_resource(CLOCK)).contents
        assert (content.mime_type, content.text) == (APP_MIME_TYPE, HTML)
        assert (await client.list_resources()).resources[0].mime_type == APP_MIME_TYPE


@pytest.mark.req("R-704")
async def test_a_user_interface_may_be_bytes() -> None:
    apps = Apps()
    apps.add_resource(BinaryResource(uri=CLOCK, data=HTML.encode()))
    async with Client(MCPServer("clock", extensions=[apps])) as client:
        [content] = (await client.read_resource(CLOCK)).contents
        assert (content.mime_type, b64decode(content.blob)) == (APP_MIME_TYPE, HTML.encode())


@pytest.mark.req("R-704")
@pytest.mark.parametrize("uri", ["https://clock/face.html", "ui:face", "UI://clock", "", "ui://"])
def test_another_uri_is_refused(uri: str) -> None:
    apps = Apps()
    with pytest.raises(ValueError, match="ui://"):
        apps.add_html_resource(uri, HTML)
    with pytest.raises(ValueError, match="ui://"):
        apps.tool(resource_uri=uri)


@pytest.mark.req("R-704")
@pytest.mark.parametrize("mime_type", ["text/html", "text/html;profile=other", "text/plain"])
def test_another_type_is_refused(mime_type: str) -> None:
    with pytest.raises(ValueError, match=r"hosts show text/html;profile=mcp-app alone"):
        Apps().add_resource(TextResource(uri=CLOCK, text=HTML, mime_type=mime_type))


@pytest.mark.req("R-705")
@pytest.mark.parametrize("options", [{}, {"name": "get_time"}])
def test_a_tool_without_its_user_interface_is_refused(options: dict[str, Any]) -> None:
    apps = Apps()
    apps.add_html_resource("ui://clock/other.html", HTML)
    apps.tool(resource_uri=CLOCK, **options)(lambda: "12:00")
    with pytest.raises(ValueError, match=f"{CLOCK!r}, and there is none"):
        MCPServer("clock", extensions=[apps])


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"meta": {"ui": {}}}, ValueError, "'ui' is written by resource_uri="),
        ({"meta": []}, None, ""),
        ({"meta": [1]}, TypeError, "meta"),
        ({"visibility": []}, ValueError, "for the model, for apps, or for both"),
        ({"visibility": "model"}, TypeError, "put it into a list"),
        ({"visibility": ["user"]}, ValueError, "one of 'model', 'app'"),
        ({"resource_uri": 5}, TypeError, "resource_uri"),
    ],
)
def test_wrong_arguments_are_told_at_once(options: Any, error: Any, why: str) -> None:
    arguments = {"resource_uri": CLOCK, **options}
    if error is None:
        Apps().tool(**arguments)
        return
    with pytest.raises(error, match=why):
        Apps().tool(**arguments)


def test_nothing_is_added_when_the_server_is_made() -> None:
    apps, _ = clock()
    with pytest.raises(RuntimeError, match="before MCPServer"):
        apps.tool(resource_uri=CLOCK)
    with pytest.raises(RuntimeError, match="before MCPServer"):
        apps.add_html_resource("ui://clock/other.html", HTML)


# Who can show it


@pytest.mark.req("R-707", "R-664", "R-665")
@both_eras
@pytest.mark.parametrize(
    ("settings", "can"),
    [
        ({"mimeTypes": [APP_MIME_TYPE]}, True),
        ({"mimeTypes": ["image/png", "text/html; profile=mcp-app"]}, True),
        ({"mimeTypes": ["text/html"]}, False),
        ({"mimeTypes": []}, False),
        ({"mimeTypes": APP_MIME_TYPE}, False),
        ({"mimeTypes": {APP_MIME_TYPE: 1}}, False),
        ({"mimeTypes": [5, None]}, False),
        ({}, False),
        (None, False),
    ],
)
async def test_a_client_that_cannot_show_it_gets_text(mode: str, settings: Any, can: bool) -> None:
    _, mcp = clock()
    extensions = [] if settings is None else [advertise(UI, settings)]
    async with Client(mcp, mode=mode, extensions=extensions) as client:
        result = await client.call_tool("get_time", {})
        assert result.content[0].text == ("shown" if can else "12:00")


@pytest.mark.req("R-708")
@both_eras
async def test_a_host_declares_what_it_shows(mode: str) -> None:
    declared: list[Any] = []

    async def look(ctx: Any, call_next: Any) -> Any:
        declared.append(ctx.session.client_capabilities.extensions)
        return await call_next(ctx)

    mcp = MCPServer("clock", middleware=[look])
    async with Client(mcp, mode=mode, extensions=[AppsClientExtension()]) as client:
        await client.list_tools()
    assert declared[-1] == {UI: {"mimeTypes": [APP_MIME_TYPE]}}


# Content beside the user interface


@pytest.mark.req("R-706")
async def test_a_result_that_nobody_else_can_see_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    apps = Apps()
    apps.add_html_resource(CLOCK, HTML)

    @apps.tool(resource_uri=CLOCK)
    def empty() -> CallToolResult:
        return CallToolResult(content=[], structured_content={"time": 12})

    @apps.tool(resource_uri=CLOCK, name="full")
    def other() -> CallToolResult:
        return CallToolResult(content=[TextContent(text="12:00")])

    mcp = MCPServer("clock", extensions=[apps])

    @mcp.tool()
    def plain() -> CallToolResult:
        return CallToolResult(content=[])

    with caplog.at_level(logging.WARNING, "trio_mcp.extensions"):
        async with Client(mcp) as client:
            for name in ("empty", "full", "plain", "empty"):
                await client.call_tool(name, {})
    [message] = caplog.messages
    assert "The tool 'empty' returned no content beside its user interface" in message


@pytest.mark.parametrize(
    ("options", "why"),
    [
        # The names of the wire are not these, and a host would leave out what it does not know.
        ({"csp": {"connect_domains": ["https://a.example"]}}, "csp: expected ResourceCsp, got"),
        ({"permissions": {"camera": {}}}, "permissions: expected ResourcePermissions, got dict"),
        ({"csp": ResourceCsp(connect_domains=[5])}, "connect_domains: expected str, got int"),  # type: ignore[list-item]
        ({"domain": 5}, "domain: expected str, got int"),
        ({"prefers_border": 1}, "prefers_border: expected bool, got int"),
    ],
)
def test_what_a_user_interface_would_like_is_said_in_its_types(options: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        Apps().add_html_resource(CLOCK, "<p>", **options)
