"""Streamable HTTP, both sides of it."""
