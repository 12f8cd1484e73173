"""A pytest plugin that runs ``async def`` tests under Trio.

Switch it on with ``pytest -p trio_mcp.testing.pytest_plugin``, or with
``pytest_plugins = ["trio_mcp.testing.pytest_plugin"]`` in the topmost ``conftest.py``.

* Each test is a run of its own and may take ten real seconds (ini ``trio_mcp_limit``, marker
  ``@pytest.mark.limit(seconds)``), under a virtual clock too. A test that takes longer is
  cancelled, and the report shows the task tree as it was.
* A failure is shown as what was raised in the test. Trio wraps exceptions in a group for
  every nursery they pass; a group with a single exception inside is unwrapped.
* A test that uses a fixture whose value is a clock (``autojump_clock``, ``mock_clock``, or
  one of your own) runs on that clock.
* Fixtures are plain functions. What a test wants to open asynchronously it opens with
  ``async with``, so that it is closed inside the run, in the test's own task.
"""

from __future__ import annotations

import functools
import inspect
import math
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import trio
import trio.testing

from trio_mcp.testing._limit import LimitExceeded, run_within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["autojump_clock", "mock_clock"]

LIMIT_INI = "trio_mcp_limit"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(LIMIT_INI, "real seconds that one async test may take", default="10")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "limit(seconds): the real seconds that this async test may take"
    )


@pytest.fixture
def mock_clock() -> trio.testing.MockClock:
    """Virtual time that stands still until the test moves it (see `trio_mcp.testing.advance`)."""
    return trio.testing.MockClock()


@pytest.fixture
def autojump_clock() -> trio.testing.MockClock:
    """Virtual time that jumps to the next deadline whenever every task is blocked.

    Not for tests with real sockets, pipes or processes: the clock jumps while bytes travel.
    """
    return trio.testing.MockClock(autojump_threshold=0)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> None:
    if inspect.iscoroutinefunction(fixturedef.func) or inspect.isasyncgenfunction(fixturedef.func):
        pytest.fail(
            f"fixture {fixturedef.argname!r} is async, and would run outside of the test's "
            "trio.run(). Write an @asynccontextmanager function, and open it in the test "
            "with `async with`",
            pytrace=False,
        )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    __tracebackhide__ = True
    # A property test is a sync function that calls the async one for every example.
    property_test = getattr(pyfuncitem.obj, "hypothesis", None)
    if property_test is not None and inspect.iscoroutinefunction(property_test.inner_test):
        property_test.inner_test = _as_sync(property_test.inner_test, pyfuncitem)
        return None
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        _refuse_limit(pyfuncitem)
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in _fixture_names(pyfuncitem)}
    _as_sync(pyfuncitem.obj, pyfuncitem)(**arguments)
    return True


def _as_sync(test: Callable[..., Awaitable[object]], item: pytest.Function) -> Callable[..., None]:
    limit = _limit_of(item)
    clock = _clock_of(item)

    @functools.wraps(test)
    def run_test(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        try:
            run_within(limit, functools.partial(test, *args, **kwargs), clock=clock)
        except LimitExceeded as exc:
            report = str(exc)
        else:
            return
        # Outside of the handler: what is handled there would be shown as well.
        pytest.fail(report, pytrace=False)

    return run_test


def _fixture_names(item: pytest.Function) -> tuple[str, ...]:
    return item._fixtureinfo.argnames  # noqa: SLF001 - pytest has no public way to ask


def _limit_of(item: pytest.Function) -> float:
    marker = item.get_closest_marker("limit")
    if marker is None:
        return _seconds(f"the ini option {LIMIT_INI}", item.config.getini(LIMIT_INI))
    if len(marker.args) != 1 or marker.kwargs:
        pytest.fail("write @pytest.mark.limit(seconds), with one number", pytrace=False)
    (seconds,) = marker.args
    if isinstance(seconds, (str, bool)):
        _refuse_seconds("@pytest.mark.limit", seconds)
    return _seconds("@pytest.mark.limit", seconds)


def _seconds(where: str, given: Any) -> float:
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        _refuse_seconds(where, given)
    return seconds


def _refuse_seconds(where: str, given: object) -> NoReturn:
    pytest.fail(f"{where}: expected a number of seconds above 0, got {given!r}", pytrace=False)


def _refuse_limit(item: pytest.Function) -> None:
    # One of a class or a module is meant for the async tests there.
    if any(marker.name == "limit" for marker in item.own_markers):
        pytest.fail(
            "@pytest.mark.limit is for async tests: one that is not async cannot be cancelled",
            pytrace=False,
        )


def _clock_of(item: pytest.Function) -> trio.abc.Clock | None:
    # All fixtures count, not only those among the arguments: `usefixtures` asks for one, too.
    clocks = {
        name: value for name, value in item.funcargs.items() if isinstance(value, trio.abc.Clock)
    }
    if len(set(map(id, clocks.values()))) > 1:
        pytest.fail(
            f"a test runs on one clock, and these fixtures are {len(clocks)}: "
            f"{', '.join(sorted(clocks))}",
            pytrace=False,
        )
    return next(iter(clocks.values()), None)
