"""Skills: folders of instructions that a server offers as resources (SEP-2640).

A server is given a `SkillsExtension`; `SkillsClient` reads what a server has, and verifies it. The
names are public in `trio_mcp.extensions`.
"""
