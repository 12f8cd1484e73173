"""What is refused before it is decoded, by what the headers of frames announce."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_mcp.transports.websocket._frames import MAX_PARTS, Close, FrameGate

from ._wire import BINARY, CLOSE, PING, TEXT, frame

CONTINUATION = 0


def passed(gate: FrameGate, data: bytes, size: int) -> bytes:
    """Feed data in pieces of a size."""
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return b"".join(piece[: gate.admit(piece)[0]] for piece in pieces)


GOOD = [
    frame(TEXT, b"a"),
    frame(TEXT),
    frame(TEXT, b"b" * 125),
    frame(PING, b"?"),
    frame(TEXT, b"c" * 126),
    frame(TEXT, b"d" * 200, fin=False) + frame(PING) + frame(CONTINUATION, b"e" * 800),
    frame(TEXT, b"f" * 1000, mask=False),
    frame(CLOSE, b"\x03\xe8"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000_000])
def test_all_in_good_order_passes_however_it_is_cut(size):
    gate = FrameGate(1000)
    assert passed(gate, b"".join(GOOD), size) == b"".join(GOOD)
    assert gate.refusal is None
    assert gate.close_seen


@pytest.mark.parametrize("size", [1, 2, 5, 1_000_000])
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        pytest.param(frame(BINARY, b"x"), 1003, id="binary"),
        pytest.param(frame(BINARY), 1003, id="binary and empty"),
        pytest.param(frame(TEXT, b"x" * 1001), 1009, id="too long"),
        pytest.param(frame(TEXT, b"x" * 70_000), 1009, id="much too long"),
    ],
)
def test_nothing_of_a_refused_frame_can_be_decoded(size, bad, code):
    gate = FrameGate(1000)
    before, behind = frame(TEXT, b"before"), frame(TEXT, b"behind")
    done = passed(gate, before + bad + behind, size)
    # Of a header that came in pieces, some may have passed: no decoder makes anything of it.
    assert done.startswith(before)
    assert len(done) < len(before) + 14
    assert done == (before + bad)[: len(done)]
    assert gate.refusal is not None
    assert gate.refusal.code == code
    assert not gate.close_seen


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_how_bytes_are_cut_makes_no_difference(data, cuts):
    whole, parts = FrameGate(100), FrameGate(100)
    passing, complete = whole.admit(data)
    assert 0 <= complete <= passing <= len(data)
    at = [0, *sorted(cuts), 200]
    done = b""
    for start, end in itertools.pairwise(at):
        piece = data[start:end]
        done += piece[: parts.admit(piece)[0]]
    assert (parts.refusal, parts.close_seen) == (whole.refusal, whole.close_seen)
    # What is held back may be part of a header by one or the other.
    assert done[:passing] == data[:passing][: len(done)]
    assert len(done) - passing < 14


def test_what_closes_is_noticed_behind_a_refusal():
    gate = FrameGate(1000)
    gate.admit(frame(BINARY, b"x" * 500)[:100])
    assert not gate.close_seen
    gate.admit(frame(BINARY, b"x" * 500)[100:] + frame(TEXT, b"y") + frame(CLOSE))
    assert gate.close_seen


def test_parts_of_a_message_count_together():
    gate = FrameGate(1000)
    gate.admit(frame(TEXT, b"x" * 600, fin=False))
    assert gate.refusal is None
    gate.admit(frame(CONTINUATION, b"x" * 401))
    assert gate.refusal == Close(1009, "a message of more than 1000 bytes")


def test_bytes_are_counted_and_not_characters():
    gate = FrameGate(1000)
    gate.admit(frame(TEXT, "é".encode() * 501))
    assert gate.refusal is not None


def test_parts_without_anything_in_them_do_not_pile_up():
    gate = FrameGate(1000)
    gate.admit(frame(TEXT, fin=False) + frame(CONTINUATION, fin=False) * (MAX_PARTS - 1))
    assert gate.refusal is None
    gate.admit(frame(CONTINUATION, fin=False))
    assert gate.refusal is not None
    assert gate.refusal.code == 1009


def test_nothing_passes_behind_the_frame_that_closes():
    gate = FrameGate(1000)
    close, behind = frame(CLOSE, b"\x03\xe8bye"), frame(TEXT, b"behind")
    assert gate.admit(close + behind) == (len(close), len(close))


def test_how_far_frames_are_complete_is_told():
    gate = FrameGate(1000)
    whole, half = frame(TEXT, b"whole"), frame(TEXT, b"half")[:5]
    assert gate.admit(whole + half) == (len(whole + half), len(whole))
    assert gate.admit(b"ha") == (2, 0)


@pytest.mark.parametrize("is_client", [True, False])
def test_closing_frame_holds_code_and_reason(is_client):
    dumped = Close(1001, "x" * 200).dump(is_client=is_client)
    gate = FrameGate(1000)
    assert gate.admit(dumped) == (len(dumped), len(dumped))
    assert gate.close_seen
    if not is_client:
        assert dumped == b"\x88\x7d\x03\xe9" + b"x" * 123
