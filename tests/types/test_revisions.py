from __future__ import annotations

import pickle

import mcp_types.version
import pytest

from trio_mcp.types import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    KNOWN_PROTOCOL_VERSIONS,
    KNOWN_REVISIONS,
    LATEST_HANDSHAKE,
    LATEST_MODERN,
    MODERN_PROTOCOL_VERSIONS,
    is_version_at_least,
    revision_for,
)

FIRST_WITH = {
    "has_audio": "2025-03-26",
    "has_streamable_http": "2025-03-26",
    "has_progress_message": "2025-03-26",
    "has_tool_annotations": "2025-03-26",
    "has_completions_capability": "2025-03-26",
    "has_completion_context": "2025-06-18",
    "has_elicitation": "2025-06-18",
    "has_resource_links": "2025-06-18",
    "has_structured_content": "2025-06-18",
    "has_version_header": "2025-06-18",
    "has_url_elicitation": "2025-11-25",
    "has_titled_enums": "2025-11-25",
    "has_sampling_tools": "2025-11-25",
    "is_modern": "2026-07-28",
    "has_result_type": "2026-07-28",
    "has_cache_hints": "2026-07-28",
    "has_subscription_streams": "2026-07-28",
    "has_routing_headers": "2026-07-28",
    "has_any_structured_content": "2026-07-28",
}

ONLY_IN = {
    "has_batching": {"2025-03-26"},
    "has_tasks": {"2025-11-25"},
    "has_url_elicitation_error": {"2025-11-25"},
    "has_sse_polling": {"2025-11-25"},
    "has_handshake": set(HANDSHAKE_PROTOCOL_VERSIONS),
    "has_server_requests": set(HANDSHAKE_PROTOCOL_VERSIONS),
}


def test_revisions_are_in_order():
    assert [each.version for each in KNOWN_REVISIONS] == list(KNOWN_PROTOCOL_VERSIONS)
    assert sorted(set(KNOWN_REVISIONS)) == list(KNOWN_REVISIONS)
    assert KNOWN_REVISIONS[0] < LATEST_HANDSHAKE < LATEST_MODERN


def test_each_version_is_of_one_era():
    assert HANDSHAKE_PROTOCOL_VERSIONS + MODERN_PROTOCOL_VERSIONS == KNOWN_PROTOCOL_VERSIONS
    assert LATEST_HANDSHAKE.version == "2025-11-25"
    assert LATEST_MODERN.version == "2026-07-28"


@pytest.mark.parametrize("version", KNOWN_PROTOCOL_VERSIONS)
def test_revision_is_found_by_its_name(version):
    revision = revision_for(version)
    assert revision is not None
    assert str(revision) == revision.version == version
    assert repr(revision) == f"<Revision {version}>"


@pytest.mark.parametrize("version", ["", "2025-11-26", "zzz", "DRAFT-2026-v1"])
def test_unknown_version_has_no_revision(version):
    assert revision_for(version) is None
    assert not is_version_at_least(version, "2024-11-05")


@pytest.mark.parametrize("question", FIRST_WITH)
def test_what_came_stays(question):
    first = revision_for(FIRST_WITH[question])
    for revision in KNOWN_REVISIONS:
        assert getattr(revision, question) == (revision >= first)


@pytest.mark.parametrize("question", ONLY_IN)
def test_what_came_and_went(question):
    found = {each.version for each in KNOWN_REVISIONS if getattr(each, question)}
    assert found == ONLY_IN[question]


def test_every_question_is_asked_here():
    questions = {name for name in dir(LATEST_MODERN) if name.startswith(("has_", "is_"))}
    assert questions == set(FIRST_WITH) | set(ONLY_IN)


def test_includes_knows_both_ends():
    tasks = [each.version for each in KNOWN_REVISIONS if each.includes("2025-11-25", "2026-07-28")]
    assert tasks == ["2025-11-25"]
    assert all(each.includes(None, None) for each in KNOWN_REVISIONS)


def test_comparison_agrees_with_mcp_types():
    for version in (*KNOWN_PROTOCOL_VERSIONS, "2030-01-01"):
        for minimum in KNOWN_PROTOCOL_VERSIONS:
            theirs = mcp_types.version.is_version_at_least(version, minimum)
            assert is_version_at_least(version, minimum) == theirs


def test_unknown_minimum_is_a_mistake():
    with pytest.raises(ValueError, match="minimum must be a known protocol version"):
        is_version_at_least("2025-11-25", "2030-01-01")


def test_revisions_pickle_to_equals():
    assert pickle.loads(pickle.dumps(LATEST_MODERN)) == LATEST_MODERN
    assert hash(pickle.loads(pickle.dumps(LATEST_MODERN))) == hash(LATEST_MODERN)
