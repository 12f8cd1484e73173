"""The functions that a client's user gives to be called back, and what they are called with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import attrs
import trio

from trio_mcp._rpc._progress import progress_params
from trio_mcp.types import RELATED_TASK_META_KEY

if TYPE_CHECKING:
    from trio_mcp.types import (
        CreateMessageRequestParams,
        CreateMessageResult,
        CreateMessageResultWithTools,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        ListRootsResult,
        LoggingMessageNotificationParams,
        RequestId,
    )
    from trio_mcp.types._base import JsonObject

    from ._incoming_message import IncomingMessage
    from ._session import ClientSession


@attrs.define(eq=False, kw_only=True)
class ClientRequestContext:
    """What a callback knows of the question it answers.

    Attributes:
      session: The session that the question came on.
      request_id: The question's id.
      meta: Its ``_meta``, if it has one.

    """

    session: ClientSession
    request_id: RequestId
    meta: JsonObject | None = None
    _last_progress: float = attrs.field(default=-math.inf, init=False)

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell an older server how far the answer is.

        Does nothing when the server did not ask, or cannot be told since it is a modern one, or
        when the value did not rise since the last report.

        Raises:
          TypeError, ValueError: if it is no report, whether somebody listens or not.
          ConnectionLost: if the connection has ended.

        """
        params = progress_params(progress, total, message)
        meta, revision = self.meta or {}, self.session.revision
        token = meta.get("progressToken")
        if token is None or revision is None or not progress > self._last_progress:
            await trio.lowlevel.checkpoint()
            return
        self._last_progress = progress
        if not revision.has_progress_message:
            params.pop("message", None)
        if RELATED_TASK_META_KEY in meta:
            # Tasks: what belongs to one says so.
            params["_meta"] = {RELATED_TASK_META_KEY: meta[RELATED_TASK_META_KEY]}
        await self.session.tell("notifications/progress", {"progressToken": token, **params})


class SamplingFnT(Protocol):
    """Answers ``sampling/createMessage``: asks a model, after whatever consent is needed."""

    async def __call__(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | CreateMessageResultWithTools | ErrorData:
        """Return the model's message, or the error to answer."""
        ...


class ElicitationFnT(Protocol):
    """Answers ``elicitation/create``: asks the user."""

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """Return what the user did, or the error to answer."""
        ...


class ListRootsFnT(Protocol):
    """Answers ``roots/list``."""

    async def __call__(self, context: ClientRequestContext) -> ListRootsResult | ErrorData:
        """Return the roots, or the error to answer."""
        ...


class LoggingFnT(Protocol):
    """Takes log messages of the server, in order."""

    async def __call__(self, params: LoggingMessageNotificationParams) -> None:
        """Take one message."""
        ...


class MessageHandlerFnT(Protocol):
    """Takes every notification of the server, and what arrived and was no message.

    Progress of calls does not come here: it goes to the callback that a call was given.
    """

    async def __call__(self, message: IncomingMessage) -> None:
        """Take one notification; an exception says what was wrong with what arrived."""
        ...


class ProgressFnT(Protocol):
    """Takes what a server reports of one call, in order."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one report."""
        ...


@attrs.frozen(kw_only=True)
class Callbacks:
    """The callbacks of one session; each is None where the client does not offer it."""

    sampling: SamplingFnT | None = None
    elicitation: ElicitationFnT | None = None
    list_roots: ListRootsFnT | None = None
    logging: LoggingFnT | None = None
    message_handler: MessageHandlerFnT | None = None
