"""MCP Apps: tools with a user interface that hosts show (``io.modelcontextprotocol/ui``).

A server is given `Apps`. Hosts declare `AppsClientExtension`, and have helpers for what they owe.
The names are public in `trio_mcp.extensions`.
"""
