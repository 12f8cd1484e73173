"""A request that nobody waits for any more, though its answer is still of use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._calls import Call

if TYPE_CHECKING:
    from trio_mcp.types._base import JsonObject


class LateCall(Call):
    """Stays open in the place of a call whose time is up; see `CallOptions.on_late_result`."""

    __slots__ = ()

    def answered(self, result: JsonObject) -> None:
        if self.options.on_late_result is not None:
            self.options.on_late_result(result)
