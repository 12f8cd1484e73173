"""What rows need of an SDK. The SDKs share their names, so this is little."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

ROOT = Path(__file__).parents[2]

FEW_TOOLS = 7


class Tasks(ABC):
    """Tasks that belong to a block: leaving it waits for them."""

    @abstractmethod
    def start(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None: ...

    @abstractmethod
    def cancel(self) -> None:
        """Cancel all that run."""


class Codec(ABC):
    """From bytes to what a caller gets, and from what a handler returns to bytes, at 2026-07-28.

    With every step that the SDK itself takes on the way, and no other.
    """

    @abstractmethod
    def parse(self, method: str, line: bytes) -> Any:
        """Read the answer to a request."""

    @abstractmethod
    def build(self, method: str, result: Any) -> bytes:
        """Write the answer to a request."""


class Schemas(ABC):
    """Publishing functions as tools, and checking arguments."""

    @abstractmethod
    def registrar(self) -> Callable[[Callable[..., Any], str], Any]:
        """Make a new server; what this returns publishes a function under a name."""

    @abstractmethod
    def checkers(self, function: Callable[..., Any]) -> dict[str, Callable[[Any], Any]]:
        """Publish a function; return what checks arguments.

        ``check`` is what every call runs to find that they fit, ``full`` the engine for
        whatever the usual one refuses, ``convert`` makes them what the function takes.
        """


class Side(ABC):
    """An SDK, run as its users run it."""

    name: ClassVar[str]
    server_module: ClassVar[str]
    client_import: ClassVar[str]
    server_import: ClassVar[str]

    @property
    def server_command(self) -> list[str]:
        """The command of this side's server; to be run in `ROOT`."""
        return [sys.executable, "-m", self.server_module]

    @abstractmethod
    def run(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """Run an async function in an event loop of its own."""

    @abstractmethod
    def connect_memory(
        self, mode: str, tools: int = FEW_TOOLS
    ) -> AbstractAsyncContextManager[Any]:
        """Open a client to a server of this process; `mode` is that of `Client`."""

    @abstractmethod
    def connect_stdio(self, mode: str, tools: int = FEW_TOOLS) -> AbstractAsyncContextManager[Any]:
        """Open a client to a server in a child process."""

    @abstractmethod
    def connect_http(self, mode: str, url: str) -> AbstractAsyncContextManager[Any]:
        """Open a client to a server over Streamable HTTP."""

    @abstractmethod
    def open_tasks(self) -> AbstractAsyncContextManager[Tasks]: ...

    @abstractmethod
    def codec(self) -> Codec: ...

    @abstractmethod
    def schemas(self) -> Schemas: ...


def load_side(name: str) -> Side:
    """Load one side, and nothing of the other."""
    if name == "trio_mcp":
        from benchmarks.sides.trio_mcp_side import TrioMcpSide  # noqa: PLC0415 - as said

        return TrioMcpSide()
    from benchmarks.sides.mcp_side import McpSide  # noqa: PLC0415 - as said

    return McpSide()
