"""Several worker processes on one address, and the parent that keeps them running."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest
import trio

from trio_mcp import Client, ConnectionLost, MCPServer
from trio_mcp.transports import streamable_http_client
from trio_mcp.transports.http._workers import run_workers, take_workers
from trio_mcp.types import ElicitResult

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.limit(60),
]

PROGRAM = """
import os, sys, time
from contextlib import asynccontextmanager
import trio
from typing import Annotated
import attrs
from trio_mcp import Elicit, MCPServer, Resolve

@attrs.frozen
class Answer:
    word: str

def note(text):
    # One write, since others write there as well.
    os.write(2, f"{os.getpid()} {text}\\n".encode())

@asynccontextmanager
async def lifespan(server):
    BEGIN
    note("begins")
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail_when_told)
            yield
            nursery.cancel_scope.cancel()
    finally:
        note("is left")

async def fail_when_told():
    await FAILING.wait()
    raise LookupError("the database is gone")

FAILING = trio.Event()

mcp = MCPServer("several", lifespan=lifespan)

@mcp.tool()
def pid() -> int:
    return os.getpid()

@mcp.tool()
async def wait(seconds: float) -> str:
    note("works")
    try:
        await trio.sleep(seconds)
    except trio.Cancelled:
        note("cancelled")
        raise
    return "done"

@mcp.tool()
async def fail() -> str:
    note("fails")
    FAILING.set()
    await trio.sleep_forever()

@mcp.tool()
async def hang() -> str:
    note("hangs")
    while True:
        time.sleep(1)

def really() -> Elicit[Answer]:
    note("asks")
    return Elicit("Really?", Answer)

@mcp.tool()
async def ask(answer: Annotated[Answer, Resolve(really)]) -> str:
    note("hears")
    return answer.word

OPTIONS = {"stateless_http": True, "workers": 2, "port": 0, "graceful_timeout": 3}

if __name__ == "__main__":
    MORE
    mcp.run("streamable-http", **OPTIONS)
    note("over")
"""


class Program:
    """A program with workers, and what it says on stderr."""

    def __init__(self, process) -> None:
        self.process = process
        self.said = []

    def read_to(self, pattern):
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"it ended without saying {pattern!r}: {self.said}")

    async def wait_for(self, pattern):
        return await trio.to_thread.run_sync(self.read_to, pattern, abandon_on_cancel=True)

    async def wait_serving(self, workers=2):
        self.url = (await self.wait_for(r"serving at (\S+)(?: and \S+)?, by \d+ workers"))[1]
        begun = sum("begins" in line for line in self.said)
        for _ in range(workers - begun):
            await self.wait_for("begins")

    async def wait_ended(self):
        """Wait until it has ended; gives its status, and the rest of what it said."""
        rest = await trio.to_thread.run_sync(self.process.stderr.read, abandon_on_cancel=True)
        self.said += rest.splitlines(keepends=True)
        return await trio.to_thread.run_sync(self.process.wait, abandon_on_cancel=True), "".join(
            self.said
        )

    @property
    def workers(self):
        """The process ids of those that have begun, in this order."""
        begun = [line for line in self.said if line.endswith(" begins\n")]
        return [int(line.split()[0]) for line in begun]


@contextmanager
def running(tmp_path, *, begin="pass", more="pass", env=None):
    script = tmp_path / "several.py"
    script.write_text(PROGRAM.replace("BEGIN", begin).replace("MORE", more))
    process = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    program = Program(process)
    try:
        yield program
    finally:
        for pid in (process.pid, *program.workers):
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()


def is_alive(pid):
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def wait_dead(pids):
    with trio.fail_after(20):
        while any(map(is_alive, pids)):  # noqa: ASYNC110 - a process that is nobody's child
            await trio.sleep(0.02)


async def pids_at(url, number=2):
    """Call until as many processes have answered."""
    found = set()
    with trio.fail_after(10):
        while len(found) < number:
            # Each connection may come to another one.
            async with trio.open_nursery() as nursery:

                async def call():
                    async with Client(url) as client:
                        found.add((await client.call_tool("pid")).structured_content["result"])

                for _ in range(10):
                    nursery.start_soon(call)
    return found


@asynccontextmanager
async def call_that_breaks_off(program, tool, arguments=None, *, begins):
    """Have a call run while the block lasts, which does not come to its end."""
    async with trio.open_nursery() as nursery:

        async def call():
            with pytest.raises(ConnectionLost):
                async with Client(program.url) as client:
                    await client.call_tool(tool, arguments)

        nursery.start_soon(call)
        await program.wait_for(begins)
        yield


async def test_each_worker_answers_on_the_one_address(tmp_path):
    with running(tmp_path) as program:
        await program.wait_serving()
        assert await pids_at(program.url) == set(program.workers)
        assert program.process.pid not in program.workers
        program.process.terminate()
        status, said = await program.wait_ended()
        assert status == 0
        assert said.count("serving at") == 1
        assert said.count("is left") == 2
        assert said.endswith(f"{program.process.pid} over\n")
        await wait_dead(program.workers)


async def test_that_anybody_may_call_them_is_warned_of_once(tmp_path):
    with running(tmp_path, more='OPTIONS["host"] = "0.0.0.0"') as program:
        await program.wait_serving()
        await pids_at(program.url.replace("0.0.0.0", "127.0.0.1"))
        program.process.terminate()
        status, said = await program.wait_ended()
        assert status == 0
        assert said.count("can be reached from elsewhere") == 1


@pytest.mark.case("C047")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_any_worker_answers_clients_of_both_eras(tmp_path, mode):
    limits = httpx.Limits(max_keepalive_connections=0)
    with running(tmp_path) as program:
        await program.wait_serving()
        found = set()
        async with (
            httpx.AsyncClient(trust_env=False, limits=limits) as http,
            Client(streamable_http_client(program.url, http_client=http), mode=mode) as client,
        ):
            while found != set(program.workers):
                assert len((await client.list_tools()).tools) == 5
                found.add((await client.call_tool("pid")).structured_content["result"])


async def test_one_worker_asks_and_another_hears_the_answer(tmp_path):
    async def answer(context, params):
        return ElicitResult(action="accept", content={"word": "yes"})

    # Each request on a connection of its own.
    limits = httpx.Limits(max_keepalive_connections=0)
    with running(tmp_path) as program:
        await program.wait_serving()
        async with (
            httpx.AsyncClient(trust_env=False, limits=limits) as http,
            Client(
                streamable_http_client(program.url, http_client=http), elicitation_callback=answer
            ) as client,
        ):
            while True:
                result = await client.call_tool("ask")
                assert result.content[0].text == "yes"
                asked = (await program.wait_for(r"(\d+) asks"))[1]
                heard = (await program.wait_for(r"(\d+) hears"))[1]
                if asked != heard:
                    break


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
async def test_a_worker_that_ends_is_replaced(tmp_path, number):
    with running(tmp_path) as program:
        await program.wait_serving()
        first, second = program.workers
        os.kill(first, number)
        told = await program.wait_for(r"Worker (\d+) (.+); another one starts in 0\.1 s")
        assert int(told[1]) == first
        ended = "ended with status 0" if number == signal.SIGTERM else f"by {number.name}"
        assert ended in told[2]
        await program.wait_for("begins")
        third = program.workers[-1]
        assert await pids_at(program.url) == {second, third}


async def test_a_worker_whose_lifespan_fails_says_why_and_is_replaced(tmp_path):
    with running(tmp_path) as program:
        await program.wait_serving()
        async with call_that_breaks_off(program, "fail", begins="fails"):
            told = await program.wait_for(r"Worker (\d+) ended with status 1; another one")
        assert int(told[1]) in program.workers
        assert any("LookupError: the database is gone" in line for line in program.said)
        await program.wait_for("begins")


async def test_those_that_die_at_once_come_back_more_and_more_slowly(tmp_path):
    begin = "if os.path.exists('broken'): os._exit(3)"
    with running(tmp_path, begin=begin, more=f"os.chdir({str(tmp_path)!r})") as program:
        await program.wait_serving()
        (tmp_path / "broken").touch()
        os.kill(program.workers[0], signal.SIGKILL)
        delays = [
            float((await program.wait_for(r"another one starts in (\d+\.\d) s"))[1])
            for _ in range(6)
        ]
        assert delays == [0.1, 0.1, 0.2, 0.2, 0.4, 0.4]
        # The other one serves on.
        assert await pids_at(program.url, 1) == {program.workers[1]}
        (tmp_path / "broken").unlink()
        await program.wait_for("begins")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_requests_that_run_are_answered_when_it_stops(tmp_path, number):
    with running(tmp_path) as program:
        await program.wait_serving()
        async with Client(program.url) as client, trio.open_nursery() as nursery:

            async def stop():
                await program.wait_for("works")
                program.process.send_signal(number)

            nursery.start_soon(stop)
            result = await client.call_tool("wait", {"seconds": 0.5})
            assert result.content[0].text == "done"
        assert (await program.wait_ended())[0] == 0
        await wait_dead(program.workers)


async def test_the_time_for_running_requests_is_bounded(tmp_path):
    more = "OPTIONS['graceful_timeout'] = 0.3"
    with running(tmp_path, more=more) as program:
        await program.wait_serving()
        async with call_that_breaks_off(program, "wait", {"seconds": 100}, begins="works"):
            program.process.terminate()
        status, said = await program.wait_ended()
        assert status == 0
        assert "cancelled" in said
        assert said.count("is left") == 2


async def test_a_second_signal_cancels_what_still_runs(tmp_path):
    more = "OPTIONS['graceful_timeout'] = 100"
    with running(tmp_path, more=more) as program:
        await program.wait_serving()
        async with call_that_breaks_off(program, "wait", {"seconds": 100}, begins="works"):
            program.process.send_signal(signal.SIGINT)
            await program.wait_for("is left")  # the worker that has nothing to do
            program.process.send_signal(signal.SIGINT)
        status, said = await program.wait_ended()
        assert status == 0
        assert "cancelled" in said
        await wait_dead(program.workers)


async def test_a_service_manager_may_signal_all_of_them_at_once(tmp_path):
    with running(tmp_path) as program:
        await program.wait_serving()
        async with Client(program.url) as client, trio.open_nursery() as nursery:

            async def stop():
                await program.wait_for("works")
                for pid in (program.process.pid, *program.workers):
                    os.kill(pid, signal.SIGTERM)

            nursery.start_soon(stop)
            result = await client.call_tool("wait", {"seconds": 0.5})
            assert result.content[0].text == "done"
        assert (await program.wait_ended())[0] == 0


async def test_a_worker_that_does_not_stop_is_killed(tmp_path):
    more = (
        "OPTIONS['graceful_timeout'] = 0.1; "
        "from trio_mcp.transports.http import _workers; _workers.SHUTDOWN_TIMEOUT = -1"
    )
    with running(tmp_path, more=more) as program:
        await program.wait_serving()
        async with call_that_breaks_off(program, "hang", begins="hangs"):
            program.process.terminate()
        status, said = await program.wait_ended()
        assert status == 0
        assert re.search(r"Worker \d+ did not stop, and is killed", said)
        await wait_dead(program.workers)


async def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path):
    with running(tmp_path) as program:
        await program.wait_serving()
        program.process.kill()
        await wait_dead(program.workers)
        # In good order.
        _, said = await program.wait_ended()
        assert said.count("is left") == 2


async def test_nor_one_that_keeps_its_event_loop_busy(tmp_path):
    more = (
        "from trio_mcp.transports.http import _workers; "
        "OPTIONS['graceful_timeout'] = 0; _workers.SHUTDOWN_TIMEOUT = 0"
    )
    with running(tmp_path, more=more) as program:
        await program.wait_serving()
        async with call_that_breaks_off(program, "hang", begins="hangs"):
            program.process.kill()
        await wait_dead(program.workers)


async def test_nobody_new_is_kept_waiting_while_it_stops(tmp_path):
    more = "OPTIONS['graceful_timeout'] = 100"
    with running(tmp_path, more=more) as program:
        await program.wait_serving()
        async with call_that_breaks_off(program, "wait", {"seconds": 100}, begins="works"):
            program.process.terminate()
            await program.wait_for("is left")  # the worker that has nothing to do
            await wait_refused(program.url)
            program.process.terminate()
        assert (await program.wait_ended())[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_busy_worker_keeps_no_port(tmp_path, number):
    with running(tmp_path) as program:
        await program.wait_serving()
        async with call_that_breaks_off(program, "hang", begins="hangs"):
            program.process.send_signal(number)
            await program.wait_for("is left")  # the worker that has nothing to do
            await wait_refused(program.url)
            [busy] = filter(is_alive, program.workers)
            [listener] = await trio.open_tcp_listeners(
                httpx.URL(program.url).port, host="127.0.0.1"
            )
            await listener.aclose()
            assert is_alive(busy)
            os.kill(busy, signal.SIGKILL)


async def wait_refused(url):
    parts = httpx.URL(url)
    with trio.fail_after(5):
        while True:
            try:
                await (await trio.open_tcp_stream(parts.host, parts.port)).aclose()
            except OSError:
                return
            await trio.sleep(0.05)


async def test_what_keeps_the_first_worker_from_starting_is_said_once(tmp_path):
    with running(tmp_path, begin="raise RuntimeError('no database')") as program:
        status, said = await program.wait_ended()
        assert status == 1
        assert said.count("RuntimeError: no database") == 1
        assert "serving at" not in said
        assert "over" not in said


async def test_it_can_be_stopped_before_the_first_worker_serves(tmp_path):
    with running(tmp_path, begin="note('slow'); await trio.sleep(100)") as program:
        await program.wait_for("slow")
        program.process.terminate()
        status, _ = await program.wait_ended()
        assert status == 0


async def test_an_address_that_cannot_be_had_is_told_once(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running(tmp_path, more=f"OPTIONS['port'] = {port}") as program:
            status, said = await program.wait_ended()
    assert status == 1
    assert said.count(f"cannot listen on 127.0.0.1:{port}: Address already in use") == 1
    assert "begins" not in said


@pytest.mark.parametrize(
    "where",
    [
        "OPTIONS.update(host='localhost')",
        "OPTIONS.update(binds=['127.0.0.1:0', '[::1]:0'])",
        "os.environ['MCP_HOST'] = '127.0.0.1'; OPTIONS.update(streamable_http_path='/tools')",
    ],
)
async def test_they_listen_where_one_process_would(tmp_path, where):
    with running(tmp_path, more=where) as program:
        await program.wait_serving()
        assert len(await pids_at(program.url)) == 2
        assert program.url.endswith("/tools" if "tools" in where else "/mcp")


async def test_the_path_of_a_unix_socket_is_removed_at_the_end(tmp_path):
    path = tmp_path / "sock"
    with running(tmp_path, more=f"OPTIONS['unix_socket'] = {str(path)!r}") as program:
        await program.wait_serving()
        os.kill(program.workers[0], signal.SIGTERM)
        await program.wait_for("another one starts")
        assert path.is_socket()
        program.process.terminate()
        assert (await program.wait_ended())[0] == 0
        assert not path.exists()


async def test_nor_is_it_left_where_another_address_cannot_be_had(tmp_path):
    path = tmp_path / "sock"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        binds = [f"unix:{path}", f"127.0.0.1:{taken.getsockname()[1]}"]
        with running(tmp_path, more=f"OPTIONS['binds'] = {binds!r}") as program:
            status, said = await program.wait_ended()
    assert status == 1
    assert "Address already in use" in said
    assert not path.exists()


async def test_the_path_of_a_unix_socket_may_be_any_bytes(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path / "socket") + b"\xff")
    with running(tmp_path, more=f"OPTIONS['unix_socket'] = {path!r}") as program:
        url = (await program.wait_for(r"serving at (\S+), by 2 workers"))[1]
        assert url.endswith("socket\\udcff")
        program.process.terminate()
        assert (await program.wait_ended())[0] == 0


async def test_the_number_may_come_from_the_environment(tmp_path):
    with running(tmp_path, more="del OPTIONS['workers']", env={"MCP_WORKERS": "3"}) as program:
        await program.wait_serving(3)
        assert len(await pids_at(program.url, 3)) == 3


async def test_one_worker_is_no_worker(tmp_path):
    with running(tmp_path, more="OPTIONS['workers'] = 1") as program:
        url = (await program.wait_for(r"serving at (\S+) \(Ctrl-C ends\)"))[1]
        assert await pids_at(url, 1) == {program.process.pid}


@pytest.mark.parametrize(
    ("code", "status", "says"),
    [("5", 5, ""), ("0", 0, ""), ("", 0, ""), ("'no database'", 1, "no database\n")],
)
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_lifespan_that_exits_does_so_with_its_status(
    tmp_path, workers, code, status, says
):
    more = f"OPTIONS['workers'] = {workers}"
    with running(tmp_path, begin=f"sys.exit({code})", more=more) as program:
        ended, said = await program.wait_ended()
    assert ended == status
    assert re.sub(r"\d+ over\n", "", said) == says


# What is refused


@pytest.mark.parametrize(
    ("transport", "options", "error", "words"),
    [
        ("streamable-http", {"workers": 2}, ValueError, "2 processes need stateless_http=True"),
        ("streamable-http", {"workers": 0}, ValueError, "workers: expected a whole number"),
        ("streamable-http", {"workers": "2"}, TypeError, "workers: expected a whole number"),
        ("streamable-http", {"workers": True}, TypeError, "workers: expected a whole number"),
        ("sse", {"workers": 2}, TypeError, "The transport 'sse' has no option 'workers'"),
        ("websocket", {"workers": 2}, TypeError, "'websocket' has no option 'workers'"),
        ("stdio", {"workers": 2}, TypeError, "The transport 'stdio' has no option 'workers'"),
        (
            "streamable-http",
            {"workers": 2, "stateless_http": True, "prot": 1},
            TypeError,
            "did you mean 'port'",
        ),
    ],
)
def test_what_needs_one_process_is_refused(transport, options, error, words):
    with pytest.raises(error, match=words):
        MCPServer("tests").run(transport, **options)


def test_the_variable_alone_does_not_concern_other_transports(monkeypatch):
    monkeypatch.setenv("MCP_WORKERS", "4")
    assert take_workers("sse", {}) == 1
    assert take_workers("streamable-http", {"workers": 1}) == 1
    assert take_workers("streamable-http", {"stateless_http": True}) == 4
    with pytest.raises(
        ValueError, match=r"^MCP_WORKERS: 4 processes need MCP_STATELESS_HTTP=true, since"
    ):
        take_workers("streamable-http", {})


def test_a_system_without_fork_has_one_process(monkeypatch):
    monkeypatch.delattr(os, "fork")
    assert take_workers("streamable-http", {"workers": 1}) == 1
    with pytest.raises(ValueError, match="workers: expected 1 on this system"):
        take_workers("streamable-http", {"workers": 2, "stateless_http": True})
    monkeypatch.setenv("MCP_WORKERS", "2")
    with pytest.raises(ValueError, match="MCP_WORKERS: expected 1 on this system"):
        take_workers("streamable-http", {"stateless_http": True})


async def test_workers_are_run_by_the_main_thread():
    with pytest.raises(RuntimeError, match="by the main thread"):
        await trio.to_thread.run_sync(lambda: run_workers(MCPServer("x"), 2, {}, name="x"))


# The supervisor alone, in a process of its own, since it forks

QUICK_AND_SLOW = """
import mmap, os, signal, sys, time
from trio_mcp._rpc import _late_signals
from trio_mcp.transports.http import _supervisor

_supervisor.STABLE_SECONDS, _supervisor.FIRST_DELAY, _supervisor.HURRY_SECONDS = 1, 0.01, 0.1
begun = mmap.mmap(-1, 1)  # shared by all of them

def work(end):
    end.started(["http://x"])
    begun[0] += 1
    # The first ones die at once, the next one later.
    if begun[0] == 6:
        time.sleep(1.5)
    elif begun[0] == 7:
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(10)
    return 7

ended = _supervisor.Supervisor(1, work, stop_seconds=0.1, on_started=print).run()
os.kill(os.getpid(), signal.SIGTERM)  # too late to mean anything
_late_signals.take_signals_as_ever()
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
assert signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
assert ended.number == signal.SIGTERM
"""


def test_a_death_long_after_the_last_one_is_a_first_one():
    done = subprocess.run(
        [sys.executable, "-c", QUICK_AND_SLOW], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['http://x']\n"
    found = re.findall(r"ended with status 7; another one starts in (\d\.\d+) s", done.stderr)
    delays = [float(each) for each in found]
    assert delays[-1] == 0.0
    assert max(delays) > 0.0
    assert "did not stop, and is killed" in done.stderr
