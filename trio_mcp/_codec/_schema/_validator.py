"""A schema made ready to check values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, final

from ._bounds import private_copy
from ._dialects import dialect_of
from ._errors import EngineDisagreement
from ._plan import Plan, plan_schema
from ._size import is_big

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types._base import JsonValue

    from ._dialects import Dialect
    from ._full import FullEngine
    from ._violation import Violation

_REMOTE: Final = Plan("full", "the schema came from a peer")


def compile_validator(schema: JsonValue, *, trusted: bool, where: str = "schema") -> Validator:
    """Make a validator for a schema.

    The schema is checked at once; code is generated at the first check or by
    `Validator.prepare`. Nothing is ever fetched. The schema is copied, and not changed.

    Args:
      schema: A JSON Schema: an object, or a boolean.
      trusted: Whether the schema was written in this process. Only then may code be generated
        from it.
      where: What the schema belongs to (``"inputSchema"``), for errors.

    Raises:
      SchemaError: if the schema is not valid in its dialect, the dialect is not supported, a
        reference leads out of the schema or to nothing, or a bound is exceeded.

    """
    own = private_copy(schema, where=where)
    dialect = dialect_of(own, where=where)
    plan = plan_schema(own) if trusted else _REMOTE
    full = None
    if plan.engine == "full":
        full = _full_engine(own, dialect, trusted=trusted, where=where)
    return Validator(own, dialect, plan, full)


def _full_engine(
    schema: JsonValue, dialect: Dialect, *, trusted: bool, where: str = "schema"
) -> FullEngine:
    # Imported here: the library is big, and a server of simple tools may never need it.
    from ._full import FullEngine  # noqa: PLC0415

    return FullEngine(schema, dialect, trusted=trusted, where=where)


@final
class Validator:
    """Checks values against one schema; made by `compile_validator`.

    Values are JSON as the codec gives it: dicts with string keys, lists, strings, finite numbers,
    booleans and None. They are never changed: no default is filled in. ``format`` and the
    ``content`` keywords say nothing about validity. Checks may run in several threads.
    """

    __slots__ = ("_accepts", "_dialect", "_full", "_plan", "_schema")

    def __init__(
        self, schema: JsonValue, dialect: Dialect, plan: Plan, full: FullEngine | None
    ) -> None:
        self._schema = schema
        self._dialect = dialect
        self._plan = plan
        self._full = full
        self._accepts: Callable[[JsonValue], bool] | None = None  # by the fast engine

    @property
    def schema(self) -> JsonValue:
        """The schema, as it was when the validator was made. Not to be changed."""
        return self._schema

    @property
    def engine(self) -> Literal["fast", "full"]:
        """``fast``: generated Python code; ``full``: a complete implementation."""
        return self._plan.engine

    @property
    def reason(self) -> str | None:
        """Why the engine is not the fast one."""
        return self._plan.reason

    def prepare(self) -> None:
        """Do now what the first check would do: load the engine and generate the code."""
        if self._accepts is None and self._plan.engine == "fast":
            # Imported here: the code generator costs start-up time.
            from ._fast import accepting_function  # noqa: PLC0415

            self._accepts = accepting_function(self._plan.rebuilt)

    def check(self, value: JsonValue) -> Violation | None:
        """The first thing that is wrong with a value, or None if it fits.

        The same value always gets the same answer, whichever engine is at work.
        """
        # Nearly everything fits, and nearly always the fast engine is the one that says so.
        if self._accepts is not None and not self._plan.has_alternatives and self._accepts(value):
            return None
        found = self._faults(value, 1)
        return found[0] if found else None

    def violations(self, value: JsonValue, limit: int = 10) -> list[Violation]:
        """What is wrong with a value, at most so many things; empty if it fits.

        Of big values, and of deep ones where the schema is recursive, only the first fault is
        told, and if finding even that may take too long, merely that there is one.
        """
        return self._faults(value, limit)

    def _faults(self, value: JsonValue, limit: int) -> list[Violation]:
        plan = self._plan
        # An alternative that does not fit takes the fast one some 5 us, the full one a hundredth.
        if plan.engine == "full" or (plan.has_alternatives and is_big(value)):
            full = self._full or self._complete()
            return full.faults(value, limit)
        accepts = self._accepts
        if accepts is None:
            self.prepare()
            accepts = self._accepts
            assert accepts is not None
        if accepts(value):
            return []
        found = self._complete().faults(value, limit)
        if not found:
            raise EngineDisagreement(
                "the fast engine refuses a value that the full engine accepts; please report it"
            )
        return found

    def _complete(self) -> FullEngine:
        if self._full is None:
            # A fast plan has no bound that the full engine could find exceeded.
            self._full = _full_engine(self._schema, self._dialect, trusted=True)
        return self._full

    def __repr__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return f"<Validator: {self.engine}{why}>"
