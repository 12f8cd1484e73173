from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak-seconds", type=float, help="how long each of the two rounds takes")
    parser.addoption("--soak-clients", type=int, help="how many clients come at once")


@pytest.fixture
def soak_seconds(request: pytest.FixtureRequest) -> float:
    """The time of a round; a slice of it where all tests run."""
    seconds: float | None = request.config.getoption("--soak-seconds", default=None)
    return 1.5 if seconds is None else seconds


@pytest.fixture
def soak_clients(request: pytest.FixtureRequest) -> int:
    clients: int | None = request.config.getoption("--soak-clients", default=None)
    return 20 if clients is None else clients
