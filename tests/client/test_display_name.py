from __future__ import annotations

import mcp_types
import pytest
from mcp.shared.metadata_utils import get_display_name as as_mcp_does

from trio_mcp import types
from trio_mcp.client import get_display_name

SCHEMA = {"type": "object"}


@pytest.mark.parametrize(
    ("kind", "members", "shown"),
    [
        ("Tool", {"input_schema": SCHEMA}, "the-name"),
        ("Tool", {"input_schema": SCHEMA, "title": "Title"}, "Title"),
        ("Prompt", {}, "the-name"),
        ("Prompt", {"title": "Title"}, "Title"),
        ("Resource", {"uri": "a:b", "title": ""}, ""),
        ("ResourceTemplate", {"uri_template": "a:{b}"}, "the-name"),
        ("Implementation", {"version": "1", "title": "Title"}, "Title"),
    ],
)
def test_title_comes_before_name(kind, members, shown):
    assert get_display_name(getattr(types, kind)(name="the-name", **members)) == shown
    assert as_mcp_does(getattr(mcp_types, kind)(name="the-name", **members)) == shown


@pytest.mark.parametrize(("title", "shown"), [(None, "Annotated"), ("Title", "Title")])
def test_title_of_a_tool_may_stand_in_its_annotations(title, shown):
    annotations = types.ToolAnnotations(title="Annotated")
    tool = types.Tool(name="n", title=title, input_schema=SCHEMA, annotations=annotations)
    assert get_display_name(tool) == shown
