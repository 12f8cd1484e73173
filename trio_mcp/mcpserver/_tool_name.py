"""What a tool may be called (SEP-986, ``spec`` of 2025-11-25 and later)."""

from __future__ import annotations

import logging
import re
from typing import Final

logger = logging.getLogger(__name__)

MAX_TOOL_NAME: Final = 128
"""Characters, as the specification recommends."""

_ALLOWED: Final = re.compile(r"[A-Za-z0-9._-]")


def tool_name_faults(name: str) -> list[str]:
    """Say what the specification would not recommend about a tool's name.

    Returns:
      One clause for each fault. Empty for a name that every client takes.

    """
    if not name:
        return ["it is empty"]
    faults: list[str] = []
    if len(name) > MAX_TOOL_NAME:
        faults.append(f"it is longer than {MAX_TOOL_NAME} characters ({len(name)})")
    strange = dict.fromkeys(each for each in name if not _ALLOWED.fullmatch(each))
    if strange:
        shown = ", ".join(repr(each) for each in strange)
        faults.append(f"it has characters other than A-Z, a-z, 0-9, '.', '_' and '-': {shown}")
    return faults


def warn_about_tool_name(name: str) -> None:
    """Log a warning for a name that some clients refuse; it is taken all the same."""
    faults = tool_name_faults(name)
    if faults:
        logger.warning("The tool name %r may be refused by clients: %s", name, "; ".join(faults))
