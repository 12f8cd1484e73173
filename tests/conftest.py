from __future__ import annotations

import os
import signal
from pathlib import Path

import hypothesis
import pytest

# Times vary too much on a shared machine for a deadline per example; the limit of a test holds.
hypothesis.settings.register_profile("trio_mcp", deadline=None, print_blob=True)
hypothesis.settings.load_profile("trio_mcp")


# A shell that runs the tests in the background lets them ignore Ctrl-C, and so all programs that
# they start. Those are to have it as in a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz-seconds", type=float, help="how long each test in tests/fuzz searches"
    )


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of published schemas and test suites, which does not ship with the package."""
    folder = os.environ.get("TRIO_MCP_TEST_DATA")
    if not folder:
        pytest.skip("TRIO_MCP_TEST_DATA does not say where the published schemas are")
    return Path(folder)
