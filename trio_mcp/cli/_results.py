"""What came back: for people, and in a pipe as it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from trio_mcp._codec._base64 import decode_base64
from trio_mcp.cli._printer import dump_json
from trio_mcp.types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from trio_mcp.types._base import has_structured_content

if TYPE_CHECKING:
    from trio_mcp.cli._printer import Printer
    from trio_mcp.types import CallToolResult, GetPromptResult, ReadResourceResult


def print_tool_result(printer: Printer, result: CallToolResult) -> None:
    """Print what a tool returned to stdout; why it failed to stderr."""
    texts = [describe(block) for block in result.content]
    if not texts and has_structured_content(result):
        texts = [dump_json(result.structured_content)]
    for text in texts:
        if result.is_error:
            printer.note(text, "red")
        else:
            printer.write(text)


def print_resource(printer: Printer, result: ReadResourceResult) -> None:
    """Print what a resource holds; bytes as they are, unless they would go to a terminal."""
    for contents in result.contents:
        data = _bytes_of(contents)
        if data is None or sys.stdout.isatty():
            printer.write(describe(contents))
        else:
            printer.write_bytes(data)


def print_prompt(printer: Printer, result: GetPromptResult) -> None:
    """Print each message of a prompt, below the name of who says it."""
    for index, message in enumerate(result.messages):
        printer.write(f"{chr(10) if index else ''}{message.role}:\n{describe(message.content)}")


def describe(block: Any) -> str:
    """Return a block's text, or for what is no text what it is."""
    match block:
        case TextContent(text=text) | TextResourceContents(text=text):
            return text
        case ImageContent(data=data, mime_type=kind) | AudioContent(data=data, mime_type=kind):
            return f"[{kind}, {_size(data)}]"
        case ResourceLink(uri=uri):
            return uri
        case EmbeddedResource(resource=resource):
            return describe(resource)
        case BlobResourceContents(blob=data, mime_type=kind):
            return f"[{kind or 'binary'}, {_size(data)}]"
        case _:
            return f"[{getattr(block, 'type', 'content')} that is no text; --json shows it]"


def _bytes_of(contents: TextResourceContents | BlobResourceContents) -> bytes | None:
    if isinstance(contents, TextResourceContents):
        return None
    try:
        return decode_base64(contents.blob)
    except ValueError:
        return None


def _size(data: str) -> str:
    size = len(data.rstrip("=")) * 3 // 4
    return f"{size} bytes"
