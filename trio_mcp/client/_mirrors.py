"""Arguments of tools that are repeated in HTTP headers, by what the tools were listed with."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from trio_mcp._codec import excerpt
from trio_mcp._codec._headers import header_text
from trio_mcp._protocol._header_faults import header_fault
from trio_mcp._protocol._mirrors import argument_at, mirrored_arguments
from trio_mcp._rpc._flight import Together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trio_mcp._protocol._mirrors import Path
    from trio_mcp.types import ListToolsResult, Tool
    from trio_mcp.types._base import JsonObject

    from ._pages import PageReader

logger: Final = logging.getLogger("trio_mcp.client")

MAX_TOLD: Final = 100
"""Tools that the log warns of. A server may have any number of faulty ones."""


class Mirrors:
    """What each tool of one session wants to see in headers (`x-mcp-header`)."""

    __slots__ = ("_last_page", "_learned", "_listing", "_lists", "_pages", "_told", "_wanted")

    def __init__(self) -> None:
        # With which page each tool was listed last, and how many pages and whole lists came.
        self._learned: dict[str, int] = {}
        self._pages = self._lists = 0
        self._listing = Together()
        # Tools that want something, as they were listed last.
        self._wanted: dict[str, dict[str, Path]] = {}
        self._last_page: Sequence[Tool] | None = None
        self._told: set[tuple[str, str]] = set()

    def keep_usable(self, result: ListToolsResult) -> ListToolsResult:
        """Leave out tools with faulty annotations, as HTTP clients must; each is warned of."""
        faults = {
            tool.name: fault
            for tool in result.tools
            if (fault := header_fault(tool.input_schema)) is not None
        }
        for name, fault in faults.items():
            self._tell_left_out(name, fault)
        if not faults:
            return result
        usable = [tool for tool in result.tools if tool.name not in faults]
        return result.evolve(tools=usable)

    def _tell_left_out(self, name: str, fault: str) -> None:
        # Once each: a server may have its tools listed again and again.
        shown = excerpt(name), excerpt(fault)
        is_new = shown not in self._told and len(self._told) < MAX_TOLD
        level = logging.WARNING if is_new else logging.DEBUG
        logger.log(level, "The tool %r is left out of the list: %s", *shown)
        if is_new:
            self._told.add(shown)
            if len(self._told) == MAX_TOLD:
                logger.warning("Of other tools that are left out, only the level DEBUG tells")

    def learn(self, tools: Sequence[Tool]) -> None:
        """Take note of a page of tools, without the faulty ones."""
        if tools is self._last_page:
            return
        self._last_page = tools
        self._pages += 1
        for tool in tools:
            self._learned[tool.name] = self._pages
            wanted = mirrored_arguments(tool.input_schema)
            if wanted:
                self._wanted[tool.name] = wanted
            else:
                self._wanted.pop(tool.name, None)

    def age(self, name: str) -> object:
        """Give what changes when a tool is listed anew, or turns out not to be listed."""
        return self._learned.get(name), self._lists

    async def list_again(
        self, name: str, age: object, tools: Callable[[], PageReader[Tool]]
    ) -> None:
        """Have a tool listed anew, once for however many calls have been refused.

        Args:
          name: Of the tool.
          age: What `age` gave when the call was sent that was refused.
          tools: Lists them, and has them learned.

        Raises:
          MCPError: what listing them raises.

        """
        await self._listing.do(
            partial(self._list_until, name, tools), lambda: self.age(name) == age
        )

    async def _list_until(self, name: str, tools: Callable[[], PageReader[Tool]]) -> None:
        logger.info("The tool %r is listed again: its headers were refused", name)
        reader = tools()
        while (page := await reader.next_page()) is not None:
            if any(tool.name == name for tool in page):
                return
        self._lists += 1

    def headers(self, name: str, arguments: Mapping[str, Any] | None) -> dict[str, str] | None:
        """Give the headers of a call: by name, the text of the argument."""
        wanted = self._wanted.get(name)
        if not wanted:
            return None
        given: JsonObject = dict(arguments or {})
        texts = {header: _text(argument_at(given, path)) for header, path in wanted.items()}
        return {header: text for header, text in texts.items() if text is not None}


def _text(value: Any) -> str | None:
    # JSON does not tell 42.0 from 42.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return header_text(value)
