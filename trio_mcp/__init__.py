"""Model Context Protocol clients and servers for Trio."""

from __future__ import annotations

from trio_mcp._version import __version__ as __version__
