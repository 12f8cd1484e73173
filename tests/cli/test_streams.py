"""Standard streams that are closed, or full: one line where there is a place for it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from .conftest import Done, command_line

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")

FULL = "trio-mcp: cannot write to stdout: No space left on device\n"
CLOSED = "trio-mcp: cannot write to stdout: it is closed\n"

COMMANDS = [
    ["version"],
    ["--help"],
    ["list", "SHOP"],
    ["inspect", "SHOP"],
    ["call", "SHOP", "order", "article=tea"],
    ["read", "SHOP", "shop://logo"],
    ["prompt", "SHOP", "complain", "about=tea", "--json"],
    ["demo"],
]


def run(shop: Path, words: list[str], redirection: str) -> Done:
    command = command_line(*(str(shop) if word == "SHOP" else word for word in words))
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("redirection", "line"),
    [(">/dev/full", FULL), (">&-", CLOSED), (">&- 2>&-", "")],
)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_results_that_cannot_be_written_are_a_failure(shop, words, redirection, line):
    done = run(shop, words, redirection)
    assert (done.status, done.out, done.err) == (1, "", line)


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    "words", [*COMMANDS, ["call", "SHOP", "count", "to=3", "--wire"]], ids=" ".join
)
def test_results_are_written_though_there_is_no_stderr(shop, words, redirection):
    done = run(shop, words, redirection)
    assert (done.status, done.err) == (0, "")
    assert done.out


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", ">&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "status"),
    [(["bogus"], 2), (["list", "gone.py"], 2), (["call", "SHOP", "fail"], 1)],
    ids=str,
)
def test_a_failure_keeps_its_status_and_stays_off_stdout(shop, words, status, redirection):
    done = run(shop, words, redirection)
    assert (done.status, done.out, done.err) == (status, "", "")
