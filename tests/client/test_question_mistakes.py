"""What an author gets wrong round the questions of servers is told by its name."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from trio_mcp import Client, Context, MCPServer
from trio_mcp.client import ClientExtension
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver import Elicit, Resolve
from trio_mcp.types import ElicitResult, EmptyResult, ErrorData, ListRootsResult


@attrs.frozen
class Size:
    size: int


def size() -> Elicit[Size]:
    return Elicit("How large?", Size)


mcp = MCPServer("tailor")


@mcp.tool()
def modern(size: Annotated[Size, Resolve(size)]) -> str:
    return f"{size.size} cm"


@mcp.tool()
async def older(ctx: Context) -> str:
    answer = await ctx.elicit("How large?", Size)
    return str(answer)


async def accept(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"size": 7})


async def call(tool: str, act: Any) -> None:
    class Odd(ClientExtension):
        identifier = "com.example/odd"

        async def intercept_request(self, request: Any, context: Any, call_next: Any) -> Any:
            return await act(request, context, call_next)

    mode: Any = "auto" if tool == "modern" else "legacy"
    async with Client(mcp, mode=mode, extensions=[Odd()], elicitation_callback=accept) as client:
        await client.call_tool(tool)


both_eras = pytest.mark.parametrize("tool", ["modern", "older"])


async def refusal(tool: str, act: Any, caplog: pytest.LogCaptureFixture) -> str:
    """Have a question go wrong; a modern client raises what an older one logs."""
    with pytest.raises((TypeError, MCPError)) as raised:
        await call(tool, act)
    return f"{raised.value}{caplog.text}"


@both_eras
@pytest.mark.parametrize("value", [None, 5, "yes"])
async def test_who_returns_no_answer_is_named(
    tool: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(*_args: Any) -> Any:
        return value

    assert "what Odd.intercept_request returned: expected a wire type, a dict or" in (
        await refusal(tool, act, caplog)
    )


@pytest.mark.parametrize("value", [{}, ListRootsResult(roots=[]), EmptyResult()])
async def test_the_callback_is_not_blamed_for_what_an_extension_answers(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(*_args: Any) -> Any:
        return value

    assert "the answer of intercept_request: expected ElicitResult or ErrorData, got" in (
        await refusal("modern", act, caplog)
    )


@both_eras
async def test_an_extension_may_answer_with_an_error(
    tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(*_args: Any) -> Any:
        return ErrorData(code=7, message="Not today")

    assert "Not today" in await refusal(tool, act, caplog)


@both_eras
async def test_params_that_are_passed_on_are_of_a_wire_type(
    tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(request: Any, _context: Any, call_next: Any) -> Any:
        return await call_next(request.evolve(params={"message": "How?"}))

    assert "the params that intercept_request passes on: expected WireModel, got dict" in (
        await refusal(tool, act, caplog)
    )


@both_eras
async def test_a_context_that_is_passed_on_is_one(
    tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(request: Any, _context: Any, call_next: Any) -> Any:
        return await call_next(request, {"meta": 1})

    assert "the context that intercept_request passes on: expected ClientRequestContext" in (
        await refusal(tool, act, caplog)
    )
