"""Checks structured results against the output schemas that their server has listed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from trio_mcp._codec._json import dumps
from trio_mcp.errors import InvalidResponse
from trio_mcp.types import UNSET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp._codec._schema import Validator
    from trio_mcp.types import CallToolResult, Tool
    from trio_mcp.types._base import JsonObject

MAX_KEPT: Final = 1_000
"""Compiled schemas that are kept for tools which are listed again."""


class OutputSchemas:
    """The output schemas of one session's tools, as they were listed last.

    A schema is compiled when its tool is called for the first time, and kept by its digest:
    a list that comes again costs nothing. Schemas of a peer never become code.
    """

    __slots__ = ("_compiled", "_last_page", "_listed", "_ready")

    def __init__(self) -> None:
        # None: listed, without a schema.
        self._listed: dict[str, JsonObject | None] = {}
        self._ready: dict[str, Validator] = {}
        self._compiled: dict[bytes, Validator] = {}
        self._last_page: Sequence[Tool] | None = None

    def learn(self, tools: Sequence[Tool]) -> None:
        """Take note of a page of tools."""
        if tools is self._last_page:
            return
        self._last_page = tools
        self._listed.update([(tool.name, tool.output_schema) for tool in tools])
        self._ready.clear()

    def forget(self) -> None:
        """Know of no tool any more: another server has taken over, or the same one anew.

        What was compiled stays, since it is found by its digest.
        """
        self._listed.clear()
        self._ready.clear()
        self._last_page = None

    def knows(self, name: str) -> bool:
        """Whether a tool was listed."""
        return name in self._listed

    def check(self, name: str, result: CallToolResult) -> None:
        """Check a result, if its tool was listed with a schema. One of an error has none.

        Raises:
          InvalidResponse: if it does not fit, names the place; if there is nothing structured
              in it; or if the schema cannot be used.

        """
        schema = self._listed.get(name)
        if schema is None or result.is_error:
            return
        content = result.structured_content
        if content is UNSET:
            raise InvalidResponse(
                f"tools/call: the result of {name!r} has no structured content, and the tool is "
                "listed with an output schema"
            )
        validator = self._ready.get(name)
        if validator is None:
            validator = self._ready[name] = self._compile(name, schema)
        violation = validator.check(content)
        if violation is not None:
            place = f"structuredContent{_joint(violation.path)}{violation.path}"
            raise InvalidResponse(
                f"tools/call: the result of {name!r} does not fit the tool's output schema: "
                f"{place}: expected {violation.expected}, got {violation.got}",
                {"path": place},
            )

    def _compile(self, name: str, schema: JsonObject) -> Validator:
        digest = hashlib.sha256(dumps(schema)).digest()
        validator = self._compiled.get(digest)
        if validator is None:
            # Imported here: most clients call tools without an output schema.
            from trio_mcp._codec._schema import SchemaError, compile_validator  # noqa: PLC0415

            try:
                validator = compile_validator(schema, trusted=False, where="outputSchema")
            except SchemaError as exc:
                raise InvalidResponse(
                    f"tools/call: the result of {name!r} cannot be checked: {exc}"
                ) from exc
            if len(self._compiled) >= MAX_KEPT:
                self._compiled.clear()
            self._compiled[digest] = validator
        return validator


def _joint(path: str) -> str:
    return "" if not path or path.startswith("[") else "."
