"""The common names of a group: who gets which, and for how long."""

from __future__ import annotations

import pytest

from trio_mcp.client._group_catalog import MAX_REMEMBERED, Catalog, Offer
from trio_mcp.client._group_names import MAX_PREFIX, NamePolicy, _DistinctNames
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.types import Implementation, Prompt, Resource, Tool


def tool(name):
    return Tool(name=name, input_schema={"type": "object"})


def resource(name, uri=None):
    return Resource(name=name, uri=uri or f"res://{name}")


def offer(*tools, resources=(), prompts=()):
    return Offer(
        [tool(name) for name in tools],
        list(resources),
        [Prompt(name=name) for name in prompts],
    )


class Group:
    """A catalog whose servers are known by their names."""

    def __init__(self, hook=None, on_collision="prefix"):
        self.catalog = Catalog(NamePolicy(hook, on_collision))

    def take_in(self, server, *tools, name=None, **more):
        info = Implementation(name=server if name is None else name, version="1")
        self.catalog.take_in(server, info, offer(*tools, **more))
        return self

    @property
    def tools(self):
        """Common name: server, own name."""
        names = self.catalog.tools
        return {name: (names.get(name)[0], thing.name) for name, thing in names.values().items()}


def test_the_later_one_of_two_gets_the_name_of_its_server_before_it():
    group = Group().take_in("web", "find").take_in("mail", "find", "send")
    assert group.tools == {
        "find": ("web", "find"),
        "mail_find": ("mail", "find"),
        "send": ("mail", "send"),
    }


def test_names_that_are_taken_even_so_get_numbers():
    group = Group().take_in("a", "x", "b_x", "b_2_x").take_in("b", "x")
    assert group.tools["b_3_x"] == ("b", "x")


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("my notes!", "my_notes"), ("é", "server"), ("__", "server"), ("", "server")],
)
def test_prefixes_are_made_of_what_models_may_say(name, prefix):
    group = Group().take_in("a", "x").take_in("b", "x", name=name)
    assert set(group.tools) == {"x", f"{prefix}_x"}


class Counted(set):
    """A set that counts how often it was asked."""

    asked = 0

    def __contains__(self, name):
        self.asked += 1
        return super().__contains__(name)


@pytest.mark.parametrize("taken", [0, 3_000])
def test_numbers_that_are_taken_are_tried_once_for_all_of_one_name(taken):
    count = 2_000
    reserved = Counted(["x", "b_x", *(f"b_{number}_x" for number in range(2, taken))])
    names = _DistinctNames(Implementation(name="b", version="1"), reserved)
    for _ in range(count):
        reserved.add(names.name_for("x"))
    assert len(reserved) == count + max(2, taken)
    assert reserved.asked <= 2 * count + taken


def test_what_goes_before_names_is_short():
    group = Group().take_in("a", "x").take_in("b", "x", name="b" * 1_000_000)
    assert set(group.tools) == {"x", f"{'b' * MAX_PREFIX}_x"}


def test_a_thing_keeps_its_name_while_its_server_lists_it():
    group = Group().take_in("web", "find").take_in("mail", "find", "send")
    group.catalog.remove("web")
    group.take_in("mail", "send", "find", "new")
    assert group.tools == {
        "send": ("mail", "send"),
        "mail_find": ("mail", "find"),
        "new": ("mail", "new"),
    }
    # What it does not list any more is free, and is not kept for it.
    group.take_in("mail", "send").take_in("late", "mail_find").take_in("mail", "send", "find")
    assert group.tools["find"] == ("mail", "find")
    assert group.tools["mail_find"] == ("late", "mail_find")


def test_a_name_that_is_kept_is_not_given_to_another_thing_of_the_same_server():
    group = Group().take_in("web", "find").take_in("mail", "find")
    group.catalog.remove("web")
    group.take_in("mail", "mail_find", "find")
    assert group.tools == {
        "mail_mail_find": ("mail", "mail_find"),
        "mail_find": ("mail", "find"),
    }


def test_listing_anew_leaves_the_order_of_the_servers():
    group = Group().take_in("a", "a1").take_in("b", "b1")
    group.take_in("a", "a2", "a1")
    assert list(group.tools) == ["a2", "a1", "b1"]


@pytest.mark.parametrize("on_collision", ["prefix", "refuse"])
def test_one_server_may_have_a_name_twice(on_collision):
    # URIs tell resources apart; nothing says that names do.
    group = Group(on_collision=on_collision)
    both = [resource("log", "log://1"), resource("log", "log://2")]
    group.take_in("a", resources=both)
    named = {name: thing.uri for name, thing in group.catalog.resources.values().items()}
    assert named == {"log": "log://1", "a_log": "log://2"}
    group.take_in("a", resources=both)
    assert list(group.catalog.resources.values()) == ["log", "a_log"]


@pytest.mark.case("C017")
@pytest.mark.parametrize("kind", ["tool", "resource", "prompt"])
def test_who_is_refused_changes_nothing(kind):
    def just(kind, name):
        return {
            "tools": [name] if kind == "tool" else [],
            "resources": [resource(name)] if kind == "resource" else [],
            "prompts": [name] if kind == "prompt" else [],
        }

    def take_in(server, tools, **more):
        group.take_in(server, *tools, **more)

    group = Group(on_collision="refuse")
    take_in("a", **just(kind, "x"))
    everything = {"tools": ["t"], "resources": [resource("r")], "prompts": ["p"]}
    again = just(kind, "x")
    with pytest.raises(MCPError, match=f"have a {kind} 'x'; the second one is 'b'"):
        take_in("b", **{each: everything[each] + again[each] for each in everything})
    catalog = group.catalog
    for each, names in (
        ("tool", catalog.tools),
        ("resource", catalog.resources),
        ("prompt", catalog.prompts),
    ):
        assert set(names.values()) == ({"x"} if each == kind else set())


def test_a_refused_listing_leaves_the_one_before():
    group = Group(on_collision="refuse").take_in("a", "x").take_in("b", "y")
    with pytest.raises(MCPError):
        group.take_in("b", "y", "x")
    assert set(group.tools) == {"x", "y"}
    group.take_in("b", "z")
    assert set(group.tools) == {"x", "z"}


@pytest.mark.case("C017")
def test_the_hook_chooses_the_prefix():
    group = Group(lambda name, info: f"{info.name}.{name}").take_in("a", "x").take_in("b", "x")
    assert set(group.tools) == {"a.x", "b.x"}


@pytest.mark.parametrize("returned", [None, "", 5])
def test_a_hook_that_returns_no_name_is_told_so(returned):
    group = Group(lambda name, info: returned)
    with pytest.raises(TypeError, match=rf"returned {returned!r} for 'x' of the server 'a'"):
        group.take_in("a", "x")
    assert group.tools == {}


def test_why_a_tool_is_missing_is_known_until_it_is_back():
    group = Group().take_in("a", "x", "y").take_in("b", "z")
    group.catalog.remove("a", ConnectionLost("a died", exit_status=3))
    lost = group.catalog.why_missing("x")
    assert isinstance(lost, ConnectionLost)
    assert (lost.message, lost.exit_status) == ("a died", 3)
    assert lost is not group.catalog.why_missing("x")
    group.take_in("c", "x")
    group.catalog.remove("c")
    assert not isinstance(group.catalog.why_missing("x"), ConnectionLost)
    assert isinstance(group.catalog.why_missing("y"), ConnectionLost)


def test_what_is_remembered_of_the_dead_is_bounded():
    catalog = Group().take_in("a", "first").catalog
    catalog.remove("a", ConnectionLost("a died"))
    info = Implementation(name="b", version="1")
    for number in range(MAX_REMEMBERED // 1000):
        catalog.take_in("b", info, offer(*(f"{number}.{each}" for each in range(1000))))
        catalog.remove("b", ConnectionLost("b died"))
    assert "No server" in catalog.why_missing("first").message
    assert catalog.why_missing("9.999").message == "b died"
