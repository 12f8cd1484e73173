"""What a peer does wrong again and again does not fill the log."""

from __future__ import annotations

import logging

from trio_mcp._rpc._repeats import Repeats

logger = logging.getLogger("trio_mcp.tests")


def levels(caplog):
    return [record.levelname for record in caplog.records]


def test_it_is_told_at_first_and_at_each_power_of_ten(caplog):
    caplog.set_level(logging.DEBUG)
    repeats = Repeats()
    for number in range(1, 2001):
        repeats.warn(logger, "junk: %s", f"n{number}")
    told = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert told == [
        "junk: n1",
        "junk: n10 (10 times by now)",
        "junk: n100 (100 times by now)",
        "junk: n1000 (1000 times by now)",
    ]
    assert levels(caplog).count("DEBUG") == 1996
    assert {each.funcName for each in caplog.records} == {
        "test_it_is_told_at_first_and_at_each_power_of_ten"
    }


def test_what_goes_wrong_otherwise_is_told_by_itself(caplog):
    caplog.set_level(logging.DEBUG)
    first, second = Repeats(), Repeats()
    first.warn(logger, "junk: %s", 1)
    first.warn(logger, "no junk: %s", 1)
    second.warn(logger, "junk: %s", 1)
    first.warn(logger, "junk: %s", 2)
    assert levels(caplog) == ["WARNING", "WARNING", "WARNING", "DEBUG"]
