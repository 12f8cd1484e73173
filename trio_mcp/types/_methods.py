"""The method table: every method of every revision.

Classes are named, not imported: a server that only has tools never loads the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from ._revisions import KNOWN_REVISIONS

if TYPE_CHECKING:
    from ._revisions import Revision

__all__ = ["METHODS", "Method", "Side", "is_core_request"]

Side: TypeAlias = Literal["client", "server"]

_PACKAGE: Final = __name__.rpartition(".")[0]


@attrs.frozen(kw_only=True)
class Method:
    """One method: who sends it, when it exists, and what it carries."""

    name: str

    sender: Literal["client", "server", "both"]
    """Who sends it, in any revision; see `may_be_sent_by`."""

    params: str
    """The name of the params' type in ``trio_mcp.types``."""

    result: str | None = None
    """The name of the result's type; None for a notification."""

    since: str | None = None
    """The first revision that has it."""

    until: str | None = None
    """The first revision that no longer has it."""

    client_until: str | None = None
    """The first revision in which clients no longer send what both sides sent before."""

    cacheable: bool = False
    """The result says how long it may be kept, at 2026-07-28."""

    may_need_input: bool = False
    """The result may be an `InputRequiredResult`, at 2026-07-28."""

    is_input_request: bool = False
    """At 2026-07-28 it is no request of its own, but part of an `InputRequiredResult`."""

    params_required: bool = True
    """Params must be there also before 2026-07-28."""

    name_param: str | None = None
    """The member of the params that HTTP repeats in the header ``Mcp-Name``."""

    _positions: frozenset[int] = attrs.field(init=False)
    """Of the revisions that have it."""

    @property
    def is_notification(self) -> bool:
        return self.result is None

    def __attrs_post_init__(self) -> None:
        found = [r.position for r in KNOWN_REVISIONS if r.includes(self.since, self.until)]
        object.__setattr__(self, "_positions", frozenset(found))

    def exists_in(self, revision: Revision) -> bool:
        """Whether messages with this method are sent in that revision, by either side."""
        return revision.position in self._positions

    def may_be_sent_by(self, side: Side, revision: Revision) -> bool:
        """Whether this side may send it in that revision."""
        if self.sender not in (side, "both") or not self.exists_in(revision):
            return False
        return side != "client" or revision.includes(None, self.client_until)

    def params_type(self) -> Any:
        """Return the type of the params: a class or a union of classes."""
        return getattr(import_module(_PACKAGE), self.params)

    def result_type(self) -> Any:
        """Return the type of the complete result.

        Raises:
          TypeError: for a notification.

        """
        if self.result is None:
            msg = f"{self.name} is a notification and has no result"
            raise TypeError(msg)
        return getattr(import_module(_PACKAGE), self.result)


_MODERN: Final = "2026-07-28"

_REQUESTS: Final = (
    Method(
        name="initialize",
        sender="client",
        params="InitializeRequestParams",
        result="InitializeResult",
        until=_MODERN,
    ),
    Method(
        name="ping",
        sender="both",
        params="RequestParams",
        result="EmptyResult",
        until=_MODERN,
        params_required=False,
    ),
    Method(
        name="server/discover",
        sender="client",
        params="RequestParams",
        result="DiscoverResult",
        since=_MODERN,
        cacheable=True,
    ),
    Method(
        name="tools/list",
        sender="client",
        params="PaginatedRequestParams",
        result="ListToolsResult",
        cacheable=True,
        params_required=False,
    ),
    Method(
        name="tools/call",
        sender="client",
        params="CallToolRequestParams",
        result="CallToolResult",
        may_need_input=True,
        name_param="name",
    ),
    Method(
        name="prompts/list",
        sender="client",
        params="PaginatedRequestParams",
        result="ListPromptsResult",
        cacheable=True,
        params_required=False,
    ),
    Method(
        name="prompts/get",
        sender="client",
        params="GetPromptRequestParams",
        result="GetPromptResult",
        may_need_input=True,
        name_param="name",
    ),
    Method(
        name="resources/list",
        sender="client",
        params="PaginatedRequestParams",
        result="ListResourcesResult",
        cacheable=True,
        params_required=False,
    ),
    Method(
        name="resources/templates/list",
        sender="client",
        params="PaginatedRequestParams",
        result="ListResourceTemplatesResult",
        cacheable=True,
        params_required=False,
    ),
    Method(
        name="resources/read",
        sender="client",
        params="ReadResourceRequestParams",
        result="ReadResourceResult",
        cacheable=True,
        may_need_input=True,
        name_param="uri",
    ),
    Method(
        name="resources/subscribe",
        sender="client",
        params="SubscribeRequestParams",
        result="EmptyResult",
        until=_MODERN,
    ),
    Method(
        name="resources/unsubscribe",
        sender="client",
        params="UnsubscribeRequestParams",
        result="EmptyResult",
        until=_MODERN,
    ),
    Method(
        name="completion/complete",
        sender="client",
        params="CompleteRequestParams",
        result="CompleteResult",
    ),
    Method(
        name="logging/setLevel",
        sender="client",
        params="SetLevelRequestParams",
        result="EmptyResult",
        until=_MODERN,
    ),
    Method(
        name="subscriptions/listen",
        sender="client",
        params="SubscriptionsListenRequestParams",
        result="SubscriptionsListenResult",
        since=_MODERN,
    ),
    Method(
        name="sampling/createMessage",
        sender="server",
        params="CreateMessageRequestParams",
        result="CreateMessageResultWithTools",
        until=_MODERN,
        is_input_request=True,
    ),
    Method(
        name="roots/list",
        sender="server",
        params="RequestParams",
        result="ListRootsResult",
        until=_MODERN,
        is_input_request=True,
        params_required=False,
    ),
    Method(
        name="elicitation/create",
        sender="server",
        params="ElicitRequestParams",
        result="ElicitResult",
        since="2025-06-18",
        until=_MODERN,
        is_input_request=True,
    ),
    Method(
        name="tasks/get",
        sender="both",
        params="GetTaskRequestParams",
        result="GetTaskResult",
        since="2025-11-25",
        until=_MODERN,
    ),
    Method(
        name="tasks/result",
        sender="both",
        params="GetTaskPayloadRequestParams",
        result="GetTaskPayloadResult",
        since="2025-11-25",
        until=_MODERN,
    ),
    Method(
        name="tasks/list",
        sender="both",
        params="PaginatedRequestParams",
        result="ListTasksResult",
        since="2025-11-25",
        until=_MODERN,
        params_required=False,
    ),
    Method(
        name="tasks/cancel",
        sender="both",
        params="CancelTaskRequestParams",
        result="CancelTaskResult",
        since="2025-11-25",
        until=_MODERN,
    ),
)

_NOTIFICATIONS: Final = (
    Method(
        name="notifications/initialized",
        sender="client",
        params="NotificationParams",
        until=_MODERN,
        params_required=False,
    ),
    Method(
        name="notifications/roots/list_changed",
        sender="client",
        params="NotificationParams",
        until=_MODERN,
        params_required=False,
    ),
    Method(
        name="notifications/cancelled",
        sender="both",
        params="CancelledNotificationParams",
    ),
    Method(
        name="notifications/progress",
        sender="both",
        params="ProgressNotificationParams",
        client_until=_MODERN,
    ),
    Method(
        name="notifications/message",
        sender="server",
        params="LoggingMessageNotificationParams",
    ),
    Method(
        name="notifications/tools/list_changed",
        sender="server",
        params="NotificationParams",
        params_required=False,
    ),
    Method(
        name="notifications/prompts/list_changed",
        sender="server",
        params="NotificationParams",
        params_required=False,
    ),
    Method(
        name="notifications/resources/list_changed",
        sender="server",
        params="NotificationParams",
        params_required=False,
    ),
    Method(
        name="notifications/resources/updated",
        sender="server",
        params="ResourceUpdatedNotificationParams",
    ),
    Method(
        name="notifications/subscriptions/acknowledged",
        sender="server",
        params="SubscriptionsAcknowledgedNotificationParams",
        since=_MODERN,
    ),
    Method(
        name="notifications/elicitation/complete",
        sender="server",
        params="ElicitCompleteNotificationParams",
        since="2025-11-25",
        until=_MODERN,
    ),
    Method(
        name="notifications/tasks/status",
        sender="both",
        params="TaskStatusNotificationParams",
        since="2025-11-25",
        until=_MODERN,
    ),
)

METHODS: Final[dict[str, Method]] = {each.name: each for each in (*_REQUESTS, *_NOTIFICATIONS)}
"""Every method by its name."""


def is_core_request(method: str) -> bool:
    """Whether this is a request of the core protocol, which no extension may serve.

    The tasks of 2025-11-25 were an experiment, which an extension has taken over.
    """
    spec = METHODS.get(method)
    return spec is not None and not spec.is_notification and not method.startswith("tasks/")
