"""``python -m trio_mcp.cli`` is ``trio-mcp``."""

from __future__ import annotations

import sys

from trio_mcp.cli import main

if __name__ == "__main__":
    sys.exit(main())
