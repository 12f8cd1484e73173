"""Names for plain values: ids, roles, levels and other closed or open sets of words."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

__all__ = [
    "ElicitRequestedSchema",
    "IconTheme",
    "IncludeContext",
    "LoggingLevel",
    "ProgressToken",
    "RequestId",
    "ResultType",
    "Role",
    "SamplingRole",
    "StopReason",
    "TaskStatus",
]

RequestId: TypeAlias = int | str
"""The id of a request. ``1`` and ``"1"`` are different ids; a bool is none."""

ProgressToken: TypeAlias = str | int
"""Ties progress notifications to the request that asked for them."""

Role: TypeAlias = Literal["user", "assistant"]
SamplingRole: TypeAlias = Role

IconTheme: TypeAlias = Literal["light", "dark"]

LoggingLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
"""Levels of RFC 5424, ascending."""

IncludeContext: TypeAlias = Literal["none", "thisServer", "allServers"]

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]

ResultType: TypeAlias = Literal["complete", "input_required"] | str  # noqa: PYI051 - documents
"""What a result is; extensions add words."""

StopReason: TypeAlias = (
    Literal["endTurn", "stopSequence", "maxTokens", "toolUse"] | str  # noqa: PYI051 - documents
)
"""Why a model stopped; providers add words."""

ElicitRequestedSchema: TypeAlias = dict[str, Any]
"""The schema of a form: an object whose properties are of primitive types."""
