"""Which environment variables a server process inherits."""

from __future__ import annotations

import os
import sys
from typing import Final

DEFAULT_INHERITED_ENV_VARS: Final[list[str]] = (
    [
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    ]
    if sys.platform == "win32"
    else [
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "USER",
    ]
)
"""What a program needs to find its way, and nothing that may be a secret.

The locale is among it, so that a server reads and writes text as its parent does, and so is
the folder for temporary files, which sandboxes and clusters move.
"""


def get_default_environment() -> dict[str, str]:
    """Return the part of this process's environment that every server process inherits.

    Values that begin with ``()`` are left out: old shells take them for functions to run.
    """
    return {
        name: value
        for name in DEFAULT_INHERITED_ENV_VARS
        if (value := os.environ.get(name)) is not None and not value.startswith("()")
    }
