"""What one peer writes wrongly of one extension costs nothing but that extension."""

from __future__ import annotations

import pytest

from trio_mcp import from_json
from trio_mcp.types import ClientCapabilities, ServerCapabilities

JSON = {"extensions": {"com.x/a": {"b": 1}, "com.x/c": 5, "com.x/d": None, "com.x/e": []}}


@pytest.mark.parametrize("cls", [ClientCapabilities, ServerCapabilities])
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_settings_that_are_no_object_count_as_not_declared(cls, version):
    assert from_json(cls, JSON, version).extensions == {"com.x/a": {"b": 1}}
