"""What hosts are helped with: who may see a tool, and what a user interface may reach."""

from __future__ import annotations

from typing import Any

import pytest

from trio_mcp.client import Client
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.extensions import (
    APP_MIME_TYPE,
    Apps,
    ResourceCsp,
    ToolUI,
    content_security_policy,
    is_callable_by_app,
    read_app,
    tools_for_model,
)
from trio_mcp.mcpserver import MCPServer
from trio_mcp.types import BlobResourceContents, TextResourceContents, Tool

CLOCK = "ui://clock/face.html"


def tool(meta: Any) -> Tool:
    return Tool(name="get_time", input_schema={"type": "object"}, meta=meta)


@pytest.mark.req("R-709", "R-710", "R-665")
@pytest.mark.parametrize(
    ("meta", "for_model", "for_app"),
    [
        (None, True, True),
        ({}, True, True),
        ({"ui": {}}, True, True),
        ({"ui": {"visibility": ["model", "app"]}}, True, True),
        ({"ui": {"visibility": ["model"]}}, True, False),
        ({"ui": {"visibility": ["app"]}}, False, True),
        ({"ui": {"visibility": ["app", "other", 5, {}]}}, False, True),
        # What cannot be read allows nothing.
        ({"ui": {"visibility": []}}, False, False),
        ({"ui": {"visibility": "model"}}, False, False),
        ({"ui": {"visibility": None}}, False, False),
        ({"ui": {"visibility": {"model": 1}}}, False, False),
        ({"ui": "model"}, False, False),
        ({"ui": None}, False, False),
    ],
)
def test_tools_are_for_whom_they_say(meta: Any, for_model: bool, for_app: bool) -> None:
    asked = tool(meta)
    assert (tools_for_model([asked]) == [asked]) is for_model
    assert is_callable_by_app(asked) is for_app


@pytest.mark.parametrize(
    ("meta", "uri"),
    [
        ({"ui": {"resourceUri": CLOCK}}, CLOCK),
        ({"ui/resourceUri": CLOCK}, CLOCK),
        ({"ui": {"visibility": ["app"]}, "ui/resourceUri": CLOCK}, CLOCK),
        ({"ui": {"resourceUri": CLOCK}, "ui/resourceUri": "ui://old"}, CLOCK),
        ({"ui": {"resourceUri": "https://example.com"}}, None),
        ({"ui": {"resourceUri": 5}}, None),
        ({"ui": {}}, None),
        (None, None),
    ],
)
def test_the_user_interface_of_a_tool_is_found(meta: Any, uri: str | None) -> None:
    assert ToolUI.of(tool(meta)).resource_uri == uri


DEFAULT = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; "
    "object-src 'none'; base-uri 'self'"
)


@pytest.mark.parametrize("csp", [None, ResourceCsp(), ResourceCsp(connect_domains=[])])
def test_what_declares_nothing_reaches_nothing(csp: ResourceCsp | None) -> None:
    assert content_security_policy(csp) == DEFAULT


def test_a_policy_allows_what_was_declared() -> None:
    policy = content_security_policy(
        ResourceCsp(
            connect_domains=["https://api.example.com:8443", "wss://live.example.com"],
            resource_domains=["https://*.cdn.example.com/fonts/"],
            frame_domains=["https://player.example.com"],
            base_uri_domains=["https://example.com"],
        )
    )
    assert policy.split("; ") == [
        "default-src 'none'",
        "script-src 'self' 'unsafe-inline' https://*.cdn.example.com/fonts/",
        "style-src 'self' 'unsafe-inline' https://*.cdn.example.com/fonts/",
        "img-src 'self' data: https://*.cdn.example.com/fonts/",
        "font-src 'self' https://*.cdn.example.com/fonts/",
        "media-src 'self' data: https://*.cdn.example.com/fonts/",
        "connect-src https://api.example.com:8443 wss://live.example.com",
        "frame-src https://player.example.com",
        "object-src 'none'",
        "base-uri https://example.com",
    ]


@pytest.mark.req("R-665")
@pytest.mark.parametrize(
    "source",
    [
        "*",
        "https:",
        "https://*",
        "data:",
        "blob:",
        "'unsafe-eval'",
        "'self'",
        "https://a.example; script-src *",
        "https://a.example, script-src *",
        "https://a.example\nscript-src *",
        "https://a.example https://b.example",
        "https://a.example\n",
        "javascript:alert(1)",
        "",
        "https://",
        "https://a..example",
        "https://user@a.example",
    ],
)
def test_what_is_no_origin_is_left_out(source: str) -> None:
    everywhere = ResourceCsp(
        connect_domains=[source],
        resource_domains=[source],
        frame_domains=[source],
        base_uri_domains=[source],
    )
    assert content_security_policy(everywhere) == DEFAULT


def serving(contents: list[Any] | None = None) -> MCPServer[Any]:
    apps = Apps()
    apps.add_html_resource(CLOCK, "<p>", csp=ResourceCsp(frame_domains=["https://a.example"]))

    async def change(ctx: Any, call_next: Any) -> Any:
        answer = await call_next(ctx)
        if ctx.method == "resources/read" and contents is not None:
            return answer.evolve(contents=contents)
        return answer

    return MCPServer("clock", extensions=[apps], middleware=[change])


async def test_a_user_interface_is_read_with_its_policy() -> None:
    async with Client(serving()) as client:
        app = await read_app(client, CLOCK)
        assert (app.uri, app.html) == (CLOCK, "<p>")
        assert "frame-src https://a.example" in app.content_security_policy


async def test_a_user_interface_may_come_as_bytes() -> None:
    blob = BlobResourceContents(uri=CLOCK, blob="PHA+w6k=", mime_type=APP_MIME_TYPE)
    async with Client(serving([blob])) as client:
        assert (await read_app(client, CLOCK)).html == "<p>é"


def text(**options: Any) -> TextResourceContents:
    return TextResourceContents(
        **{"uri": CLOCK, "text": "<p>", "mime_type": APP_MIME_TYPE, **options}
    )


@pytest.mark.req("R-665", "R-704")
@pytest.mark.parametrize(
    "contents",
    [
        [text(mime_type="text/html")],
        [text(mime_type=None)],
        [],
        [text(), text()],
        [text(), text(uri="ui://clock/other.html")],
        [text(uri="ui://clock/other.html")],
        [text(uri="ui://clock/face.html/")],
        [BlobResourceContents(uri="ui://other", blob="PHA+", mime_type=APP_MIME_TYPE)],
        [text(meta={"ui": {"csp": {"connectDomains": "https://a.example"}}})],
        [text(meta={"ui": {"csp": 5}})],
        [text(meta={"ui": 5})],
        [BlobResourceContents(uri=CLOCK, blob="!", mime_type=APP_MIME_TYPE)],
        [BlobResourceContents(uri=CLOCK, blob="/w==", mime_type=APP_MIME_TYPE)],
    ],
)
async def test_what_is_no_user_interface_is_refused(contents: list[Any]) -> None:
    async with Client(serving(contents)) as client:
        with pytest.raises(InvalidResponse, match=CLOCK):
            await read_app(client, CLOCK)


async def test_a_user_interface_is_read_by_a_session_too() -> None:
    async with Client(serving()) as client:
        assert (await read_app(client.session, CLOCK)).html == "<p>"
        with pytest.raises(TypeError, match="client"):
            await read_app("client", CLOCK)


async def test_only_user_interfaces_are_read() -> None:
    async with Client(serving()) as client:
        with pytest.raises(ValueError, match="ui://"):
            await read_app(client, "file:///etc/passwd")
        with pytest.raises(MCPError) as caught:
            await read_app(client, "ui://clock/nope")
        assert caught.value.is_resource_not_found
