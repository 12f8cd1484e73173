"""``trio-mcp version``."""

from __future__ import annotations

import platform

from trio_mcp._version import __version__
from trio_mcp.cli._streams import stdout_for_results
from trio_mcp.types import KNOWN_PROTOCOL_VERSIONS


def print_version(as_json: bool) -> int:
    """Print the version of the package, and the revisions that it speaks."""
    if as_json:
        from trio_mcp.cli._printer import Printer  # noqa: PLC0415 - loads rich

        versions = list(KNOWN_PROTOCOL_VERSIONS)
        python = platform.python_version()
        Printer(json=True).write_json(
            {"version": __version__, "protocolVersions": versions, "python": python}
        )
    else:
        with stdout_for_results():
            print(f"trio-mcp {__version__}")
            print(f"MCP {', '.join(KNOWN_PROTOCOL_VERSIONS)}")
    return 0
