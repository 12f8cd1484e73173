"""Tasks: calls of tools that go on when their request has been answered (SEP-2663).

A server is given a `TasksExtension`, a client a `TasksClientExtension`. The names are public in
`trio_mcp.extensions`.
"""
