"""Who a client says it is, if its user does not say."""

from __future__ import annotations

from typing import Final

from trio_mcp._version import __version__
from trio_mcp.types import Implementation

DEFAULT_CLIENT_INFO: Final = Implementation(name="trio-mcp", version=__version__)
