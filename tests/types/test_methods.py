from __future__ import annotations

import pytest
from mcp_types import methods as known

from trio_mcp import types
from trio_mcp.types import KNOWN_REVISIONS, METHODS, revision_for

# The official SDK leaves the tasks of 2025-11-25 out of its tables.
TASKS = {name for name in METHODS if name.startswith(("tasks/", "notifications/tasks/"))}


def sent_by(side, *, notifications):
    return {
        (method.name, revision.version)
        for method in METHODS.values()
        for revision in KNOWN_REVISIONS
        if method.is_notification == notifications
        and method.may_be_sent_by(side, revision)
        and method.name not in TASKS
    }


@pytest.mark.parametrize(
    ("side", "notifications", "table"),
    [
        ("client", False, known.CLIENT_REQUESTS),
        ("client", True, known.CLIENT_NOTIFICATIONS),
        ("server", False, known.SERVER_REQUESTS),
        ("server", True, known.SERVER_NOTIFICATIONS),
    ],
)
def test_each_revision_has_the_methods_that_are_known(side, notifications, table):
    assert sent_by(side, notifications=notifications) == set(table)


def test_tasks_are_of_one_revision_and_both_sides():
    for name in TASKS:
        method = METHODS[name]
        assert [each.version for each in KNOWN_REVISIONS if method.exists_in(each)] == [
            "2025-11-25"
        ]
        assert method.may_be_sent_by("client", types.LATEST_HANDSHAKE)
        assert method.may_be_sent_by("server", types.LATEST_HANDSHAKE)


def test_cacheable_results_are_those_that_are_known():
    assert {each.name for each in METHODS.values() if each.cacheable} == known.CACHEABLE_METHODS
    for method in METHODS.values():
        if not method.is_notification:
            assert issubclass(method.result_type(), types.CacheableResult) == method.cacheable


def test_methods_that_may_need_input_are_those_that_are_known():
    found = {each.name for each in METHODS.values() if each.may_need_input}
    assert found == known.INPUT_REQUIRED_METHODS
    for method in METHODS.values():
        takes_answers = "InputResponseRequestParams" in {
            each.__name__ for each in getattr(method.params_type(), "__mro__", ())
        }
        assert takes_answers == method.may_need_input


def test_input_requests_are_the_servers_requests_of_before():
    asked = {each.name for each in METHODS.values() if each.is_input_request}
    assert asked == {"sampling/createMessage", "roots/list", "elicitation/create"}


@pytest.mark.parametrize("name", METHODS)
def test_request_class_and_table_agree(name):
    classes = [
        each
        for each in (getattr(types, each) for each in types.__all__)
        if isinstance(each, type) and issubclass(each, (types.Request, types.Notification))
    ]
    assert classes
    for cls in classes:
        method = next(
            (each.default for each in cls.__attrs_attrs__ if each.name == "method"), None
        )
        if method != name:
            continue
        assert issubclass(cls, types.Notification) == METHODS[name].is_notification
        if issubclass(cls, types.Request):
            assert cls.name_param == METHODS[name].name_param


def test_a_notification_has_no_result():
    with pytest.raises(TypeError, match="is a notification and has no result"):
        METHODS["notifications/progress"].result_type()


def test_params_type_may_be_a_union():
    assert METHODS["elicitation/create"].params_type() == types.ElicitRequestParams


def test_only_servers_report_progress_at_2026_07_28():
    progress = METHODS["notifications/progress"]
    assert progress.may_be_sent_by("client", types.LATEST_HANDSHAKE)
    assert not progress.may_be_sent_by("client", types.LATEST_MODERN)
    assert progress.may_be_sent_by("server", types.LATEST_MODERN)


def test_elicitation_came_with_2025_06_18():
    elicitation = METHODS["elicitation/create"]
    assert not elicitation.exists_in(revision_for("2025-03-26"))
    assert elicitation.exists_in(revision_for("2025-06-18"))
    assert not elicitation.may_be_sent_by("client", revision_for("2025-06-18"))
