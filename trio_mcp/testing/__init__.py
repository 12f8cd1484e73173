"""What the tests of an application need.

`trio_mcp.testing.pytest_plugin` runs ``async def`` tests; it is switched on with
``pytest -p trio_mcp.testing.pytest_plugin`` or in a ``conftest.py`` and never by itself.
"""

from __future__ import annotations

from trio_mcp.testing._virtual_time import advance as advance

__all__ = ["advance"]

advance.__module__ = __name__
