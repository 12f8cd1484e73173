"""The part of the demo about HTTP: one server, and many clients at the same time."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.cli._connect import CLIENT_INFO
from trio_mcp.cli._demo_proof import require, structured
from trio_mcp.cli._demo_server import mcp as kitchen
from trio_mcp.cli._mistakes import Failure
from trio_mcp.client import Client, connect
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.transports import serve_http

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from trio_mcp.cli._demo_screen import Screen, Step
    from trio_mcp.client import ConnectedClient
    from trio_mcp.transports import HttpServing
    from trio_mcp.types import CallToolResult

    Crowd = Sequence[ConnectedClient]

ROAD: Final = "Streamable HTTP"

CLIENTS: Final = 20

SIMMER_SECONDS: Final = 0.2
"""How long the call of one runs before it is cancelled."""

LOAVES: Final = 4
"""How many each of them has baked."""


async def serve_a_crowd(screen: Screen) -> None:
    """Serve many clients at once, cancel one of them, and stop in good order.

    Raises:
      Failure: if something is not as it should be.
      MCPError: if the server refuses something.

    """
    async with open_background_nursery() as nursery:
        with screen.step("serve") as step:
            serving: HttpServing = await nursery.start(serve_http, kitchen, "127.0.0.1", 0)
            step.say(f"one server at {serving.url}")
        with screen.step("connect") as step:
            crowd = await connect_all(nursery, serving.url)
            step.say(f"{len(crowd)} clients, who speak {crowd[0].protocol_version}")
        with screen.step("calls") as step:
            await call_at_once(crowd, step)
        with screen.step("cancel") as step:
            await cancel_one(crowd, step)
        with screen.step("proof") as step:
            await ask_for_proof(crowd[0], step)
        with screen.step("stop") as step:
            await stop_while_it_works(serving, crowd[0], step)
        with screen.step("end") as step:
            await at_once([client.aclose for client in crowd])
            step.say(f"{len(crowd)} clients and the server are gone")


async def connect_all(nursery: trio.Nursery, url: str) -> Crowd:
    """Open all clients at the same time."""
    connected: list[ConnectedClient] = []

    async def open_one() -> None:
        connected.append(await connect(nursery, url, client_info=CLIENT_INFO))

    await at_once([open_one] * CLIENTS)
    return connected


async def call_at_once(crowd: Crowd, step: Step) -> None:
    """Have all of them call a tool that takes its time, and count what it reports."""
    reports: list[float] = []
    answers: list[CallToolResult] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        reports.append(progress)
        step.progress(len(reports), CLIENTS * LOAVES)

    async def bake(client: Client) -> None:
        arguments = {"loaves": LOAVES}
        answers.append(await client.call_tool("bake", arguments, progress_callback=on_progress))

    step.say(f"bake(loaves={LOAVES}) by each, at once")
    await at_once([partial(bake, client) for client in crowd])
    require_all(answers, CLIENTS)
    came, expected = len(reports), CLIENTS * LOAVES
    require(came == expected, f"{came} reports of {expected} came")


async def cancel_one(crowd: Crowd, step: Step) -> None:
    """Cancel one call, while those of the others go on."""
    first, *others = crowd
    simmering = trio.Event()
    answers: list[CallToolResult] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del progress, total, message
        simmering.set()

    async def bake(client: Client) -> None:
        answers.append(await client.call_tool("bake", {"loaves": LOAVES}))

    async def simmer() -> None:
        with trio.CancelScope() as scope:
            async with open_background_nursery() as nursery:
                nursery.start_soon(cancel_after, simmering, scope)
                await first.call_tool("simmer", {"hours": 3}, progress_callback=on_progress)
        require(scope.cancelled_caught, "the call returned before it was cancelled")

    await at_once([simmer, *(partial(bake, client) for client in others)])
    require_all(answers, len(others))
    step.say(f"simmer(hours=3) of one, cancelled; {len(others)} others were answered")


async def cancel_after(event: trio.Event, scope: trio.CancelScope) -> None:
    """Cancel a scope, a little after something has happened."""
    await event.wait()
    await trio.sleep(SIMMER_SECONDS)
    scope.cancel(reason="the demo thinks better of it")


async def ask_for_proof(client: Client, step: Step) -> None:
    """Ask the server what became of the call that was cancelled."""
    match structured(await client.call_tool("look_at_stove")):
        case {"cooking": [], "log": [str(entry)]} if "cancelled" in entry:
            step.say(f"look_at_stove() → {entry}; nothing is cooking")
        case report:
            raise Failure(f"the handler has not stopped: {report}")


async def stop_while_it_works(serving: HttpServing, client: Client, step: Step) -> None:
    """Stop the server during a call: that is answered, and nobody else is served."""
    began = time.perf_counter()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        if progress == 1:
            serving.stop()

    result = await client.call_tool("bake", {"loaves": LOAVES}, progress_callback=on_progress)
    require(not result.is_error, "the call that was running failed")
    step.say("stopped in the middle of a call, which was answered")
    try:
        async with Client(serving.url):
            raise Failure("it still takes calls")
    except ConnectionLost:
        step.say(f"no more calls are taken after {time.perf_counter() - began:.1f} s")


def require_all(answers: Sequence[CallToolResult], expected: int) -> None:
    """Fail the step unless all calls succeeded."""
    succeeded = sum(not each.is_error for each in answers)
    require(succeeded == expected, f"{succeeded} of {expected} calls succeeded")


async def at_once(functions: Sequence[Callable[[], Awaitable[Any]]]) -> None:
    """Call all functions at the same time.

    Raises:
      MCPError, Failure: the first one that one of them raised.

    """
    errors: list[MCPError | Failure] = []

    async def call(fn: Callable[[], Awaitable[Any]]) -> None:
        try:
            await fn()
        except (MCPError, Failure) as exc:
            errors.append(exc)

    async with trio.open_nursery() as nursery:
        for fn in functions:
            nursery.start_soon(call, fn)
    if errors:
        raise errors[0]
