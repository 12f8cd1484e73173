"""Completion of arguments of prompts and resource templates."""

from __future__ import annotations

from trio_mcp.types import PromptReference, ResourceTemplateReference


async def test_arguments_are_completed(features):
    prompt = PromptReference(name="greet")
    template = ResourceTemplateReference(uri="note://{name}")
    async with features.open() as client:
        found = (await client.complete(prompt, {"name": "name", "value": "a"})).completion
        assert (found.values, found.total, found.has_more) == (["ada", "alan"], 2, False)
        found = (await client.complete(prompt, {"name": "style", "value": "a"})).completion
        assert found.values == []
        settled = {"style": "warm"}
        argument = {"name": "name", "value": "g"}
        found = (await client.complete(template, argument, settled)).completion
        has_context = features.revision.at_least("2025-06-18")
        assert found.values == [f"g… {settled}" if has_context else "g…"]
