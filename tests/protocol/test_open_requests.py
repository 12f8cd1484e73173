from __future__ import annotations

import pytest

from trio_mcp._protocol._open_requests import OpenRequests


@pytest.mark.req("R-003", "R-004", "R-005", "R-525")
def test_own_ids_are_integers_that_never_come_back():
    table: OpenRequests[str] = OpenRequests()
    seen = []
    for _ in range(100):
        request_id = table.next_id()
        table.open(request_id, "call")
        table.close(request_id)
        seen.append(request_id)
    assert len(set(seen)) == 100
    assert all(type(each) is int for each in seen)


def test_a_number_and_its_text_are_two_ids():
    table: OpenRequests[str] = OpenRequests()
    assert table.open(1, "number")
    assert table.open("1", "text")
    assert table.get(1) == "number"
    assert table.get("1") == "text"
    assert table.close("1") == "text"
    assert table.get(1) == "number"


def test_the_text_of_a_number_can_still_be_told_to_mean_it():
    table: OpenRequests[str] = OpenRequests()
    table.open(1, "one")
    for odd in ("2", "01", "1.0", " 1", "-1", "\u0661", "1" * 5000, "", 1):
        assert table.close_mistyped(odd) is None
    assert table.close_mistyped("1") == "one"
    assert table.close_mistyped("1") is None


@pytest.mark.case("C028")
def test_an_id_in_flight_is_not_taken_twice():
    table: OpenRequests[str] = OpenRequests()
    assert table.open(7, "first")
    assert not table.open(7, "second")
    assert table.get(7) == "first"
    table.close(7)
    assert table.open(7, "third")


@pytest.mark.parametrize("odd", [True, 1.0, None, [1], {"id": 1}])
def test_what_is_no_id_finds_nothing(odd):
    table: OpenRequests[str] = OpenRequests()
    table.open(1, "one")
    assert table.get(odd) is None


def test_draining_gives_all_that_are_open_and_leaves_none():
    table: OpenRequests[str] = OpenRequests()
    table.open(1, "a")
    table.open("x", "b")
    assert table.drain() == ["a", "b"]
    assert len(table) == 0
    assert table.close(1) is None
