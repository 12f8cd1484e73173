"""A file that is served over HTTP by one command, and reached by its URL by the others."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from trio_mcp.cli._run_options import _PANELS, _help_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .conftest import Running

    Serve = Callable[..., tuple[Running, str]]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture
def serve(start: Callable[..., Running]) -> Serve:
    """Start to serve a file; gives the command and the URL that it says."""

    def run(file: object, *options: object) -> tuple[Running, str]:
        running = start("run", file, "--port", 0, *options)
        assert running.process.stderr is not None
        line = running.process.stderr.readline()
        found = re.fullmatch(r"\w+: serving at (\S+) \(Ctrl-C ends\)\n", line)
        assert found is not None, line
        return running, found[1]

    return run


@pytest.fixture(scope="module")
def shop_url(shop: Path) -> Iterator[str]:
    """The URL of the shop, for commands that only look at it."""
    command = ["run", str(shop), "-t", "streamable-http", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "trio_mcp.cli", *command], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        yield re.findall(r"http://\S+", process.stderr.readline())[0]
        process.kill()


def test_verbs_take_the_url(cli: Any, shop_url: str) -> None:
    assert "order(article, amount?, gift?)" in cli("list", shop_url).out
    report = cli("inspect", shop_url).json
    assert (report["serverInfo"]["name"], report["protocolVersion"]) == ("shop", "2026-07-28")
    done = cli("call", shop_url, "order", "article=tea", "amount=2", "--json")
    assert done.json["structuredContent"] == {"article": "tea", "amount": 2, "gift": False}
    assert cli("read", shop_url, "shop://hours").out == "9 to 5\n"
    assert "polite" in cli("prompt", shop_url, "complain", "about=tea").out
    done = cli("call", shop_url, "count", "to=2")
    assert (done.status, done.out) == (0, "counted\n")
    assert "2/2 step 2" in done.err
    done = cli("call", shop_url, "fail")
    assert (done.status, done.err) == (1, "Error executing tool fail: sold out\n")


@pytest.mark.parametrize("mode", ["legacy", "2025-03-26", "2026-07-28"])
def test_mode_chooses_the_revision(mode: str, cli: Any, shop_url: str) -> None:
    report = cli("inspect", shop_url, "--mode", mode).json
    assert report["protocolVersion"] == ("2025-11-25" if mode == "legacy" else mode)


@pytest.mark.parametrize("kind", ["streamable-http", "sse", "websocket"])
def test_wire_shows_the_messages(kind: str, cli: Any, serve: Serve, shop: Path) -> None:
    _, url = serve(shop, "--transport", kind)
    done = cli("call", url, "count", "to=2", "--wire", "--mode", "legacy")
    assert done.out == "counted\n"
    shown = [line for line in done.err.splitlines() if line[0] in "→←"]
    messages = [(line[0], json.loads(line[2:])) for line in shown]
    asked = {message["id"] for arrow, message in messages if arrow == "→" and "id" in message}
    answered = [message["id"] for arrow, message in messages if "result" in message]
    assert sorted(asked) == sorted(answered)
    told = [
        message["params"]["progress"]
        for arrow, message in messages
        if arrow == "←" and message.get("method") == "notifications/progress"
    ]
    assert told == [1, 2]


def test_an_old_server_is_found_out(cli: Any, serve: Serve, shop: Path) -> None:
    _, url = serve(shop, "-t", "sse", "--path", "/stream")
    assert url.endswith("/stream")
    for words in ([], ["--transport", "sse"], ["--wire"]):
        assert cli("read", url, "shop://hours", *words).out == "9 to 5\n"
    done = cli("list", url, "--transport", "streamable-http")
    assert done.status == 1
    assert "'POST' is not served here" in done.err


HEADERS = """
from trio_mcp import Context, MCPServer
app = MCPServer("headers")

@app.tool()
def header(name: str, ctx: Context) -> str:
    return str(ctx.headers.get(name))
"""


def test_headers_go_along(cli: Any, serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(HEADERS)
    _, url = serve(file, "--transport", "streamable-http", "--path", "/x")
    words = ("call", url, "header", "name=x-team", "-H", "X-Team:  blue: green ")
    assert cli(*words).out == "blue: green\n"
    assert cli(*words, "--wire", "--header", "X-Team: red").out == "red\n"


PROTECTED = """
from trio_mcp import MCPServer
from trio_mcp.auth import AuthSettings, ClientRegistrationOptions, InMemoryOAuthProvider

app = MCPServer(
    "notes",
    auth=AuthSettings(
        issuer_url={base!r},
        resource_server_url={base!r} + "/mcp",
        client_registration_options=ClientRegistrationOptions(enabled=True),
    ),
    auth_server_provider=InMemoryOAuthProvider(auto_approve="ada"),
)

@app.tool()
def notes() -> str:
    return "milk"
"""


def test_somebody_logs_in_once_for_many_commands(
    cli: Any, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file = tmp_path / "server.py"
    file.write_text(PROTECTED.format(base=f"http://127.0.0.1:{port}"))
    browser = tmp_path / "browser.py"
    browser.write_text("import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BROWSER", f"{sys.executable} {browser} %s")
    _, url = serve(file, "-t", "streamable-http", "--port", port)
    done = cli("call", url, "notes")
    assert done.status == 1
    assert "status 401" in done.err
    words = ("call", url, "notes", "--auth", "browser")
    done = cli(*words, "--wire")
    assert (done.out, done.status) == ("milk\n", 0)
    # Tokens are no messages.
    assert "access_token" not in done.err
    # The next one is logged in already.
    monkeypatch.setenv("BROWSER", "false %s")
    assert cli(*words).out == "milk\n"
    kept = tmp_path / "state" / "trio-mcp" / "tokens.json"
    if sys.platform == "linux":
        assert kept.stat().st_mode & 0o777 == 0o600


def test_options_are_those_of_serving(cli: Any, serve: Serve, shop: Path) -> None:
    _, url = serve(
        shop, "-t", "streamable-http", "--path", "/here", "--allowed-hosts", "shop.example"
    )
    assert url.endswith("/here")
    done = cli("list", url)
    assert done.status == 1
    assert "allowed_hosts" in done.err
    assert "9 to 5" in cli("read", url, "shop://hours", "-H", "Host: shop.example").out


def test_options_override_the_environment(
    cli: Any, serve: Serve, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_PORT", "1")
    monkeypatch.setenv("MCP_STREAMABLE_HTTP_PATH", "/by-environment")
    _, url = serve(shop, "-t", "streamable-http")
    assert url.endswith("/by-environment")
    _, url = serve(shop, "-t", "streamable-http", "--path", "/by-option")
    assert url.endswith("/by-option")


@pytest.mark.parametrize(
    ("number", "says"), [(signal.SIGINT, "interrupted\n"), (signal.SIGTERM, "")]
)
def test_a_signal_ends_it_in_good_order(
    number: int, says: str, start: Any, serve: Serve, shop: Path
) -> None:
    running, url = serve(shop, "-t", "streamable-http")
    call = start("call", url, "work")
    call.wait_for("1/4")
    running.interrupt(number)
    # The call is answered; the server waits for that.
    done = call.end()
    assert (done.status, done.out) == (0, "\x1b[31mdone\n")
    done = running.end()
    assert (done.status, done.out, done.err) == (128 + number, "", says)


def test_interrupted_call_tells_the_server(start: Any, serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(
        "import sys, trio\n"
        "from trio_mcp import Context, MCPServer\n"
        "mcp = MCPServer('waits')\n"
        "@mcp.tool()\n"
        "async def wait(ctx: Context) -> None:\n"
        "    await ctx.report_progress(1, message='waiting')\n"
        "    try:\n"
        "        await trio.sleep_forever()\n"
        "    finally:\n"
        "        print('cancelled', file=sys.stderr, flush=True)\n"
    )
    running, url = serve(file, "-t", "streamable-http")
    call = start("call", url, "wait")
    call.wait_for("1 waiting")
    call.interrupt()
    assert call.end().status == 130
    running.wait_for("cancelled")


def test_a_server_that_is_not_there_is_one_line(cli: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
        done = cli("list", url)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("trio-mcp: ")
    assert url in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("url", "words", "message"),
    [
        ("http://127.0.0.1:99999/mcp", [], "expected a port of at most 65535"),
        ("ws://127.0.0.1:abc/mcp", [], "expected a port of at most 65535"),
        ("ws://[::1/mcp", [], "the URL of a server is http://host/path"),
        ("ftp://127.0.0.1/", [], "the URL of a server is http://host/path"),
        ("http://127.0.0.1:1/\udcff", [], "the URL of a server is http://host/path"),
        ("http://a..b/mcp", [], "expected a host that can be looked up, got 'a..b'"),
        ("ws://me:SECRET@127.0.0.1:1/mcp", [], "use a header"),
        ("ws://127.0.0.1:1/#part", [], "fragment"),
        ("ws://127.0.0.1:1/a b", [], "percent-encoded"),
        ("ws://127.0.0.1:1/mcp", ["-H", "Upgrade: x"], "Upgrade belongs to the opening"),
        ("ws://127.0.0.1:1/mcp", ["-H", "X: \u2603SECRET"], "'X' and its value are no header"),
        ("http://127.0.0.1:1/mcp", ["-H", "X: \u2603SECRET"], "printable ASCII"),
        ("http://127.0.0.1:1/mcp", ["--wire", "-H", "X: \u2603SECRET"], "printable ASCII"),
        ("http://127.0.0.1:1/mcp", ["-t", "sse", "-H", "X: \u2603SECRET"], "printable ASCII"),
    ],
)
def test_a_url_or_a_header_that_cannot_be_used_is_one_line(
    url: str, words: list[str], message: str, cli: Any
) -> None:
    done = cli("list", url, *words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("trio-mcp: ")
    assert message in done.err
    assert "SECRET" not in done.err
    assert done.err.count("\n") == 1


def test_a_port_that_is_taken_is_one_line(cli: Any, shop_url: str, shop: Path) -> None:
    port = shop_url.partition("127.0.0.1:")[2].partition("/")[0]
    done = cli("run", shop, "-t", "sse", "--port", port)
    assert done.status == 1
    assert done.err == (f"trio-mcp: cannot listen on 127.0.0.1:{port}: Address already in use\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["-t", "smoke"],
            "no transport 'smoke'; there are stdio, streamable-http, sse, websocket",
        ),
        (["--port", "80"], "the transport stdio has no option --port"),
        (["--json-response"], "the transport stdio has no option --json-response"),
        (["-t", "sse", "--port", "http"], "--port: expected a whole number, got 'http'"),
        (["-t", "sse", "--port", "-1"], "--port: expected a whole number of at least 0 and at"),
        (["-t", "sse", "--json-response"], "the transport sse has no option --json-response"),
        (["-t", "websocket", "--workers", "2"], "transport websocket has no option --workers"),
        (["-t", "sse", "--host", "a..b"], "--host: expected a host that can be looked up"),
        (["-t", "sse", "--host", "\udcff"], "--host: expected a host that can be looked up"),
        (["-t", "websocket", "--binds", "a..b:80"], "--binds: expected a host that can be"),
        (["-t", "sse", "--binds", "unix:"], "--binds: expected a path, got ''"),
        (["-t", "websocket", "--unix-socket", ""], "--unix-socket: expected a path, got ''"),
        (["-t", "sse", "--path", "a b?x"], "--path: expected the path of a URL, such as /mcp"),
        (["-t", "websocket", "--path", "a#b"], "--path: expected the path of a URL"),
        (["-t", "sse", "--message-path", "a?b"], "--message-path: expected the path of a URL"),
        (["-t", "sse", "--root-path", "api"], "--root-path: expected nothing, or a path with a"),
        (["-t", "sse", "--http2"], "--http2: it needs TLS: give --certfile, too"),
        (["-t", "sse", "--certfile", "gone.pem"], "gone.pem, cannot be read: No such file"),
        (["-t", "sse", "--bogus"], "No such option: --bogus"),
    ],
)
def test_a_wrong_option_is_one_line(words: list[str], message: str, cli: Any, shop: Path) -> None:
    done = cli("run", shop, *words)
    assert done.status == (1 if "--certfile" in words else 2)
    assert done.out == ""
    assert done.err.startswith("trio-mcp: ")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_help_tells_every_option(cli: Any) -> None:
    shown = " ".join(cli("run", "--help").out.replace("│", " ").split())
    assert "--port PORT The port; 0 for a free one." in shown
    assert "MCP_PORT for --port" in shown
    for cls in _PANELS.values():
        assert all(_help_of(cls).values())


@pytest.mark.parametrize(
    ("transport", "variable", "text"),
    [
        ("stdio", "MCP_LOG_LEVEL", "LOUD"),
        ("sse", "MCP_DEBUG", "perhaps"),
        ("streamable-http", "MCP_MAX_SESSIONS", "many"),
        ("sse", "MCP_SSE_PATH", "a?b"),
        ("websocket", "MCP_WEBSOCKET_PATH", "/%2F"),
        ("streamable-http", "MCP_ROOT_PATH", "api"),
    ],
)
def test_a_wrong_variable_is_one_line(
    transport: str, variable: str, text: str, cli: Any, shop: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv(variable, text)
    done = cli("run", shop, "-t", transport)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"trio-mcp: {variable}: expected ")
    assert done.err.endswith(f", got {text!r}\n")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("transport", "variable", "text", "says"),
    [
        ("sse", "MCP_HOST", "a..b", "got 'a..b' (label empty or too long)"),
        ("websocket", "MCP_BINDS", "127.0.0.1:0,unix:", "expected a path, got ''"),
    ],
)
def test_a_variable_that_is_no_address_is_one_line(
    transport: str, variable: str, text: str, says: str, cli: Any, shop: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv(variable, text)
    done = cli("run", shop, "-t", transport)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"trio-mcp: {variable}: expected ")
    assert done.err.endswith(f"{says}\n")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("transport", ["streamable-http", "sse", "websocket"])
def test_a_server_that_anybody_may_call_is_warned_of_once(
    transport: str, start: Callable[..., Running], shop: Path
) -> None:
    running = start("run", shop, "-t", transport, "--host", "0.0.0.0", "--port", 0)
    assert running.process.stderr is not None
    warning = running.process.stderr.readline()
    log = "trio_mcp.websocket" if transport == "websocket" else "trio_mcp.http"
    assert warning.startswith(f"WARNING {log}: 0.0.0.0 can be reached from elsewhere")
    assert "shop: serving at " in running.process.stderr.readline()
    running.interrupt()
    assert running.end().err == "interrupted\n"


@pytest.mark.parametrize("transport", ["streamable-http", "sse", "websocket"])
def test_an_address_that_cannot_be_had_is_one_line(
    transport: str, cli_process: Any, shop: Path
) -> None:
    done = cli_process("run", shop, "-t", transport, "--host", "nosuch.invalid")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("trio-mcp: cannot listen on nosuch.invalid:8000: ")
    assert done.err.count("\n") == 1


LOWLEVEL = "from trio_mcp.server import Server\nmcp = Server('low')"


@pytest.mark.parametrize(
    ("variable", "made", "is_refused"),
    [
        ("MCP_LOG_LEVEL", "from trio_mcp import MCPServer; mcp = MCPServer('high')", True),
        (
            "MCP_LOG_LEVEL",
            "from trio_mcp import MCPServer; mcp = MCPServer('high', log_level='INFO')",
            False,
        ),
        ("MCP_LOG_LEVEL", LOWLEVEL, True),
        ("MCP_LIST_PAGE_SIZE", LOWLEVEL, False),
    ],
)
def test_a_wrong_variable_matters_where_the_server_goes_by_it(
    variable: str, made: str, is_refused: bool, cli_process: Any, tmp_path: Path
) -> None:
    file = tmp_path / "made.py"
    file.write_text(made)
    done = cli_process("run", file, **{variable: "LOUD"})
    assert done.err.count(f"trio-mcp: {variable}: expected") == is_refused
    assert done.err.count("\n") == is_refused
    assert done.status == (2 if is_refused else 0)


@pytest.mark.parametrize("words", [[], ["-t", "sse"], ["-t", "websocket"]])
def test_a_redis_that_is_not_there_is_one_line(
    words: list[str], cli_process: Any, tmp_path: Path
) -> None:
    pytest.importorskip("coredis")
    file = tmp_path / "shared.py"
    file.write_text(SHARED)
    done = cli_process("run", file, *words, *(["--port", "0"] if words else []))
    assert done.status == 1
    assert done.err.startswith("trio-mcp: Redis at redis://127.0.0.1:1/0 cannot be reached")
    assert done.err.count("\n") == 1


SHARED = """
from trio_mcp import MCPServer
from trio_mcp.server import RedisSubscriptionBus
mcp = MCPServer("shared", subscriptions=RedisSubscriptionBus("redis://127.0.0.1:1/0"))
"""
