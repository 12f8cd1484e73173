"""What fails and works again is told now and then, however often it does."""

from __future__ import annotations

import trio

from trio_mcp._rpc._trouble import CALM_SECONDS, Trouble


async def test_what_works_is_told_only_after_it_has_failed(autojump_clock):
    trouble = Trouble()
    assert [trouble.works(), trouble.fails(), trouble.fails()] == [False, True, False]
    assert [trouble.works(), trouble.works()] == [True, False]


async def test_what_comes_and_goes_is_told_once_in_a_while(autojump_clock):
    trouble = Trouble()
    assert [trouble.fails(), trouble.works()] == [True, True]
    assert not trouble.comes_and_goes
    told = []
    for _ in range(1000):
        await trio.sleep(0.5)
        told += [trouble.fails(), trouble.works()]
    assert trouble.comes_and_goes
    # The first of them, as what comes and goes.
    assert told == [True, *[False] * 1999]


async def test_what_has_worked_for_long_is_another_trouble(autojump_clock):
    trouble = Trouble()
    for _ in range(2):
        trouble.fails()
        trouble.works()
    assert trouble.comes_and_goes
    assert not trouble.works()
    await trio.sleep(CALM_SECONDS)
    assert trouble.works()
    await trio.sleep(CALM_SECONDS)
    assert trouble.fails()
    assert not trouble.comes_and_goes
    assert trouble.works()
