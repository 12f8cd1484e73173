"""Functions that are called when something happens, until they are taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ListenerT = TypeVar("ListenerT")


class Listeners(Generic[ListenerT]):
    """Some functions, in the order in which they came.

    They may come and go while they are gone through: who goes through them sees those that
    were there at the beginning.
    """

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: tuple[ListenerT, ...] = ()

    def __iter__(self) -> Iterator[ListenerT]:
        return iter(self._listeners)

    def add(self, listener: ListenerT) -> Callable[[], None]:
        """Take a function; returns what takes it back."""
        self._listeners = (*self._listeners, listener)

        def remove() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not listener)

        return remove
