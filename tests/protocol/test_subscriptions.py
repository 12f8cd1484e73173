from __future__ import annotations

import itertools

import pytest

from trio_mcp._protocol._subscriptions import (
    FIRST_INTERVAL,
    LONGEST_INTERVAL,
    Pacing,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    Selection,
    ToolsListChanged,
    can_subscribe,
    honor,
    read_event,
    subscription_id_of,
    write_event,
)
from trio_mcp.types import (
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    SubscriptionFilter,
    ToolsCapability,
)

EVENTS = [ToolsListChanged(), PromptsListChanged(), ResourcesListChanged(), ResourceUpdated("a:b")]
ASKED = {
    "tools_list_changed": True,
    "prompts_list_changed": True,
    "resources_list_changed": True,
    "resource_subscriptions": ["a:b"],
}


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_read_as_it_was_written(event):
    assert read_event(*write_event(event)) == event


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/message", {}),
        ("notifications/resources/updated", {}),
        ("notifications/resources/updated", {"uri": 5}),
    ],
)
def test_what_tells_no_event(method, params):
    assert read_event(method, params) is None


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"_meta": {"io.modelcontextprotocol/subscriptionId": 0}}, 0),
        ({"_meta": {"io.modelcontextprotocol/subscriptionId": "0"}}, "0"),
        ({"_meta": {}}, None),
        ({"_meta": []}, None),
        ({}, None),
    ],
)
def test_the_id_of_a_subscription(params, found):
    assert subscription_id_of(params) == found


@pytest.mark.parametrize("announced", list(itertools.product([True, None], repeat=4)))
def test_what_is_honored_is_what_is_asked_for_and_announced(announced):
    tools, prompts, resources, subscribe = announced
    capabilities = ServerCapabilities(
        tools=ToolsCapability(list_changed=tools),
        prompts=PromptsCapability(list_changed=prompts),
        resources=ResourcesCapability(list_changed=resources, subscribe=subscribe),
    )
    honored = dict(zip(ASKED, announced, strict=True))
    honored["resource_subscriptions"] = ["a:b"] if subscribe else None
    assert honor(SubscriptionFilter(**ASKED), capabilities) == SubscriptionFilter(**honored)
    assert honor(SubscriptionFilter(), capabilities) == SubscriptionFilter()
    assert can_subscribe(capabilities) == any(announced)
    assert not can_subscribe(ServerCapabilities())


@pytest.mark.req("R-198")
@pytest.mark.parametrize("wanted", range(4))
def test_a_filter_selects_its_own_kind_alone(wanted):
    name = list(ASKED)[wanted]
    selection = Selection.of(SubscriptionFilter(**{name: ASKED[name]}))
    assert [selection.tells(event) for event in EVENTS] == [n == wanted for n in range(4)]
    assert [selection.admits(event) for event in EVENTS] == [n == wanted for n in range(4)]


def test_which_updates_are_told_and_which_are_admitted():
    selection = Selection.of(SubscriptionFilter(resource_subscriptions=["a:b"]))
    below = ResourceUpdated("a:b/c")
    assert not selection.tells(below)
    assert selection.tells(below, lambda subscribed, uri: uri.startswith(subscribed))
    assert selection.admits(below)


@pytest.mark.case("C036")
def test_a_list_that_goes_on_changing_is_told_less_and_less_often():
    pacing, event, now, gaps = Pacing(), ToolsListChanged(), 0.0, []
    assert pacing.due(event) < 0
    for _ in range(10):
        pacing.told(event, now)
        gaps.append(pacing.due(event) - now)
        now = pacing.due(event)
    assert gaps[0] == pytest.approx(FIRST_INTERVAL)
    assert all(later >= earlier for earlier, later in itertools.pairwise(gaps))
    assert gaps[-1] == pytest.approx(LONGEST_INTERVAL)
    now += 3 * LONGEST_INTERVAL
    pacing.told(event, now)
    assert pacing.due(event) - now == pytest.approx(FIRST_INTERVAL)
    assert pacing.due(PromptsListChanged()) < 0


def test_updates_of_a_resource_are_not_held_back():
    pacing, event = Pacing(), ResourceUpdated("a:b")
    pacing.told(event, 1.0)
    assert pacing.due(event) < 0
