"""Titles, icons, annotations and `_meta`: what is for people, programs and clients."""

from __future__ import annotations

from ._roads import in_memory
from ._story import text_of


async def test_what_is_listed_is_described(features):
    revision = features.revision
    titles = revision.at_least("2025-06-18")
    icons = revision.at_least("2025-11-25")
    async with features.open() as client:
        add = {each.name: each async for each in client.iter_tools()}["add"]
        motto = {each.uri: each async for each in client.iter_resources()}["text://motto"]
        templates = {each.name: each async for each in client.iter_resource_templates()}
        greet = {each.name: each async for each in client.iter_prompts()}["greet"]
        [contents] = (await client.read_resource("text://motto")).contents
    described = {"Addition": add, "Motto": motto, "Note": templates["note"], "Greeting": greet}
    for title, each in described.items():
        assert each.title == (title if titles else None)
    for each in (add, motto, greet):
        assert bool(each.icons) == icons
        if icons:
            [icon] = each.icons
            assert (icon.src, icon.sizes) == ("https://example.com/icon.png", ["48x48"])
    # Annotations of resources are as old as the protocol.
    assert (motto.annotations.audience, motto.annotations.priority) == (["user"], 0.5)
    assert add.meta == ({"com.example/page": 7} if titles else None)
    assert motto.meta == ({"com.example/shelf": 1} if titles else None)
    assert contents.meta == ({"com.example/shelf": 1} if titles else None)


@in_memory
async def test_both_sides_may_say_more_in_meta(features):
    async with features.open() as client:
        result = await client.call_tool("meta_of", meta={"com.example/trace": 1})
    assert text_of(result) == "{'com.example/trace': 1}"
    assert result.meta["com.example/of"] == "result"
    has_meta = features.revision.at_least("2025-06-18")
    assert result.content[0].meta == ({"com.example/of": "block"} if has_meta else None)
