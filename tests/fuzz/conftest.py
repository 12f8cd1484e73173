from __future__ import annotations

import pytest

# Without an option: a slice, so that each run of all tests tries something new.
DEFAULT_SECONDS = 2.0
DEFAULT_SCHEMAS = 80


def pytest_addoption(parser: pytest.Parser) -> None:
    # Beside `--fuzz-seconds`, which tests/conftest.py has.
    parser.addoption("--fuzz-schemas", type=int, help="how many schemas are tried at least")
    parser.addoption("--fuzz-seed", type=int, help="where the search begins, to repeat one")


@pytest.fixture
def search_seconds(request: pytest.FixtureRequest) -> float:
    """The time that a search takes: `--fuzz-seconds`, or a slice where all tests run."""
    seconds: float | None = request.config.getoption("--fuzz-seconds")
    return DEFAULT_SECONDS if seconds is None else seconds


@pytest.fixture
def search_schemas(request: pytest.FixtureRequest, search_seconds: float) -> int:
    """How many schemas must have been tried for the search to mean something.

    Two minutes, as `nox -s fuzz` takes, try at least 10,000; it searches on until it has them.
    """
    # The default: pytest does not know our options when it is not told to run this folder.
    schemas: int | None = request.config.getoption("--fuzz-schemas", default=None)
    if schemas is not None:
        return schemas
    return 10_000 if search_seconds >= 120 else DEFAULT_SCHEMAS


@pytest.fixture
def search_seed(request: pytest.FixtureRequest) -> int | None:
    """The seed that was asked for, to repeat a search."""
    seed: int | None = request.config.getoption("--fuzz-seed", default=None)
    return seed
