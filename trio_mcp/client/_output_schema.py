"""Checks structured results against the output schemas that their server has listed."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Final

from trio_mcp._codec._json import dumps
from trio_mcp.errors import InvalidResponse
from trio_mcp.types._base import has_structured_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp._codec._schema import Validator
    from trio_mcp.types import CallToolResult, Tool
    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.client")

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
        # None: the schema cannot be decided, and what comes is not checked.
        self._ready: dict[str, Validator | None] = {}
        self._compiled: dict[bytes, Validator | None] = {}
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

        A schema with a regular expression that cannot be decided is valid all the same. It is
        logged once, and only whether there is structured content at all is checked.

        Raises:
          InvalidResponse: if it does not fit, names the place; if there is nothing structured
              in it; or if the schema cannot be used.

        """
        schema = self._listed.get(name)
        if schema is None or result.is_error:
            return
        content = result.structured_content
        if not has_structured_content(result):
            raise InvalidResponse(
                f"tools/call: the result of {name!r} has no structured content, and the tool is "
                "listed with an output schema"
            )
        if name not in self._ready:
            self._ready[name] = self._compile(name, schema)
        validator = self._ready[name]
        violation = None if validator is None else validator.check(content)
        if violation is not None:
            place = f"structuredContent{_joint(violation.path)}{violation.path}"
            raise InvalidResponse(
                f"tools/call: the result of {name!r} does not fit the tool's output schema: "
                f"{place}: expected {violation.expected}, got {violation.got}",
                {"path": place},
            )

    def _compile(self, name: str, schema: JsonObject) -> Validator | None:
        digest = hashlib.sha256(dumps(schema)).digest()
        if digest not in self._compiled:
            validator = _compiled(name, schema)
            if len(self._compiled) >= MAX_KEPT:
                self._compiled.clear()
            self._compiled[digest] = validator
        return self._compiled[digest]


def _compiled(name: str, schema: JsonObject) -> Validator | None:
    # Imported here: most clients call tools without an output schema.
    from trio_mcp._codec._schema import (  # noqa: PLC0415
        SchemaError,
        UnsupportedPattern,
        compile_validator,
    )

    try:
        return compile_validator(schema, trusted=False, where="outputSchema")
    except UnsupportedPattern as exc:
        logger.warning("The results of the tool %r are not checked: %s", name, exc)
        return None
    except SchemaError as exc:
        raise InvalidResponse(
            f"tools/call: the result of {name!r} cannot be checked: {exc}"
        ) from exc


def _joint(path: str) -> str:
    return "" if not path or path.startswith("[") else "."
