from __future__ import annotations

import pytest

from trio_mcp.mcpserver import MCPServer


@pytest.mark.req("R-035")
async def test_generated_schemas_are_of_the_default_dialect():
    mcp = MCPServer("x")

    @mcp.tool()
    def pair(numbers: tuple[int, str]) -> dict[str, int]:
        return {}

    (tool,) = await mcp.list_tools()
    assert "$schema" not in tool.input_schema
    assert "$schema" not in tool.output_schema
    # A tuple is spelled as 2020-12 has it.
    assert "prefixItems" in tool.input_schema["properties"]["numbers"]
