from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from trio_mcp.errors import InvalidSignature, MCPError
from trio_mcp.mcpserver import (
    AssistantMessage,
    Audio,
    Context,
    Image,
    Message,
    Prompt,
    UserMessage,
)
from trio_mcp.types import (
    INVALID_PARAMS,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    PromptArgument,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

if TYPE_CHECKING:
    from pathlib import Path

ALL_BYTES = bytes(range(256))
BASE64 = base64.b64encode(ALL_BYTES).decode()


async def render(result: object) -> list[Message]:
    prompt = Prompt.from_function(lambda: result, name="p")
    messages = await prompt.render(None, Context())
    assert isinstance(messages, list)
    return messages


def user(text: str) -> Message:
    return UserMessage(TextContent(text=text))


EMBEDDED = EmbeddedResource(
    resource=TextResourceContents(uri="a://b", text="x", mime_type="text/plain")
)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("hello", [user("hello")]),
        (UserMessage("hello"), [user("hello")]),
        (AssistantMessage("yes?"), [Message(TextContent(text="yes?"), role="assistant")]),
        (PromptMessage(role="assistant", content=TextContent(text="a")), [AssistantMessage("a")]),
        (["a", AssistantMessage("b")], [user("a"), AssistantMessage("b")]),
        (("a", "b"), [user("a"), user("b")]),
        ([], []),
        ({"role": "assistant", "content": "b"}, [AssistantMessage("b")]),
        ({"content": {"type": "text", "text": "b"}}, [user("b")]),
        (TextContent(text="x"), [user("x")]),
        (EMBEDDED, [UserMessage(EMBEDDED)]),
        (ResourceLink(uri="a://b", name="b"), [UserMessage(ResourceLink(uri="a://b", name="b"))]),
        (7, [user("7")]),
        (None, [user("null")]),
        ([[1, 2]], [user("[\n  1,\n  2\n]")]),
    ],
)
async def test_many_things_can_be_messages(result: object, expected: list[Message]) -> None:
    assert await render(result) == expected


@pytest.mark.case("C063")
@pytest.mark.req("R-287", "R-288")
async def test_pictures_and_sound_are_standard_base64_with_their_type() -> None:
    picture, sound = await render([Image(data=ALL_BYTES), UserMessage(Audio(data=ALL_BYTES))])
    assert picture.content == ImageContent(data=BASE64, mime_type="image/png")
    assert sound.content == AudioContent(data=BASE64, mime_type="audio/wav")


async def test_a_picture_in_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.gif"
    path.write_bytes(ALL_BYTES)
    [message] = await render(Image(path=path))
    assert message.content == ImageContent(data=BASE64, mime_type="image/gif")


@pytest.mark.parametrize(
    "result",
    [
        {"role": "user"},
        {"role": "system", "content": "x"},
        {"role": "user", "content": {"type": "text"}},
        {"role": "user", "content": 7},
    ],
)
async def test_a_dict_that_is_no_message_is_an_error(result: object) -> None:
    with pytest.raises(ValueError):
        await render(result)


def test_a_message_takes_content_and_role() -> None:
    assert Message("x", role="user") == UserMessage(content="x")
    assert Message("x", role="user") != AssistantMessage("x")
    assert UserMessage("x") != "x"
    assert "AssistantMessage" in repr(AssistantMessage("x"))
    with pytest.raises(ValueError, match="role"):
        Message("x", role="system")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not int"):
        UserMessage(7)  # type: ignore[arg-type]


# Arguments


def describe(
    who: str,
    times: int = 1,
    loud: Annotated[bool, "whether to shout"] = False,
) -> str:
    """Say hello.

    Args:
      who: The one to greet.
      times: How often.
    """
    return f"{who!r} {times!r} {loud!r}"


def test_arguments_are_described() -> None:
    prompt = Prompt.from_function(describe)
    assert prompt.name == "describe"
    assert prompt.description == "Say hello."
    who, times, loud = prompt.arguments
    assert who == PromptArgument(name="who", description="The one to greet.", required=True)
    assert times == PromptArgument(name="times", description="How often.", required=False)
    assert (loud.name, loud.required) == ("loud", False)
    assert prompt.to_wire().arguments == [who, times, loud]


async def test_arguments_come_as_text_and_are_read_by_their_hints() -> None:
    prompt = Prompt.from_function(describe)
    messages = await prompt.render({"who": "7", "times": "2", "loud": "true"}, Context())
    assert messages == [user("'7' 2 True")]


@pytest.mark.req("R-290", "R-291")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "missing argument 'who'"),
        (None, "missing argument 'who'"),
        ({"who": "x", "tims": "2"}, "unknown argument 'tims'; did you mean 'times'?"),
        ({"who": 7}, "the argument 'who' must be a string, got 7"),
        ({"who": None}, "the argument 'who' must be a string, got None"),
        ({"who": "x", "times": "many"}, "times"),
    ],
)
async def test_wrong_arguments_are_invalid_params(arguments: Any, message: str) -> None:
    prompt = Prompt.from_function(describe)
    with pytest.raises(MCPError) as caught:
        await prompt.render(arguments, Context())
    assert caught.value.code == INVALID_PARAMS
    assert caught.value.message.startswith("Invalid arguments for prompt describe: ")
    assert message in caught.value.message


def test_a_hint_without_schema_is_refused_by_name() -> None:
    def odd(thing: object, other: type[int]) -> str: ...

    with pytest.raises(InvalidSignature, match="'other'"):
        Prompt.from_function(odd)


async def test_the_context_is_given_and_not_listed() -> None:
    async def with_context(who: str, ctx: Context | None = None) -> str:
        return f"{who} {type(ctx).__name__}"

    prompt = Prompt.from_function(with_context)
    assert [each.name for each in prompt.arguments] == ["who"]
    assert prompt.context_kwarg == "ctx"
    assert await prompt.render({"who": "x"}, Context()) == [user("x Context")]


async def test_a_prompt_may_ask() -> None:
    asked = InputRequiredResult(request_state="s")
    prompt = Prompt.from_function(lambda: asked, name="asks")
    assert await prompt.render({}, Context()) is asked


def test_a_prompt_can_be_made_by_hand() -> None:
    listed = [PromptArgument(name="who")]
    prompt = Prompt(name="p", fn=describe, arguments=listed)
    assert prompt.arguments == listed
    with pytest.raises(ValueError, match="lambda"):
        Prompt.from_function(lambda: "")
