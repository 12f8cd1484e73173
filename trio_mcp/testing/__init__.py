"""What the tests of an application need.

`trio_mcp.testing.pytest_plugin` runs ``async def`` tests; it is switched on with
``pytest -p trio_mcp.testing.pytest_plugin`` or in a ``conftest.py`` and never by itself.

Names load on first use: a plugin is loaded by every run of pytest, with and without tests
of servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp.testing._cancel_everywhere import cancel_everywhere as cancel_everywhere
    from trio_mcp.testing._check_channel import check_channel as check_channel
    from trio_mcp.testing._pairs import Road as Road
    from trio_mcp.testing._pairs import SessionOptions as SessionOptions
    from trio_mcp.testing._pairs import open_client as open_client
    from trio_mcp.testing._pairs import open_session as open_session
    from trio_mcp.testing._virtual_time import advance as advance

__all__ = [
    "Road",
    "SessionOptions",
    "advance",
    "cancel_everywhere",
    "check_channel",
    "open_client",
    "open_session",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "Road": "._pairs",
            "SessionOptions": "._pairs",
            "advance": "._virtual_time",
            "cancel_everywhere": "._cancel_everywhere",
            "check_channel": "._check_channel",
            "open_client": "._pairs",
            "open_session": "._pairs",
        },
    )
