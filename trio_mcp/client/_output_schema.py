"""Checks structured results against the output schemas that their server has listed."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Final

from trio_mcp._codec._json import dumps, loads
from trio_mcp.errors import InvalidResponse
from trio_mcp.types._base import has_structured_content

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp._codec._schema import Validator
    from trio_mcp.types import CallToolResult, Tool, ToolExecution
    from trio_mcp.types._base import JsonObject

logger: Final = logging.getLogger("trio_mcp.client")

MAX_KEPT: Final = 1_000
"""Compiled schemas that are kept for tools which are listed again."""


class OutputSchemas:
    """The output schemas of one session's tools, as they were listed last.

    A schema is compiled when its tool is called for the first time, and kept by its digest:
    a list that comes again costs nothing. Schemas of a peer never become code.

    Attributes:
      version: Another number whenever all that was learned is forgotten.

    """

    __slots__ = (
        "_compiled",
        "_executions",
        "_has_all",
        "_last_page",
        "_listed",
        "_ready",
        "version",
    )

    def __init__(self) -> None:
        self.version = 0
        # As JSON, since the user may change the lists that they get. None: without a schema.
        self._listed: dict[str, bytes | None] = {}
        self._executions: dict[str, ToolExecution] = {}
        self._has_all = False
        # None: the schema cannot be decided, and what comes is not checked.
        self._ready: dict[str, Validator | None] = {}
        self._compiled: dict[bytes, Validator | None] = {}
        self._last_page: Sequence[Tool] | None = None

    def learner(self) -> Callable[[Sequence[Tool]], None]:
        """Make what takes note of tools that are asked for from now on.

        It does so only while they are in force: what was asked for before a change may be old.
        """
        version = self.version

        def learn(tools: Sequence[Tool]) -> None:
            if self.version == version:
                self.learn(tools)

        return learn

    def learn(self, tools: Sequence[Tool]) -> None:
        """Take note of a page of tools."""
        if tools is self._last_page:
            return
        self._last_page = tools
        for tool in tools:
            schema = None if tool.output_schema is None else dumps(tool.output_schema)
            if self._listed.get(tool.name, schema) != schema:
                self._ready.pop(tool.name, None)
            self._listed[tool.name] = schema
            if tool.execution is not None:
                self._executions[tool.name] = tool.execution
            else:
                self._executions.pop(tool.name, None)

    def learned_all(self, version: int) -> None:
        """Take note that every tool there is has been learned since then."""
        self._has_all = self.version == version

    def forget(self) -> None:
        """Know of no tool any more: the list has changed, or there is another server.

        What was compiled stays, since it is found by its digest.
        """
        self.version += 1
        self._listed.clear()
        self._executions.clear()
        self._has_all = False
        self._ready.clear()
        self._last_page = None

    def notified(self, method: str, params: JsonObject) -> None:
        """Take note of a notification, before anybody else sees it."""
        del params
        if method == "notifications/tools/list_changed":
            self.forget()

    def knows(self, name: str) -> bool:
        """Whether a tool was listed, or all that there are."""
        return self._has_all or name in self._listed

    def execution(self, name: str) -> ToolExecution | None:
        """What the list says of how a tool may be run."""
        return self._executions.get(name)

    def should_know(self, name: str, result: CallToolResult) -> bool:
        """Whether a result has something to check, and nobody knows how."""
        if name in self._listed or self.knows(name):
            return False
        return not result.is_error and has_structured_content(result)

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

    def _compile(self, name: str, schema: bytes) -> Validator | None:
        digest = hashlib.sha256(schema).digest()
        if digest not in self._compiled:
            validator = _compiled(name, loads(schema))
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
