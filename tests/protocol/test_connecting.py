from __future__ import annotations

import pytest

from trio_mcp._protocol._connecting import Adopt, Connecting, Initialize, Probe, is_modern
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.types._revisions import LATEST_HANDSHAKE, LATEST_MODERN, revision_for

OLDER = revision_for("2025-06-18")


def started(mode: str) -> Connecting:
    connecting = Connecting(mode)
    connecting.start()
    return connecting


def unsupported(*offered: object) -> MCPError:
    return MCPError(-32022, "no", {"supported": list(offered), "requested": "2026-07-28"})


@pytest.mark.req("R-074", "R-093")
def test_auto_probes_first():
    assert Connecting("auto").start() == Probe(LATEST_MODERN)


@pytest.mark.req("R-533")
def test_legacy_initializes_with_the_newest_of_its_era():
    assert Connecting("legacy").start() == Initialize(LATEST_HANDSHAKE)


def test_a_pinned_older_revision_is_asked_for():
    assert Connecting("2025-06-18").start() == Initialize(OLDER)


def test_a_pinned_modern_revision_is_adopted_unasked():
    assert Connecting("2026-07-28").start() == Adopt(LATEST_MODERN)


def test_a_discovery_is_adopted():
    result = {"supportedVersions": ["2025-11-25", "2026-07-28", "2099-01-01"]}
    assert started("auto").answered(result) == Adopt(LATEST_MODERN, result)


def test_a_discovery_of_older_versions_leads_to_initialize():
    step = started("auto").answered({"supportedVersions": ["2024-11-05", "2025-06-18"]})
    assert step == Initialize(OLDER)


def test_a_discovery_with_nothing_in_common_names_both_sides():
    with pytest.raises(InvalidResponse, match=r"2099-01-01.*2026-07-28"):
        started("auto").answered({"supportedVersions": ["2099-01-01"]})


@pytest.mark.req("R-094")
@pytest.mark.case("C032")
@pytest.mark.parametrize(
    "code", [-32601, -32602, -32600, -32603, -32700, -32000, -32001, 0, 1, 400]
)
def test_any_unrecognised_error_falls_back(code):
    assert started("auto").refused(MCPError(code, "what?")) == Initialize(LATEST_HANDSHAKE)


@pytest.mark.case("C032")
@pytest.mark.parametrize("result", [{}, {"supportedVersions": "2026-07-28"}, {"tools": []}])
def test_garbage_falls_back(result):
    assert started("auto").answered(result) == Initialize(LATEST_HANDSHAKE)


@pytest.mark.req("R-094")
def test_silence_falls_back():
    assert started("auto").unanswered() == Initialize(LATEST_HANDSHAKE)


def test_a_late_discovery_wins_over_the_handshake_that_waits():
    connecting = started("auto")
    connecting.unanswered()
    result = {"supportedVersions": ["2025-11-25", "2026-07-28"]}
    assert connecting.answered_late(result) == Adopt(LATEST_MODERN, result)


@pytest.mark.parametrize(
    ("versions", "modern"),
    [
        (["2026-07-28"], True),
        (["2099-01-01", "2026-07-28", "2025-11-25"], True),
        (["2025-11-25"], False),
        (["2099-01-01"], False),
        ([], False),
        ("2026-07-28", False),
        (None, False),
    ],
)
def test_a_discovery_is_modern_if_it_offers_a_modern_version_we_know(versions, modern):
    assert is_modern({"supportedVersions": versions}) is modern


@pytest.mark.case("C032")
@pytest.mark.parametrize("code", [-32020, -32021])
def test_recognised_modern_errors_never_fall_back(code):
    error = MCPError(code, "modern")
    with pytest.raises(MCPError) as caught:
        started("auto").refused(error)
    assert caught.value is error


@pytest.mark.req("R-067")
def test_an_offer_of_a_modern_version_is_probed_once():
    connecting = started("auto")
    assert connecting.refused(unsupported("2026-07-28")) == Probe(LATEST_MODERN)
    with pytest.raises(MCPError, match="No protocol version in common"):
        connecting.refused(unsupported("2026-07-28"))


def test_an_offer_of_older_versions_is_initialized_with_the_newest():
    step = started("auto").refused(unsupported("2024-11-05", "2025-06-18", "1999-01-01"))
    assert step == Initialize(OLDER)


@pytest.mark.req("R-067")
@pytest.mark.parametrize(
    "offer", [unsupported("2099-01-01"), unsupported(), MCPError(-32022, "no")]
)
def test_an_offer_of_nothing_we_know_fails_with_the_versions(offer):
    with pytest.raises(MCPError, match="2026-07-28") as caught:
        started("auto").refused(offer)
    assert caught.value.code == -32022


@pytest.mark.req("R-541")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_initialize_answer_we_know_is_adopted(mode):
    connecting = started(mode)
    if mode == "auto":
        connecting.unanswered()
    result = {"protocolVersion": "2024-11-05"}
    assert connecting.answered(result) == Adopt(revision_for("2024-11-05"), result)


@pytest.mark.req("R-537")
@pytest.mark.case("C033")
@pytest.mark.parametrize("answered", ["2099-01-01", "2026-07-28", None, 7])
def test_an_initialize_answer_we_do_not_know_names_both_versions(answered):
    with pytest.raises(InvalidResponse) as caught:
        started("legacy").answered({"protocolVersion": answered})
    assert repr(answered) in caught.value.message
    assert "2025-11-25" in caught.value.message


def test_a_pin_is_not_negotiated_away():
    with pytest.raises(InvalidResponse, match="2025-06-18"):
        started("2025-06-18").answered({"protocolVersion": "2025-11-25"})


def test_a_refused_initialize_is_the_end():
    error = MCPError(-32602, "Unsupported protocol version")
    with pytest.raises(MCPError) as caught:
        started("legacy").refused(error)
    assert caught.value is error


def test_initialize_refused_after_silence_is_probed_once_more():
    connecting = started("auto")
    connecting.unanswered()
    assert connecting.refused(unsupported("2026-07-28")) == Probe(LATEST_MODERN)
    connecting.unanswered()
    with pytest.raises(MCPError):
        connecting.refused(unsupported("2026-07-28"))
