"""`read_timeout_seconds` for each answer of a server, `max_total_timeout` for a whole call."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import attrs
import pytest
import trio

from trio_mcp import Client, ClientSessionGroup, Context, MCPServer
from trio_mcp.errors import RequestTimeout
from trio_mcp.mcpserver import Elicit, Resolve
from trio_mcp.server import Server
from trio_mcp.testing import open_client
from trio_mcp.types import ElicitResult, ReadResourceResult, TextResourceContents

every_road = pytest.mark.parametrize("road", ["direct", "memory", "text"])
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@attrs.frozen
class Name:
    name: str


def ask_first():
    return Elicit("first?", Name)


def ask_second():
    return Elicit("second?", Name)


mcp = MCPServer("limits")


@mcp.tool()
async def greet(
    one: Annotated[Name, Resolve(ask_first)], two: Annotated[Name, Resolve(ask_second)]
) -> str:
    return f"{one.name} and {two.name}"


@mcp.tool()
async def hang() -> None:
    await trio.sleep_forever()


@mcp.tool()
async def tick(ctx: Context) -> None:
    for step in range(100):
        await ctx.report_progress(step)
        await trio.sleep(0.5)


async def answer_after_3_seconds(context, params):
    await trio.sleep(3)
    return ElicitResult(action="accept", content={"name": "Ann"})


async def never(*args):
    await trio.sleep_forever()


async def ignore(*args):
    pass


@every_road
@both_eras
async def test_the_time_for_all_is_a_limit_by_itself(autojump_clock, road, mode):
    async with open_client(mcp, road, mode=mode) as client:
        for call in (client.call_tool, client.session.call_tool):
            began = trio.current_time()
            with pytest.raises(RequestTimeout, match=r"^tools/call: no answer within 7 s in all$"):
                await call("hang", max_total_timeout=7)
            assert trio.current_time() - began == pytest.approx(7)


@every_road
async def test_the_error_says_which_limit_passed(autojump_clock, road):
    async with open_client(mcp, road) as client:
        with pytest.raises(RequestTimeout, match=r"no answer within 2 s$"):
            await client.call_tool("hang", {}, 2, max_total_timeout=3)
        with pytest.raises(RequestTimeout, match=r"no answer within 3 s in all$"):
            await client.call_tool(
                "tick", {}, 2, ignore, reset_timeout_on_progress=True, max_total_timeout=3
            )
        with pytest.raises(RequestTimeout, match=r"no answer within 20 s in all$"):
            await client.call_tool("tick", {}, 2, ignore, reset_timeout_on_progress=True)


@every_road
@both_eras
async def test_the_time_for_all_counts_what_callbacks_take(autojump_clock, road, mode):
    async with open_client(mcp, road, mode=mode, elicitation_callback=never) as client:
        began = trio.current_time()
        with pytest.raises(RequestTimeout, match="no answer within 7 s in all"):
            await client.call_tool("greet", read_timeout_seconds=9, max_total_timeout=7)
        assert trio.current_time() - began == pytest.approx(7)


@every_road
async def test_a_modern_call_waits_for_a_person_beyond_the_limit_of_a_round(autojump_clock, road):
    async with open_client(mcp, road, elicitation_callback=answer_after_3_seconds) as client:
        result = await client.call_tool("greet", read_timeout_seconds=1)
        assert result.structured_content == {"result": "Ann and Ann"}
        assert trio.current_time() == pytest.approx(3)


@every_road
async def test_an_older_call_does_not(autojump_clock, road):
    options = {"mode": "legacy", "elicitation_callback": answer_after_3_seconds}
    async with open_client(mcp, road, **options) as client:
        with pytest.raises(RequestTimeout, match=r"no answer within 1 s$"):
            await client.call_tool("greet", read_timeout_seconds=1)
        result = await client.call_tool("greet", read_timeout_seconds=7)
        assert result.structured_content == {"result": "Ann and Ann"}


@pytest.mark.parametrize("seconds", [-1, float("nan"), "soon", True])
async def test_what_is_no_time_is_refused_before_anything_is_sent(autojump_clock, seconds):
    async with Client(mcp) as client:
        with pytest.raises((TypeError, ValueError), match="max_total_timeout: expected a number"):
            await client.call_tool("hang", max_total_timeout=seconds)


@mcp.prompt("hang")
async def hanging_prompt() -> str:
    await trio.sleep_forever()
    return ""


@mcp.prompt("tick")
async def ticking_prompt(ctx: Context) -> str:
    for step in range(100):
        await ctx.report_progress(step)
        await trio.sleep(0.5)
    return "done"


@mcp.resource("limits://hang")
async def hanging_resource() -> str:
    await trio.sleep_forever()
    return ""


@mcp.resource("limits://tick")
async def ticking_resource(ctx: Context) -> str:
    return await ticking_prompt(ctx)


@mcp.prompt("greet")
async def greeting_prompt(one: Annotated[Name, Resolve(ask_first)]) -> str:
    return one.name


@mcp.resource("limits://greet")
async def greeting_resource(one: Annotated[Name, Resolve(ask_first)]) -> str:
    return one.name


VERBS = {
    "prompts/get": ("get_prompt", "{}"),
    "resources/read": ("read_resource", "limits://{}"),
    "tools/call": ("call_tool", "{}"),
}
every_verb = pytest.mark.parametrize("method", VERBS)


def verb_of(target, method, what):
    name, spelling = VERBS[method]
    return partial(getattr(target, name), spelling.format(what))


@every_road
@every_verb
@pytest.mark.parametrize("below", [False, True])
async def test_prompts_and_resources_have_the_limits_of_tools(autojump_clock, road, method, below):
    async with open_client(mcp, road) as client:
        target = client.session if below else client
        hang, tick = verb_of(target, method, "hang"), verb_of(target, method, "tick")
        with pytest.raises(RequestTimeout, match=rf"^{method}: no answer within 2 s$"):
            await hang(read_timeout_seconds=2)
        with pytest.raises(RequestTimeout, match=rf"^{method}: no answer within 7 s in all$"):
            await hang(max_total_timeout=7)
        with pytest.raises(RequestTimeout, match=rf"^{method}: no answer within 3 s in all$"):
            await tick(
                read_timeout_seconds=1,
                progress_callback=ignore,
                reset_timeout_on_progress=True,
                max_total_timeout=3,
            )
        steps = []

        async def note(progress, total, message):
            steps.append(progress)

        await tick(progress_callback=note)
        assert steps == list(range(100))


@every_verb
@both_eras
async def test_the_time_for_all_bounds_the_rounds_of_each(autojump_clock, method, mode):
    async with Client(mcp, mode=mode, elicitation_callback=never) as client:
        with pytest.raises(RequestTimeout, match=rf"^{method}: no answer within 7 s in all$"):
            await verb_of(client, method, "greet")(max_total_timeout=7)
        assert trio.current_time() == pytest.approx(7)


@every_verb
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("read_timeout_seconds", -1),
        ("max_total_timeout", "soon"),
        ("progress_callback", 5),
        ("reset_timeout_on_progress", 1),
    ],
)
@pytest.mark.parametrize("below", [False, True])
async def test_wrong_options_are_refused_by_each(autojump_clock, method, option, value, below):
    async with Client(mcp) as client:
        call = verb_of(client.session if below else client, method, "hang")
        with pytest.raises((TypeError, ValueError), match=f"{option}: expected "):
            await call(**{option: value})


async def test_a_read_with_a_limit_of_its_own_spoils_nobody_elses(autojump_clock):
    asked = []

    async def read(ctx, params):
        asked.append(trio.current_time())
        await trio.sleep(5)
        contents = [TextResourceContents(uri=params.uri, text="text")]
        return ReadResourceResult(contents=contents, ttl_ms=60_000, cache_scope="public")

    async with Client(Server("slow", on_read_resource=read)) as client:

        async def impatient() -> None:
            with pytest.raises(RequestTimeout, match=r"no answer within 2 s$"):
                await client.read_resource("a://b", read_timeout_seconds=2)

        async def patient() -> None:
            assert (await client.read_resource("a://b")).contents[0].text == "text"

        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(impatient)
                nursery.start_soon(patient)
        assert trio.current_time() == pytest.approx(5)
        # The patient ones share, and what they got is kept for all.
        assert len(asked) == 3
        await client.read_resource("a://b", max_total_timeout=1)
        assert len(asked) == 3


async def test_a_tool_of_a_group_has_all_the_limits(autojump_clock):
    async with ClientSessionGroup() as group:
        await group.connect_all([mcp])
        with pytest.raises(RequestTimeout, match=r"no answer within 7 s in all$"):
            await group.call_tool("hang", max_total_timeout=7)
        with pytest.raises(RequestTimeout, match=r"no answer within 3 s in all$"):
            await group.call_tool(
                "tick", {}, 2, ignore, reset_timeout_on_progress=True, max_total_timeout=3
            )
        with pytest.raises(TypeError, match="max_total_timeout: expected a number"):
            await group.call_tool("hang", max_total_timeout="soon")
