from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.client import Client

# Times vary too much on a shared machine for a deadline per example; the limit of a test holds.
hypothesis.settings.register_profile("trio_mcp", deadline=None, print_blob=True)
hypothesis.settings.load_profile("trio_mcp")


# A shell that runs the tests in the background lets them ignore Ctrl-C, and so all programs that
# they start. Those are to have it as in a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names with addresses, which are others in each process that runs the tests."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"this test needs ids of its own: {item.nodeid}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz-seconds", type=float, help="how long each test in tests/fuzz searches"
    )


@pytest.fixture(scope="session")
def ask_raw() -> Callable[[Client, str, dict[str, Any]], Awaitable[dict[str, Any]]]:
    """Send a request as it is: the verbs of a client refuse what no server should get."""

    async def ask(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
        session: Any = client.session
        if session._envelope is not None:
            params = {**params, "_meta": dict(session._envelope)}
        answer: dict[str, Any] = await session._link.request(method, params)
        return answer

    return ask


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of published schemas and test suites, which does not ship with the package."""
    folder = os.environ.get("TRIO_MCP_TEST_DATA")
    if not folder:
        pytest.skip("TRIO_MCP_TEST_DATA does not say where the published schemas are")
    return Path(folder)
