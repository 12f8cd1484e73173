"""The server does what the official suite asks of one, in every revision that it knows."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ._suite import announce, listed_scenarios, run_suite

SERVER = Path(__file__).parent / "server.py"

# How many scenarios each has, so that none is left out without a word.
LEGS = {
    ("--requirements", "2025-11-25"): 33,
    ("--requirements", "2026-07-28"): 50,
    ("--suite", "all"): 65,
    ("--suite", "all", "--spec-version", "2025-03-26"): 1,
    ("--suite", "all", "--spec-version", "2025-06-18"): 27,
    ("--suite", "all", "--spec-version", "2025-11-25"): 33,
    ("--suite", "all", "--spec-version", "2026-07-28"): 40,
}

# Extensions in the older era, which no leg asks for. The lists have no lifetimes there.
OLDER_SKILLS = {"enumeration": 2, "manifest": 0, "directory": 0}


@pytest.fixture(scope="module")
def url():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    with subprocess.Popen([sys.executable, str(SERVER), "--port", str(port)]) as process:
        wait_listening(port)
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()
        assert process.wait(10) == 0


def wait_listening(port: int) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            # A process of its own tells nobody when it listens.
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return


@pytest.mark.parametrize("leg", LEGS, ids=" ".join)
def test_leg(leg, url, tmp_path, record_property):
    name = f"server {' '.join(leg)}"
    announce(name, record_property)
    outcome = run_suite(tmp_path, "server", "--url", url, *leg)
    outcome.record(name, record_property)
    assert len(outcome.scenarios) == LEGS[leg]
    if leg == ("--suite", "all"):
        assert outcome.scenarios.keys() == listed_scenarios("server").keys()
    outcome.require()


@pytest.mark.parametrize("name", OLDER_SKILLS)
def test_skills_in_the_older_era(name, url, tmp_path, record_property):
    scenario = f"sep-2640-skills-{name}"
    revision = ("--spec-version", "2025-11-25")
    leg = f"server {' '.join(revision)}"
    announce(leg, record_property)
    outcome = run_suite(
        tmp_path, "server", "--url", url, "--scenario", scenario, *revision, "--force"
    )
    outcome.record(leg, record_property)
    assert list(outcome.scenarios) == [scenario]
    outcome.require({scenario: OLDER_SKILLS[name]})
