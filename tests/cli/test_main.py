from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from trio_mcp import __version__
from trio_mcp.types import KNOWN_PROTOCOL_VERSIONS


def test_version_names_the_package_and_the_revisions(cli):
    done = cli("version")
    assert done.status == 0
    assert done.out.splitlines()[0] == f"trio-mcp {__version__}"
    for version in KNOWN_PROTOCOL_VERSIONS:
        assert version in done.out
    report = cli("version", "--json").json
    assert report["version"] == __version__
    assert report["protocolVersions"] == list(KNOWN_PROTOCOL_VERSIONS)


COMMANDS = ("version", "demo", "run", "list", "inspect", "call", "read", "prompt")


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_help_lists_every_command(words, cli):
    done = cli(*words)
    assert (done.status, done.err) == (0, "")
    for command in COMMANDS:
        assert command in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, cli):
    done = cli(command, "--help")
    assert done.status == 0
    assert f"trio-mcp {command}" in done.out


TALKING = {
    "list": ["[SERVER]"],
    "inspect": ["[SERVER]"],
    "call": ["[SERVER] NAME [KEY=VALUE]", "--arguments"],
    "read": ["[SERVER] URI"],
    "prompt": ["[SERVER] NAME [KEY=VALUE]", "--arguments"],
}
SHARED = [
    *("--json", "--plain", "--wire", "--mode", "--timeout", "--env", "--cwd"),
    *("--header", "--transport", "--auth"),
]


@pytest.mark.parametrize("command", TALKING)
def test_commands_that_talk_to_a_server_have_the_same_options(command, cli):
    words, *own = TALKING[command]
    shown = cli(command, "--help").out
    assert words in next(line for line in shown.splitlines() if "Usage:" in line)
    assert re.findall(r"^│ (--\w+)", shown, re.MULTILINE) == [*own, *SHARED, "--help"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bogus"], "No such command 'bogus'; see trio-mcp --help"),
        (["list", "--bogus"], "No such option: --bogus; see trio-mcp list --help"),
        (["run"], "see trio-mcp run --help"),
        (["run", "gone.py"], "there is no file gone.py"),
        (["run", "gone.py", "-t", "streamable-http"], "there is no file gone.py"),
        (["run", "gone.py", "-t", "smoke"], "no transport 'smoke'"),
        (["list"], "name a server"),
        (["list", "--"], "no command after --"),
        (["list", "ftp://example.com/mcp"], "the URL of a server is http://host/path"),
        (["list", "http:///mcp"], "the URL of a server is http://host/path"),
        (
            ["list", "http://x/", "-t", "websocket"],
            "http:// goes with streamable-http or sse, not",
        ),
        (["list", "http://x/", "-t", "stdio"], "not with 'stdio'"),
        (["list", "http://x/", "-e", "A=1"], "--env and --cwd are for servers that are started"),
        (["list", "http://x/", "--cwd", "/"], "--env and --cwd are for servers that are started"),
        (["list", "http://x/", "-H", "SECRET"], "--header takes 'NAME: VALUE', of characters"),
        (["list", "http://x/", "-H", "A B: c"], "--header takes 'NAME: VALUE', of characters"),
        (["list", "http://x/", "-H", "A: b\nC: d"], "--header takes 'NAME: VALUE', of characters"),
        (["list", "x.py", "-H", "A: b"], "--header, --transport and --auth are for servers"),
        (["list", "-t", "sse", "--", "x"], "--header, --transport and --auth are for servers"),
        (
            ["list", "x.py", "--auth", "browser"],
            "--header, --transport and --auth are for servers",
        ),
        (
            ["list", "http://x/", "--auth", "TOKEN"],
            "--auth goes with browser or console, not with",
        ),
    ],
)
def test_mistake_is_one_line_and_status_2(words, message, cli):
    done = cli(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("trio-mcp: ")
    assert message in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_missing_extra_is_one_line_that_says_what_to_install(missing):
    program = f"import sys; sys.modules[{missing!r}] = None\nfrom trio_mcp.cli import main\nsys.exit(main(['version', '--json']))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert (
        done.stderr == f"trio-mcp: the command line needs {missing}: pip install 'trio-mcp[cli]'\n"
    )


def test_import_of_the_entry_point_loads_nothing_of_the_extra():
    program = "import trio_mcp.cli, sys; print({'rich', 'typer', 'trio'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_running_a_server_on_stdio_loads_no_client_no_http_and_no_rich(shop):
    # Of HTTP, the command line knows what its options are.
    program = (
        "import sys\n"
        "from trio_mcp.cli import main\n"
        f"main(['run', {str(shop)!r}])\n"
        "heavy = ('rich.console', 'trio_mcp.client', 'httpx', 'httpcore', 'hypercorn', 'h11', 'h2', "
        "'wsproto', 'trio_websocket', 'trio_mcp.transports.http', 'trio_mcp.transports.websocket')\n"
        "found = {name for name in sys.modules if name.startswith(heavy)}\n"
        "light = ('__init__', '_defaults', '_options', '_serve_options')\n"
        "print(*sorted(name for name in found if not name.endswith((*light, '.http', '.websocket'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("\n", "")


def test_reader_that_has_seen_enough_is_no_error(shop):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "trio_mcp.cli", "list", str(shop)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_output_is_utf8_and_wraps_nothing_where_the_locale_is_not(cli_process, shop):
    done = cli_process("list", shop, PYTHONUTF8="0", LC_ALL="C", PYTHONIOENCODING="ascii:replace")
    assert done.status == 0
    assert "order(article, amount?, gift?)" in done.out


def test_served_file_speaks_on_stdout_alone(shop):
    """A pipe with one request, as people try it in a shell."""
    request = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(
        [sys.executable, "-m", "trio_mcp.cli", "run", f"{shop}:mcp"],
        input=request, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith('{"jsonrpc":"2.0","id":1,')
    assert done.stdout.count("\n") == 1


def test_lowlevel_server_is_served_too(tmp_path, cli):
    (tmp_path / "low.py").write_text("from trio_mcp import Server\napp = Server('low')\n")
    assert cli("inspect", tmp_path / "low.py").json["serverInfo"]["name"] == "low"


@pytest.mark.skipif(sys.platform == "win32", reason="closes descriptors by a POSIX shell")
@pytest.mark.parametrize(("closed", "name"), [("<&-", "stdin"), (">&-", "stdout")])
def test_run_without_stdin_or_stdout_says_so_in_one_line(closed, name, shop):
    command = [sys.executable, "-m", "trio_mcp.cli", "run", f"{shop}:mcp"]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *command],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"trio-mcp: {name} is closed: "
        "a server on stdio talks with its client over stdin and stdout\n"
    )
