"""How many works go on at the same time in a server, and whose."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Generator


@attrs.define(eq=False)
class Places:
    """Where works go on.

    A principal gets one more as long as it has no more than are free. So one alone may have half
    of them, the next one half of the rest, and whoever comes finds one, until very many are busy.
    Where nobody says who asks there is nobody to count for.
    """

    most: int
    _of: Counter[str] = attrs.field(factory=Counter[str], init=False)
    taken: int = attrs.field(default=0, init=False)

    def has_one_for(self, owner: str | None) -> bool:
        """Whether one more work may begin, for a principal or for nobody."""
        free = self.most - self.taken
        return free > 0 and (owner is None or self._of[owner] <= free)

    @contextmanager
    def taking(self, owner: str | None) -> Generator[None, None, None]:
        """Take one as long as the block lasts."""
        self.taken += 1
        if owner is not None:
            self._of[owner] += 1
        try:
            yield
        finally:
            self.taken -= 1
            if owner is not None:
                self._of[owner] -= 1
                if not self._of[owner]:
                    del self._of[owner]
