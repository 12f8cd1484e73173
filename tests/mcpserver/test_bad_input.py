"""Bad input as users meet it: one clear error to the one who asked, all others unharmed."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trio_mcp.client import Client
from trio_mcp.errors import MCPError, RequestTimeout
from trio_mcp.mcpserver import (
    Context,
    DirectoryResource,
    FileResource,
    MCPServer,
    TextResource,
    safe_join,
)
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    PromptReference,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])
every_road = pytest.mark.parametrize("as_text", [False, True], ids=["direct", "text"])


@asynccontextmanager
async def connected(mcp: MCPServer, *, as_text: bool, **options: Any) -> AsyncGenerator[Client]:
    """A client in memory: with the server in its own tasks, or by JSON text."""
    if not as_text:
        async with Client(mcp, **options) as client:
            yield client
        return
    near, far = open_memory_channel_pair(as_text=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mcp.lowlevel_server.run, far)
        async with Client(near, **options) as client:
            yield client
        nursery.cancel_scope.cancel()


async def code_of(call: Any) -> int:
    with pytest.raises(MCPError) as caught:
        await call
    assert len(caught.value.message) < 200
    return caught.value.code


def text_of(result: Any) -> str:
    return str(result.content[0].text)


# Cursors


ODD_CURSORS = ["", "next", "YQ", "YQ==x", "null", "\u2028", "-1", "' OR 1=1", "a" * 10_000]


@both_eras
@every_road
async def test_cursors_that_are_not_ours_are_refused_one_by_one(mode: str, as_text: bool) -> None:
    mcp = MCPServer(list_page_size=1)
    for name in "abc":
        mcp.add_tool(lambda: 0, name)
        mcp.prompt(name)(lambda: "")
        mcp.add_resource(TextResource(uri=f"x://{name}", text=""))
        mcp.resource(f"y://{name}/{{v}}", name=name)(lambda v: v)
    async with connected(mcp, as_text=as_text, mode=mode) as client:
        foreign = (await client.list_resources()).next_cursor
        for cursor in (*ODD_CURSORS, foreign):
            assert await code_of(client.list_tools(cursor=cursor)) == -32602
            assert await code_of(client.list_prompts(cursor=cursor)) == -32602
            assert await code_of(client.list_resource_templates(cursor=cursor)) == -32602
        for cursor in ODD_CURSORS:
            assert await code_of(client.list_resources(cursor=cursor)) == -32602
        assert [tool.name async for tool in client.iter_tools()] == list("abc")


# URIs


CLIMBING = [
    "../secret.txt", "a/../../secret.txt", "..%2Fsecret.txt", "%2e%2e/secret.txt", "..\\secret.txt",
    "%2e%2e%5csecret.txt", "/etc/passwd", "%2Fetc%2Fpasswd", "C:%5Csecret.txt", "a%00.txt",
    "..", "....//secret.txt/../../..",
]  # fmt: skip


@both_eras
@pytest.mark.parametrize("path", CLIMBING)
async def test_uris_that_climb_out_read_nothing(mode: str, path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "a.txt").write_text("a")
    mcp = MCPServer()
    opened: list[str] = []

    @mcp.resource("docs://files/{+path}")
    def file(path: str) -> str:
        opened.append(path)
        return (shown / path).read_text()

    mcp.add_resource(DirectoryResource(uri="docs://all", path=shown))
    mcp.add_resource(FileResource(uri="docs://a", path=shown / "a.txt"))
    async with Client(mcp, mode=mode) as client:
        assert await code_of(client.read_resource(f"docs://files/{path}")) in (-32602, -32002)
        assert opened == []
        assert await code_of(client.read_resource(f"docs://all/{path}")) in (-32602, -32002)
        [good] = (await client.read_resource("docs://files/a.txt")).contents
        assert getattr(good, "text", "") == "a"


@both_eras
@pytest.mark.parametrize("path", ["out/secret.txt", "out", "gone/../out/secret.txt"])
async def test_a_link_that_leads_out_is_answered_as_if_nothing_were_there(
    mode: str, path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "out").symlink_to(tmp_path, target_is_directory=True)
    mcp = MCPServer()

    @mcp.resource("docs://files/{+path}")
    def file(path: str) -> str:
        return safe_join(shown, path).read_text()

    async with Client(mcp, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"docs://files/{path}")
        with pytest.raises(MCPError) as climbing:
            await client.read_resource("docs://files/../secret.txt")
    assert str(caught.value) == f"Unknown resource: docs://files/{path}"
    assert caught.value.code == climbing.value.code
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@both_eras
async def test_of_templates_that_overlap_the_first_one_answers_whatever_it_says(mode: str) -> None:
    mcp = MCPServer()

    @mcp.resource("x://fixed/one")
    def fixed() -> str:
        return "fixed"

    @mcp.resource("x://{kind}/{name}")
    def narrow(kind: str, name: int) -> str:
        return f"narrow {kind} {name}"

    @mcp.resource("x://{+rest}")
    def wide(rest: str) -> str:
        return f"wide {rest}"

    async with Client(mcp, mode=mode) as client:

        async def read(uri: str) -> str:
            [contents] = (await client.read_resource(uri)).contents
            return str(getattr(contents, "text", ""))

        # A resource of its own comes before every template.
        assert await read("x://fixed/one") == "fixed"
        assert await read("x://a/1") == "narrow a 1"
        assert await read("x://a/b/c") == "wide a/b/c"
        # The first that matches decides: another might be less careful.
        assert await code_of(client.read_resource("x://a/one")) in (-32602, -32002)


# Callbacks


FORM = ElicitRequest(
    params=ElicitRequestFormParams(
        message="Well?", requested_schema={"type": "object", "properties": {}}
    )
)


def asking_server() -> MCPServer:
    mcp = MCPServer("asks")

    @mcp.tool()
    async def ask(ctx: Context) -> str | InputRequiredResult:
        if ctx.input_responses is None:
            return InputRequiredResult(input_requests={"q": FORM})
        return "answered"

    @mcp.tool()
    async def count(ctx: Context) -> str:
        for done in range(3):
            await ctx.report_progress(done + 1, 3)
        return "counted"

    @mcp.tool()
    def calm() -> str:
        return "calm"

    return mcp


@both_eras
@every_road
async def test_a_callback_that_raises_ends_its_own_call(
    mode: str, as_text: bool, caplog: Any
) -> None:
    async def broken(context: Any, params: Any) -> ElicitResult:
        raise KeyError("secret")

    async def broken_progress(progress: float, total: float | None, message: str | None) -> None:
        raise KeyError("secret")

    async with connected(
        asking_server(), as_text=as_text, mode=mode, elicitation_callback=broken
    ) as client:
        # In the newer era the callback is a step of the caller's own call.
        expected = KeyError if mode == "auto" else MCPError
        with pytest.raises(expected) as caught:
            await client.call_tool("ask")
        if mode == "legacy":
            assert "secret" not in str(caught.value)
            assert "secret" in caplog.text
        caplog.clear()
        # A listener is no part of the call: what it raises is logged.
        counted = await client.call_tool("count", progress_callback=broken_progress)
        assert text_of(counted) == "counted"
        assert "KeyError: 'secret'" in caplog.text
        assert text_of(await client.call_tool("calm")) == "calm"
        assert text_of(await client.call_tool("count")) == "counted"


@both_eras
@every_road
async def test_a_callback_that_never_returns_holds_up_its_own_call_alone(
    mode: str, as_text: bool, autojump_clock: Any
) -> None:
    ended: list[str] = []

    async def forever(context: Any, params: Any) -> ElicitResult:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("question")
        raise AssertionError

    async def stuck(progress: float, total: float | None, message: str | None) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("progress")

    async with connected(
        asking_server(), as_text=as_text, mode=mode, elicitation_callback=forever
    ) as client:
        async with trio.open_nursery() as nursery:
            for call in (
                lambda: client.call_tool("ask"),
                lambda: client.call_tool("count", progress_callback=stuck),
            ):
                nursery.start_soon(call)
            await wait_all_tasks_blocked()
            for _ in range(3):
                assert text_of(await client.call_tool("calm")) == "calm"
            assert ended == []
            nursery.cancel_scope.cancel()
        await wait_all_tasks_blocked()
        assert sorted(ended) == ["progress", "question"]
        if mode == "legacy":
            with pytest.raises(RequestTimeout):
                await client.call_tool("ask", read_timeout_seconds=5)
        else:
            # No request is under way while the user thinks: only the caller's scope ends that.
            with trio.move_on_after(5) as scope:
                await client.call_tool("ask", read_timeout_seconds=1)
            assert scope.cancelled_caught
        assert text_of(await client.call_tool("calm")) == "calm"


@both_eras
@every_road
@pytest.mark.parametrize("kind", ["raises", "never returns"])
async def test_listeners_that_fail_or_hang_harm_no_call(
    mode: str, as_text: bool, kind: str, autojump_clock: Any
) -> None:
    mcp = asking_server()
    heard: list[str] = []

    async def bad(message: Any) -> None:
        heard.append(type(message).__name__)
        if kind == "raises":
            raise ValueError("no")
        await trio.sleep_forever()

    async with connected(
        mcp, as_text=as_text, mode=mode, message_handler=bad, logging_callback=bad,
        log_level="debug",
    ) as client:  # fmt: skip

        @mcp.tool()
        async def chatter(ctx: Context) -> str:
            for _ in range(5):
                await ctx.session.send_log_message("error", "hello")
            return "done"

        for _ in range(3):
            assert text_of(await client.call_tool("chatter")) == "done"
        await wait_all_tasks_blocked()
        assert heard
        assert text_of(await client.call_tool("calm")) == "calm"


# Functions of the server


async def misbehave(kind: str) -> list[str]:
    if kind == "hang":
        await trio.sleep_forever()
    raise OSError("secret")


def misbehaving_server() -> MCPServer:
    mcp = MCPServer("bad")

    @mcp.tool()
    async def hang() -> None:
        await misbehave("hang")

    @mcp.tool()
    def calm() -> str:
        return "calm"

    @mcp.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> list[str]:
        return await misbehave(argument.value)

    mcp.resource("x://{kind}")(misbehave)
    mcp.prompt("prompt")(misbehave)
    return mcp


def calls_of(client: Client, kind: str) -> list[Any]:
    ref = PromptReference(name="prompt")
    return [
        lambda: client.read_resource(f"x://{kind}"),
        lambda: client.get_prompt("prompt", {"kind": kind}),
        lambda: client.complete(ref, {"name": "kind", "value": kind}),
    ]


@both_eras
@every_road
async def test_functions_that_fail_or_hang_harm_no_other_call(
    mode: str, as_text: bool, autojump_clock: Any, caplog: Any
) -> None:
    async with connected(misbehaving_server(), as_text=as_text, mode=mode) as client:
        async with trio.open_nursery() as nursery:
            for call in (*calls_of(client, "hang"), lambda: client.call_tool("hang")):
                nursery.start_soon(call)
            await wait_all_tasks_blocked()
            for call in calls_of(client, "fail"):
                with pytest.raises(MCPError) as caught:
                    await call()
                assert caught.value.code == -32603
                assert "secret" not in caught.value.message
            assert text_of(await client.call_tool("calm")) == "calm"
            nursery.cancel_scope.cancel()
        assert text_of(await client.call_tool("calm")) == "calm"
    assert caplog.text.count("OSError: secret") == 3
