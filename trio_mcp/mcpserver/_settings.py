"""The options of an `MCPServer` that are plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

import attrs
from typing_extensions import TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from ._registry import DuplicatePolicy
    from ._server import MCPServer

LogLevel: TypeAlias = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

LifespanResultT = TypeVar("LifespanResultT", default=Any)


@attrs.define(kw_only=True)
class Settings(Generic[LifespanResultT]):
    """What an `MCPServer` was made with.

    Attributes:
      debug: Whether HTTP error pages show tracebacks.
      log_level: The level of the handler that `MCPServer.run` installs.
      warn_on_duplicate_resources: Whether adding a URI twice is logged. The first one stays.
      warn_on_duplicate_tools: The same for names of tools.
      warn_on_duplicate_prompts: The same for names of prompts.
      on_duplicate: What is done instead for all of them; None to go by these three.
      dependencies: Packages that the server needs, for programs that install servers.
      lifespan: What is entered before the first request and left after the last.
      auth: How clients prove who they are.

    """

    debug: bool = False
    log_level: LogLevel = "INFO"
    warn_on_duplicate_resources: bool = True
    warn_on_duplicate_tools: bool = True
    warn_on_duplicate_prompts: bool = True
    on_duplicate: DuplicatePolicy | None = None
    dependencies: list[str] = attrs.field(factory=list[str])
    lifespan: (
        Callable[[MCPServer[LifespanResultT]], AbstractAsyncContextManager[LifespanResultT]] | None
    ) = None
    auth: Any = None

    def duplicate_policy(self, *, warn: bool) -> DuplicatePolicy:
        """Say what becomes of a duplicate, by the setting for its kind."""
        if self.on_duplicate is not None:
            return self.on_duplicate
        return "warn" if warn else "ignore"
