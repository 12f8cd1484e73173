"""What ends a command with one line on stderr, and the status that goes with it.

::

    Failure          1   it could not be done
    └── UsageMistake 2   the command does not say what to do

An `MCPError` counts as a failure, too. Ctrl-C leaves one line as well, and 130.
"""

from __future__ import annotations

from typing import ClassVar, Final

INTERRUPTED: Final = 130
"""The status that shells give to what Ctrl-C ended."""


class Failure(Exception):
    """Something could not be done; the text says what, in one line."""

    status: ClassVar[int] = 1


class UsageMistake(Failure):
    """The words of the command cannot be followed; the text says what to write."""

    status: ClassVar[int] = 2
