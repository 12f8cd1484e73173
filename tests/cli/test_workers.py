"""A file that is served by several processes."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Running

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

HTTP = ("-t", "streamable-http", "--port", "0")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_workers_serve_a_file(
    cli: Any, start: Callable[..., Running], shop: Path, number: signal.Signals
) -> None:
    running = start("run", shop, *HTTP, "--stateless-http", "--workers", "2")
    assert running.process.stderr is not None
    line = running.process.stderr.readline()
    found = re.fullmatch(r"shop: serving at (\S+), by 2 workers \(Ctrl-C ends\)\n", line)
    assert found is not None, line
    done = cli("call", found[1], "order", "article=tea", "--json")
    assert done.json["structuredContent"]["article"] == "tea"
    running.process.send_signal(number)
    assert running.process.wait(25) == 128 + number
    told = running.process.stderr.read()
    assert told == ("interrupted\n" if number == signal.SIGINT else "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*HTTP, "--workers", "2"], "--workers: 2 processes need --stateless-http"),
        ([*HTTP, "--workers", "0"], "--workers: expected a whole number of at least 1, got 0"),
        ([*HTTP, "--workers", "many"], "--workers: expected a whole number, got 'many'"),
        (["-t", "sse", "--workers", "2"], "the transport sse has no option --workers"),
        (["--workers", "2"], "the transport stdio has no option --workers"),
    ],
)
def test_what_needs_one_process_is_refused(
    words: list[str], message: str, cli: Any, shop: Path
) -> None:
    done = cli("run", shop, *words)
    assert done.status == 2
    assert done.err == f"trio-mcp: {done.err.removeprefix('trio-mcp: ')}"
    assert message in done.err
    assert done.err.count("\n") == 1


AUTHORIZATION_SERVER = """
from trio_mcp import MCPServer
from trio_mcp.auth import AuthSettings, InMemoryOAuthProvider

auth = AuthSettings(
    issuer_url="https://notes.example", resource_server_url="https://notes.example/mcp"
)
mcp = MCPServer("notes", auth=auth, auth_server_provider=InMemoryOAuthProvider({"ada": "pw"}))
"""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            [*HTTP, "--stateless-http", "--workers", "2"],
            "--workers: expected 1, since InMemoryOAuthProvider keeps clients, logins and tokens",
        ),
        (["-t", "websocket"], "'https://notes.example' has no endpoints over a WebSocket"),
    ],
)
def test_authorization_server_that_nobody_could_use_is_refused(
    words: list[str], message: str, cli: Any, tmp_path: Path
) -> None:
    file = tmp_path / "notes.py"
    file.write_text(AUTHORIZATION_SERVER)
    done = cli("run", file, *words)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_variable_that_needs_another_one_is_named(
    cli: Any, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_WORKERS", "2")
    done = cli("run", shop, *HTTP)
    assert done.status == 2
    assert done.err == (
        "trio-mcp: MCP_WORKERS: 2 processes need MCP_STATELESS_HTTP=true, since the sessions of "
        "older clients live in one process each\n"
    )


def test_an_address_that_is_taken_is_one_line(cli: Any, shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "none" / "socket"
    words = ["-t", "streamable-http", "--unix-socket", path, "--stateless-http", "--workers", "2"]
    done = cli("run", shop, *words)
    assert done.status == 1
    assert done.err == f"trio-mcp: cannot listen on unix:{path}: No such file or directory\n"


def test_a_server_that_cannot_start_says_why_once(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "from contextlib import asynccontextmanager\n"
        "from trio_mcp import MCPServer\n"
        "@asynccontextmanager\n"
        "async def lifespan(server):\n"
        "    raise RuntimeError('no database')\n"
        "    yield\n"
        "mcp = MCPServer('broken', lifespan=lifespan)\n"
    )
    running = start("run", file, *HTTP, "--stateless-http", "--workers", "3")
    assert running.process.stderr is not None
    said = running.process.stderr.read()
    assert running.process.wait(25) == 1
    assert said.count("RuntimeError: no database") == 1


def test_a_host_that_nobody_knows_is_one_line(cli: Any, shop: Path) -> None:
    words = ["--host", "nosuch.invalid", "--stateless-http", "--workers", "2"]
    done = cli("run", shop, "-t", "streamable-http", *words)
    assert done.status == 1
    assert done.err.startswith("trio-mcp: cannot listen on nosuch.invalid:8000: ")
    assert done.err.count("\n") == 1


def test_a_redis_that_is_not_there_is_one_line(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    pytest.importorskip("coredis")
    file = tmp_path / "shared.py"
    file.write_text(
        "from trio_mcp import MCPServer\n"
        "from trio_mcp.server import RedisSubscriptionBus\n"
        "bus = RedisSubscriptionBus('redis://127.0.0.1:1/0')\n"
        "mcp = MCPServer('shared', subscriptions=bus)\n"
    )
    running = start("run", file, *HTTP, "--stateless-http", "--workers", "2")
    assert running.process.stderr is not None
    said = running.process.stderr.read()
    assert running.process.wait(25) == 1
    assert said.startswith("shared: Redis at redis://127.0.0.1:1/0 cannot be reached")
    assert said.count("\n") == 1
