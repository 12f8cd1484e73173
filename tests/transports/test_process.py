from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from tests._limits import SOON
from trio_mcp._rpc._nursery import finish_within
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports._process import (
    FORCE_KILL_TIMEOUT,
    PROCESS_TERMINATION_TIMEOUT,
    open_server_process,
)
from trio_mcp.transports._stderr import StderrPump

from ._programs import (
    DEAF_TO_EOF,
    ECHO,
    PYTHON,
    STUBBORN,
    TERM_IGNORER,
    children,
    is_alive,
    is_unreaped,
    open_descriptors,
    read_line,
    running,
    wait_gone,
    with_grandchild,
)

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Generator[None, None, None]:
    # Trio's idle worker threads keep no descriptors; epoll and wake-up pipes go with the run.
    before, others = open_descriptors(), children()
    yield
    assert open_descriptors() == before
    assert children() == others


@pytest.fixture(params=["pidfd", "no pidfd"])
def exit_watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with each way to see a process exit."""
    if request.param == "no pidfd":
        monkeypatch.setattr(
            "trio_mcp.transports._process_group.PosixGroup.__init__", _without_pidfd
        )


def _without_pidfd(self: object, process: trio.Process) -> None:
    vars(self).update(_pgid=process.pid, _pidfd=None)


async def test_a_server_that_obeys_leaves_at_once(exit_watch: None) -> None:
    began = time.monotonic()
    async with running(ECHO, termination_timeout=60) as server:
        await server.stdin.send_all(b"x\n")
        assert await read_line(server) == "x"
    assert time.monotonic() - began < SOON
    assert server.exit_status == 0
    assert not is_unreaped(server.pid)


async def test_the_child_leads_a_session_of_its_own() -> None:
    async with running(ECHO) as server:
        assert os.getpgid(server.pid) == server.pid
        assert os.getsid(server.pid) == server.pid != os.getsid(0)


@pytest.mark.case("C001")
@pytest.mark.req("R-090")
async def test_a_server_that_ignores_the_end_of_stdin_gets_sigterm(exit_watch: None) -> None:
    began = time.monotonic()
    async with running(DEAF_TO_EOF, termination_timeout=0.3, force_kill_timeout=60) as server:
        assert await read_line(server) == "ready"
    assert 0.3 <= time.monotonic() - began < SOON
    assert server.exit_status == -signal.SIGTERM
    assert not is_unreaped(server.pid)


@pytest.mark.case("C001")
@pytest.mark.req("R-090")
async def test_a_server_that_ignores_sigterm_too_gets_sigkill(exit_watch: None) -> None:
    began = time.monotonic()
    async with running(STUBBORN, termination_timeout=0.2, force_kill_timeout=0.3) as server:
        assert await read_line(server) == "ready"
    # Less than where nothing is said.
    assert 0.5 <= time.monotonic() - began < PROCESS_TERMINATION_TIMEOUT + FORCE_KILL_TIMEOUT
    assert server.exit_status == -signal.SIGKILL
    assert not is_unreaped(server.pid)


@pytest.mark.case("C001")
async def test_the_times_that_are_promised() -> None:
    with trio.CancelScope() as scope:
        async with running(
            STUBBORN,
            termination_timeout=PROCESS_TERMINATION_TIMEOUT,
            force_kill_timeout=FORCE_KILL_TIMEOUT,
        ) as server:
            assert await read_line(server) == "ready"
            began = time.monotonic()
            scope.cancel()
    took = time.monotonic() - began
    assert PROCESS_TERMINATION_TIMEOUT + FORCE_KILL_TIMEOUT <= took < server.stop_timeout
    assert server.stop_timeout == 6.25
    assert not is_unreaped(server.pid)


async def test_a_grandchild_that_outlives_its_parent_is_killed(exit_watch: None) -> None:
    began = time.monotonic()
    async with running(with_grandchild(), termination_timeout=60) as server:
        grandchild = int(await read_line(server))
        assert is_alive(grandchild)
    # It held stdout and stderr open, and nobody waited for that.
    assert time.monotonic() - began < SOON
    assert server.exit_status == 0
    await wait_gone(grandchild)


async def test_a_grandchild_that_ignores_sigterm_is_killed(exit_watch: None) -> None:
    program = with_grandchild(TERM_IGNORER, "import time; time.sleep(60)")
    async with running(program) as server:
        grandchild = int(await read_line(server))
    assert server.exit_status == -signal.SIGTERM
    await wait_gone(grandchild)


async def test_a_grandchild_of_a_server_that_left_before_is_killed() -> None:
    async with running(with_grandchild(then="")) as server:
        grandchild = int(await read_line(server))
        await wait_gone(server.pid)
        # Not reaped yet: its number still names the group.
        assert is_unreaped(server.pid)
        assert is_alive(grandchild)
    await wait_gone(grandchild)
    assert not is_unreaped(server.pid)


async def test_a_group_whose_number_may_be_anybodys_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trio_mcp.transports._process_group.PosixGroup.__init__", _without_pidfd)
    signals: list[tuple[int, int]] = []
    async with running("pass") as server:
        await server.explain()
        assert server.exit_status == 0
        assert not is_unreaped(server.pid)
        monkeypatch.setattr(os, "killpg", lambda *args: signals.append(args))
    assert signals == []


async def test_a_daemon_is_not_waited_for() -> None:
    began = time.monotonic()
    async with running(with_grandchild(session=True), termination_timeout=60) as server:
        daemon = int(await read_line(server))
    try:
        assert time.monotonic() - began < SOON
        assert is_alive(daemon), "out of reach, as it wished"
    finally:
        os.kill(daemon, signal.SIGKILL)
        await wait_gone(daemon)


async def test_a_server_that_exits_first() -> None:
    async with running("import sys; sys.exit(3)") as server:
        assert await server.stdout.receive_some(10) == b""
        with pytest.raises(trio.BrokenResourceError):
            await server.stdin.send_all(b"x" * 1_000_000)
        lost = await server.explain()
        assert lost.exit_status == 3
    assert server.exit_status == 3


async def test_a_blocked_writer_is_woken() -> None:
    async with running(DEAF_TO_EOF) as server, trio.open_nursery() as nursery:
        started = time.monotonic()

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await server.stdin.send_all(b"x" * 10_000_000)

        await trio.testing.wait_all_tasks_blocked(0.02)
        await server.stop()
        assert time.monotonic() - started < SOON


async def test_a_reader_is_woken() -> None:
    async with running(DEAF_TO_EOF) as server, trio.open_nursery() as nursery:
        assert await read_line(server) == "ready"

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            with pytest.raises(trio.ClosedResourceError):
                await server.stdout.receive_some(10)

        await trio.testing.wait_all_tasks_blocked(0.02)
        await server.stop()


async def test_a_server_that_floods_stdout_sees_the_end_of_stdin() -> None:
    program = """
import sys, threading
def flood():
    while True:
        sys.stdout.buffer.write(b"x" * 100_000)
threading.Thread(target=flood, daemon=True).start()
sys.stdin.read()
import os
os._exit(7)
"""
    async with running(program, termination_timeout=5) as server:
        await server.stdout.receive_some(1)
        # Let the pipe fill up, with nobody reading.
        await trio.testing.wait_all_tasks_blocked(0.05)
    assert server.exit_status == 7


async def test_a_server_that_writes_its_last_words_to_a_full_pipe_can_leave() -> None:
    program = """
import sys
sys.stdin.read()
sys.stdout.buffer.write(b"x" * 3_000_000)
sys.stdout.buffer.flush()
sys.exit(0)
"""
    async with running(program, termination_timeout=5) as server:
        pass
    assert server.exit_status == 0


@pytest.mark.case("C010", "C012")
@pytest.mark.parametrize(
    ("command", "message", "cause"),
    [
        (["/no/such"], "command not found: '/no/such'", FileNotFoundError),
        (["no-such-command"], "command not found: 'no-such-command'", FileNotFoundError),
        (["{tmp}/plain"], "'{tmp}/plain' cannot be run: permission denied", PermissionError),
        (["{tmp}"], "'{tmp}' cannot be run: permission denied", PermissionError),
        (["{tmp}/garbage"], "'{tmp}/garbage' cannot be run: Exec format error", OSError),
        (["{tmp}/orphan"], "command not found: '{tmp}/orphan'", FileNotFoundError),
    ],
)
async def test_what_cannot_be_started_is_told_apart(
    command: list[str], message: str, cause: type[OSError], tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    for name, content in (("garbage", b"\x00\x01\x02"), ("orphan", b"#!/no/such/interpreter\n")):
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
    tmp = str(tmp_path)
    with pytest.raises(ConnectionLost) as caught:
        async with open_server_process(
            [part.format(tmp=tmp) for part in command],
            StderrPump(sys.__stderr__),
            env=dict(os.environ),
        ):
            pytest.fail("it started")
    assert str(caught.value) == message.format(tmp=tmp)
    assert isinstance(caught.value.__cause__, cause)


async def test_a_missing_working_directory_is_named() -> None:
    with pytest.raises(ConnectionLost, match="there is no working directory '/no/such'"):
        async with open_server_process([*PYTHON, ""], StderrPump(None), env={}, cwd="/no/such"):
            pytest.fail("it started")


async def test_an_argument_with_nul_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="null byte"):
        async with open_server_process([sys.executable, "\0"], StderrPump(None), env={}):
            pytest.fail("it started")


async def test_fifty_servers_leave_nothing() -> None:
    pids = []
    for _ in range(50):
        async with running(ECHO) as server:
            pids.append(server.pid)
    assert not any(is_unreaped(pid) for pid in pids)


async def test_cancelled_before_it_starts() -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        async with running(ECHO) as server:
            # The spawning thread had begun: it is delivered at the next checkpoint.
            await trio.lowlevel.checkpoint()
            pytest.fail(f"{server} goes on")
    assert scope.cancelled_caught


@pytest.mark.parametrize("tick", range(1, 9))
async def test_cancelled_while_it_starts(tick: int) -> None:
    async with trio.open_nursery() as nursery:

        @functools.partial(nursery.start_soon)
        async def _() -> None:
            async with running(ECHO):
                await trio.sleep_forever()

        for _ in range(tick):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()


async def test_cancelled_in_the_block() -> None:
    with trio.CancelScope() as scope:
        async with running(STUBBORN) as server:
            assert await read_line(server) == "ready"
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert not is_unreaped(server.pid)


@pytest.mark.case("C001")
async def test_left_inside_a_scope_that_is_over() -> None:
    with trio.CancelScope() as scope:
        async with running(STUBBORN) as server:
            scope.cancel()
        pytest.fail("leaving is a checkpoint")
    assert not is_unreaped(server.pid)


async def test_cancelled_again_while_it_is_ended() -> None:
    began = time.monotonic()
    with trio.CancelScope() as outer, trio.CancelScope() as inner:
        async with trio.open_nursery() as nursery:

            @functools.partial(nursery.start_soon)
            async def _() -> None:
                async with running(STUBBORN, termination_timeout=0.3) as server:
                    assert await read_line(server) == "ready"
                    inner.cancel()
                    nursery.start_soon(cancel_again)
                    await trio.sleep_forever()

            async def cancel_again() -> None:
                with finish_within(5):
                    await trio.testing.wait_all_tasks_blocked(0.05)
                outer.cancel()

    assert 0.5 <= time.monotonic() - began < SOON


async def test_stop_may_be_called_by_many_and_again() -> None:
    async with running(STUBBORN) as server:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.stop)
            nursery.start_soon(server.stop)
        assert server.exit_status is not None
        with trio.testing.assert_checkpoints():
            await server.stop()


async def test_stop_ends_it_when_cancelled() -> None:
    async with running(STUBBORN) as server:
        assert await read_line(server) == "ready"
        with trio.move_on_after(0) as scope:
            await server.stop()
        assert scope.cancelled_caught
        assert not is_unreaped(server.pid)


async def test_the_bodys_exception_leaves_as_it_is() -> None:
    error = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as caught:
        async with running(ECHO):
            raise error
    assert caught.value is error


KEYBOARD_INTERRUPT = """
import os, signal, sys, trio
sys.path[:0] = {path!r}
from trio_mcp.transports._process import open_server_process
from trio_mcp.transports._stderr import StderrPump

async def press_ctrl_c(when):
    await trio.sleep(when)
    os.kill(os.getpid(), signal.SIGINT)

async def main():
    command = [sys.executable, "-I", "-S", "-c", {program!r}]
    async with open_server_process(
        command, StderrPump(None), env={{}}, termination_timeout=0.4, force_kill_timeout=0.4
    ) as server:
        await server.stdout.receive_some(100)
        print(server.pid, flush=True)
        {body}

try:
    trio.run(main, restrict_keyboard_interrupt_to_checkpoints={restrict})
except KeyboardInterrupt as exc:
    print("KeyboardInterrupt", len(getattr(exc, "exceptions", ())), flush=True)
"""


@pytest.mark.parametrize("restrict", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        "os.kill(os.getpid(), signal.SIGINT); await trio.sleep_forever()",
        "trio.lowlevel.spawn_system_task(press_ctrl_c, 0.1)",
        "[trio.lowlevel.spawn_system_task(press_ctrl_c, when) for when in (0.1, 0.2, 0.5)]",
    ],
    ids=["in the block", "while leaving", "three times while leaving"],
)
def test_ctrl_c_does_not_keep_it_from_being_ended(body: str, restrict: bool) -> None:
    script = KEYBOARD_INTERRUPT.format(
        path=sys.path, program=STUBBORN, body=body, restrict=restrict
    )
    began = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=25, check=False
    )
    pid, outcome = ran.stdout.splitlines()
    assert outcome == "KeyboardInterrupt 0"
    assert ran.stderr == ""
    assert time.monotonic() - began >= 0.8
    assert not is_unreaped(int(pid))
