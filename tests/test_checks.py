"""Errors of wrong arguments say which one, what was expected and what came."""

from __future__ import annotations

import functools
from collections import OrderedDict
from types import MappingProxyType

import pytest
import trio

from trio_mcp import _checks


@pytest.mark.parametrize("value", [None, 5, b"x", ["x"]])
def test_text_is_a_string(value):
    with pytest.raises(TypeError, match=rf"^name: expected str, got {type(value).__name__}$"):
        _checks.check_text("name", value)
    _checks.check_text("name", "")


def test_the_value_of_a_wrong_kind_is_not_quoted():
    with pytest.raises(TypeError) as caught:
        _checks.check_text("token", b"secret")
    assert str(caught.value) == "token: expected str, got bytes"


def test_a_class_in_place_of_an_object_is_told_as_such():
    with pytest.raises(TypeError, match=r"^cache: expected dict, got the class OrderedDict$"):
        _checks.check_kind("cache", OrderedDict, dict)


@pytest.mark.parametrize("value", [0, 1, None, "yes"])
def test_a_flag_is_true_or_false(value):
    with pytest.raises(TypeError, match=r"^flag: expected bool, got "):
        _checks.check_flag("flag", value)
    _checks.check_flag("flag", False)


def test_a_function_is_whatever_can_be_called():
    with pytest.raises(TypeError, match=r"^callback: expected a function, got int$"):
        _checks.check_callable("callback", 5)
    _checks.check_callable("callback", print)


class Callback:
    async def __call__(self): ...


@pytest.mark.parametrize(
    "fn", [trio.sleep, Callback(), functools.partial(functools.partial(trio.sleep, 1))]
)
def test_an_async_function_is_recognised_in_its_disguises(fn):
    assert _checks.is_async_callable(fn)


@pytest.mark.parametrize("fn", [print, Callback, functools.partial(print), lambda: None])
def test_what_is_no_async_function(fn):
    assert not _checks.is_async_callable(fn)


@pytest.mark.parametrize("value", ["5", None, True, 5j])
def test_a_number_is_no_text_and_no_flag(value):
    with pytest.raises(TypeError, match=r"^seconds: expected a number of at least 0, got "):
        _checks.check_number("seconds", value, least=0)


@pytest.mark.parametrize("value", [-1, -0.001, float("nan"), float("-inf")])
def test_a_number_is_large_enough_and_no_nan(value):
    with pytest.raises(ValueError, match=r"^seconds: expected a number of at least 0, got "):
        _checks.check_number("seconds", value, least=0)


@pytest.mark.parametrize("value", [0, 0.5, 5, float("inf")])
def test_infinity_is_a_number(value):
    _checks.check_number("seconds", value, least=0)


@pytest.mark.parametrize("value", [0, -1.0])
def test_a_bound_may_be_exclusive(value):
    with pytest.raises(ValueError, match=r"^seconds: expected a number above 0, got "):
        _checks.check_number("seconds", value, above=0)
    _checks.check_number("seconds", 0.001, above=0)


@pytest.mark.parametrize(
    ("value", "error"), [(2.5, TypeError), (True, TypeError), ("2", TypeError), (0, ValueError)]
)
def test_a_whole_number_has_no_fraction(value, error):
    with pytest.raises(error, match=r"^rounds: expected a whole number of at least 1, got "):
        _checks.check_whole("rounds", value, least=1)
    _checks.check_whole("rounds", 1, least=1)


@pytest.mark.parametrize(("value", "error"), [("c", ValueError), (5, TypeError), ([], TypeError)])
def test_a_word_is_one_of_those_there_are(value, error):
    with pytest.raises(error, match=r"^mode: expected one of 'a', 'b', got "):
        _checks.check_word("mode", value, ("a", "b"))
    _checks.check_word("mode", "b", ("a", "b"))


@pytest.mark.parametrize("value", [b"ab", {"a": 1}, 5, None, iter("ab")])
def test_a_list_is_none_that_runs_out_and_no_text(value):
    with pytest.raises(TypeError, match=r"^args: expected a list of strings, got "):
        _checks.check_items("args", value, str, "a list of strings")


def test_a_text_in_place_of_a_list_is_told_what_to_do():
    with pytest.raises(TypeError, match=r"^args: expected a list, got one str: put it into a "):
        _checks.check_items("args", "server.py", str, "a list")


def test_an_item_of_a_list_is_told_by_its_place():
    with pytest.raises(TypeError, match=r"^args\[1\]: expected str, got int$"):
        _checks.check_items("args", ["a", 1], str, "a list of strings")
    _checks.check_items("args", ("a", "b"), str, "a list of strings")


def test_a_member_of_a_mapping_is_told_by_its_name():
    with pytest.raises(TypeError, match=r"^env: expected a dict, got list$"):
        _checks.check_mapping("env", [("A", "1")], str)
    with pytest.raises(TypeError, match=r"^env\['A'\]: expected str, got int$"):
        _checks.check_mapping("env", {"A": 1}, str)
    with pytest.raises(TypeError, match=r"^a name in env: expected str, got int$"):
        _checks.check_mapping("env", {1: "A"}, str)
    _checks.check_mapping("env", MappingProxyType({"A": "1"}), str)
    _checks.check_mapping("arguments", {"A": [1]})


@pytest.mark.parametrize("value", ["2025-11-25", {20251125}, 5])
def test_revisions_are_a_set_of_strings(value):
    with pytest.raises(TypeError, match=r"^versions"):
        _checks.check_versions("versions", value, ("2025-11-25",))


@pytest.mark.parametrize("value", [frozenset(), {"2025-11-25", "2025-11-26"}])
def test_revisions_are_some_that_there_are(value):
    expected = r"^versions names one or more of 2025-06-18, 2025-11-25 \(None for all\), got \["
    with pytest.raises(ValueError, match=expected):
        _checks.check_versions("versions", value, ("2025-06-18", "2025-11-25"))


@pytest.mark.parametrize("value", [None, {"2025-11-25"}, frozenset({"2025-06-18"})])
def test_no_revisions_are_all_of_them(value):
    _checks.check_versions("versions", value, ("2025-06-18", "2025-11-25"))
