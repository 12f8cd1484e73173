"""Tested with fakes, so that every platform tests it."""

from __future__ import annotations

import ctypes
import ntpath
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp.transports._windows import (
    JobObject,
    WindowsGroup,
    batch_command_line,
    command_line,
    find_command,
)

FILES = {
    r"C:\node\npx",  # npm puts a shell script beside it
    r"C:\node\npx.cmd",
    r"C:\tools\server.exe",
    r"C:\tools\x.cmd",
    r"C:\tools\x.py",
    r"C:\My Tools\y.bat",
    r"D:\app\local.exe",
}
ENVIRONMENT = {
    "Path": r'C:\node;;"C:\My Tools";C:\tools',
    "PATHEXT": ".COM;.EXE;.BAT;.CMD",
    "ComSpec": r"C:\Windows\system32\cmd.exe",
}


def is_file(path: str) -> bool:
    return ntpath.normcase(path) in {ntpath.normcase(each) for each in FILES}


@pytest.mark.case("C012")
@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("npx", r"C:\node\npx.CMD"),
        ("npx.cmd", r"C:\node\npx.cmd"),
        ("x", r"C:\tools\x.CMD"),
        ("server", r"C:\tools\server.EXE"),
        ("server.exe", r"C:\tools\server.exe"),
        ("y", r"C:\My Tools\y.BAT"),
        (r"D:\app\local", r"D:\app\local.EXE"),
        (r"D:\app\local.exe", r"D:\app\local.exe"),
        ("x.py", None),
        ("nothing", None),
        (r"D:\app\nothing", None),
        (r"D:\app\server", None),
    ],
)
def test_commands_are_found_as_a_shell_finds_them(command: str, path: str | None) -> None:
    assert find_command(command, ENVIRONMENT, is_file) == path


@pytest.mark.case("C012")
def test_the_childs_own_path_counts() -> None:
    assert find_command("npx", {"PATH": r"C:\tools"}, is_file) is None
    assert find_command("npx", {}, is_file) is None
    assert find_command("npx", {"path": r"C:\node"}, is_file) == r"C:\node\npx.CMD"
    assert (
        find_command("x.py", {"PATH": r"C:\tools", "PATHEXT": ".PY"}, is_file) == r"C:\tools\x.py"
    )


def test_a_program_is_run_directly() -> None:
    assert command_line("server", ["a b", "&"], ENVIRONMENT, is_file) == [
        r"C:\tools\server.EXE",
        "a b",
        "&",
    ]


@pytest.mark.case("C012")
def test_a_batch_file_is_run_by_the_interpreter() -> None:
    assert command_line("npx", ["-y", "server"], ENVIRONMENT, is_file) == (
        r'"C:\Windows\system32\cmd.exe" /e:ON /v:OFF /d /c ""C:\node\npx.CMD" -y server"'
    )
    assert command_line("y", [], {"PATH": r"C:\My Tools"}, is_file) == (
        r'"cmd.exe" /e:ON /v:OFF /d /c ""C:\My Tools\y.BAT""'
    )


@pytest.mark.case("C012")
def test_what_is_missing_is_not_found() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        command_line("nothing", [], ENVIRONMENT, is_file)
    assert caught.value.filename == "nothing"


@pytest.mark.case("C012")
@pytest.mark.parametrize(
    ("arg", "written"),
    [
        ("plain-1.2_3:/@x", "plain-1.2_3:/@x"),
        ("", '""'),
        ("a b", '"a b"'),
        ("a&calc", '"a&calc"'),
        ('a"b', '"a""b"'),
        ('"&calc&"', '"""&calc&"""'),
        ('\\"', '"\\\\"""'),
        ("C:\\dir\\", '"C:\\dir\\\\"'),
        ("C:\\a\\b", "C:\\a\\b"),
        ("%PATH%", '"%%cd:~,%PATH%%cd:~,%"'),
        ("a^b", '"a^b"'),
        ("!x!", '"!x!"'),
        ("a|b<c>d(e)", '"a|b<c>d(e)"'),
        ("ü", '"ü"'),
        ("a\tb", '"a\tb"'),
    ],
)
def test_arguments_of_a_batch_file_are_quoted(arg: str, written: str) -> None:
    line = batch_command_line("x.cmd", [arg])
    assert line == f'"cmd.exe" /e:ON /v:OFF /d /c ""x.cmd" {written}"'


@pytest.mark.parametrize("arg", ["a\nb", "a\rb", "a\0b"])
def test_what_the_interpreter_cannot_carry_is_refused(arg: str) -> None:
    with pytest.raises(ValueError, match="line break or NUL"):
        batch_command_line("x.cmd", [arg])


@pytest.mark.parametrize("script", ['a"b.cmd', "dir\\"])
def test_a_script_whose_name_cannot_be_is_refused(script: str) -> None:
    with pytest.raises(ValueError, match="not the name of a batch file"):
        batch_command_line(script, [])


def read_by_interpreter(line: str) -> str:
    """Expand variables and check quotes, as cmd.exe does; return the arguments' text."""
    prefix = '"cmd.exe" /e:ON /v:OFF /d /c "'
    assert line.startswith(prefix)
    assert line.endswith('"')
    text = line[len(prefix) : -1].replace("%cd:~,%", "")
    in_quotes = False
    for character in text:
        if character == '"':
            in_quotes = not in_quotes
        elif not in_quotes:
            assert character not in "&|<>()^%!,;=\t\r\n", "the interpreter would act on it"
    assert not in_quotes
    return text


def read_by_program(text: str) -> list[str]:
    """Split into arguments by the rules of Microsoft's C runtime since 2008."""
    args: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == " ":
            position += 1
            continue
        arg, in_quotes = "", False
        while position < len(text) and (in_quotes or text[position] != " "):
            slashes = 0
            while text[position : position + 1] == "\\":
                slashes += 1
                position += 1
            if text[position : position + 1] != '"':
                arg += "\\" * slashes
                if position < len(text) and (in_quotes or text[position] != " "):
                    arg += text[position]
                    position += 1
                continue
            arg += "\\" * (slashes // 2)
            if slashes % 2:
                arg += '"'
            elif in_quotes and text[position + 1 : position + 2] == '"':
                arg += '"'
                position += 1
            else:
                in_quotes = not in_quotes
            position += 1
        args.append(arg)
    return args


@pytest.mark.case("C012")
@given(st.lists(st.text(st.sampled_from('ab \\"%&|^!<>();,=ü*?')), max_size=4))
def test_arguments_arrive_as_they_were_given(args: list[str]) -> None:
    script = r"C:\x y\z.cmd"
    text = read_by_interpreter(batch_command_line(script, args))
    assert read_by_program(text) == [script, *args]


class FakeKernel32:
    """Remembers what it was asked; refuses what it is told to."""

    def __init__(self, refuses: str = "") -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._refuses = refuses

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> int:
            if name == "SetInformationJobObject":
                size = args[3]
                data = ctypes.string_at(ctypes.addressof(args[2]._obj), size)
                args = (args[0], args[1], int.from_bytes(data[16:20], "little"), size)
            self.calls.append((name, *args))
            results = {"CreateJobObjectW": 11, "OpenProcess": 22}
            return 0 if name == self._refuses else results.get(name, 1)

        return call


def test_a_job_object_ends_what_is_in_it() -> None:
    kernel32 = FakeKernel32()
    job = JobObject(kernel32)
    size = 144 if ctypes.sizeof(ctypes.c_void_p) == 8 else 112
    assert kernel32.calls == [
        ("CreateJobObjectW", None, None),
        ("SetInformationJobObject", 11, 9, 0x2000, size),
    ]
    kernel32.calls.clear()
    assert job.add(4711)
    job.terminate()
    job.close()
    job.close()
    job.terminate()
    assert kernel32.calls == [
        ("OpenProcess", 0x101, False, 4711),
        ("AssignProcessToJobObject", 11, 22),
        ("CloseHandle", 22),
        ("TerminateJobObject", 11, 1),
        ("CloseHandle", 11),
    ]


@pytest.mark.parametrize("refuses", ["CreateJobObjectW", "SetInformationJobObject"])
def test_a_system_without_job_objects_is_an_error(refuses: str) -> None:
    kernel32 = FakeKernel32(refuses)
    with pytest.raises(OSError, match="no job object"):
        JobObject(kernel32)
    assert (("CloseHandle", 11) in kernel32.calls) is (refuses == "SetInformationJobObject")


@pytest.mark.parametrize("refuses", ["OpenProcess", "AssignProcessToJobObject"])
def test_a_process_that_cannot_be_added_is_told(refuses: str) -> None:
    kernel32 = FakeKernel32(refuses)
    assert not JobObject(kernel32).add(4711)
    assert (("CloseHandle", 22) in kernel32.calls) is (refuses == "AssignProcessToJobObject")


class FakeProcess:
    pid = 4711
    killed = False

    def kill(self) -> None:
        self.killed = True

    async def wait(self) -> int:
        await trio.lowlevel.checkpoint()
        return 3


async def test_a_group_is_ended_as_a_job() -> None:
    kernel32, process = FakeKernel32(), FakeProcess()
    group = WindowsGroup(process, kernel32)  # type: ignore[arg-type]
    assert await group.wait_exited(process) == 3  # type: ignore[arg-type]
    group.forget_if_reaped()
    assert not group.terminate()
    kernel32.calls.clear()
    group.kill()
    group.close()
    group.close()
    assert kernel32.calls == [("TerminateJobObject", 11, 1), ("CloseHandle", 11)]
    assert not process.killed


@pytest.mark.parametrize("refuses", ["CreateJobObjectW", "OpenProcess"])
def test_without_a_job_the_process_alone_is_ended(refuses: str) -> None:
    process = FakeProcess()
    group = WindowsGroup(process, FakeKernel32(refuses))  # type: ignore[arg-type]
    group.kill()
    group.close()
    assert process.killed
