from __future__ import annotations

import pytest

from trio_mcp._codec import excerpt


@pytest.mark.parametrize("value", ["", "tools/call", "größe 🍵", "x" * 200, 0, -7, 2**70, None])
def test_what_is_short_and_harmless_stays_as_it_is(value):
    assert excerpt(value) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 201, "x" * 200 + "…"),
        ("é" * 1_500_000, "é" * 200 + "…"),
        (10**200, "1" + "0" * 199 + "…"),
        ("a\nERROR b\r", r"a\nERROR b\r"),
        ("\x1b[31mred\x9b", r"\x1b[31mred\x9b"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_is_not_is_cut_and_escaped(value, shown):
    assert excerpt(value) == shown
