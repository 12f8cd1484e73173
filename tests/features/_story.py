"""What many of the feature tests say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from trio_mcp.errors import MCPError
from trio_mcp.types import (
    CreateMessageResult,
    ElicitRequestURLParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def text_of(result: Any) -> str:
    """Read the one text of a tool that succeeded."""
    [block] = result.content
    assert isinstance(block, TextContent), block
    assert not result.is_error, block.text
    return block.text


def failure_of(result: Any) -> str:
    """Read the one text of a tool that failed."""
    assert result.is_error
    [block] = result.content
    return str(block.text)


async def error_of(call: Awaitable[object]) -> MCPError:
    """Await what is to be refused by the other side."""
    with pytest.raises(MCPError) as caught:
        await call
    return caught.value


async def settle(done: Callable[[], bool]) -> None:
    """Wait until callbacks that run behind a call have run."""
    with trio.fail_after(5):
        while not done():  # noqa: ASYNC110 - callbacks of every kind
            await trio.sleep(0.001)


async def fill_in(context: Any, params: Any) -> ElicitResult:
    """Accept every question, and fill in whatever form has a field for it."""
    if isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action="accept")
    answers: dict[str, Any] = {"name": "Ann", "count": 3}
    wanted = params.requested_schema["properties"]
    content = {name: value for name, value in answers.items() if name in wanted}
    return ElicitResult(action="accept", content=content)


async def decline(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="decline")


async def say(context: Any, params: Any) -> CreateMessageResult:
    """Be a model that says one thing."""
    return CreateMessageResult(role="assistant", content=TextContent(text="Hi"), model="loud")


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///home/ada", name="home")])
