"""The common names of what many servers offer."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

import attrs

from trio_mcp.errors import MCPError
from trio_mcp.types import INVALID_PARAMS, Implementation, Prompt, Resource, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    ComponentNameHook: TypeAlias = Callable[[str, Implementation], str]

ThingT = TypeVar("ThingT", Tool, Resource, Prompt)
OwnerT = TypeVar("OwnerT")

CollisionPolicy: TypeAlias = Literal["prefix", "refuse"]

# What names of tools are made of; models are told them, and take nothing else.
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")

MAX_PREFIX: Final = 64
"""Characters of a server's name that go before names of its own: half of what names of tools
should have at most (tools, tool names)."""


@attrs.frozen
class NamePolicy:
    """How common names are made.

    Attributes:
      hook: Makes the common name of a thing from its own, and from who its server is.
      on_collision: What becomes of a name that another server has.

    """

    hook: ComponentNameHook | None = None
    on_collision: CollisionPolicy = "prefix"

    def name_for(self, own_name: str, info: Implementation) -> str:
        """Make the name that is wanted for a thing.

        Raises:
          TypeError: if the hook returned no name. What it raises leaves as it is.

        """
        if self.hook is None:
            return own_name
        name: Any = self.hook(own_name, info)
        if not isinstance(name, str) or not name:
            raise TypeError(
                f"component_name_hook has to return a name, and returned {name!r} for "
                f"{own_name!r} of the server {info.name!r}"
            )
        return name


class Names(Generic[OwnerT, ThingT]):
    """Things of one kind, of many owners, by a name that each has for itself."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        # In the order in which the owners came, and within each in that of its list.
        self._by_owner: dict[OwnerT, Mapping[str, ThingT]] = {}
        self._owner_of: dict[str, OwnerT] = {}

    def plan(
        self, owner: OwnerT, things: Sequence[ThingT], info: Implementation, policy: NamePolicy
    ) -> Mapping[str, ThingT]:
        """Find names for what a server offers. Nothing changes.

        What had a name before keeps it, so that nobody who was told it is led astray. The work
        grows with the number of names and not faster, whatever they are: a server chooses them,
        and nothing else runs meanwhile.

        Args:
          owner: Stands for the server.
          things: All that it lists, of this kind.
          info: Who the server says it is.
          policy: How names are made.

        Raises:
          MCPError: if a name is taken by another server, and the policy refuses.

        """
        kept = self._kept_names(owner, things)
        reserved = {name for name, other in self._owner_of.items() if other is not owner}
        others = frozenset(reserved)
        reserved.update(name for name in kept if name is not None)
        distinct = _DistinctNames(info, reserved)
        planned: dict[str, ThingT] = {}
        for thing, known in zip(things, kept, strict=True):
            name = known
            if name is None:
                name = policy.name_for(thing.name, info)
                if name in others and policy.on_collision == "refuse":
                    raise MCPError(
                        INVALID_PARAMS,
                        f"Two servers of the group have a {self._kind} {name!r}; the second one "
                        f"is {info.name!r}",
                    )
                if name in reserved:
                    name = distinct.name_for(name)
                reserved.add(name)
            planned[name] = thing
        return planned

    def _kept_names(self, owner: OwnerT, things: Iterable[ThingT]) -> list[str | None]:
        # By the things' own names; several of one name (resources may) keep theirs in order.
        before: dict[str, deque[str]] = {}
        for name, thing in self._by_owner.get(owner, {}).items():
            before.setdefault(thing.name, deque()).append(name)
        return [names.popleft() if (names := before.get(thing.name)) else None for thing in things]

    def replace(self, owner: OwnerT, planned: Mapping[str, ThingT]) -> None:
        """Put planned names in place of those that the server had."""
        for name in self._by_owner.get(owner, ()):
            del self._owner_of[name]
        self._by_owner[owner] = planned
        self._owner_of.update(dict.fromkeys(planned, owner))

    def remove(self, owner: OwnerT) -> Collection[str]:
        """Take away all names of a server, and return them."""
        gone = self._by_owner.pop(owner, {})
        for name in gone:
            del self._owner_of[name]
        return gone.keys()

    def get(self, name: str) -> tuple[OwnerT, ThingT] | None:
        """Find a thing, and whose it is."""
        owner = self._owner_of.get(name)
        return None if owner is None else (owner, self._by_owner[owner][name])

    def values(self) -> dict[str, ThingT]:
        """Return a copy: name to thing."""
        return {
            name: thing for things in self._by_owner.values() for name, thing in things.items()
        }


class _DistinctNames:
    """Makes names of one server that nothing else has."""

    def __init__(self, info: Implementation, reserved: Collection[str]) -> None:
        self._info = info
        self._reserved = reserved
        self._prefix: str | None = None
        # By the name that was wanted: up to here all numbers are taken, and none becomes free.
        self._numbers: dict[str, int] = {}

    def name_for(self, name: str) -> str:
        """Put the server's name before one that is taken, and a number where that is, too."""
        prefix = self._prefix = self._prefix or _prefix_for(self._info)
        number = self._numbers.get(name, 1)
        candidate = f"{prefix}_{name}" if number == 1 else f"{prefix}_{number}_{name}"
        while candidate in self._reserved:
            number += 1
            candidate = f"{prefix}_{number}_{name}"
        self._numbers[name] = number
        return candidate


def _prefix_for(info: Implementation) -> str:
    return _NOT_IN_NAMES.sub("_", info.name).strip("_")[:MAX_PREFIX] or "server"
