"""Points in time as others write them: any number of JSON, which may be none of a clock."""

from __future__ import annotations

from typing import Any, Final

LATEST: Final = 253_402_300_800
"""The end of the year 9999, in seconds since 1970. No date is later, and what is (thousandths of
seconds, a number of 400 digits) is no time in seconds."""


def numeric_date(value: Any) -> float:
    """Read a NumericDate (RFC 7519, section 2): seconds since 1970.

    Everything that reads one reads it by this: integers of Python know no end, and become no
    float then; a number that is none (NaN) is neither before nor after anything.

    Raises:
      ValueError: if it is no number, or none of a date.

    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LATEST:
        return value
    raise ValueError("no number of seconds since 1970")
