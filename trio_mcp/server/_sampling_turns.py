"""The rules for tools in a conversation that a model shall continue (sampling)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._codec import decode
from trio_mcp.types import SamplingMessage, ToolResultContent, ToolUseContent
from trio_mcp.types._revisions import LATEST_MODERN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.types._base import JsonObject


def check_tool_turns(messages: Sequence[SamplingMessage | JsonObject]) -> None:
    """Check that each tool that the model used is answered in the next message, and only those.

    Raises:
      ValueError: if a message mixes results with something else, if a result answers no use,
        or if a use has no result.

    """
    open_uses: set[str] = set()
    for index, given in enumerate(messages):
        message = _read(given)
        blocks = message.content_as_list
        results = [each.tool_use_id for each in blocks if isinstance(each, ToolResultContent)]
        where = f"messages[{index}]"
        if results and (len(results) < len(blocks) or message.role != "user"):
            raise ValueError(f"{where}: tool results stand alone, in a message of the user")
        unknown = sorted(set(results) - open_uses)
        if unknown:
            raise ValueError(f"{where}: there is no use of a tool with the id {unknown[0]!r}")
        unanswered = sorted(open_uses - set(results))
        if unanswered:
            raise ValueError(f"{where}: the use of a tool {unanswered[0]!r} has no result")
        open_uses = {each.id for each in blocks if isinstance(each, ToolUseContent)}
        if open_uses and message.role != "assistant":
            raise ValueError(f"{where}: only the assistant uses tools")
    if open_uses:
        raise ValueError(f"the use of a tool {min(open_uses)!r} has no result")


def _read(message: SamplingMessage | JsonObject) -> SamplingMessage:
    if isinstance(message, SamplingMessage):
        return message
    return decode(SamplingMessage, message, LATEST_MODERN, where="message")
