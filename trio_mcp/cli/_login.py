"""``--auth``: somebody logs in, and stays logged in for the next command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from trio_mcp.cli._target import Url

CLIENT_NAME: Final = "trio-mcp"


def make_auth(target: Url) -> Any:
    """Make what signs the requests of a command; None if nobody is to log in."""
    if target.auth is None:
        return None
    from trio_mcp.auth import (  # noqa: PLC0415 - few servers want it
        ConsoleCallback,
        FileTokenStorage,
        LoopbackCallback,
        OAuth,
    )

    return OAuth(
        target.url,
        client_name=CLIENT_NAME,
        storage=FileTokenStorage(state_folder() / "tokens.json"),
        callback=ConsoleCallback() if target.auth == "console" else LoopbackCallback(),
    )


def state_folder() -> Path:
    """Give the folder in which programs of this system keep what is of this user alone."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser() / CLIENT_NAME
    if sys.platform == "darwin":
        return Path("~/Library/Application Support").expanduser() / CLIENT_NAME
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / CLIENT_NAME
