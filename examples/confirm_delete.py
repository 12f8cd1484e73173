"""A tool that asks before it deletes, and a client that answers: by hand, and by itself.

Run it, and both are at work in this process::

    python examples/confirm_delete.py
"""

from __future__ import annotations

from typing import Annotated

import attrs
import trio

from trio_mcp import Client, ClientRequestContext, Elicit, MCPServer, Resolve, ToolError
from trio_mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)

mcp = MCPServer("files")

files = {"notes.txt": "Buy milk.", "draft.txt": "It was a dark and stormy night."}


@attrs.frozen
class Confirm:
    """What the user fills in.

    Attributes:
      sure: Whether to delete the file for good.
    """

    sure: bool


def ask(path: str) -> Elicit[Confirm]:
    """Runs before the tool, which gets the answer."""
    if path not in files:
        raise ToolError(f"there is no file {path}")
    return Elicit(f"Really delete {path}?", Confirm)


@mcp.tool()
def delete_file(path: str, answer: Annotated[Confirm, Resolve(ask)]) -> str:
    """Delete a file, if the user is sure.

    Args:
      path: Which file.
    """
    if not answer.sure:
        return f"kept {path}"
    del files[path]
    return f"deleted {path}"


async def by_hand() -> None:
    """Answer the question ourselves; the state goes back as it came."""
    async with Client(mcp, elicitation_callback=say_yes) as client:
        arguments = {"path": "notes.txt"}
        first = await client.session.call_tool("delete_file", arguments, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        [(key, question)] = (first.input_requests or {}).items()
        assert isinstance(question, ElicitRequest)
        print(first.result_type, key, question.params.message)

        second = await client.call_tool(
            "delete_file",
            arguments,
            input_responses={key: ElicitResult(action="accept", content={"sure": True})},
            request_state=first.request_state,
        )
        print(second.result_type, text_of(second))


async def by_itself() -> None:
    """Let the client ask the user, and send the answers back."""
    async with Client(mcp, elicitation_callback=say_yes) as client:
        result = await client.call_tool("delete_file", {"path": "draft.txt"})
        print(result.result_type, text_of(result))


async def say_yes(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Stand in for a user who is sure. A real client shows the form and lets people say no."""
    server = context.session.server_info
    print(f"{server.name if server else 'the server'} asks: {params.message}")
    return ElicitResult(action="accept", content={"sure": True})


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def main() -> None:
    await by_hand()
    await by_itself()


if __name__ == "__main__":
    trio.run(main)
