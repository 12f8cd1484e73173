from __future__ import annotations

import pytest

from trio_mcp._rpc._interrupt import run_until_interrupt


async def ends_with(error: BaseException | None) -> str:
    if error is not None:
        raise error
    return "done"


@pytest.mark.parametrize(
    ("error", "interrupted"),
    [
        (None, False),
        (KeyboardInterrupt(), True),
        (BaseExceptionGroup("two tasks", [KeyboardInterrupt(), KeyboardInterrupt()]), True),
    ],
)
def test_it_tells_whether_ctrl_c_ended_it(error, interrupted):
    assert run_until_interrupt(ends_with, error) is interrupted


def test_what_fails_is_not_taken_for_ctrl_c():
    with pytest.raises(ValueError, match="defect"):
        run_until_interrupt(ends_with, ValueError("defect"))
    group = BaseExceptionGroup("two tasks", [KeyboardInterrupt(), ValueError("defect")])
    with pytest.RaisesGroup(KeyboardInterrupt, ValueError):
        run_until_interrupt(ends_with, group)
