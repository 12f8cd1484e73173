"""How much work it may be to make a schema ready.

A peer chooses its schema as freely as its values, and the work of reading one may grow faster than
its size: references are joined to long identifiers, patterns are compiled, costs are worked out
level by level. So whoever does such work asks first, and all of it comes out of one budget.
"""

from __future__ import annotations

import math
from typing import Final

from ._errors import SchemaError

# Steps of some 0.1 us: a quarter of a second.
MAX_STEPS: Final = 2_250_000


class Budget:
    """The steps that may still be taken for one schema.

    Args:
      where: What the schema belongs to, for errors.
      steps: How many there are; our own schemas take as long as their author likes.

    """

    def __init__(self, where: str, steps: float = math.inf) -> None:
        self._where = where
        self.left = steps

    def spend(self, steps: float) -> None:
        """Take steps, before they are taken.

        Raises:
          SchemaError: if there are not so many left.

        """
        self.left -= steps
        if self.left < 0:
            raise SchemaError(
                f"is too much work: it takes more than {MAX_STEPS} steps to make it ready",
                where=self._where,
            )
