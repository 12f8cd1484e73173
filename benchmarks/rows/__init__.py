"""The rows of the table, by subject. Importing this registers them in their order."""

# In the order of the table, which is that of docs/design.md.
from benchmarks.rows import memory  # isort: skip
from benchmarks.rows import stdio  # isort: skip
from benchmarks.rows import http  # isort: skip
from benchmarks.rows import many_tools  # isort: skip
from benchmarks.rows import starting  # isort: skip
from benchmarks.rows import cancelling  # isort: skip
from benchmarks.rows import codec  # isort: skip
from benchmarks.rows import schemas  # isort: skip

__all__ = ["cancelling", "codec", "http", "many_tools", "memory", "schemas", "starting", "stdio"]
