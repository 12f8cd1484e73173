"""How long tests wait for what has to happen at once."""

from __future__ import annotations

from typing import Final

SOON: Final = 8.0
"""Seconds in which that has happened, however busy the machine is: a hundred times what it takes
where nothing else runs. A test in which it would also happen later, by some limit of time, sets that
limit to several times this."""
