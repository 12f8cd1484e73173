"""A server that asks, for both SDKs: ``python asking.py mcp`` or ``python asking.py trio_mcp``."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from pydantic import BaseModel

if sys.argv[1] == "mcp":
    from mcp.server.mcpserver import (
        AcceptedElicitation,
        Context,
        Elicit,
        ElicitationResult,
        ListRoots,
        MCPServer,
        Resolve,
        Sample,
    )
    from mcp_types import (
        CreateMessageResult,
        ElicitRequest,
        ElicitRequestFormParams,
        ElicitResult,
        InputRequiredResult,
        ListRootsResult,
        SamplingMessage,
        TextContent,
    )
else:
    from trio_mcp.mcpserver import (
        AcceptedElicitation,
        Context,
        Elicit,
        ElicitationResult,
        ListRoots,
        MCPServer,
        Resolve,
        Sample,
    )
    from trio_mcp.types import (
        CreateMessageResult,
        ElicitRequest,
        ElicitRequestFormParams,
        ElicitResult,
        InputRequiredResult,
        ListRootsResult,
        SamplingMessage,
        TextContent,
    )

server = MCPServer("asking", log_level="CRITICAL")


class Order(BaseModel):
    count: int
    size: Literal["s", "l"] = "s"


class Sure(BaseModel):
    sure: bool


def ask_order(what: str) -> Elicit[Order]:
    return Elicit(f"How much {what}?", Order)


def ask_sure(order: Annotated[Order, Resolve(ask_order)]) -> Elicit[Sure]:
    return Elicit(f"Really {order.count}?", Sure)


def ask_model(what: str) -> Sample:
    hello = SamplingMessage(role="user", content=TextContent(type="text", text=what))
    return Sample([hello], max_tokens=5)


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
def order(
    what: str,
    amount: Annotated[Order, Resolve(ask_order)],
    sure: Annotated[ElicitationResult[Sure], Resolve(ask_sure)],
) -> str:
    said = sure.data.sure if isinstance(sure, AcceptedElicitation) else sure.action
    return f"{amount.count} {amount.size} {what} {said}"


@server.tool()
def consult(
    what: str,
    said: Annotated[CreateMessageResult, Resolve(ask_model)],
    roots: Annotated[ListRootsResult, Resolve(ask_roots)],
) -> str:
    assert isinstance(said.content, TextContent)
    return f"{said.content.text} {roots.roots[0].uri}"


@server.tool()
async def confirm(ctx: Context) -> str:
    """Ask while the call waits, as the older era does."""
    result = await ctx.elicit("Sure?", Sure)
    return str(result.data.sure) if isinstance(result, AcceptedElicitation) else result.action


@server.tool()
async def by_hand(ctx: Context) -> str | InputRequiredResult:
    answer = (ctx.input_responses or {}).get("who")
    if not isinstance(answer, ElicitResult):
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        question = ElicitRequest(
            params=ElicitRequestFormParams(message="Who?", requested_schema=schema)
        )
        return InputRequiredResult(input_requests={"who": question}, request_state="asked")
    return f"{(answer.content or {}).get('name')} {ctx.request_state}"


if __name__ == "__main__":
    server.run("stdio")
