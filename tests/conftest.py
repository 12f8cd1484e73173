from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from trio_mcp._rpc._late_signals import take_signals_as_ever

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from trio_mcp.client import Client

# Times vary too much on a shared machine for a deadline per example; the limit of a test holds.
hypothesis.settings.register_profile("trio_mcp", deadline=None, print_blob=True)
hypothesis.settings.load_profile("trio_mcp")


# A shell that runs the tests in the background lets them ignore Ctrl-C, and so all programs that
# they start. Those are to have it as in a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names with addresses, which are others in each process that runs the tests."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"this test needs ids of its own: {item.nodeid}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz-seconds", type=float, help="how long each test in tests/fuzz searches"
    )


@pytest.fixture(autouse=True)
def signals_as_ever() -> Iterator[None]:
    """Let a program that a test has ended by a signal leave nothing to the next test."""
    yield
    take_signals_as_ever()


@pytest.fixture(scope="session")
def ask_raw() -> Callable[[Client, str, dict[str, Any]], Awaitable[dict[str, Any]]]:
    """Send a request as it is: the verbs of a client refuse what no server should get."""

    async def ask(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
        session: Any = client.session
        if session._envelope is not None:
            params = {**params, "_meta": dict(session._envelope)}
        answer: dict[str, Any] = await session._link.request(method, params)
        return answer

    return ask


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of published schemas and test suites, which does not ship with the package."""
    folder = os.environ.get("TRIO_MCP_TEST_DATA")
    if not folder:
        pytest.skip("TRIO_MCP_TEST_DATA does not say where the published schemas are")
    return Path(folder)


class RedisServer:
    """A real redis-server on a unix socket, which a test may kill and start again.

    It keeps nothing on a disk, so what it knew is gone then.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.path = folder / "redis.sock"
        self.url = f"unix://{self.path}"
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.path.unlink(missing_ok=True)
        words = ["--port", "0", "--unixsocket", str(self.path), "--save", ""]
        log = self._folder / "redis.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                ["redis-server", *words, "--dir", str(self._folder), *self._options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        deadline = time.monotonic() + 10
        while not self._answers():
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.01)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(1)
            try:
                sock.connect(str(self.path))
                sock.sendall(b"PING\r\n")
                return sock.recv(100).startswith((b"+PONG", b"-NOAUTH"))
            except OSError:
                return False

    def signal(self, number: int) -> None:
        """Send it a signal: SIGSTOP has it fall silent, SIGCONT go on."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once; all connections to it break."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ask(self, *words: str | bytes) -> Any:
        """Ask it something, on a connection of its own; gives what it answers, unparsed."""
        parts = [word.encode() if isinstance(word, str) else word for word in words]
        sent = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5)
            sock.connect(str(self.path))
            sock.sendall(b"*%d\r\n%b" % (len(parts), sent))
            return sock.recv(1_000_000)


@pytest.fixture
def start_redis() -> Iterator[Callable[..., RedisServer]]:
    """Start a redis-server with further options; it is ended when the test is."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    pytest.importorskip("coredis", reason="the extra redis is not installed")
    # Not tmp_path, whose name may be too long for a socket.
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    servers: list[RedisServer] = []

    def start(*options: str) -> RedisServer:
        inner = folder / str(len(servers))
        inner.mkdir()
        servers.append(RedisServer(inner, *options))
        servers[-1].start()
        return servers[-1]

    try:
        yield start
    finally:
        for each in servers:
            each.kill()
        shutil.rmtree(folder)


@pytest.fixture
def redis_server(start_redis: Callable[..., RedisServer]) -> RedisServer:
    """Start a redis-server; it is ended when the test is."""
    return start_redis()
