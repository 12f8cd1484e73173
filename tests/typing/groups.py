"""Groups and handles as applications use them; this file is checked, and never run."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from trio_mcp import (
    CallToolResult,
    Client,
    ClientSessionGroup,
    ConnectedClient,
    RestartPolicy,
    StdioServerParameters,
    connect,
)
from trio_mcp.client import ClientSession, ClientSessionParameters, ConnectOutcome
from trio_mcp.types import Implementation, InputRequiredResult, Prompt, Resource, Tool

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    import trio

SERVER = StdioServerParameters(command="server")


def name_of(name: str, server: Implementation) -> str:
    return f"{server.name}.{name}"


async def use_a_group() -> None:
    async with ClientSessionGroup(component_name_hook=name_of, on_collision="refuse") as group:
        parameters = ClientSessionParameters(mode="legacy", restart=RestartPolicy(max_restarts=1))
        assert_type(await group.connect_to_server(SERVER, parameters), ClientSession)
        outcomes = await group.connect_all([SERVER], connect_timeout=None)
        assert_type(outcomes, list[ConnectOutcome])
        assert_type(outcomes[0].error, Exception | None)
        assert_type(group.tools, dict[str, Tool])
        assert_type(group.resources, dict[str, Resource])
        assert_type(group.prompts, dict[str, Prompt])
        assert_type(await group.call_tool("a.x", {"y": 1}), CallToolResult)
        either = await group.call_tool("a.x", allow_input_required=True)
        assert_type(either, CallToolResult | InputRequiredResult)
        for session in group.sessions:
            await group.refresh(session)
            await group.disconnect_from_server(session)


async def use_an_exit_stack(stack: AsyncExitStack, session: ClientSession) -> None:
    group = ClientSessionGroup(stack)
    info = Implementation(name="mine", version="1")
    assert_type(await group.connect_with_session(info, session), ClientSession)


async def use_a_handle(nursery: trio.Nursery) -> Client:
    client = await connect(nursery, SERVER, read_timeout_seconds=5, restart=RestartPolicy())
    assert_type(client, ConnectedClient)
    assert_type(await client.call_tool("x"), CallToolResult)
    assert_type(client.closed, bool)
    await client.aclose()
    return client
