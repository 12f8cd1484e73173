"""The verbs that only the older era has: most of them warn that they are deprecated."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final

from trio_mcp import types
from trio_mcp._checks import check_text
from trio_mcp._deprecation import deprecated
from trio_mcp.errors import MCPDeprecationWarning

from ._arguments import check_log_level, meta_to_json, progress_to_json
from ._session_agreement import AgreedSession

if TYPE_CHECKING:
    from trio_mcp.types import LoggingLevel, RequestParamsMeta
    from trio_mcp.types._base import JsonObject


LOGGING_IS_DEPRECATED: Final = (
    "set_logging_level is deprecated: protocol version 2026-07-28 has no such request; a client "
    "asks for log messages by Client(log_level=…)"
)
ROOTS_ARE_DEPRECATED: Final = (
    "send_roots_list_changed is deprecated: protocol version 2026-07-28 has no such notification"
)


class OlderSession(AgreedSession):
    """A session with what 2026-07-28 no longer has."""

    async def send_ping(self, *, meta: RequestParamsMeta | None = None) -> types.EmptyResult:
        """Ask an older server for a sign of life.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self._complete("ping", {}, types.EmptyResult, None, meta)

    @deprecated(LOGGING_IS_DEPRECATED, category=MCPDeprecationWarning)
    async def set_logging_level(
        self, level: LoggingLevel, *, meta: RequestParamsMeta | None = None
    ) -> types.EmptyResult:
        """Ask an older server for log messages from a level on.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        return await self._set_logging_level(level, meta)

    async def _set_logging_level(
        self, level: LoggingLevel, meta: RequestParamsMeta | None
    ) -> types.EmptyResult:
        check_log_level("level", level)
        return await self._stand("logging/setLevel", {"level": level}, meta)

    async def _stand(
        self, method: str, params: JsonObject, meta: RequestParamsMeta | None
    ) -> types.EmptyResult:
        """Ask for what lasts as long as the session; the next one is asked again."""
        result = await self._complete(method, params, types.EmptyResult, None, meta)
        self._serving.standing.answered(method, params)
        return result

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        *,
        meta: RequestParamsMeta | None = None,
    ) -> None:
        """Tell an older server how far the answer to its request is.

        Raises:
          TypeError, ValueError: if a number is none, or not finite.
          ConnectionLost: if the connection has ended.

        """
        _warn_deprecated("send_progress_notification")
        params = progress_to_json(progress_token, progress, total, message)
        if not self._require_revision().has_progress_message:
            params.pop("message", None)
        if meta is not None:
            params["_meta"] = meta_to_json(meta)
        await self.tell("notifications/progress", params)

    @deprecated(ROOTS_ARE_DEPRECATED, category=MCPDeprecationWarning)
    async def send_roots_list_changed(self) -> None:
        """Tell an older server that the roots have changed.

        Raises:
          ConnectionLost: if the connection has ended.

        """
        await self._tell_of_changed_roots()

    async def _tell_of_changed_roots(self) -> None:
        await self.tell("notifications/roots/list_changed")

    async def subscribe_resource(
        self, uri: str, *, meta: RequestParamsMeta | None = None
    ) -> types.EmptyResult:
        """Ask an older server to tell when a resource changes.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        _warn_deprecated("subscribe_resource")
        check_text("uri", uri)
        return await self._stand("resources/subscribe", {"uri": uri}, meta)

    async def unsubscribe_resource(
        self, uri: str, *, meta: RequestParamsMeta | None = None
    ) -> types.EmptyResult:
        """Take `subscribe_resource` back.

        Raises:
          MCPError: as `call_tool`: what the server answered, or why there is no answer.

        """
        _warn_deprecated("unsubscribe_resource")
        check_text("uri", uri)
        return await self._stand("resources/unsubscribe", {"uri": uri}, meta)


def _warn_deprecated(name: str) -> None:
    warnings.warn(
        f"{name} is deprecated: protocol version 2026-07-28 has no such request",
        MCPDeprecationWarning,
        stacklevel=3,
    )
