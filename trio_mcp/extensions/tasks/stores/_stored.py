"""What a server keeps of a task."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._codec import excerpt
from trio_mcp._codec._public import to_json
from trio_mcp.extensions.tasks._wire import CreateTaskResult, DetailedTask
from trio_mcp.types import Task

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from trio_mcp.types import JsonObject, TaskStatus

OVER: Final = frozenset({"completed", "failed", "cancelled"})
"""The statuses that are final."""

POLLS: Final = 3
"""For how many intervals a client may be about to ask for a task that is over: it asks once in
each, and a request may take its time, or fail."""

_ID_BYTES: Final = 24


@attrs.frozen(kw_only=True)
class StoredTask:
    """A task, as a `TaskStore` keeps it. All of it can be written as JSON.

    Attributes:
      task_id: Whoever knows it, and is the owner, may ask for the task.
      owner: Whose it is (``ctx.principal.key``); None where nobody says who asks.
      created_at: In seconds since 1970.
      updated_at: The same, of the last change.
      ttl: Seconds from its creation for which it is kept.
      poll_interval: Seconds after which to ask again.
      version: Counts its changes.
      status: Where it stands; final once it is completed, failed or cancelled.
      status_message: The same for people.
      input_requests: The questions that wait for an answer, as JSON.
      input_responses: The answers that came, as JSON, until its work has taken them.
      input_errors: The errors that came in place of answers, from clients of 2025-11-25.
      result: What the request would have been answered.
      error: What it would have failed with.

    """

    task_id: str
    owner: str | None
    created_at: float
    updated_at: float
    ttl: float
    poll_interval: float
    version: int = 0
    status: TaskStatus = "working"
    status_message: str | None = None
    input_requests: Mapping[str, JsonObject] = attrs.field(factory=dict[str, Any])
    input_responses: Mapping[str, JsonObject] = attrs.field(factory=dict[str, Any])
    input_errors: Mapping[str, JsonObject] = attrs.field(factory=dict[str, Any])
    result: JsonObject | None = None
    error: JsonObject | None = None

    @property
    def expires_at(self) -> float:
        """Until when it is kept, in seconds since 1970."""
        return self.created_at + self.ttl

    @property
    def awaited_until(self) -> float:
        """Until when its client may be about to ask for it once it is over (since 1970)."""
        return self.updated_at + POLLS * self.poll_interval

    @property
    def is_over(self) -> bool:
        """Whether its status is final."""
        return self.status in OVER

    def changed(self, now: float, **changes: Any) -> StoredTask:
        """Make its next version."""
        return attrs.evolve(self, version=self.version + 1, updated_at=now, **changes)

    def ended(self, now: float, status: TaskStatus, **changes: Any) -> StoredTask:
        """Make its last version, without the questions and answers on the way there."""
        none: Mapping[str, JsonObject] = {}
        return self.changed(
            now,
            status=status,
            input_requests=none,
            input_responses=none,
            input_errors=none,
            **changes,
        )

    def asking(
        self, now: float, new: Mapping[str, JsonObject], *, without: Collection[str] = ()
    ) -> StoredTask | None:
        """Make the version that waits for some more answers; None if it is the same.

        Args:
          now: The time.
          new: The questions, by their keys.
          without: Keys of those for whose answers nobody waits any longer, though they may have
            come.

        """
        known = {*self.input_requests, *self.input_responses, *self.input_errors}
        if not new and known.isdisjoint(without):
            return None
        asked = {**self.input_requests, **new}
        left = {key: each for key, each in asked.items() if key not in without}
        return self._with_questions(now, left, **self._answers_without(without))

    def refused(self, now: float, key: str, error: JsonObject) -> StoredTask:
        """Make the version that has got an error in place of an answer."""
        left = {name: each for name, each in self.input_requests.items() if name != key}
        return self._with_questions(now, left, input_errors={**self.input_errors, key: error})

    def answered(self, now: float, answers: Mapping[str, JsonObject]) -> StoredTask:
        """Make the version that has got answers to some of its questions."""
        left = {name: each for name, each in self.input_requests.items() if name not in answers}
        return self._with_questions(now, left, input_responses={**self.input_responses, **answers})

    def without_answers(self, keys: Collection[str]) -> StoredTask | None:
        """Make the version whose work has taken some answers; None if it is the same.

        Nobody else sees the difference, so this is no time of a change.
        """
        if not {*keys} & {*self.input_responses, *self.input_errors}:
            return None
        return self.changed(self.updated_at, **self._answers_without(keys))

    def _answers_without(self, keys: Collection[str]) -> dict[str, Any]:
        gone = set(keys)
        return {
            name: {key: each for key, each in answers.items() if key not in gone}
            for name, answers in (
                ("input_responses", self.input_responses),
                ("input_errors", self.input_errors),
            )
        }

    def _with_questions(
        self, now: float, questions: Mapping[str, JsonObject], **changes: Any
    ) -> StoredTask:
        status = "input_required" if questions else "working"
        return self.changed(now, status=status, input_requests=questions, **changes)

    # As it is stored

    def to_json(self) -> JsonObject:
        """Write it as a JSON object, for a store."""
        return attrs.asdict(self)

    @classmethod
    def from_json(cls, written: JsonObject) -> StoredTask:
        """Read what `to_json` wrote. Members that this version does not know are left out."""
        known = {each.name for each in attrs.fields(cls)}
        return cls(**{name: each for name, each in written.items() if name in known})

    # As the client sees it

    def to_created(self) -> CreateTaskResult:
        """Make the answer to the request that has become the task."""
        return CreateTaskResult(**self._fields())

    def to_detailed(self) -> JsonObject:
        """Make the answer to ``tasks/get``, which has one more member for most statuses."""
        written = to_json(DetailedTask(**self._fields()))
        if self.status == "input_required":
            written["inputRequests"] = dict(self.input_requests)
        elif self.status == "completed":
            # One that was made for a client of 2025-11-25 does not say what it is.
            written["result"] = {"resultType": "complete", **(self.result or {})}
        elif self.status == "failed":
            written["error"] = self.error
        return written

    def to_task(self) -> Task:
        """Make what clients of 2025-11-25 see, for whom a tool that failed is a failed task."""
        has_failed = self.status == "completed" and (self.result or {}).get("isError") is True
        return Task(
            task_id=self.task_id,
            status="failed" if has_failed else self.status,
            status_message=_first_text(self.result) if has_failed else self.status_message,
            created_at=_iso(self.created_at),
            last_updated_at=_iso(self.updated_at),
            ttl=_milliseconds(self.ttl),
            poll_interval=_milliseconds(self.poll_interval),
        )

    def _fields(self) -> dict[str, Any]:
        return {
            "task_id": self.task_id,
            "status": self.status,
            "status_message": self.status_message,
            "created_at": _iso(self.created_at),
            "last_updated_at": _iso(self.updated_at),
            "ttl_ms": _milliseconds(self.ttl),
            "poll_interval_ms": _milliseconds(self.poll_interval),
        }


def _first_text(result: JsonObject | None) -> str:
    """Give the beginning of what a tool that failed says."""
    content: list[Any] = (result or {}).get("content") or []
    texts = (each["text"] for each in content if each.get("type") == "text")
    return excerpt(next(texts, "")) or "The tool failed"


def new_task(owner: str | None, *, now: float, ttl: float, poll_interval: float) -> StoredTask:
    """Make a task that has just begun; see `StoredTask` for what is said of it."""
    return StoredTask(
        # Whoever knows it may use it, where nobody says who asks.
        task_id=secrets.token_urlsafe(_ID_BYTES),
        owner=owner,
        created_at=now,
        updated_at=now,
        ttl=ttl,
        poll_interval=poll_interval,
    )


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
