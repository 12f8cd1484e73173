"""Wire types that a program has filled in: checked where that was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp.types._revisions import LATEST_MODERN

from ._converter import encode
from ._json import checked_copy

if TYPE_CHECKING:
    from trio_mcp.types._base import WireModel


def check_wire(value: WireModel) -> None:
    """Refuse an object that could not be written later.

    Raises:
      TypeError: if an attribute has a value of another type than it says; the message begins
        with the attribute, and says what was expected and given.
      ValueError: if something in it has no JSON form, such as a lone surrogate.

    """
    try:
        checked_copy(encode(value, LATEST_MODERN), "")
    except (TypeError, ValueError) as exc:
        said = str(exc).removeprefix(f"{type(value).__name__}.").removeprefix(".")
        raise (TypeError if isinstance(exc, TypeError) else ValueError)(said) from None
