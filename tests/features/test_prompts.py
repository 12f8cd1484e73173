"""Prompts: lists, messages, errors."""

from __future__ import annotations

from trio_mcp.types import TextContent

from ._roads import in_memory
from ._story import error_of


@in_memory
async def test_prompts_are_listed_with_their_arguments(features):
    async with features.open() as client:
        prompts = {each.name: each async for each in client.iter_prompts()}
    assert set(prompts) == {"greet", "talk", "bare", "asking_prompt"}
    assert prompts["greet"].description == "Greet somebody."
    arguments = [(each.name, each.required) for each in prompts["greet"].arguments]
    assert arguments == [("name", True), ("style", False)]
    assert [each.name for each in prompts["asking_prompt"].arguments] == ["what"]
    assert not prompts["bare"].arguments


async def test_prompts_are_filled_in(features):
    async with features.open() as client:
        greeting = await client.get_prompt("greet", {"name": "Ada"})
        assert greeting.description == "Greet somebody."
        [message] = greeting.messages
        assert (message.role, message.content) == ("user", TextContent(text="Greet Ada, plain."))
        [message] = (await client.get_prompt("greet", {"name": "Ada", "style": "warm"})).messages
        assert message.content == TextContent(text="Greet Ada, warm.")
        [message] = (await client.get_prompt("bare")).messages
        assert message.content == TextContent(text="As it is.")
        talk = (await client.get_prompt("talk", {"topic": "trees"})).messages
        assert [each.role for each in talk] == ["user", "assistant"]


@in_memory
async def test_wrong_prompts_are_invalid_params(features):
    async with features.open() as client:
        for arguments, words in (({}, "'name'"), ({"name": "x", "nme": "y"}, "'nme'")):
            error = await error_of(client.get_prompt("greet", arguments))
            assert error.code == -32602
            assert words in error.message
        unknown = await error_of(client.get_prompt("nope"))
        assert (unknown.code, unknown.message) == (-32602, "Unknown prompt: nope")
