"""Whose works go on at the same time."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from trio_mcp.extensions.tasks._places import Places


def fill(places: Places, owner: str | None, stack: ExitStack) -> int:
    count = 0
    while places.has_one_for(owner):
        stack.enter_context(places.taking(owner))
        count += 1
    return count


@pytest.mark.req("R-657")
@pytest.mark.parametrize(
    ("most", "first", "second"), [(1, 1, 0), (2, 2, 0), (3, 2, 1), (500, 251, 125)]
)
def test_a_principal_alone_has_half_of_the_places_and_the_next_one_half_of_the_rest(
    most, first, second
):
    places = Places(most)
    with ExitStack() as stack:
        assert fill(places, "ada", stack) == first
        assert fill(places, "bob", stack) == second
        assert places.taken == first + second
        stack.close()
        assert fill(places, "bob", stack) == first
        stack.close()
        assert places.taken == 0
        assert not places._of


@pytest.mark.req("R-657")
def test_where_nobody_says_who_asks_all_share_all_places():
    with ExitStack() as stack:
        assert fill(Places(500), None, stack) == 500
