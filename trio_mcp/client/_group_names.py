"""The common names of what many servers offer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar

import attrs

from trio_mcp.errors import MCPError
from trio_mcp.types import INVALID_PARAMS, Implementation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trio_mcp.types import Prompt, Resource, Tool

    ComponentNameHook: TypeAlias = Callable[[str, Implementation], str]

T = TypeVar("T")

CollisionPolicy: TypeAlias = Literal["prefix", "refuse"]

# What names of tools are made of; models are told them, and take nothing else.
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")


@attrs.frozen
class Offer:
    """What one server offers, as it lists it."""

    tools: Sequence[Tool] = ()
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()


@attrs.frozen
class Named(Generic[T]):
    """One thing of one server."""

    owner: object
    value: T


class Names(Generic[T]):
    """Things of one kind, of many servers, by a name that each has for itself."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._by_name: dict[str, Named[T]] = {}

    def plan(
        self,
        owner: object,
        things: Sequence[tuple[str, T]],
        info: Implementation,
        hook: ComponentNameHook | None,
        policy: CollisionPolicy,
    ) -> dict[str, Named[T]]:
        """Find names for what a server offers. Nothing changes.

        Args:
          owner: Stands for the server.
          things: With their own names.
          info: Who the server says it is.
          hook: Makes the common name of the own one.
          policy: What to do where that is taken.

        Raises:
          MCPError: if it is taken, and the policy refuses.

        """
        taken = {name for name, named in self._by_name.items() if named.owner is not owner}
        planned: dict[str, Named[T]] = {}
        for own_name, thing in things:
            name = own_name if hook is None else hook(own_name, info)
            if name in taken or name in planned:
                if policy == "refuse":
                    raise MCPError(
                        INVALID_PARAMS,
                        f"Two servers of the group have a {self._kind} {name!r}; the second one "
                        f"is {info.name!r}",
                    )
                name = _distinct(name, info, lambda name: name in taken or name in planned)
            planned[name] = Named(owner, thing)
        return planned

    def replace(self, owner: object, planned: Mapping[str, Named[T]]) -> None:
        """Put planned names in place of those that the server had."""
        self.remove(owner)
        self._by_name.update(planned)

    def remove(self, owner: object) -> list[str]:
        """Take away all names of a server, and return them."""
        gone = [name for name, named in self._by_name.items() if named.owner is owner]
        for name in gone:
            del self._by_name[name]
        return gone

    def get(self, name: str) -> Named[T] | None:
        """Find a thing."""
        return self._by_name.get(name)

    def values(self) -> dict[str, T]:
        """Return a copy: name to thing."""
        return {name: named.value for name, named in self._by_name.items()}


def _distinct(name: str, info: Implementation, is_taken: Callable[[str], bool]) -> str:
    prefix = _NOT_IN_NAMES.sub("_", info.name).strip("_") or "server"
    candidate = f"{prefix}_{name}"
    number = 2
    while is_taken(candidate):
        candidate = f"{prefix}_{number}_{name}"
        number += 1
    return candidate
