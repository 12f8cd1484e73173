"""A child and its descendants as one thing to send signals to.

The exit of the leader is seen through a pidfd, without reaping it: while it is a zombie its
number names its group and nothing else, so that no signal can reach a stranger. Where there
is no pidfd (macOS), a group whose leader was reaped before the end began is left alone.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Protocol, final

import trio


class ProcessGroup(Protocol):
    """What differs between systems when a child is watched and ended."""

    async def wait_exited(self, process: trio.Process) -> int | None:
        """Wait until the leader has exited; return its status, if it can be known."""
        ...

    def forget_if_reaped(self) -> None:
        """Let go of a group whose number may belong to somebody else by now."""
        ...

    def terminate(self) -> bool:
        """Ask it to end; tell whether there is a point in waiting for that."""
        ...

    def kill(self) -> None:
        """End all that is left of it."""
        ...

    def close(self) -> None: ...


def open_group(process: trio.Process) -> ProcessGroup:
    """Take hold of a child that leads its group, before anybody can have reaped it."""
    if sys.platform == "win32":
        from trio_mcp.transports._windows import WindowsGroup  # noqa: PLC0415 - loads ctypes

        return WindowsGroup(process)
    return PosixGroup(process)


@final
class PosixGroup:
    """The process group of a child that leads it."""

    def __init__(self, process: trio.Process) -> None:
        self._pgid: int | None = process.pid
        self._pidfd: int | None = None
        if sys.platform == "linux":
            with suppress(OSError):  # Linux before 5.3, or out of descriptors
                self._pidfd = os.pidfd_open(process.pid)

    async def wait_exited(self, process: trio.Process) -> int | None:
        if sys.platform != "linux" or self._pidfd is None:
            return await process.wait()
        await trio.lowlevel.wait_readable(self._pidfd)
        return _peek_exit_status(process.pid)

    def forget_if_reaped(self) -> None:
        if self._pidfd is None:
            self._pgid = None

    def terminate(self) -> bool:
        self._signal(signal.SIGTERM)
        return True

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._pgid is None:
            return
        # Gone, or (EPERM on macOS) nothing but zombies.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pgid, number)

    def close(self) -> None:
        self._pgid = None
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


def _peek_exit_status(pid: int) -> int | None:
    """Read the status of a process that has exited, and leave it unreaped."""
    if sys.platform == "win32" or sys.platform == "darwin":
        return None
    try:
        exit_info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None  # reaped by somebody's waitpid(-1)
    if exit_info is None:
        return None
    killed = exit_info.si_code != os.CLD_EXITED
    return -exit_info.si_status if killed else exit_info.si_status
