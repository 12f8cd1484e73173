"""What a message handler takes, for its annotation."""

from __future__ import annotations

from typing import TypeAlias

from trio_mcp.types import ServerNotification

IncomingMessage: TypeAlias = ServerNotification | Exception
"""A notification, or what was wrong with what arrived."""
