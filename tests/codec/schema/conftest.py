from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def suite(reference_data: Path) -> Path:
    """The official test suite of JSON Schema 2020-12."""
    folder = reference_data / "data" / "json-schema-2020-12" / "tests"
    if not folder.is_dir():
        pytest.skip("TRIO_MCP_TEST_DATA has no JSON Schema suite")
    return folder


@pytest.fixture(scope="session")
def required_groups(suite: Path) -> list[tuple[str, dict[str, Any]]]:
    """All groups of tests that an implementation must pass, with the file they stand in."""
    return [
        (file.stem, group)
        for file in sorted(suite.glob("*.json"))
        for group in json.loads(file.read_text(encoding="utf-8"))
    ]
