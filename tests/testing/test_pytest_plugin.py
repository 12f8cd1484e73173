from __future__ import annotations

import pytest

INI = "[pytest]\naddopts = -p trio_mcp.testing.pytest_plugin -p no:anyio\nfilterwarnings = error\n"


@pytest.fixture
def run(pytester: pytest.Pytester):
    """Run the text of a test file under the plugin, in this process."""
    pytester.makeini(INI)

    def run(source: str, *args: str) -> pytest.RunResult:
        pytester.makepyfile("import pytest, trio, trio.testing\n" + source)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)

    return run


def test_async_test_runs_under_trio_with_its_fixtures(run):
    result = run(
        """
@pytest.fixture
def number(): return 7

class TestIt:
    async def test_method(self, number):
        await trio.lowlevel.checkpoint()
        assert number == 7

@pytest.mark.parametrize("value", [1, 2])
async def test_parameters(value, number):
    assert trio.lowlevel.current_root_task() is not None and value < number

def test_sync(): pass
"""
    )
    result.assert_outcomes(passed=4)


def test_failure_inside_nurseries_is_shown_plain(run):
    result = run(
        """
async def fail():
    await trio.lowlevel.checkpoint()
    assert 1 == 2, "the reason"

async def test_it():
    async with trio.open_nursery() as outer:
        async with trio.open_nursery() as inner:
            inner.start_soon(fail)
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: the reason*"])
    result.stdout.no_fnmatch_line("*ExceptionGroup*")


def test_cause_and_context_of_a_failure_are_kept(run):
    result = run(
        """
async def test_it():
    async with trio.open_nursery():
        try:
            raise KeyError("the first thing")
        except KeyError as exc:
            raise ValueError("the second thing") from exc
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*KeyError: 'the first thing'", "*direct cause*", "*ValueError: the second thing"]
    )


def test_several_failures_stay_a_group(run):
    result = run(
        """
async def fail(exc):
    raise exc

async def test_it():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail, ValueError("one"))
        nursery.start_soon(fail, KeyError("two"))
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ExceptionGroup*(2 sub-exceptions)*"])


def test_skip_and_xfail_work_inside_a_nursery(run):
    result = run(
        """
async def test_skip():
    async with trio.open_nursery():
        pytest.skip("not here")

async def test_xfail():
    async with trio.open_nursery():
        pytest.xfail("not yet")

@pytest.mark.xfail(raises=ZeroDivisionError, strict=True)
async def test_expected():
    async with trio.open_nursery():
        1 / 0
"""
    )
    result.assert_outcomes(skipped=1, xfailed=2)


def test_hanging_test_is_ended_and_its_task_tree_shown(run):
    result = run(
        """
async def wait_for_godot():
    await trio.sleep_forever()

@pytest.mark.limit(0.5)
async def test_it():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait_for_godot, name="the first tramp")
        nursery.start_soon(wait_for_godot, name="the second tramp")
"""
    )
    result.assert_outcomes(failed=1)
    report = result.stdout.str().partition("short test summary")[0]
    assert report.count("took more than 0.5 s") == 1
    result.stdout.fnmatch_lines(
        [
            "*took more than 0.5 s*",
            "├── the first tramp*in wait_for_godot: await trio.sleep_forever()",
            "└── the second tramp*in wait_for_godot*",
        ]
    )


def test_limit_is_read_from_the_ini_file(run, pytester):
    pytester.makeini(INI + "trio_mcp_limit = 0.05\n")
    result = run("async def test_it(): await trio.sleep_forever()")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*took more than 0.05 s*"])


def test_limit_holds_when_virtual_time_stands_still(run):
    result = run(
        """
@pytest.mark.limit(0.05)
async def test_it(mock_clock): await trio.sleep(1)
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*took more than 0.05 s*"])


def test_virtual_time_does_not_count_towards_the_limit(run):
    result = run(
        """
@pytest.mark.limit(5)
async def test_it(autojump_clock): await trio.sleep(3600)
"""
    )
    result.assert_outcomes(passed=1)


def test_test_that_hides_its_cancellation_fails_all_the_same(run):
    result = run(
        """
@pytest.mark.limit(0.05)
async def test_it():
    with trio.move_on_after(100):
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            raise ValueError("hidden") from None
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*took more than 0.05 s*"])


def test_shielded_test_is_interrupted_after_the_grace(run, monkeypatch):
    monkeypatch.setattr("trio_mcp.testing._limit.GRACE", 0.05)
    result = run(
        """
@pytest.mark.limit(0.05)
async def test_it():
    with trio.CancelScope(shield=True):
        await trio.sleep_forever()

async def test_next_one_runs(): pass
"""
    )
    result.assert_outcomes(failed=1, passed=1)


def test_test_without_checkpoints_is_interrupted(run, monkeypatch):
    monkeypatch.setattr("trio_mcp.testing._limit.GRACE", 0.05)
    result = run(
        """
import time

@pytest.mark.limit(0.05)
async def test_it():
    while True:
        time.sleep(0.001)
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*took more than 0.05 s*"])


def test_clock_asked_for_by_usefixtures_is_the_clock_of_the_run(run):
    result = run(
        """
@pytest.mark.usefixtures("autojump_clock")
async def test_it():
    assert isinstance(trio.lowlevel.current_clock(), trio.testing.MockClock)
"""
    )
    result.assert_outcomes(passed=1)


def test_two_clocks_are_refused(run):
    result = run("async def test_it(autojump_clock, mock_clock): pass")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*one clock*autojump_clock, mock_clock*"])


def test_async_fixture_is_refused_with_advice(run):
    result = run(
        """
@pytest.fixture
async def connection(): yield 1

async def test_it(connection): pass
"""
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'connection' is async*asynccontextmanager*"])


def test_limit_without_a_number_is_refused(run):
    result = run(
        """
@pytest.mark.limit
async def test_it(): pass
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*pytest.mark.limit(seconds)*"])


@pytest.mark.parametrize(
    "seconds", ["'x'", "'5'", "-1", "0", "None", "float('nan')", "float('inf')", "True", "[1]"]
)
def test_limit_that_is_no_time_is_refused(run, seconds):
    result = run(f"@pytest.mark.limit({seconds})\nasync def test_it(): pass")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["@pytest.mark.limit: expected a number of seconds above 0, got *"]
    )


@pytest.mark.parametrize("seconds", ["x", "-1", "0", "nan"])
def test_limit_of_the_ini_file_that_is_no_time_is_refused(run, pytester, seconds):
    pytester.makeini(INI + f"trio_mcp_limit = {seconds}\n")
    result = run("async def test_it(): pass")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"the ini option trio_mcp_limit: expected *, got '{seconds}'"])


def test_limit_of_a_test_that_is_not_async_is_refused(run):
    result = run(
        """
@pytest.mark.limit(5)
def test_it(): pass
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["@pytest.mark.limit is for async tests*"])


def test_limit_of_a_module_is_for_its_async_tests(run):
    result = run(
        """
pytestmark = pytest.mark.limit(0.05)

def test_sync(): pass
async def test_it(): await trio.sleep_forever()
"""
    )
    result.assert_outcomes(passed=1, failed=1)


def test_property_test_runs_each_example_under_trio(run):
    result = run(
        """
from hypothesis import given, settings, strategies as st

seen = set()

@settings(max_examples=5, database=None)
@given(st.integers())
async def test_numbers(number):
    await trio.lowlevel.checkpoint()
    seen.add(number)

def test_examples_ran():
    assert seen
"""
    )
    result.assert_outcomes(passed=2)


def test_warning_in_a_test_is_an_error(run):
    result = run(
        """
import warnings

async def test_it():
    async with trio.open_nursery():
        warnings.warn("mind the gap")
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*UserWarning: mind the gap*"])


def test_forgotten_await_is_reported(run):
    result = run(
        """
async def test_it():
    trio.sleep(1)
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*'sleep' was never awaited*"])


def test_no_thread_is_left_behind(run):
    result = run(
        """
import threading

async def test_it(): pass

def test_threads():
    assert not [each for each in threading.enumerate() if each.name == "limit of a test"]
"""
    )
    result.assert_outcomes(passed=2)
