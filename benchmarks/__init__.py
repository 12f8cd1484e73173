"""trio_mcp against the official SDK, side by side: ``python -m benchmarks``.

Only ratios of one run say something: both sides are measured in turns, round by round, on the
same machine, and the median of the rounds' ratios is told beside what the project aims at.

A row is a function in `benchmarks.rows`, which asks a *side* (`benchmarks.sides`) for whatever
differs between the SDKs. Each side lives in a process of its own; `benchmarks.peers` holds the
servers that both start.
"""
