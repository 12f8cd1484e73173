"""A parent that keeps worker processes running, and its children from outliving it.

The workers are forks of a process in which Trio does not run: they have what it has loaded,
the sockets that it listens on among it, and nothing is imported again. The parent does nothing
but wait, for signals and for children, so it does so without Trio.

Orders go through a pair of sockets for each worker, and not by signals: a system that stops a
service may send those to every process of it, and a second one means to hurry. A worker whose
parent is gone sees the other end closed, and stops.
"""

from __future__ import annotations

import json
import logging
import math
import os
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._rpc._interrupt import Ended
from trio_mcp._rpc._late_signals import is_default, take_late_signals, take_signals_as_ever

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

logger: Final = logging.getLogger("trio_mcp.http")

FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 30.0
"""Seconds until a worker that died is replaced: twice as many each time, up to the longest."""

STABLE_SECONDS: Final = 10.0
"""Seconds after which the death of a worker has nothing to do with those before."""

HURRY_SECONDS: Final = 12.0
"""Seconds that workers have when they are told to hurry: as long as a lifespan may take to end,
and a little more. Then they are killed, unless that was due before."""

_STOP: Final = b"s"
_HURRY: Final = b"h"

_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGCHLD")


class WorkerEnd:
    """What a worker has of its parent. Its methods but `started` are for a thread of its own.

    Args:
      sock: Its end of the pair.
      stop_seconds: How long it may take to stop, before it is ended wherever it is.

    """

    def __init__(self, sock: socket.socket, stop_seconds: float) -> None:
        self._socket = sock
        self._stop_seconds = stop_seconds

    def started(self, urls: Sequence[str]) -> None:
        """Tell that it serves, and where."""
        with suppress(OSError):
            # The path of a unix socket may be any bytes, which the JSON of messages cannot say.
            self._socket.sendall(json.dumps({"urls": list(urls)}).encode() + b"\n")

    def watch(self, on_stop: Callable[[], None], on_hurry: Callable[[], None]) -> None:
        """Have functions called in a thread, when it is to stop, and when it is to hurry."""
        args = (on_stop, on_hurry)
        threading.Thread(
            target=self._watch, args=args, name="worker's parent", daemon=True
        ).start()

    def _watch(self, on_stop: Callable[[], None], on_hurry: Callable[[], None]) -> None:
        order = b"x"
        while order:
            try:
                order = self._socket.recv(1)
            except OSError:
                order = b""
            if order == _HURRY:
                on_hurry()
            else:
                on_stop()
        # The parent is gone, so nobody else would end what does not end by itself.
        time.sleep(self._stop_seconds)
        os._exit(1)


@attrs.define(eq=False)
class _Worker:
    pid: int
    sock: socket.socket
    began: float
    told: bytes = b""
    has_started: bool = False

    def order(self, order: bytes) -> None:
        with suppress(OSError):
            self.sock.send(order)


class Supervisor:
    """Keeps a number of workers running until it is told to stop.

    Args:
      number: How many.
      work: Is a worker: called in a new process, which ends with the status that it returns.
      stop_seconds: How long workers may take to stop, before they are killed.
      on_started: Called with what the first worker has to say, when it serves.
      on_signal: Called with the number of the first signal.

    """

    def __init__(
        self,
        number: int,
        work: Callable[[WorkerEnd], int],
        *,
        stop_seconds: float,
        on_started: Callable[[list[str]], None],
        on_signal: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._number = number
        self._work = work
        self._stop_seconds = stop_seconds
        self._on_started = on_started
        self._on_signal = on_signal
        self._workers: dict[int, _Worker] = {}
        self._due: list[float] = []
        self._quick_deaths = 0
        self._has_served = False
        self._signals: list[int] = []
        self._orders = 0
        self._kill_at = math.inf
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()

    def run(self) -> Ended[int]:
        """Run, until SIGTERM or Ctrl-C.

        The first worker is started alone, so that what is wrong with all is said once.

        Returns:
          The signal; or the exit status of the first worker, if that could not start.

        """
        for sock in (self._wake_read, self._wake_write):
            sock.setblocking(False)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        status = 0
        try:
            with self._handling_signals():
                self._fork()
                while self._workers or (self._due and not self._orders):
                    failed = self._turn()
                    status = status or failed
        finally:
            # None is left, unless this ends by an error.
            for each in self._workers.values():
                self._kill(each)
                with suppress(ChildProcessError):
                    os.waitpid(each.pid, 0)
            self._close()
        return Ended(number=self._signals[0]) if self._signals else Ended(status)

    def _turn(self) -> int:
        """Wait for whatever is next, and see to it; gives the status of a first worker."""
        now = time.monotonic()
        next_time = min([*self._due, self._kill_at])
        timeout = None if next_time == math.inf else max(0.0, next_time - now)
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._wake_read:
                with suppress(BlockingIOError):
                    while self._wake_read.recv(1000):
                        pass
            else:
                self._read(key.data)
        status = self._reap()
        self._obey()
        now = time.monotonic()
        while self._due and self._due[0] <= now and not self._orders:
            self._due.pop(0)
            self._fork()
        return status

    # Signals

    @contextmanager
    def _handling_signals(self) -> Generator[None]:
        def receive(number: int, _frame: Any) -> None:
            if number != signal.SIGCHLD:
                self._signals.append(number)

        take_signals_as_ever()
        previous = {
            number: signal.signal(number, receive)
            for number in (getattr(signal, each) for each in _SIGNALS)
            # What whoever started us had ignored (nohup) stays ignored.
            if signal.getsignal(number) != signal.SIG_IGN or number == signal.SIGCHLD
        }
        before = signal.set_wakeup_fd(self._wake_write.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            late = {
                number: handler
                for number, handler in previous.items()
                if self._signals and is_default(number, handler)
            }
            take_late_signals(late)
            for number, handler in previous.items():
                if number not in late:
                    signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _obey(self) -> None:
        now = time.monotonic()
        signals = len(self._signals)
        if signals and not self._orders:
            self._on_signal(self._signals[0])
        if signals > self._orders:
            is_first = signals == 1
            self._orders = signals
            seconds = self._stop_seconds if is_first else HURRY_SECONDS
            self._kill_at = min(self._kill_at, now + seconds)
            for each in self._workers.values():
                each.order(_STOP if is_first else _HURRY)
        if now >= self._kill_at:
            self._kill_at = math.inf
            for each in self._workers.values():
                logger.error("Worker %d did not stop, and is killed", each.pid)
                self._kill(each)

    # Workers

    def _fork(self) -> None:
        ours, theirs = socket.socketpair()
        # No signal may come to a child that would treat it as its parent does.
        blocked = signal.pthread_sigmask(
            signal.SIG_BLOCK, [getattr(signal, each) for each in _SIGNALS]
        )
        _flush()
        pid = os.fork()
        if pid == 0:
            self._be_worker(ours, theirs, blocked)
        theirs.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        worker = _Worker(pid, ours, time.monotonic())
        self._workers[pid] = worker
        self._selector.register(ours, selectors.EVENT_READ, worker)

    def _be_worker(self, ours: socket.socket, theirs: socket.socket, blocked: Any) -> None:
        """Be a worker to the end of this process: nothing that is above may go on in it."""
        status = 1
        try:
            # A group of its own, so that Ctrl-C in a terminal is for the parent alone.
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for name in ("SIGTERM", "SIGCHLD"):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            ours.close()
            for each in self._workers.values():
                each.sock.close()
            self._close()
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            status = self._work(WorkerEnd(theirs, self._stop_seconds))
        except SystemExit as exc:
            status = _status_of(exc)
        except BaseException:  # noqa: ASYNC103, BLE001 - told here, since nobody is above
            traceback.print_exc()
        finally:
            with suppress(Exception):
                logging.shutdown()
            _flush()
            os._exit(status)

    def _read(self, worker: _Worker) -> None:
        try:
            data = worker.sock.recv(65_536)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(worker.sock)
            return
        worker.told += data
        line, newline, _ = worker.told.partition(b"\n")
        if not newline or worker.has_started:
            return
        worker.has_started = True
        if not self._has_served:
            self._has_served = True
            self._due = [time.monotonic()] * (self._number - 1)
            self._on_started(_read_urls(line))

    def _reap(self) -> int:
        status = 0
        for worker in list(self._workers.values()):
            try:
                pid, how = os.waitpid(worker.pid, os.WNOHANG)
            except ChildProcessError:
                pid, how = worker.pid, 0  # somebody else has waited for it
            if not pid:
                continue
            del self._workers[pid]
            with suppress(KeyError):
                self._selector.unregister(worker.sock)
            worker.sock.close()
            if self._orders:
                continue
            if not self._has_served:
                status = abs(os.waitstatus_to_exitcode(how))
                self._orders = 2  # nothing is started after this
                continue
            self._replace(worker, how)
        return status

    def _replace(self, worker: _Worker, how: int) -> None:
        now = time.monotonic()
        if now - worker.began > STABLE_SECONDS:
            self._quick_deaths = 0
        # Where all die of one cause, that counts once.
        rounds = min(self._quick_deaths // self._number, 20)
        delay = min(FIRST_DELAY * 2**rounds, LONGEST_DELAY)
        self._quick_deaths += 1
        logger.error(
            "Worker %d %s; another one starts in %.1f s", worker.pid, _describe(how), delay
        )
        self._due = sorted([*self._due, now + delay])

    def _kill(self, worker: _Worker) -> None:
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)

    def _close(self) -> None:
        self._selector.close()
        self._wake_read.close()
        self._wake_write.close()


def _read_urls(line: bytes) -> list[str]:
    try:
        told: Any = json.loads(line)
        return [str(each) for each in told["urls"]]
    except (ValueError, KeyError, TypeError):
        return []


def _describe(how: int) -> str:
    status = os.waitstatus_to_exitcode(how)
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


def _status_of(exc: SystemExit) -> int:
    """Give the status that Python would end with, and say what it would say."""
    if exc.code is None or isinstance(exc.code, int):
        return (exc.code or 0) & 0xFF
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(exc.code, file=sys.stderr)  # noqa: T201
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
