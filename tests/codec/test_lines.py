from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp._codec._lines import LineSplitter, TooLong


def split(data: bytes, size: int, limit: int = 1000) -> list[bytes | TooLong]:
    splitter = LineSplitter(limit)
    lines: list[bytes | TooLong] = []
    for start in range(0, len(data), size):
        lines += splitter.feed(data[start : start + size])
    return lines + splitter.finish()


SIZES = pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])


@SIZES
def test_lines_come_whole_however_they_are_cut(size: int) -> None:
    assert split(b'{"a":1}\n{"b":2}\n{}\n', size) == [b'{"a":1}', b'{"b":2}', b"{}"]


@SIZES
@pytest.mark.req("R-080")
def test_only_a_line_feed_ends_a_line(size: int) -> None:
    line = '"a\u2028b\u2029c\x85d\x0be\x0cf"'.encode() + b'"\x1c\x1d\x1e"'
    assert split(line + b"\n", size) == [line]
    assert split(b'"a\rb"\n', size) == [b'"a\rb"']


@SIZES
def test_carriage_returns_and_a_byte_order_mark_are_forgiven(size: int) -> None:
    assert split(b'\xef\xbb\xbf{"a":1}\r\n{"b":2}\r\n', size) == [b'{"a":1}', b'{"b":2}']


def test_only_the_first_line_may_have_a_byte_order_mark() -> None:
    assert split(b"1\n\xef\xbb\xbf2\n", 100) == [b"1", b"\xef\xbb\xbf2"]


@SIZES
def test_blank_lines_are_skipped(size: int) -> None:
    assert split(b"\n\r\n  \t\n1\n\n2\n \r\n", size) == [b"1", b"2"]


@SIZES
def test_the_last_line_needs_no_end(size: int) -> None:
    assert split(b"1\n2", size) == [b"1", b"2"]
    assert split(b"1\n2\r", size) == [b"1", b"2"]
    assert split(b"1\n  ", size) == [b"1"]


@SIZES
def test_a_line_beyond_the_limit_is_dropped_and_told_once(size: int) -> None:
    data = b"12345\n123456\n1\n" + b"9" * 100 + b"\n2\n" + b"8" * 50
    assert split(data, size, limit=5) == [b"12345", TooLong(5), b"1", TooLong(5), b"2", TooLong(5)]


def test_the_ends_of_a_dropped_line_are_kept() -> None:
    data = b"head" + b"x" * 5000 + b"tail"
    for size in (1, 7, 10_000):
        (dropped, line) = split(data + b"\nok\n", size, limit=3000)
        assert isinstance(dropped, TooLong)
        assert (dropped.head, dropped.tail) == (data[:1024], data[-1024:])
        assert line == b"ok"


def test_a_line_that_is_dropped_takes_no_room() -> None:
    splitter = LineSplitter(1000)
    for _ in range(1000):
        assert splitter.feed(b"x" * 1000) == []
    assert sum(map(len, splitter._parts)) < 3000
    assert splitter.feed(b"\n") == [TooLong(1000)]


def test_a_limit_has_to_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        LineSplitter(0)


@given(st.lists(st.binary(max_size=12)), st.integers(1, 9))
def test_cutting_does_not_change_the_lines(chunks: list[bytes], limit: int) -> None:
    data = b"".join(chunks)
    splitter = LineSplitter(limit)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()
    assert lines == split(data, max(len(data), 1), limit)


@pytest.mark.case("C007")
def test_long_lines_take_linear_time() -> None:
    def cost(size: int, chunk: bytes) -> float:
        splitter = LineSplitter()
        began = time.process_time()
        for _ in range(size // len(chunk)):
            assert splitter.feed(chunk) == []
        (line,) = splitter.feed(b"\n")
        took = time.process_time() - began
        assert isinstance(line, bytes)
        assert len(line) == size
        return took

    chunk = b"x" * 4096
    small = min(cost(1 << 20, chunk) for _ in range(3))
    large = min(cost(16 << 20, chunk) for _ in range(3))
    # 16 times as much; a rescan of the buffer for every chunk would cost 256 times as much.
    assert large < 16 * 8 * max(small, 1e-3)
