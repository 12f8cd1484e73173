"""The messages of a prompt, and what a prompt's function may return for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import msgspec

from trio_mcp._codec._converter import decode
from trio_mcp._codec._json import checked_copy, dumps
from trio_mcp.types import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    ResourceLink,
    TextContent,
)
from trio_mcp.types._revisions import LATEST_MODERN

from ._hints import to_json
from ._media import Audio, File, Image

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from trio_mcp.types import InputRequiredResult

    PromptResultItem: TypeAlias = (
        "str | ContentBlock | Image | Audio | File | Message | PromptMessage | dict[str, Any]"
    )
    SyncPromptResult: TypeAlias = (
        "PromptResultItem | InputRequiredResult | Sequence[PromptResultItem]"
    )
    PromptResult: TypeAlias = "SyncPromptResult | Awaitable[SyncPromptResult]"

_BLOCKS: Final = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)


class Message:
    """A message of a prompt.

    Args:
      content: Text, a content block, or an `Image`, `Audio` or `File`, which is read at once.
      role: Who says it.

    """

    role: Literal["user", "assistant"]
    content: ContentBlock

    def __init__(
        self,
        content: str | ContentBlock | Image | Audio | File,
        *,
        role: Literal["user", "assistant"],
    ) -> None:
        if role not in ("user", "assistant"):
            raise ValueError(f"The role of a message is 'user' or 'assistant', not {role!r}")
        self.role = role
        self.content = to_content(content)

    def to_wire(self) -> PromptMessage:
        return PromptMessage(role=self.role, content=self.content)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self.role == other.role and self.content == other.content

    __hash__ = None  # type: ignore[assignment]  # contents are not hashable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.content!r}, role={self.role!r})"


class UserMessage(Message):
    """What the user says."""

    def __init__(
        self,
        content: str | ContentBlock | Image | Audio | File,
        *,
        role: Literal["user", "assistant"] = "user",
    ) -> None:
        super().__init__(content, role=role)


class AssistantMessage(Message):
    """What the assistant says."""

    def __init__(
        self,
        content: str | ContentBlock | Image | Audio | File,
        *,
        role: Literal["user", "assistant"] = "assistant",
    ) -> None:
        super().__init__(content, role=role)


def to_content(value: Any) -> ContentBlock:
    """Make a content block of what stands for one.

    Raises:
      TypeError: if it stands for none.

    """
    match value:
        case str():
            return TextContent(text=value)
        case Image():
            return value.to_image_content()
        case Audio():
            return value.to_audio_content()
        case File():
            return value.to_resource_content()
        case TextContent() | ImageContent() | AudioContent() | ResourceLink() | EmbeddedResource():
            return value
        case _:
            raise TypeError(
                "The content of a message is text, a content block, an Image, Audio or File, "
                f"not {type(value).__name__}"
            )


def messages_of(result: Any) -> list[Message]:
    """Make messages of what a prompt's function returned.

    Text, blocks and media are said by the user. A dict is a message as JSON (``role``,
    ``content``, which may be a string). Anything else is shown as JSON text.

    Raises:
      ValueError: if a dict is no message.
      TypeError: if something has no JSON form.

    """
    items = cast("list[Any]", result) if isinstance(result, (list, tuple)) else [result]
    return [_message_of(item) for item in items]


def _message_of(item: Any) -> Message:
    match item:
        case Message():
            return item
        case PromptMessage():
            return Message(item.content, role=item.role)
        case str() | Image() | Audio() | File():
            return UserMessage(item)
        case dict():
            return _message_of_json(cast("dict[str, Any]", item))
        case _ if isinstance(item, _BLOCKS):
            return UserMessage(item)
        case _:
            text = dumps(checked_copy(to_json(item), "messages"))
            return UserMessage(msgspec.json.format(text, indent=2).decode())


def _message_of_json(item: dict[str, Any]) -> Message:
    content = item.get("content")
    if isinstance(content, dict):
        content = decode(ContentBlock, content, LATEST_MODERN, where="content")
    elif not isinstance(content, (str, Image, Audio, File, *_BLOCKS)):
        names = ", ".join(map(str, item))
        raise ValueError(f"A message has 'role' and 'content', this has {names}")  # noqa: TRY004 - of the dict
    return Message(content, role=item.get("role", "user"))
