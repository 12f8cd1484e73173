"""What a handler may report, and what is refused at once."""

from __future__ import annotations

import enum
import math
import re

import pytest

from trio_mcp import Context, MCPServer
from trio_mcp.testing import open_client


class Measured(float):
    """As numpy's numbers are floats."""


class Step(enum.IntEnum):
    """A number with a name."""

    FIRST = 1


@pytest.mark.parametrize("road", ["direct", "memory", "text"])
async def test_numbers_of_other_classes_arrive_as_what_they_are(road):
    mcp = MCPServer("measures")

    @mcp.tool()
    async def measure(ctx: Context) -> None:
        await ctx.report_progress(Step.FIRST, Measured(2.5))
        await ctx.report_progress(Measured(1.5), Measured(2.5))

    got = []

    async def listen(*report):
        got.append([(type(each), each) for each in report])

    async with open_client(mcp, road) as client:
        await client.call_tool("measure", progress_callback=listen)
    assert got == [
        [(int, 1), (float, 2.5), (type(None), None)],
        [(float, 1.5), (float, 2.5), (type(None), None)],
    ]


WRONG_REPORTS = [
    ((math.inf,), ValueError, "notifications/progress: params.progress: JSON has no inf"),
    ((math.nan,), ValueError, "notifications/progress: params.progress: JSON has no nan"),
    ((1, -math.inf), ValueError, "notifications/progress: params.total: JSON has no -inf"),
    (("1",), TypeError, "progress: expected a number, got str"),
    ((True,), TypeError, "progress: expected a number, got bool"),
    ((None,), TypeError, "progress: expected a number, got NoneType"),
    ((1, "x"), TypeError, "total: expected a number, got str"),
    ((1, False), TypeError, "total: expected a number, got bool"),
    ((1, 2, 5), TypeError, "message: expected str, got int"),
    ((1, 2, "\ud800"), ValueError, "notifications/progress: params.message: the text holds"),
]


@pytest.mark.parametrize("listens", [True, False])
@pytest.mark.parametrize(("report", "error", "message"), WRONG_REPORTS, ids=repr)
@pytest.mark.parametrize("road", ["direct", "memory"])
async def test_what_is_no_report_is_refused_and_does_not_count(
    road, report, error, message, listens
):
    mcp = MCPServer("careless")

    @mcp.tool()
    async def work(ctx: Context) -> None:
        with pytest.raises(error, match=f"^{re.escape(message)}"):
            await ctx.report_progress(*report)
        with pytest.raises(error, match=f"^{re.escape(message)}"):
            await ctx.session.send_progress_notification("token", *report)
        await ctx.report_progress(0.5)

    got = []

    async def listen(*report):
        got.append(report)

    async with open_client(mcp, road) as client:
        result = await client.call_tool("work", progress_callback=listen if listens else None)
    assert not result.is_error, result.content
    assert got == ([(0.5, None, None)] if listens else [])
