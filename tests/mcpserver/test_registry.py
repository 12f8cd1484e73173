from __future__ import annotations

import base64

import pytest

from trio_mcp._codec import excerpt
from trio_mcp.errors import MCPError
from trio_mcp.mcpserver._registry import DuplicatePolicy, Registry


def registry(*keys: str) -> Registry[str]:
    made: Registry[str] = Registry("Thing", on_duplicate="warn", changed=lambda: None)
    for key in keys:
        made.add(key, key.upper())
    return made


def test_a_list_is_made_once_after_each_change() -> None:
    things = registry("a", "b")
    calls: list[str] = []

    def to_wire(item: str) -> str:
        calls.append(item)
        return item

    assert things.listing("form", to_wire).entries == ["A", "B"]
    assert things.listing("form", to_wire).entries == ["A", "B"]
    assert calls == ["A", "B"]
    things.remove("a")
    assert things.listing("form", to_wire).entries == ["B"]
    assert things.listing("other", str.lower).entries == ["b"]


def test_a_change_while_a_list_is_made_is_in_the_next_list() -> None:
    things = registry("a")

    def to_wire(item: str) -> str:
        things.add("b", "B")  # as another thread might do
        return item

    assert things.listing("form", to_wire).entries == ["A"]
    assert things.listing("form", str).entries == ["A", "B"]


def test_a_cursor_stays_good_whatever_comes_and_goes() -> None:
    things = registry("a", "b", "c", "d", "e")
    page, cursor = things.listing("f", str).page(None, 2)
    assert page == ["A", "B"]
    things.remove("a")
    things.remove("c")
    things.add("f", "F")
    page, cursor_of_last = things.listing("f", str).page(cursor, 2)
    assert (page, cursor_of_last is not None) == (["D", "E"], True)
    assert things.listing("f", str).page(cursor_of_last, 2) == (["F"], None)
    # The entry that it was made of goes, too, and comes back at the end.
    things.remove("b")
    assert things.listing("f", str).page(cursor, 2)[0] == ["D", "E"]
    things.add("b", "B")
    assert things.listing("f", str).page(cursor, 9) == (["D", "E", "F", "B"], None)


@pytest.mark.parametrize("left", ["", "c", "ab", "abc"])
def test_a_cursor_outlives_all_that_stood_around_it(left: str) -> None:
    things = registry("a", "b", "c")
    _, cursor = things.listing("f", str).page(None, 2)
    for key in "abc":
        if key not in left:
            things.remove(key)
    rest = ["C"] if "c" in left else []
    assert things.listing("f", str).page(cursor, 2) == (rest, None)


def test_what_replaces_an_entry_stands_in_its_place() -> None:
    things: Registry[str] = Registry("Thing", on_duplicate="replace", changed=lambda: None)
    for key in "abc":
        things.add(key, key)
    _, cursor = things.listing("f", str).page(None, 1)
    things.add("a", "new")
    things.add("b", "newer")
    assert things.listing("f", str).page(cursor, 2) == (["newer", "c"], None)
    assert things.listing("f", str).page(None, 2)[0] == ["new", "newer"]


def cursor_of(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.req("R-333")
@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "garbage",
        "\N{SNOWMAN}",
        cursor_of("b"),
        cursor_of("Thing:1:c"),  # it is b that has this number
        cursor_of("Thing:3:d"),  # there never were so many
        cursor_of("Other:1:b"),
        cursor_of("Thing:01:b"),
        cursor_of("Thing:-1:b"),
        cursor_of("Thing:\u0661:b"),
        cursor_of("Thing:1:b") + "\n",
        cursor_of("Thing:1:b") + "x",
        cursor_of("Thing:" + "9" * 5000 + ":b"),
    ],
)
def test_a_cursor_that_was_never_given_out_is_refused(cursor: str) -> None:
    things = registry("a", "b", "c")
    assert things.listing("f", str).page(cursor_of("Thing:1:b"), 2) == (["C"], None)
    with pytest.raises(MCPError, match="Invalid cursor") as caught:
        things.listing("f", str).page(cursor, 2)
    assert (caught.value.code, caught.value.data) == (-32602, {"cursor": excerpt(cursor)})
    with pytest.raises(MCPError, match="Invalid cursor"):
        things.listing("f", str).page(cursor_of("Thing:1:b"), None)


def test_a_page_that_ends_with_the_list_is_the_last() -> None:
    assert registry("a", "b").listing("f", str).page(None, 2) == (["A", "B"], None)
    assert registry().listing("f", str).page(None, 2) == ([], None)


def test_of_two_items_under_one_key_the_policy_chooses(caplog: pytest.LogCaptureFixture) -> None:
    changes: list[str] = []

    def of_policy(policy: DuplicatePolicy) -> Registry[str]:
        made: Registry[str] = Registry(
            "Thing", on_duplicate=policy, changed=lambda: changes.append(policy)
        )
        made.add("a", "first")
        made.add("b", "other")
        return made

    assert of_policy("ignore").add("a", "second") == "first"
    assert not caplog.records
    assert of_policy("warn").add("a", "second") == "first"
    assert caplog.messages == ["Thing already exists: a"]
    strict = of_policy("error")
    with pytest.raises(ValueError, match="Thing already exists: a"):
        strict.add("a", "second")
    assert strict.items() == ["first", "other"]
    replacing = of_policy("replace")
    assert replacing.add("a", "second") == "second"
    assert replacing.items() == ["second", "other"]
    assert changes == ["ignore"] * 2 + ["warn"] * 2 + ["error"] * 2 + ["replace"] * 3


def test_removing_and_finding() -> None:
    things = registry("a")
    assert things.get("a") == "A"
    assert things.remove("a")
    assert not things.remove("a")
    assert things.get("a") is None
