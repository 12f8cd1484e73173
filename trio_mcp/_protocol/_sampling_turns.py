"""The rules for tools in a conversation that a model shall continue (sampling)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp import types
from trio_mcp._codec import decode
from trio_mcp.types._base import has_structured_content
from trio_mcp.types._revisions import LATEST_MODERN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.types._base import JsonObject


def check_tool_turns(
    messages: Sequence[types.SamplingMessage | JsonObject],
    tools: Sequence[types.Tool | JsonObject] = (),
) -> None:
    """Check that each tool that the model used is answered in the next message, and only those.

    Args:
      messages: The conversation.
      tools: What the model may use; results of theirs have to fit their output schemas.

    Raises:
      ValueError: if a message mixes results with something else, if a result answers no use
        or does not fit the output schema of its tool, or if a use has no result.

    """
    open_uses: dict[str, str] = {}
    for index, given in enumerate(messages):
        message = _read(given)
        blocks = message.content_as_list
        results = [each for each in blocks if isinstance(each, types.ToolResultContent)]
        answered = {each.tool_use_id for each in results}
        where = f"messages[{index}]"
        if results and (len(results) < len(blocks) or message.role != "user"):
            raise ValueError(f"{where}: tool results stand alone, in a message of the user")
        unknown = sorted(answered - open_uses.keys())
        if unknown:
            raise ValueError(f"{where}: there is no use of a tool with the id {unknown[0]!r}")
        unanswered = sorted(open_uses.keys() - answered)
        if unanswered:
            raise ValueError(f"{where}: the use of a tool {unanswered[0]!r} has no result")
        for result in results:
            _check_output(result, open_uses[result.tool_use_id], tools, where)
        open_uses = {
            each.id: each.name for each in blocks if isinstance(each, types.ToolUseContent)
        }
        if open_uses and message.role != "assistant":
            raise ValueError(f"{where}: only the assistant uses tools")
    if open_uses:
        raise ValueError(f"the use of a tool {min(open_uses)!r} has no result")


def _check_output(
    result: types.ToolResultContent,
    name: str,
    tools: Sequence[types.Tool | JsonObject],
    where: str,
) -> None:
    content = result.structured_content
    if result.is_error or not has_structured_content(result):
        return
    from trio_mcp._codec._schema import compile_validator  # noqa: PLC0415 - loads on first use

    for given in tools:
        tool = given if isinstance(given, types.Tool) else decode(types.Tool, given, LATEST_MODERN)
        if tool.name != name or tool.output_schema is None:
            continue
        validator = compile_validator(
            tool.output_schema, trusted=False, where=f"the output schema of {name}"
        )
        violation = validator.check(content)
        if violation is not None:
            raise ValueError(
                f"{where}: the result of {name!r} does not fit its output schema: "
                f"{violation.message}"
            )


def _read(message: types.SamplingMessage | JsonObject) -> types.SamplingMessage:
    if isinstance(message, types.SamplingMessage):
        return message
    return decode(types.SamplingMessage, message, LATEST_MODERN, where="message")
