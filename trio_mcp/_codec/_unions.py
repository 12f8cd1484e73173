"""How to tell the members of a union apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs

from trio_mcp.types._base import is_array, is_object

from ._decode_error import DecodeError, kind_of
from ._shapes import Field, Named, Words, fields_of
from ._strict import chosen, listing, missing, wrong

__all__ = ["TAGGED", "Selector", "members_of", "selector_for"]

Selector: TypeAlias = Callable[[Any], str]
"""Takes a value; returns the name of its class, or raises `DecodeError`."""

_TEXT_IMAGE_AUDIO: Final = {
    "text": "TextContent",
    "image": "ImageContent",
    "audio": "AudioContent",
}

TAGGED: Final[dict[str, dict[str, str]]] = {
    "ContentBlock": {
        **_TEXT_IMAGE_AUDIO,
        "resource_link": "ResourceLink",
        "resource": "EmbeddedResource",
    },
    "SamplingContent": _TEXT_IMAGE_AUDIO,
    "SamplingMessageContentBlock": {
        **_TEXT_IMAGE_AUDIO,
        "tool_use": "ToolUseContent",
        "tool_result": "ToolResultContent",
    },
}
"""Unions by their ``type``: class names, so that a text does not load the class of links."""

_TAGS: Final = ("type", "method", "mode")


def members_of(name: str) -> tuple[Named, ...] | None:
    """Return the members of a union in `TAGGED`, without loading them."""
    table = TAGGED.get(name)
    return None if table is None else tuple(Named(each) for each in table.values())


def by_tag(tag: str, table: dict[str, str], fallback: str | None = None) -> Selector:
    """Select by one member of the object; `fallback` is for objects without it."""
    words = tuple(table)

    def select(value: Any) -> str:
        if value.__class__ is not dict:
            raise wrong("an object", value)
        word = value.get(tag)
        if word.__class__ is str and word in table:
            return table[word]
        if word is None and tag not in value:
            if fallback is not None:
                return fallback
            raise missing(listing(words), tag)
        raise chosen(words, word, tag)

    return select


def selector_for(classes: tuple[type, ...], *, has_result_type: bool) -> Selector:
    """Make the selector of a union of loaded classes.

    They differ in a tag with one word for each, or else in the members that they need.
    """
    described = {each.__name__: fields_of(each) for each in classes}
    for tag in _TAGS:
        table = _tag_table(tag, described)
        if table is not None:
            # Without a mode, an elicitation is a form.
            return by_tag(tag, table, table.get("form") if tag == "mode" else None)
    return _by_members(described, has_result_type=has_result_type)


def _tag_table(tag: str, described: dict[str, list[Field]]) -> dict[str, str] | None:
    table: dict[str, str] = {}
    for name, fields in described.items():
        words = next((each.shape for each in fields if each.wire == tag), None)
        if not isinstance(words, Words) or len(words.words) != 1 or words.words[0] in table:
            return None
        table[words.words[0]] = name
    return table


def _by_members(described: dict[str, list[Field]], *, has_result_type: bool) -> Selector:
    needed = {
        name: frozenset(each.wire for each in fields if each.default is attrs.NOTHING)
        for name, fields in described.items()
    }
    interim = "InputRequiredResult" if "InputRequiredResult" in needed else None
    if interim:
        del needed[interim]
    # A class that needs much before one that is content with less.
    order = sorted(needed, key=lambda name: -len(needed[name]))
    expected = " or ".join(described)

    def select(value: Any) -> str:
        if value.__class__ is not dict:
            raise wrong("an object", value)
        if interim and has_result_type and value.get("resultType") == "input_required":
            return interim
        for name in order:
            if needed[name] <= value.keys() and _fits(name, value):
                return name
        raise DecodeError(expected, kind_of(value) + " that is none of them")

    return select


def _fits(name: str, value: dict[str, Any]) -> bool:
    """Whether it is no result of sampling with tools, which the plain one cannot hold."""
    if name != "CreateMessageResult":
        return True
    content: Any = value["content"]
    return not is_array(content) and not (
        is_object(content) and content.get("type") in ("tool_use", "tool_result")
    )
