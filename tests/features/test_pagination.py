"""Every list comes in pages."""

from __future__ import annotations

import pytest

from ._story import error_of

LISTS = {
    "tools": ("list_tools", "iter_tools"),
    "resources": ("list_resources", "iter_resources"),
    "resource_templates": ("list_resource_templates", "iter_resource_templates"),
    "prompts": ("list_prompts", "iter_prompts"),
}


@pytest.mark.req("R-328", "R-330")
async def test_every_list_has_pages(features):
    async with features.open(cache=None) as client:
        for member, (list_page, iterate) in LISTS.items():
            verb = getattr(client, list_page)
            first = await verb()
            assert len(getattr(first, member)) == 3
            assert first.next_cursor is not None
            second = await verb(cursor=first.next_cursor)
            by_page = [*getattr(first, member), *getattr(second, member)]
            pages = getattr(client, iterate)()
            everything = [each async for each in pages]
            assert everything[: len(by_page)] == by_page
            assert len({each.name for each in everything}) == len(everything) > 3


@pytest.mark.req("R-329", "R-333")
async def test_a_cursor_that_is_not_the_servers_is_refused(features):
    async with features.open() as client:
        for list_page, _ in LISTS.values():
            for cursor in ("", "mine"):
                error = await error_of(getattr(client, list_page)(cursor=cursor))
                assert (error.code, error.data) == (-32602, {"cursor": cursor})
