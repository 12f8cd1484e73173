"""The roads that messages take, and the interfaces that own roads implement.

A carrier is a `Channel`. `open_memory_channel_pair` joins two in memory, `stdio_client` runs
a server as a child process, `stdio_server` is the other end of that.

Names load on first use, so that a program pays for the carriers it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trio_mcp._codec._envelope import Batch as Batch
    from trio_mcp._codec._envelope import Malformed as Malformed
    from trio_mcp._codec._lines import MAX_LINE_SIZE as MAX_LINE_SIZE
    from trio_mcp._rpc._channel import Channel as Channel
    from trio_mcp.transports._environment import (
        DEFAULT_INHERITED_ENV_VARS as DEFAULT_INHERITED_ENV_VARS,
    )
    from trio_mcp.transports._environment import get_default_environment as get_default_environment
    from trio_mcp.transports._memory import (
        create_client_server_memory_streams as create_client_server_memory_streams,
    )
    from trio_mcp.transports._memory import open_memory_channel_pair as open_memory_channel_pair
    from trio_mcp.transports._process import FORCE_KILL_TIMEOUT as FORCE_KILL_TIMEOUT
    from trio_mcp.transports._process import (
        PROCESS_TERMINATION_TIMEOUT as PROCESS_TERMINATION_TIMEOUT,
    )
    from trio_mcp.transports._stdio_client import StdioServerParameters as StdioServerParameters
    from trio_mcp.transports._stdio_client import stdio_client as stdio_client
    from trio_mcp.transports._stdio_server import stdio_server as stdio_server

# {public name: module that defines it}
_HOMES = {
    "Batch": "trio_mcp._codec._envelope",
    "Malformed": "trio_mcp._codec._envelope",
    "MAX_LINE_SIZE": "trio_mcp._codec._lines",
    "Channel": "trio_mcp._rpc._channel",
    "DEFAULT_INHERITED_ENV_VARS": "trio_mcp.transports._environment",
    "get_default_environment": "trio_mcp.transports._environment",
    "create_client_server_memory_streams": "trio_mcp.transports._memory",
    "open_memory_channel_pair": "trio_mcp.transports._memory",
    "FORCE_KILL_TIMEOUT": "trio_mcp.transports._process",
    "PROCESS_TERMINATION_TIMEOUT": "trio_mcp.transports._process",
    "StdioServerParameters": "trio_mcp.transports._stdio_client",
    "stdio_client": "trio_mcp.transports._stdio_client",
    "stdio_server": "trio_mcp.transports._stdio_server",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
