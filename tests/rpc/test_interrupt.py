from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trio_mcp import MCPServer
from trio_mcp._rpc import _interrupt
from trio_mcp._rpc._interrupt import Ended, run_until_interrupt, run_until_signal
from trio_mcp._rpc._late_signals import take_signals_as_ever
from trio_mcp._rpc._peer import Peer, open_peer
from trio_mcp.transports import open_memory_channel_pair

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


async def ends_with(error: BaseException | None) -> str:
    if error is not None:
        raise error
    return "done"


@pytest.mark.parametrize(
    ("error", "interrupted"),
    [
        (None, False),
        (KeyboardInterrupt(), True),
        (BaseExceptionGroup("two tasks", [KeyboardInterrupt(), KeyboardInterrupt()]), True),
    ],
)
def test_it_tells_whether_ctrl_c_ended_it(error, interrupted):
    assert run_until_interrupt(ends_with, error) is interrupted


def test_what_fails_is_not_taken_for_ctrl_c():
    with pytest.raises(ValueError, match="defect"):
        run_until_interrupt(ends_with, ValueError("defect"))
    group = BaseExceptionGroup("two tasks", [KeyboardInterrupt(), ValueError("defect")])
    with pytest.RaisesGroup(KeyboardInterrupt, ValueError):
        run_until_interrupt(ends_with, group)


def test_the_value_comes_back():
    assert run_until_signal(ends_with, None) == Ended("done")


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_and_what_is_open_is_left_in_order(number):
    told = []

    async def wait():
        try:
            os.kill(os.getpid(), number)
            await trio.sleep_forever()
        finally:
            told.append("left")

    ended = run_until_signal(wait, signals=(signal.SIGINT, signal.SIGTERM), on_signal=told.append)
    assert ended == Ended(number=number)
    assert told == [number, "left"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@posix
def test_a_signal_may_stop_in_good_order_and_the_next_one_cancels():
    told = []
    stopping = trio.Event()

    def stop():
        stopping.set()
        return True

    async def serve(signals):
        for _ in range(signals):
            interrupt()
            await stopping.wait()
            await trio.testing.wait_all_tasks_blocked()
        told.append("stopped")
        return "served"

    options = {"on_signal": told.append, "stop": stop}
    assert run_until_signal(serve, 1, **options) == Ended(number=signal.SIGINT)
    assert told == [signal.SIGINT, "stopped"]
    told.clear()
    stopping = trio.Event()
    assert run_until_signal(serve, 2, **options) == Ended(number=signal.SIGINT)
    assert told == [signal.SIGINT]


@posix
def test_what_does_not_stop_yet_is_cancelled():
    async def start():
        interrupt()
        await trio.sleep_forever()

    assert run_until_interrupt(start, stop=lambda: False)


@posix
def test_further_signals_are_told_once_and_cut_nothing_short():
    told = []

    async def wait():
        try:
            interrupt()
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                for _ in range(3):
                    interrupt()
                    await trio.lowlevel.checkpoint()
                told.append("left")

    assert run_until_signal(wait, on_signal=told.append).number == signal.SIGINT
    assert told == [signal.SIGINT, "left"]


@posix
def test_a_signal_that_comes_too_late_to_cancel_takes_effect_afterwards():
    async def finish():
        interrupt()

    with pytest.raises(KeyboardInterrupt):
        run_until_signal(finish)
    assert run_until_interrupt(finish)


@posix
@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_a_signal_that_the_program_ignores_or_handles_stays_its_own(handler):
    async def finish():
        interrupt()
        await trio.lowlevel.checkpoint()
        return "done"

    previous = signal.signal(signal.SIGINT, handler)
    try:
        assert run_until_signal(finish) == Ended("done")
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, previous)


def test_another_thread_than_the_main_one_runs_without_signals():
    results = []

    def run():
        results.append(run_until_signal(ends_with, None))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert results == [Ended("done")]


@posix
@pytest.mark.parametrize("busy", [lambda: time.sleep(30), lambda: [0 for _ in iter(int, 1)]])
def test_what_keeps_the_event_loop_busy_is_interrupted_where_it_is(busy, monkeypatch):
    monkeypatch.setattr(_interrupt, "BUSY_TIMEOUT", 0.05)
    where = []

    async def hang():
        interrupt()
        try:
            busy()
        except KeyboardInterrupt:
            where.append("in the busy code")
            raise

    began = time.monotonic()
    assert run_until_interrupt(hang)
    assert time.monotonic() - began < 10
    assert where == ["in the busy code"]


@posix
def test_what_is_busy_while_it_is_cancelled_is_interrupted_by_the_next_signal(monkeypatch):
    monkeypatch.setattr(_interrupt, "BUSY_TIMEOUT", 0.05)

    def sleep():
        time.sleep(30)

    async def hang():
        try:
            interrupt()
            await trio.sleep_forever()
        finally:
            interrupt()
            sleep()

    began = time.monotonic()
    assert run_until_interrupt(hang)
    assert time.monotonic() - began < 10


@posix
def test_trio_itself_is_not_interrupted_however_slow_the_machine(monkeypatch):
    monkeypatch.setattr(_interrupt, "BUSY_TIMEOUT", 0.02)
    finished = []

    @trio.lowlevel.enable_ki_protection
    def slow():
        for _ in range(10):
            time.sleep(0.02)
        finished.append("slow")

    async def wait():
        interrupt()
        slow()
        finished.append("then")
        await trio.sleep_forever()

    assert run_until_interrupt(wait)
    assert finished == ["slow", "then"]


# Anywhere at all: between making a coroutine and running it, halfway through our state


@asynccontextmanager
async def lifespan(_server):
    opened.append("open")
    try:
        yield
    finally:
        opened.append("closed")


opened: list[str] = []


async def serve() -> None:
    near, far = open_memory_channel_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(MCPServer("s", lifespan=lifespan).lowlevel_server.run, near)
        async with open_peer(far, _Silent()) as peer:
            for _ in range(2):
                await peer.request("ping", {})
        await far.aclose()


class _Silent:
    raise_exceptions = False

    def connect(self, link):
        return self

    def disconnect(self, connection):
        pass

    def ending(self, connection):
        pass


class Interrupter:
    """Sends a signal at the n-th call of a function, of all that are made."""

    def __init__(self, at):
        self.at = at
        self.calls = 0

    def __call__(self, frame, event, arg):
        if event in ("call", "return", "c_call"):
            self.calls += 1
            if self.calls == self.at:
                sys.setprofile(None)
                interrupt()


def calls_of(at, run):
    interrupter = Interrupter(at)
    sys.setprofile(interrupter)
    try:
        run()
    finally:
        sys.setprofile(None)
    return interrupter.calls


# Trio closes its wake-up socket before it takes it back from Python's signal handling: a signal
# in between is reported by the interpreter, and does no harm.
@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. None:pytest.PytestUnraisableExceptionWarning"
)
@posix
def test_a_signal_leaves_nothing_lying_about_wherever_it_strikes():
    outcomes = set()

    async def serve_on():
        await serve()
        interrupt()  # in case that it has not come yet
        await trio.sleep_forever()

    def run():
        outcomes.add(run_until_interrupt(serve_on))

    total = calls_of(-1, run)
    assert total > 1000
    # Not the last ones: a signal that comes when all is over is Python's own again.
    for at in range(3, total - 50, max(1, total // 300)):
        opened.clear()
        # A coroutine that is never awaited is a warning, and so an error.
        calls_of(at, run)
        assert opened in ([], ["open", "closed"])
    assert outcomes == {True}


def interrupt_at_start(monkeypatch):
    run = Peer.run

    def run_interrupted(self):
        coroutine = run(self)
        interrupt()
        return coroutine

    monkeypatch.setattr(Peer, "run", run_interrupted)


@posix
def test_a_connection_is_interrupted_while_it_starts(monkeypatch):
    interrupt_at_start(monkeypatch)
    opened.clear()
    assert run_until_interrupt(serve)
    assert opened in ([], ["open", "closed"])


@posix
def test_a_program_that_leaves_ctrl_c_to_trio_finds_its_connection_in_order(monkeypatch):
    interrupt_at_start(monkeypatch)
    near, _ = open_memory_channel_pair()

    async def connect():
        async with open_peer(near, _Silent()):
            await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        trio.run(connect)


@posix
def test_the_rest_of_the_process_is_left_alone():
    """No thread of ours sends a signal when all is over."""
    program = (
        "import os, signal, time\n"
        "from trio_mcp._rpc import _interrupt, _late_signals\n"
        "_interrupt.BUSY_TIMEOUT, _late_signals.LATE_SECONDS = 0.1, 0\n"
        "async def finish():\n"
        "    import trio\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    await trio.sleep_forever()\n"
        "assert _interrupt.run_until_interrupt(finish)\n"
        "time.sleep(0.3)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


TWICE = """
import atexit, os, signal, sys
import trio
from trio_mcp._rpc import _late_signals
from trio_mcp._rpc._interrupt import run_until_interrupt

LATE_SECONDS = None
if LATE_SECONDS is not None:
    _late_signals.LATE_SECONDS = LATE_SECONDS
number = signal.NUMBER

def again(when):
    os.kill(os.getpid(), number)
    print(when, flush=True)

class AtTheVeryEnd:
    def __init__(self):
        self.kill, self.pid, self.write = os.kill, os.getpid(), os.write

    def __del__(self):
        self.kill(self.pid, number)
        self.write(1, b"collected")

async def serve():
    os.kill(os.getpid(), number)
    await trio.sleep_forever()

sys.kept = AtTheVeryEnd()
atexit.register(again, "at exit")
assert run_until_interrupt(serve, signals=(signal.SIGINT, signal.SIGTERM))
again("on the way out")
"""


@posix
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_second_signal_makes_no_failure_of_a_program_that_ends(number):
    program = TWICE.replace("NUMBER", number)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "on the way out\nat exit\ncollected"


@posix
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_one_that_comes_later_ends_a_program_that_goes_on(number):
    program = TWICE.replace("NUMBER", number).replace("LATE_SECONDS = None", "LATE_SECONDS = 0")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.Signals[number]
    assert "on the way out" not in done.stdout
    assert ("KeyboardInterrupt" in done.stderr) == (number == "SIGINT")


@posix
def test_a_program_that_serves_again_is_ended_by_a_signal_again():
    async def serve():
        interrupt()
        await trio.sleep_forever()

    for _ in range(2):
        assert run_until_interrupt(serve)
    take_signals_as_ever()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
