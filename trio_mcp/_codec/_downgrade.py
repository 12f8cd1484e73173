"""What a revision cannot say is said in its words: one table, applied while encoding.

Each entry is for objects of one class, at revisions before the one it names. It returns the
object itself if there is nothing to change, or what is written in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from trio_mcp import types
from trio_mcp.types._base import JsonObject, has_structured_content, is_array, is_object
from trio_mcp.types._revisions import Revision

from ._json import dumps

__all__ = ["Downgrade", "downgrade_for"]

Downgrade: TypeAlias = Callable[[Any, Revision], Any]


def downgrade_for(cls: type, revision: Revision) -> Downgrade | None:
    """Return what objects of a class need at a revision."""
    for base in cls.__mro__:
        until, downgrade = _TABLE.get(base.__name__, (None, None))
        if until is not None and not revision.at_least(until):
            return downgrade
    return None


def _audio(block: types.AudioContent, _revision: Revision) -> types.TextContent:
    return types.TextContent(
        text=f"[audio: {block.mime_type}]", annotations=block.annotations, meta=block.meta
    )


def _link(block: types.ResourceLink, _revision: Revision) -> types.TextContent:
    return types.TextContent(
        text=f"[{block.title or block.name}]({block.uri})",
        annotations=block.annotations,
        meta=block.meta,
    )


def _tool_use(block: types.ToolUseContent, _revision: Revision) -> types.TextContent:
    arguments = dumps(block.input).decode()
    return types.TextContent(text=f"[call of the tool {block.name}: {arguments}]")


def _tool_result(block: types.ToolResultContent, revision: Revision) -> Any:
    said = _structured(block, revision)
    if revision.has_sampling_tools:
        return said
    return types.TextContent(text="\n\n".join(_text_of(each, revision) for each in said.content))


def _text_of(block: Any, revision: Revision) -> str:
    """Write a block as text; pictures and the like are only mentioned."""
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource):
        contents = block.resource
        if isinstance(contents, types.TextResourceContents):
            return contents.text
        return f"[{contents.mime_type or 'binary'}: {contents.uri}]"
    if isinstance(block, types.ImageContent):
        return f"[image: {block.mime_type}]"
    if isinstance(block, types.AudioContent):
        return _audio(block, revision).text
    if isinstance(block, types.ResourceLink):
        return _link(block, revision).text
    if isinstance(block, types.ToolUseContent):
        return _tool_use(block, revision).text
    if isinstance(block, types.ToolResultContent):
        said: str = _tool_result(block, revision).text
        return said
    # Given as JSON.
    return dumps(block).decode()


def _structured(result: Any, revision: Revision) -> Any:
    """Leave out structured content that is no object; its JSON is the text, if there is none."""
    if not has_structured_content(result):
        return result
    value = result.structured_content
    sayable = revision.has_structured_content and isinstance(value, dict)
    if sayable:
        return result
    content = result.content or [types.TextContent(text=dumps(value).decode())]
    # An explicit null is in there.
    extra = {name: each for name, each in result.extra.items() if name != "structuredContent"}
    return result.evolve(content=content, structured_content=None, extra=extra)


def _tool(tool: types.Tool, _revision: Revision) -> types.Tool:
    """Leave out an output schema that is not of an object, and spell booleans as schemas."""
    changes: dict[str, Any] = {}
    output = tool.output_schema
    if isinstance(output, dict) and output.get("type") != "object":
        changes["output_schema"] = output = None
    for name, schema in (("input_schema", tool.input_schema), ("output_schema", output)):
        spelled = _without_booleans(schema)
        if spelled is not schema:
            changes[name] = spelled
    return tool.evolve(**changes) if changes else tool


def _without_booleans(schema: JsonObject | None) -> JsonObject | None:
    """Older revisions want each property's schema to be an object."""
    properties = schema.get("properties") if is_object(schema) else None
    if schema is None or not is_object(properties):
        return schema
    if bool not in map(type, properties.values()):
        return schema
    spelled: JsonObject = {
        name: {} if each is True else {"not": {}} if each is False else each
        for name, each in properties.items()
    }
    return {**schema, "properties": spelled}


def _form(params: types.ElicitRequestFormParams, _revision: Revision) -> Any:
    """Spell a form as 2025-06-18 does."""
    properties: Any = params.requested_schema.get("properties")
    if not is_object(properties):
        return params
    spelled = {name: _form_field(name, field) for name, field in properties.items()}
    schema: JsonObject = {**params.requested_schema, "properties": spelled}
    # `$schema` came with the next revision, too.
    schema.pop("$schema", None)
    return params.evolve(requested_schema=schema)


def _form_field(name: str, field: Any) -> Any:
    if not is_object(field):
        return field
    if field.get("type") == "array":
        msg = f"{name!r} is a multiple choice, which 2025-06-18 cannot ask for"
        raise ValueError(msg)
    spelled = dict(field)
    choices: Any = spelled.pop("oneOf", None)
    if is_array(choices):
        titled: list[JsonObject] = [
            each for each in choices if is_object(each) and "const" in each
        ]
        spelled["enum"] = [each["const"] for each in titled]
        spelled["enumNames"] = [each.get("title", each["const"]) for each in titled]
    if spelled.get("type") != "boolean":
        spelled.pop("default", None)
    return spelled


def _sampling(params: types.CreateMessageRequestParams, _revision: Revision) -> Any:
    """Make a message of each block, since a message has one."""
    messages: list[Any] = []
    given: list[Any] = params.messages
    for message in given:
        # What was given as JSON is read, and then made one block, when it is written.
        if isinstance(message, types.SamplingMessage) and isinstance(message.content, list):
            messages += [message.evolve(content=each) for each in message.content]
        else:
            messages.append(message)
    return params.evolve(messages=messages)


def _one_block(message: Any, revision: Revision) -> Any:
    """Make one block of several, for a message or result that stands alone."""
    content: Any = message.content
    if not is_array(content):
        return message
    if len(content) == 1:
        return message.evolve(content=content[0])
    text = "\n\n".join(_text_of(each, revision) for each in content)
    return message.evolve(content=types.TextContent(text=text))


def _capabilities(capabilities: types.ClientCapabilities, _revision: Revision) -> Any:
    """Say nothing of elicitation by URL alone, where ``{}`` would promise forms."""
    elicitation = capabilities.elicitation
    if not isinstance(elicitation, types.ElicitationCapability):
        return capabilities
    if elicitation.url is None or elicitation.form is not None:
        return capabilities
    return capabilities.evolve(elicitation=None)


_TABLE: Final[dict[str, tuple[str, Downgrade]]] = {
    "AudioContent": ("2025-03-26", _audio),
    "ResourceLink": ("2025-06-18", _link),
    "ToolUseContent": ("2025-11-25", _tool_use),
    "ToolResultContent": ("2026-07-28", _tool_result),
    "CallToolResult": ("2026-07-28", _structured),
    "Tool": ("2026-07-28", _tool),
    "ElicitRequestFormParams": ("2025-11-25", _form),
    "CreateMessageRequestParams": ("2025-11-25", _sampling),
    "SamplingMessage": ("2025-11-25", _one_block),
    "CreateMessageResultWithTools": ("2025-11-25", _one_block),
    "ClientCapabilities": ("2025-11-25", _capabilities),
}
"""Class name: the first revision that can say it, and what is done before."""
