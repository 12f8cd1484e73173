"""The servers of both sides, with the same tools: run ``python -m benchmarks.peers.NAME``."""
