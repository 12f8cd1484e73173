"""Serving over Streamable HTTP by several processes that share their address."""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, final

import trio

from trio_mcp._rpc._interrupt import BUSY_TIMEOUT, run_until_signal
from trio_mcp._variables import (
    NeedsAnother,
    from_environment,
    naming_variables,
    options_of,
)
from trio_mcp.transports._foreground import NotThere, announce, say
from trio_mcp.transports._lifespan import SHUTDOWN_TIMEOUT
from trio_mcp.transports._settling import SECURITY, settle_security, warned_if_open

from ._listeners import Listening, cannot_listen, make_deaf, tls_context
from ._serve_http import read_options, serve_http
from ._serve_options import FD, UNIX, WorkerOptions, split_address
from ._supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trio_mcp._rpc._interrupt import Ended

    from ._serve import HttpServing
    from ._serve_http import ServesHttp
    from ._supervisor import WorkerEnd

_TRANSPORT: Final = "streamable-http"

STOP_MARGIN: Final = 2.0
"""Seconds for whatever else a worker does to stop, beside what requests and the lifespan have."""

_ADDRESSES: Final = ("host", "port", "binds", "unix_socket")


def take_workers(transport: str, options: dict[str, Any]) -> int:
    """Take out of options how many processes shall serve, and check that they can.

    Args:
      transport: How clients reach the program.
      options: What was given; the environment says the rest.

    Raises:
      TypeError: if the transport has no such option.
      ValueError: if these options, or this system, need one process.

    """
    if transport != _TRANSPORT:
        if "workers" in options:
            raise TypeError(f"The transport {transport!r} has no option 'workers'")
        return 1
    told_here = {"workers": options.pop("workers")} if "workers" in options else {}
    told = told_here or from_environment(options_of(WorkerOptions).values())
    number = WorkerOptions(**told).workers
    if number == 1:
        return 1
    if not hasattr(os, "fork"):
        name = "workers" if told_here else "MCP_WORKERS"
        raise ValueError(f"{name}: expected 1 on this system, which has no fork, got {number}")
    _, of_endpoint = read_options(_TRANSPORT, options)
    if not of_endpoint.get("stateless_http", False):
        why = (
            f"{number} processes need {{}}, since the sessions of older clients live in one "
            "process each"
        )
        with naming_variables(told_here):
            raise NeedsAnother("workers", why, "stateless_http=True")
    return number


def run_workers(
    server: ServesHttp,
    number: int,
    options: Mapping[str, Any],
    *,
    name: str,
    on_signal: Callable[[int], object] = lambda _: None,
) -> Ended[int]:
    """Serve by several processes, until Ctrl-C or SIGTERM.

    A worker that dies is replaced. All stop when this process does, however it ends.

    Args:
      server: A `Server` or `MCPServer`.
      number: How many processes.
      options: Those of `serve_http`.
      name: Of the server, for the line that says where it serves.
      on_signal: Called with the number of the first signal.

    Returns:
      The signal that ended it; or the exit status of the first worker, if that could not start,
      which it has explained on stderr.

    Raises:
      TypeError, ValueError: if an option is something else.
      RuntimeError: if this is not the main thread.
      OSError: if an address cannot be had, or the files for TLS cannot be read.

    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("Workers are run by the main thread, which gets the signals")
    listen, of_endpoint = read_options(_TRANSPORT, options)
    host = listen.most_open_host
    settle_security(of_endpoint, host)
    if listen.certfile is not None:
        # Each worker reads them again; but what is wrong with them is said once.
        tls_context(listen.certfile, listen.keyfile, listen.keyfile_password, http2=listen.http2)
    listening = _listen(listen.addresses)
    elsewhere = {each: value for each, value in options.items() if each not in _ADDRESSES}
    of_worker = {**elsewhere, "binds": [f"{FD}{each}" for each in listening.descriptors]}

    def work(end: WorkerEnd) -> int:
        try:
            _Work(server, of_worker, end, listening.descriptors).run()
        except NotThere as exc:
            say(f"{name}: {exc}")
            return 1
        return 0

    def stop(number: int) -> None:
        # Here as well as in the workers: what nobody will take is to be refused at once.
        listening.close()
        on_signal(number)

    supervisor = Supervisor(
        number,
        work,
        stop_seconds=listen.graceful_timeout + SHUTDOWN_TIMEOUT + STOP_MARGIN,
        on_started=lambda urls: announce(name, urls, f", by {number} workers"),
        on_signal=stop,
    )
    try:
        with warned_if_open(of_endpoint[SECURITY], host):
            return supervisor.run()
    finally:
        listening.close()


@final
class _Work(trio.TaskStatus["HttpServing"]):
    """What a worker does."""

    def __init__(
        self,
        server: ServesHttp,
        options: dict[str, Any],
        end: WorkerEnd,
        descriptors: Sequence[int],
    ) -> None:
        self._server = server
        self._options = options
        self._end = end
        self._descriptors = descriptors
        # An order has come to the event loop, which closes what it listens on by itself.
        self._heard = threading.Event()
        self._hearing = threading.Lock()
        self._scope = trio.CancelScope()
        self._serving: HttpServing | None = None

    def run(self) -> None:
        """Serve, until the parent says to stop, or is gone, or somebody sends a signal."""
        run_until_signal(self._serve, signals=(signal.SIGTERM,), stop=self._stop)

    async def _serve(self) -> None:
        run = trio.lowlevel.current_trio_token()

        def on_stop() -> None:
            _call_in(run, self._stop_or_cancel)
            if not self._heard.wait(BUSY_TIMEOUT):
                self._turn_away()

        def on_hurry() -> None:
            _call_in(run, self._cancel)

        self._end.watch(on_stop, on_hurry)
        try:
            with self._scope:
                await serve_http(self._server, task_status=self, **self._options)
        finally:
            self._hear()

    def started(self, value: HttpServing | None = None) -> None:
        assert value is not None
        self._serving = value
        self._end.started(value.urls)

    def _hear(self) -> None:
        with self._hearing:
            self._heard.set()

    def _turn_away(self) -> None:
        """Have nobody come to a worker whose event loop is kept busy; called in a thread."""
        with self._hearing:
            if not self._heard.is_set():
                for each in self._descriptors:
                    make_deaf(each)

    def _stop(self) -> bool:
        self._hear()
        if self._serving is None:
            return False
        self._serving.stop()
        return True

    def _stop_or_cancel(self) -> None:
        if not self._stop():
            self._cancel()

    def _cancel(self) -> None:
        self._hear()
        self._scope.cancel(reason="the parent of this worker says so")


def _call_in(run: trio.lowlevel.TrioToken, function: Callable[[], None]) -> None:
    with suppress(trio.RunFinishedError):
        run.run_sync_soon(function)


@final
class _Addresses:
    """What the parent listens on, for all; not for Trio, which may not run where it forks."""

    def __init__(self, listening: Listening) -> None:
        self._listening = listening
        self._sockets = [
            socket.socket(fileno=each.socket.detach()) for each in listening.listeners
        ]
        self.descriptors = [each.fileno() for each in self._sockets]

    def close(self) -> None:
        self._listening.withdraw()
        for each in self._sockets:
            each.close()


def _listen(binds: Sequence[str]) -> _Addresses:
    # Names are resolved here, since Trio would do it in a thread, and a fork knows no threads.
    groups = [[each] if each.startswith((UNIX, FD)) else _resolve(each) for each in binds]
    return _Addresses(trio.run(_open_all, groups))


def _resolve(bind: str) -> list[str]:
    host, port = split_address(bind)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as exc:
        raise cannot_listen(bind, exc) from exc
    hosts = dict.fromkeys(str(address[0]) for *_, address in found)
    return [f"[{each}]:{port}" if ":" in each else f"{each}:{port}" for each in hosts]


async def _open_all(groups: list[list[str]]) -> Listening:
    listening = Listening()
    try:
        for group in groups:
            await _open_group(listening, group)
    except BaseException:
        listening.give_up()
        raise
    return listening


async def _open_group(listening: Listening, addresses: list[str]) -> None:
    """Listen on the addresses of one name, as far as there is such a network here."""
    before = len(listening.listeners)
    unsupported: OSError | None = None
    for address in addresses:
        try:
            await listening.listen_on(address)
        except OSError as exc:
            if exc.errno != errno.EAFNOSUPPORT:
                raise
            unsupported = exc
    if len(listening.listeners) == before and unsupported is not None:
        raise unsupported
