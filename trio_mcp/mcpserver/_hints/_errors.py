"""What can be wrong with a hint, and with a value for it."""

from __future__ import annotations

from typing import Any

from trio_mcp._codec import excerpt


def show(hint: Any) -> str:
    """Write a hint the way its author would have."""
    if isinstance(hint, type) and not hasattr(hint, "__args__"):
        return hint.__qualname__
    return str(hint).replace("typing.", "")


class HintError(ValueError):
    """A hint has no JSON Schema.

    Args:
      hint: The hint, or the part of it that is to blame.
      reason: Why, as a clause that can follow a colon.

    """

    def __init__(self, hint: Any, reason: str) -> None:
        super().__init__(hint, reason)
        self.hint = hint
        self.reason = reason

    def __str__(self) -> str:
        return f"{show(self.hint)}: {self.reason}"


class UnknownName(HintError):
    """A string hint holds a name that its module does not define, or not yet.

    Attributes:
      name: The name, or None where evaluating failed in another way.

    """

    def __init__(self, hint: Any, reason: str, name: str | None = None) -> None:
        super().__init__(hint, reason)
        self.args = (hint, reason, name)
        self.name = name


class Mismatch(ValueError):
    """A value that fits its schema all the same does not make a Python value.

    Most of what is wrong with a value shows when it is checked against the schema. This is
    for the rest: a date that no calendar has, a rule that the author's class checks itself.

    Args:
      expected: What was wanted, as a noun.
      got: What came.

    Attributes:
      path: From the outside in, names and indexes.

    """

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(expected, got)
        self.expected = expected
        self.got = got
        self.path: list[str | int] = []

    def under(self, *steps: str | int) -> Mismatch:
        """Put what holds the value before its path."""
        self.path[:0] = steps
        return self

    def __str__(self) -> str:
        where = "".join(
            f"[{step}]" if isinstance(step, int) else f".{excerpt(step)}" for step in self.path
        )
        text = f"expected {self.expected}, got {self.got}"
        return f"{where.removeprefix('.')}: {text}" if where else text


class ReadError(Exception):
    """An iterator of the author's raised what elsewhere means a value without a JSON form.

    Attributes:
      reason: What it raised.

    """

    def __init__(self, reason: Exception) -> None:
        super().__init__(reason)
        self.reason = reason


def told_by(error: BaseException) -> str:
    """Give the reason that an error of an author's own code tells; of pydantic's, the first one.

    Pydantic's own text spreads over several lines, with a link in each.
    """
    listed: Any = getattr(error, "errors", None)
    faults: Any = listed() if callable(listed) and hasattr(error, "error_count") else ()
    if faults:
        where = ".".join(map(str, faults[0]["loc"]))
        return f"{where}: {told_in(faults[0])}" if where else told_in(faults[0])
    if error.args and isinstance(error.args[0], str):
        return error.args[0]
    return str(error)


def told_in(fault: Any) -> str:
    """Give the reason in one entry of pydantic's ``errors()``: the author's own words if any."""
    raised: Any = fault.get("ctx", {}).get("error")
    if isinstance(raised, Exception):
        return told_by(raised) or str(fault["msg"])
    return str(fault["msg"])
