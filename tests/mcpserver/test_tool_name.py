from __future__ import annotations

import logging

import pytest

from trio_mcp.mcpserver._tool import Tool
from trio_mcp.mcpserver._tool_name import tool_name_faults


@pytest.mark.parametrize("name", ["a", "getUser", "admin.tools.list", "A-Z_a-z.0-9", "x" * 128])
def test_good_names(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert tool_name_faults(name) == []
    Tool.from_function(lambda: 0, name=name)
    assert not caplog.records


@pytest.mark.req("R-242", "R-244", "R-245")
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "it is empty"),
        ("x" * 129, "it is longer than 128 characters (129)"),
        ("a b", "it has characters other than A-Z, a-z, 0-9, '.', '_' and '-': ' '"),
        ("a,b", ": ','"),
        ("é/é", ": 'é', '/'"),
        ("a\n", ": '\\n'"),
    ],
)
def test_faults(name: str, fault: str) -> None:
    (found,) = tool_name_faults(name)
    assert fault in found


@pytest.mark.req("R-242", "R-244", "R-245")
def test_a_name_that_clients_may_refuse_is_logged_and_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "trio_mcp"):
        tool = Tool.from_function(lambda: 0, name="my tool")
    assert tool.name == "my tool"
    assert "'my tool' may be refused by clients" in caplog.text
