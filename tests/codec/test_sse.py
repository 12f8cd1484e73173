from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp._codec._sse import KEEP_ALIVE, EventSplitter, EventTooLong, SentEvent, dump_event


def split(data: bytes, size: int = 1000, limit: int = 1000) -> list[SentEvent]:
    splitter = EventSplitter(limit)
    return [
        event
        for start in range(0, len(data), size)
        for event in splitter.feed(data[start : start + size])
    ]


SIZES = pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
LINE_ENDS = pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])


@SIZES
@LINE_ENDS
def test_events_come_whole_however_they_are_cut(size: int, end: bytes) -> None:
    text = b"event: endpoint\ndata: /messages?session=1\n\n: hi\n\ndata: {}\nid: 7\n\n"
    assert split(text.replace(b"\n", end), size) == [
        SentEvent(b"/messages?session=1", "endpoint"),
        SentEvent(b"{}", id=b"7"),
    ]


@SIZES
def test_line_ends_may_be_mixed(size: int) -> None:
    text = b"data: 1\r\rdata: 2\r\n\rdata: 3\n\r\ndata: 4\r\n\r\ndata: 5\n\n"
    assert [event.data for event in split(text, size)] == [b"1", b"2", b"3", b"4", b"5"]


@SIZES
def test_an_event_comes_with_its_last_byte(size: int) -> None:
    """Not with the next: a CR that ends an event may be the last byte for a long time."""
    for text in (b"data: 1\r\r", b"data: 1\n\n", b"data: 1\r\n\r\n"):
        assert split(text, size) == [SentEvent(b"1")]
    assert split(b"data: 1\r\n\r", size) == [SentEvent(b"1")]


@SIZES
def test_only_these_end_a_line(size: int) -> None:
    data = '"a\u2028b\u2029c\x85d\x0be\x0cf\x1c\x1d\x1e"'.encode()
    assert split(b"data: " + data + b"\n\n", size) == [SentEvent(data)]


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (b"data: 1", b"1"),
        (b"data:1", b"1"),
        (b"data:  1", b" 1"),
        (b"data:\t1", b"\t1"),
        (b"data: a:b: c", b"a:b: c"),
        (b"data:", b""),
        (b"data", b""),
    ],
)
def test_one_space_after_the_colon_is_not_of_the_value(line: bytes, data: bytes) -> None:
    assert split(line + b"\nid: 1\n\n") == [SentEvent(data, id=b"1")]


def test_lines_of_data_are_joined() -> None:
    assert split(b"data: {\ndata: \ndata: }\n\n") == [SentEvent(b"{\n\n}")]


@pytest.mark.parametrize(
    "text", [b": a comment\n\n", KEEP_ALIVE, b"\n\n\n", b"event: ping\n\n", b"dat: 1\n\n"]
)
def test_what_says_nothing_is_no_event(text: bytes) -> None:
    assert split(text) == []
    assert split(text + b"data: 1\n\n") == [SentEvent(b"1")]


def test_an_event_without_its_empty_line_is_none() -> None:
    assert split(b"data: 1\n\ndata: 2\n") == [SentEvent(b"1")]


@SIZES
def test_a_byte_order_mark_is_forgiven_at_the_start_alone(size: int) -> None:
    bom = b"\xef\xbb\xbf"
    assert split(bom + b"data: 1\n\n" + bom + b"data: 2\n\n", size) == [SentEvent(b"1")]


def test_ids_and_retry_stay_known() -> None:
    splitter = EventSplitter()
    assert (splitter.last_event_id, splitter.retry_ms) == (None, None)
    assert splitter.feed(b"id: a\nretry: 250\ndata\n\n") == [SentEvent(b"", id=b"a")]
    assert (splitter.last_event_id, splitter.retry_ms) == (b"a", 250)
    assert splitter.feed(b"data: 1\n\nid: b\ndata: 2\n") == [SentEvent(b"1")]
    assert splitter.last_event_id == b"a"  # the event of the other one is not complete
    splitter.feed(b"\nid\ndata\n\n")
    assert splitter.last_event_id == b""


@pytest.mark.parametrize(
    "line", [b"retry: soon", b"retry: -1", b"retry: 1.5", b"retry:", b"retry"]
)
def test_a_retry_that_is_no_number_is_skipped(line: bytes) -> None:
    splitter = EventSplitter()
    splitter.feed(line + b"\n\n")
    assert splitter.retry_ms is None


def test_a_retry_of_thousands_of_digits_is_read_without_harm() -> None:
    splitter = EventSplitter(100_000)
    splitter.feed(b"retry: " + b"9" * 50_000 + b"\n\n")
    assert splitter.retry_ms == 9_999_999_999


def test_an_id_with_a_nul_is_skipped() -> None:
    assert split(b"id: a\0b\ndata: 1\n\n") == [SentEvent(b"1")]


def test_names_that_are_not_utf_8_do_no_harm() -> None:
    assert split(b"event: \xff\nid: \xfe\ndata: \xfd\n\n") == [
        SentEvent(b"\xfd", "\ufffd", b"\xfe")
    ]


@SIZES
def test_an_event_beyond_the_limit_is_refused(size: int) -> None:
    splitter = EventSplitter(20)
    assert splitter.feed(b"data: 0123456789\n\n" * 3)
    text = b"data: 01\ndata: 23\ndata: 45\n\n"

    def feed() -> None:
        for start in range(0, len(text), size):
            splitter.feed(text[start : start + size])

    with pytest.raises(EventTooLong, match="longer than 20 bytes"):
        feed()


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    splitter = EventSplitter(100)
    for _ in range(100):
        splitter.feed(b"x")
    with pytest.raises(EventTooLong):
        splitter.feed(b"x")


def test_comments_are_of_no_event_and_count_nowhere() -> None:
    splitter = EventSplitter(100)
    for _ in range(100):
        splitter.feed(b": I am still here\n")
    assert splitter.feed(b"data: 1\n\n") == [SentEvent(b"1")]


@given(
    st.lists(st.binary(max_size=20).map(lambda part: part.translate(None, b"\r\n\0"))),
    st.integers(1, 50),
)
def test_what_is_written_is_read(parts: list[bytes], size: int) -> None:
    text = b"".join(dump_event(b"x" + data) + KEEP_ALIVE for data in parts)
    assert [event.data[1:] for event in split(text, size)] == parts


def test_an_event_is_written_with_its_id_before_its_data() -> None:
    """Whoever reads it has the id when the message is handled."""
    assert dump_event(b"{}", id="7") == b"event: message\nid: 7\ndata: {}\n\n"
    assert dump_event(b"", id="7", retry_ms=50).splitlines() == [
        b"event: message",
        b"id: 7",
        b"retry: 50",
        b"data: ",
        b"",
    ]


def test_reading_takes_linear_time() -> None:
    def seconds(size: int) -> float:
        text = b"data: " + b"x" * size + b"\n\n" + b"data: 1\n\n" * (size // 9)
        splitter = EventSplitter()
        began = time.process_time()
        for start in range(0, len(text), 1024):
            splitter.feed(text[start : start + 1024])
        return time.process_time() - began

    small = min(seconds(400_000) for _ in range(3))
    # Ten times as much takes a hundred times as long where time is quadratic.
    assert seconds(4_000_000) < 40 * max(small, 0.001)
