"""What is wrong with a schema, said to the person who wrote or received it."""

from __future__ import annotations


class SchemaError(ValueError):
    """A JSON Schema that cannot be used.

    Raised for a schema that is invalid in its dialect, names a dialect that is not supported,
    refers to something outside itself or to nothing, or exceeds one of the stated bounds.

    Attributes:
      where: What the schema belongs to, as the caller named it (``"inputSchema"``).
      path: Where in the schema the fault is (``"properties.city.type"``), ``""`` for its root.
      reason: What is wrong there.

    """

    def __init__(self, reason: str, *, path: str = "", where: str = "schema") -> None:
        super().__init__(reason, path, where)
        self.reason = reason
        self.path = path
        self.where = where

    def __str__(self) -> str:
        joint = "." if self.path and not self.path.startswith("[") else ""
        return f"{self.where}{joint}{self.path}: {self.reason}"


class UnsupportedPattern(SchemaError):
    """A regular expression that the engine cannot decide, though it may well be one."""


class EngineDisagreement(RuntimeError):
    """The two engines gave different verdicts on one value: a bug of this package."""
