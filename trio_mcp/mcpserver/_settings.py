"""The options of an `MCPServer` that are plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, get_args

import attrs
from typing_extensions import TypeVar

from trio_mcp._variables import FLAG, TEXTS, or_none, settable, whole, word

from ._registry import DuplicatePolicy

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from trio_mcp.auth import AuthSettings

    from ._server import MCPServer

LogLevel: TypeAlias = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

LifespanResultT = TypeVar("LifespanResultT", default=Any)


@attrs.define(kw_only=True)
class Settings(Generic[LifespanResultT]):
    """What an `MCPServer` was made with.

    Arguments of that, or else variables of the environment: ``MCP_LOG_LEVEL`` for `log_level`,
    and so on for all but the last two.

    Attributes:
      debug: For the server's own use. Nothing that a client is sent depends on it.
      log_level: The level of the handler that `MCPServer.run` installs.
      warn_on_duplicate_resources: Whether adding a URI twice is logged. The first one stays.
      warn_on_duplicate_tools: The same for names of tools.
      warn_on_duplicate_prompts: The same for names of prompts.
      on_duplicate: What is done instead for all of them; None to go by these three.
      list_page_size: The most entries in one answer to a list request; all when None.
      dependencies: Packages that the server needs, for programs that install servers.
      lifespan: What is entered before the first request and left after the last.
      auth: Whom the server takes tokens of, and for what.

    """

    debug: bool = settable(False, FLAG)
    log_level: LogLevel = settable("INFO", word(*get_args(LogLevel)))
    warn_on_duplicate_resources: bool = settable(True, FLAG)
    warn_on_duplicate_tools: bool = settable(True, FLAG)
    warn_on_duplicate_prompts: bool = settable(True, FLAG)
    on_duplicate: DuplicatePolicy | None = settable(
        None, or_none(word(*get_args(DuplicatePolicy)))
    )
    list_page_size: int | None = settable(None, or_none(whole(least=1)))
    dependencies: list[str] = settable(attrs.Factory(list[str]), TEXTS)
    lifespan: (
        Callable[[MCPServer[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]] | None
    ) = None
    auth: AuthSettings | None = None

    def duplicate_policy(self, *, warn: bool) -> DuplicatePolicy:
        """Say what becomes of a duplicate, by the setting for its kind."""
        if self.on_duplicate is not None:
            return self.on_duplicate
        return "warn" if warn else "ignore"
