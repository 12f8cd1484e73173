"""A server as a child process: started, watched, and ended with all that it started.

The child leads a session and process group of its own, so that Ctrl-C in our terminal is not
its affair, and so that it can be ended together with its descendants. One task of ours, its
*keeper*, watches it, reads its stderr, and ends it::

    close stdin ── 2 s ──▶ SIGTERM to the group ── 2 s ──▶ SIGKILL to the group ─▶ reap

A leader that leaves earlier ends the waiting, and what is left of its group is killed. Its exit
also ends its pipes, see `_server_pipes`, since what it started may hold them for ever. This
runs under a shield, since a cancelled scope has to end its processes too, and in the keeper's
own task, since Trio delivers KeyboardInterrupt to its main task even inside a shield.

A process that makes itself a daemon (a session of its own) is out of reach, by its own wish.
PR_SET_PDEATHSIG is not used: it follows the thread that spawned, and Trio's threads end when
they are idle. When this process is killed, the server's stdin ends, and it should leave.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, final

import trio

from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp.errors import ConnectionLost
from trio_mcp.transports._fd_streams import READ_SIZE, widen_pipe
from trio_mcp.transports._process_group import open_group
from trio_mcp.transports._server_pipes import PipeFromServer, PipeToServer, as_receive_pipe

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from trio_mcp.transports._stderr import StderrPump

PROCESS_TERMINATION_TIMEOUT: Final = 2.0
"""Seconds that a server has to leave by itself after its stdin was closed."""

FORCE_KILL_TIMEOUT: Final = 2.0
"""Seconds that it has to leave after SIGTERM, before SIGKILL."""

REAP_TIMEOUT: Final = 2.0
"""Seconds to wait for the end of a killed process: only one that hangs in the kernel takes
longer, and nobody can end that."""

STDERR_TIMEOUT: Final = 0.25
"""Seconds to wait for the rest of stderr after the process has ended. A daemon that it left
behind may keep stderr open for ever."""

EXIT_REPORT_TIMEOUT: Final = 1.0
"""Seconds that a process has to exit after it closed stdout, so that the error can say how."""

_QUOTED_LINES: Final = 15
_QUOTED_SIZE: Final = 2000
# Of stderr in the text of an error: a usual traceback. All that was kept is in `.stderr`.

_LEFT_BY_A_LAUNCHER: Final = (
    " and left its pipes to what it started (a launcher has to wait for the server,"
    " or become it by exec)"
)

_logger = logging.getLogger(__name__)


@final
class ServerProcess:
    """A running child; made by `open_server_process`."""

    def __init__(
        self,
        process: trio.Process,
        stderr: StderrPump,
        termination_timeout: float,
        force_kill_timeout: float,
    ) -> None:
        self.stdin = PipeToServer(process.stdin)
        self.stdout = PipeFromServer(process.stdout)
        self.pid = process.pid
        self.exit_status: int | None = None
        """Once it has exited: its status, or minus the number of the signal."""

        self._process = process
        self._stderr_stream = as_receive_pipe(process.stderr)
        self._stderr = stderr
        self._termination_timeout = termination_timeout
        self._force_kill_timeout = force_kill_timeout
        self._serving = trio.CancelScope()
        self._exited = trio.Event()
        self._explain_by: float | None = None
        self._stopped = trio.Event()
        self._group = open_group(process)
        for stream in (process.stdin, process.stdout):
            if isinstance(stream, trio.lowlevel.FdStream):
                widen_pipe(stream.fileno())

    @property
    def stop_timeout(self) -> float:
        """The most seconds that ending it may take."""
        return self._termination_timeout + self._force_kill_timeout + REAP_TIMEOUT + STDERR_TIMEOUT

    async def stop(self) -> None:
        """End the process and its group, and wait until that is done.

        Cancellation:
          It is ended all the same, within `stop_timeout` seconds.

        """
        self._serving.cancel(reason="the server process is being stopped")
        with finish_within(self.stop_timeout):
            await self._stopped.wait()
        await trio.lowlevel.checkpoint()

    async def explain(self) -> ConnectionLost:
        """Say why nothing more comes from it, once its stdin or stdout has broken.

        Waits at most `EXIT_REPORT_TIMEOUT` for the process to exit, counted from when this was
        first asked, so that its status and what it wrote to stderr can be told.
        """
        if self._explain_by is None:
            self._explain_by = trio.current_time() + EXIT_REPORT_TIMEOUT
        with trio.move_on_at(self._explain_by):
            await self._exited.wait()
        if self._exited.is_set():
            with trio.move_on_after(STDERR_TIMEOUT):
                await self._stderr.ended.wait()
        stderr = self._stderr.tail()
        fate = _fate(self._exited.is_set(), self.exit_status)
        if self.exit_status == 0 and self.stdout.held:
            fate += _LEFT_BY_A_LAUNCHER
        return ConnectionLost(
            f"server {fate}{_quote(stderr)}",
            exit_status=self.exit_status,
            stderr=stderr,
        )

    async def keep(self) -> None:
        """Look after the process until `stop` or a cancellation, and then end it."""
        try:
            with self._serving:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._watch)
                    nursery.start_soon(self._stderr.pump, self._stderr_stream)
                    await trio.sleep_forever()
        finally:
            try:
                with finish_within(self.stop_timeout):
                    await self._end()  # noqa: ASYNC102 - shielded by the line above
            finally:
                if not self._exited.is_set():
                    _logger.warning("process %d does not end, even by SIGKILL", self.pid)
                self._release()
                self._stopped.set()

    async def _watch(self) -> None:
        if not self._exited.is_set():
            self.exit_status = await self._group.wait_exited(self._process)
            self._exited.set()
            self.stdin.end()
            self.stdout.end()

    async def _end(self) -> None:
        if self._exited.is_set():
            self._group.forget_if_reaped()
        drained = self.stdout.duplicate()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch)
                pumped = trio.Event()
                nursery.start_soon(self._pump_to_the_end, pumped)
                if drained is not None:
                    nursery.start_soon(_drain, drained)
                # Wakes whoever is still reading or writing: ClosedResourceError.
                await self.stdout.aclose()
                await self.stdin.aclose()
                await self._make_it_leave()
                # Whoever else is in the group lost its leader. SIGKILL, since they had their
                # time: a leader that cares for its children ends them when it is asked.
                self._group.kill()
                with trio.move_on_after(STDERR_TIMEOUT):
                    await pumped.wait()
                # Nobody waits for the end of stdout: a daemon may hold it open.
                nursery.cancel_scope.cancel(reason="the server process has ended")
        finally:
            if drained is not None:
                drained.close()
        if self._exited.is_set():
            await self._process.wait()  # reaps; returns at once

    async def _make_it_leave(self) -> None:
        if await self._exits_within(self._termination_timeout):
            return
        if self._group.terminate() and await self._exits_within(self._force_kill_timeout):
            return
        self._group.kill()
        await self._exits_within(REAP_TIMEOUT)

    async def _exits_within(self, seconds: float) -> bool:
        with trio.move_on_after(seconds):
            await self._exited.wait()
        return self._exited.is_set()

    async def _pump_to_the_end(self, done: trio.Event) -> None:
        await self._stderr.pump(self._stderr_stream)
        done.set()

    def _release(self) -> None:
        for stream in (self.stdin, self.stdout, self._stderr_stream):
            stream.close()
        self._stderr.close()
        self._group.close()


@asynccontextmanager
@trio.lowlevel.enable_ki_protection
async def open_server_process(
    command: Sequence[str],
    stderr: StderrPump,
    *,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None = None,
    termination_timeout: float = PROCESS_TERMINATION_TIMEOUT,
    force_kill_timeout: float = FORCE_KILL_TIMEOUT,
) -> AsyncGenerator[ServerProcess, None]:
    """Run a program; leaving the block ends it and its group, see the top of this module.

    Args:
      command: The program and its arguments. The program is looked for on the PATH in `env`.
      stderr: Gets what it writes to stderr; closed at the end.
      env: Its whole environment.
      cwd: Its working directory; None for ours.
      termination_timeout: Seconds to leave by itself once its stdin is closed.
      force_kill_timeout: Seconds to leave after SIGTERM; does not matter on Windows.

    Raises:
      ConnectionLost: if it cannot be run; the OSError is its cause.
      ValueError: if an argument or variable cannot be handed over (it holds NUL).

    Cancellation:
      Entering: no process is left. Leaving takes at most the two times and
      `REAP_TIMEOUT` + `STDERR_TIMEOUT` seconds, also when cancelled.

    """
    try:
        process = await _spawn(command, env, cwd)
    except OSError as exc:
        stderr.close()
        raise ConnectionLost(_why_not_started(command[0], cwd, exc)) from exc
    except BaseException:
        stderr.close()
        raise
    server = ServerProcess(process, stderr, termination_timeout, force_kill_timeout)
    # No checkpoint since the process exists: from here on the keeper ends it.
    async with open_background_nursery() as nursery:
        nursery.start_soon(server.keep, name=f"keeper of process {process.pid}")
        yield server


async def _spawn(
    command: Sequence[str], env: Mapping[str, str], cwd: str | os.PathLike[str] | None
) -> trio.Process:
    if sys.platform == "win32":
        from trio_mcp.transports import _windows  # noqa: PLC0415 - loads ctypes

        return await trio.lowlevel.open_process(
            _windows.command_line(command[0], command[1:], env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            creationflags=_windows.CREATION_FLAGS,
            env=env,
            cwd=cwd,
        )
    return await trio.lowlevel.open_process(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=env,
        cwd=cwd,
    )


def _why_not_started(command: str, cwd: str | os.PathLike[str] | None, exc: OSError) -> str:
    if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112 - takes what the user gave
        return f"there is no working directory {os.fspath(cwd)!r}"
    if isinstance(exc, FileNotFoundError):
        return f"command not found: {command!r}"
    reason = "permission denied" if isinstance(exc, PermissionError) else exc.strerror
    return f"{command!r} cannot be run: {reason}"


def _fate(exited: bool, status: int | None) -> str:
    if not exited:
        return "closed the connection but is still running"
    if status is None:
        return "exited"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _quote(stderr: str) -> str:
    lines = [line.rstrip() for line in stderr.splitlines() if line.strip()][-_QUOTED_LINES:]
    text = "\n".join(lines)
    if len(text) > _QUOTED_SIZE:
        text = "…" + text[-_QUOTED_SIZE:]
    if not text:
        return ""
    return f":\n{text}" if "\n" in text else f": {text}"


async def _drain(stream: trio.abc.ReceiveStream) -> None:
    # A server that is blocked on a full stdout would never see the end of its stdin.
    with suppress(trio.BrokenResourceError):
        while await stream.receive_some(READ_SIZE):
            pass
