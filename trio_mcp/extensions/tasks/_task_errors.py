"""What goes wrong with tasks of a peer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from trio_mcp.errors import LocalError, MCPError
from trio_mcp.types import INTERNAL_ERROR, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from ._wire import DetailedTask


class TaskCancelled(MCPError):
    """A task was cancelled, by whomever, before it came to a result.

    Attributes:
      task: The task as it is now.

    """

    __module__ = "trio_mcp.extensions"

    def __init__(self, task: DetailedTask) -> None:
        said = task.status_message
        super().__init__(INTERNAL_ERROR, "The task was cancelled" + (f": {said}" if said else ""))
        self.task = task
        self.args = (task,)


class TasksNotSupported(LocalError, RuntimeError):
    """The other side did not declare this of tasks, or the revision has no such thing.

    A client that is pinned to a modern revision knows what a server declares after
    ``client.session.discover()``.
    """

    __module__ = "trio_mcp.extensions"

    CODE: ClassVar[int] = METHOD_NOT_FOUND
