"""What Windows does differently when a server is started and stopped.

Commands: ``npx`` is ``npx.cmd`` there, and only a shell looks for it. A batch file is run by
the command interpreter, which reads its arguments once more; `batch_command_line` writes
them so that they arrive as they were given, whatever is in them.

Ending: there is no SIGTERM, and a process does not know its children. A job object does,
and takes them along when it is closed, even by our own death.

The functions are pure, so that they can be tested anywhere.
"""

from __future__ import annotations

import ctypes
import ntpath
import string
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import trio

CREATION_FLAGS: Final = 0x0800_0000 | 0x0000_0200
"""CREATE_NO_WINDOW, and CREATE_NEW_PROCESS_GROUP so that Ctrl-C stays with us."""

_DEFAULT_PATHEXT: Final = ".COM;.EXE;.BAT;.CMD"
_BATCH: Final = (".bat", ".cmd")
_PLAIN: Final = frozenset(string.ascii_letters + string.digits + "#$*+-./:?@\\_")
# Characters that the command interpreter takes for themselves outside quotes.

_JOB_OBJECT_EXTENDED_LIMIT_INFORMATION: Final = 9
_JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE: Final = 0x2000
_PROCESS_SET_QUOTA_AND_TERMINATE: Final = 0x0100 | 0x0001


def find_command(
    command: str,
    environment: Mapping[str, str],
    is_file: Callable[[str], bool] = ntpath.isfile,
) -> str | None:
    """Find the file that a shell would run for a command, or None.

    Args:
      command: A name, looked for on PATH, or a path; both with or without their extension.
      environment: Of the child; its PATH and PATHEXT count.
      is_file: Whether there is a file at a path.

    """
    variables = {name.upper(): value for name, value in environment.items()}
    extensions = [
        extension
        for extension in variables.get("PATHEXT", _DEFAULT_PATHEXT).split(";")
        if extension
    ]
    known = tuple(extension.lower() for extension in extensions)
    # A name that ends like a program is looked for as it is first; any other name only with
    # an extension: Windows runs no file without one (npm puts a shell script beside npx.cmd).
    has_extension = command.lower().endswith(known)
    names = [command + extension for extension in extensions]
    names = [command, *names] if has_extension else names
    if ntpath.dirname(command):
        folders = [""]
    else:
        folders = [folder.strip('"') for folder in variables.get("PATH", "").split(";")]
        folders = [folder for folder in folders if folder]
    for folder in folders:
        for name in names:
            path = ntpath.join(folder, name) if folder else name
            if is_file(path):
                return path
    return None


def command_line(
    command: str,
    args: Sequence[str],
    environment: Mapping[str, str],
    is_file: Callable[[str], bool] = ntpath.isfile,
) -> str | list[str]:
    """Return what to hand to CreateProcess: a list, or a finished line for a batch file.

    Raises:
      FileNotFoundError: if there is no such command.
      ValueError: if an argument for a batch file holds a line break or NUL, which no way of
          writing can bring through the command interpreter.

    """
    path = find_command(command, environment, is_file)
    if path is None:
        raise FileNotFoundError(2, "The system cannot find the file specified", command)
    if not path.lower().endswith(_BATCH):
        return [path, *args]
    variables = {name.upper(): value for name, value in environment.items()}
    return batch_command_line(path, args, variables.get("COMSPEC", "cmd.exe"))


def batch_command_line(script: str, args: Sequence[str], interpreter: str = "cmd.exe") -> str:
    """Write the command line that runs a batch file with exactly these arguments.

    The interpreter gets: extensions on (``%cd:~,%`` needs them), delayed expansion off (so
    that ``!`` is a character), no AutoRun commands.

    Raises:
      ValueError: if the script or an argument cannot be written.

    """
    if '"' in script or script.endswith("\\"):
        raise ValueError(f"not the name of a batch file: {script!r}")
    words = [_quoted(script), *(_batch_word(arg) for arg in args)]
    return f'"{interpreter}" /e:ON /v:OFF /d /c "{" ".join(words)}"'


def _batch_word(arg: str) -> str:
    if arg and all(character in _PLAIN for character in arg) and not arg.endswith("\\"):
        return arg
    return _quoted(arg)


def _quoted(arg: str) -> str:
    """Quote for the interpreter and for the program behind it, which each take quotes off."""
    if any(character in arg for character in "\r\n\0"):
        raise ValueError(f"a batch file cannot be given a line break or NUL: {arg!r}")
    written: list[str] = ['"']
    backslashes = 0
    for character in arg:
        if character == "\\":
            backslashes += 1
        elif character == '"':
            # Backslashes before a quote count double. The quote itself is doubled, and not
            # escaped with a backslash, which to the interpreter would end the quoted part.
            written.append("\\" * backslashes + '"')
            backslashes = 0
        elif character == "%":
            # An empty piece of the variable `cd`: what follows is no variable's name then.
            written.append("%%cd:~,")
            backslashes = 0
        else:
            backslashes = 0
        written.append(character)
    written.append("\\" * backslashes + '"')
    return "".join(written)


class _IoCounters(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("ro", "wo", "oo", "rt", "wt", "ot")]


class _BasicLimits(ctypes.Structure):
    _fields_ = [
        ("per_process_user_time_limit", ctypes.c_longlong),
        ("per_job_user_time_limit", ctypes.c_longlong),
        ("limit_flags", ctypes.c_uint32),
        ("minimum_working_set_size", ctypes.c_size_t),
        ("maximum_working_set_size", ctypes.c_size_t),
        ("active_process_limit", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    ]


class _ExtendedLimits(ctypes.Structure):
    _fields_ = [
        ("basic", _BasicLimits),
        ("io", _IoCounters),
        ("process_memory_limit", ctypes.c_size_t),
        ("job_memory_limit", ctypes.c_size_t),
        ("peak_process_memory_used", ctypes.c_size_t),
        ("peak_job_memory_used", ctypes.c_size_t),
    ]


@final
class JobObject:
    """A process and all its descendants, ended together.

    Args:
      kernel32: The library; a fake in tests.

    Raises:
      OSError: if the system does not give one.

    """

    def __init__(self, kernel32: Any = None) -> None:
        self._kernel32 = _load_kernel32() if kernel32 is None else kernel32
        self._handle = self._kernel32.CreateJobObjectW(None, None)
        if not self._handle:
            raise OSError("no job object")
        limits = _ExtendedLimits()
        limits.basic.limit_flags = _JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
        if not self._kernel32.SetInformationJobObject(
            self._handle,
            _JOB_OBJECT_EXTENDED_LIMIT_INFORMATION,
            ctypes.byref(limits),
            ctypes.sizeof(limits),
        ):
            self.close()
            raise OSError("no job object that ends its processes")

    def add(self, pid: int) -> bool:
        """Take a process in, and with it whatever it starts from now on."""
        process = self._kernel32.OpenProcess(_PROCESS_SET_QUOTA_AND_TERMINATE, False, pid)
        if not process:
            return False
        try:
            return bool(self._kernel32.AssignProcessToJobObject(self._handle, process))
        finally:
            self._kernel32.CloseHandle(process)

    def terminate(self) -> None:
        """End all processes in it."""
        if self._handle:
            self._kernel32.TerminateJobObject(self._handle, 1)

    def close(self) -> None:
        """Close it, which ends what is left in it."""
        handle, self._handle = self._handle, None
        if handle:
            self._kernel32.CloseHandle(handle)


@final
class WindowsGroup:
    """A child and its descendants, held together by a job object where there is one.

    Args:
      process: The child.
      kernel32: The library; a fake in tests.

    """

    def __init__(self, process: trio.Process, kernel32: Any = None) -> None:
        self._process = process
        self._job: JobObject | None = None
        with suppress(OSError):
            job = JobObject(kernel32)
            if job.add(process.pid):
                self._job = job
            else:
                job.close()

    async def wait_exited(self, process: trio.Process) -> int | None:
        return await process.wait()

    def forget_if_reaped(self) -> None:
        """Do nothing: a handle names one process for ever."""

    def terminate(self) -> bool:
        return False  # Windows has no way to ask

    def kill(self) -> None:
        if self._job is not None:
            self._job.terminate()
        else:
            self._process.kill()

    def close(self) -> None:
        if self._job is not None:
            self._job.close()
            self._job = None


def _load_kernel32() -> Any:
    if sys.platform != "win32":
        raise OSError("job objects exist on Windows only")
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    handle, flag, number = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32
    for name, result, arguments in (
        ("CreateJobObjectW", handle, [ctypes.c_void_p, ctypes.c_wchar_p]),
        ("SetInformationJobObject", flag, [handle, flag, ctypes.c_void_p, number]),
        ("OpenProcess", handle, [number, flag, number]),
        ("AssignProcessToJobObject", flag, [handle, handle]),
        ("TerminateJobObject", flag, [handle, number]),
        ("CloseHandle", flag, [handle]),
    ):
        function = getattr(kernel32, name)
        function.restype, function.argtypes = result, arguments
    return kernel32
