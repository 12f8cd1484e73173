"""``trio-mcp demo``: a real server, used as a program would use it, step by step."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

import trio

from trio_mcp.cli._connect import CLIENT_INFO
from trio_mcp.cli._demo_crowd import ROAD, serve_a_crowd
from trio_mcp.cli._demo_proof import require, structured
from trio_mcp.cli._demo_roads import ROADS
from trio_mcp.cli._demo_screen import screen_for
from trio_mcp.cli._interrupts import run_until_interrupted
from trio_mcp.cli._mistakes import Failure
from trio_mcp.cli._offers import gather_offers
from trio_mcp.cli._printer import Printer
from trio_mcp.client import Client
from trio_mcp.types import TextContent, TextResourceContents

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.cli._demo_roads import Road
    from trio_mcp.cli._demo_screen import Screen, Step

SIMMER_SECONDS: Final = 0.3
"""How long the long call runs before it is cancelled."""

LOAVES: Final = 8


def show_demo(json: bool, plain: bool) -> int:
    """Show all roads; status 1 as soon as a step fails."""
    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    screen = screen_for(Printer(json=json, plain=plain))

    async def action() -> int:
        with screen:
            for road in ROADS:
                screen.open_part(road.name, "a server and its client")
                await travel(road, screen)
            screen.open_part(ROAD, "one server and many clients")
            await serve_a_crowd(screen)
        return 0

    return run_until_interrupted(action)


async def travel(road: Road, screen: Screen) -> None:
    """Use the server over one road, from its start to its end.

    Raises:
      Failure: if something is not as it should be.
      MCPError: if the server refuses something.

    """
    async with AsyncExitStack() as stack:
        with screen.step("start") as step:
            server = await stack.enter_async_context(road.open())
            step.say(server.started)
        with screen.step("discover") as step:
            client = Client(server.carrier, client_info=CLIENT_INFO)
            await stack.enter_async_context(client)
            step.say(who_it_is(client))
        for name, scene in SCENES:
            with screen.step(name) as step:
                await scene(client, step)
        with screen.step("end") as step:
            await stack.aclose()
            step.say(server.ended())


def who_it_is(client: Client) -> str:
    """Say what the server answered to discovery."""
    info, can = client.server_info, client.server_capabilities
    if info is None:
        raise Failure("the server does not say who it is")
    kinds = {"tools": can.tools, "resources": can.resources, "prompts": can.prompts}
    offered = ", ".join(kind for kind, capability in kinds.items() if capability is not None)
    return f"{info.name} {info.version} speaks {client.protocol_version}: {offered}"


async def list_everything(client: Client, step: Step) -> None:
    """Ask for all lists."""
    offers = await gather_offers(client)
    for kind, names in (
        ("tools", [each.name for each in offers.tools]),
        ("resource", [each.uri for each in offers.resources]),
        ("prompt", [each.name for each in offers.prompts]),
    ):
        require(names, f"the server lists no {kind}")
        step.say(f"{kind} {', '.join(names)}")


async def call_a_tool(client: Client, step: Step) -> None:
    """Call a tool that answers at once."""
    amounts = structured(await client.call_tool("scale", {"dish": "pancakes", "people": 4}))
    require(amounts.get("flour") == 240, f"wrong amounts: {amounts}")
    grams = ", ".join(f"{name} {amount:g} g" for name, amount in amounts.items())
    step.say(f"scale(dish=pancakes, people=4) → {grams}")


async def read_a_resource(client: Client, step: Step) -> None:
    """Read a resource."""
    result = await client.read_resource("kitchen://menu")
    match result.contents:
        case [TextResourceContents(text=text)] if "soup" in text:
            step.say(f"kitchen://menu → {text}")
        case contents:
            raise Failure(f"no menu: {contents}")


async def fill_a_prompt(client: Client, step: Step) -> None:
    """Fill in a prompt."""
    result = await client.get_prompt("shopping_list", {"dish": "soup"})
    match [message.content for message in result.messages]:
        case [TextContent(text=text)] if "soup" in text:
            step.say(f"shopping_list(dish=soup) → “{text}”")
        case contents:
            raise Failure(f"no shopping list: {contents}")


async def watch_progress(client: Client, step: Step) -> None:
    """Watch a tool work."""
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del message
        seen.append(progress)
        step.progress(progress, total)

    step.say(f"bake(loaves={LOAVES})")
    await client.call_tool("bake", {"loaves": LOAVES}, progress_callback=on_progress)
    require(seen == list(range(1, LOAVES + 1)), f"progress was {seen}")


async def cancel_a_call(client: Client, step: Step) -> None:
    """Begin something long, and think better of it."""
    with trio.CancelScope() as scope:

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            del progress, total
            step.say(f"server: “{message}”")
            scope.deadline = trio.current_time() + SIMMER_SECONDS

        step.say("simmer(hours=3)")
        await client.call_tool("simmer", {"hours": 3}, progress_callback=on_progress)
    require(scope.cancelled_caught, "the call returned before it was cancelled")
    step.say(f"cancelled {SIMMER_SECONDS:g} s later")


async def ask_for_proof(client: Client, step: Step) -> None:
    """Ask the server whether its handler has stopped."""
    report = structured(await client.call_tool("look_at_stove"))
    match report:
        case {"cooking": [], "log": [str(entry)]} if "cancelled" in entry:
            step.say(f"look_at_stove() → {entry}; nothing is cooking")
        case _:
            raise Failure(f"the handler has not stopped: {report}")


SCENES: Final[tuple[tuple[str, Callable[[Client, Step], Awaitable[None]]], ...]] = (
    ("list", list_everything),
    ("call", call_a_tool),
    ("read", read_a_resource),
    ("prompt", fill_a_prompt),
    ("progress", watch_progress),
    ("cancel", cancel_a_call),
    ("proof", ask_for_proof),
)
