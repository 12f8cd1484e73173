"""What the servers of a group offer together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic

import attrs

from trio_mcp.errors import MCPError
from trio_mcp.types import INVALID_PARAMS, Prompt, Resource, Tool

from ._group_names import NamePolicy, Names, OwnerT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.errors import ConnectionLost
    from trio_mcp.types import Implementation

MAX_REMEMBERED: Final = 10_000
"""Names of tools whose servers have gone, kept for the error that tells so."""


@attrs.frozen
class Offer:
    """What one server offers, as it lists it."""

    tools: Sequence[Tool] = ()
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()


class Catalog(Generic[OwnerT]):
    """The offers of many servers, by common names.

    Args:
      policy: How these are made.

    """

    def __init__(self, policy: NamePolicy) -> None:
        self._policy = policy
        self.tools: Names[OwnerT, Tool] = Names("tool")
        self.resources: Names[OwnerT, Resource] = Names("resource")
        self.prompts: Names[OwnerT, Prompt] = Names("prompt")
        self._gone: dict[str, ConnectionLost] = {}

    def take_in(self, owner: OwnerT, info: Implementation, offer: Offer) -> None:
        """Put what a server offers in place of what it offered before: all of it, or nothing.

        Args:
          owner: Stands for the server.
          info: Who it says it is.
          offer: What it lists.

        Raises:
          MCPError: if a name is taken, and that is refused. Nothing has changed then, nor
              when the user's hook raises.

        """
        tools = self.tools.plan(owner, offer.tools, info, self._policy)
        resources = self.resources.plan(owner, offer.resources, info, self._policy)
        prompts = self.prompts.plan(owner, offer.prompts, info, self._policy)
        self.tools.replace(owner, tools)
        self.resources.replace(owner, resources)
        self.prompts.replace(owner, prompts)
        for name in tools:
            self._gone.pop(name, None)

    def remove(self, owner: OwnerT, lost: ConnectionLost | None = None) -> None:
        """Take out all that a server offered.

        Args:
          owner: Stands for the server.
          lost: Why, for those who still call its tools; None if it was let go.

        """
        self.resources.remove(owner)
        self.prompts.remove(owner)
        names = self.tools.remove(owner)
        if lost is None:
            return
        if len(self._gone) + len(names) > MAX_REMEMBERED:
            self._gone.clear()
        self._gone.update(dict.fromkeys(names, lost))

    def why_missing(self, name: str) -> MCPError:
        """Say why there is no tool of a name: perhaps its server has gone."""
        gone = self._gone.get(name)
        if gone is not None:
            return gone.again()
        return MCPError(INVALID_PARAMS, f"No server of the group has a tool {name!r}")
