"""What has been answered in earlier rounds of one request, as the client keeps it, sealed."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._codec import DecodeError, decode, encode
from trio_mcp.types._base import is_object
from trio_mcp.types._revisions import LATEST_MODERN

from ._questions import WrongAnswer

if TYPE_CHECKING:
    from trio_mcp.types import InputRequest
    from trio_mcp.types._base import JsonValue

    from ._elicitation import ElicitationResult
    from ._questions import Question

_VERSION: Final = 1


def fingerprint(request: InputRequest) -> str:
    """Digest a question: an answer counts for the very words that it was given to."""
    written = json.dumps(
        encode(request, LATEST_MODERN), separators=(",", ":"), sort_keys=True
    ).encode()
    return base64.urlsafe_b64encode(hashlib.sha256(written).digest()[:16]).decode().rstrip("=")


@attrs.frozen
class Recorded:
    """An answer, and the fingerprint of its question."""

    question: str
    answer: JsonValue

    def outcome(self, question: Question) -> ElicitationResult[Any] | None:
        """Read the answer, if the question is still the same and takes it."""
        if self.question != fingerprint(question.request):
            return None
        try:
            return question.outcome(
                decode(question.answer_type, self.answer, LATEST_MODERN, where="answer")
            )
        except (DecodeError, WrongAnswer):
            return None  # recorded by another version of this program


@attrs.define(eq=False)
class Progress:
    """How far a request is.

    Attributes:
      answered: By the keys of the resolvers.
      asked: The fingerprints of the questions that are open.

    """

    answered: dict[str, Recorded] = attrs.field(factory=dict[str, Recorded])
    asked: dict[str, str] = attrs.field(factory=dict[str, str])

    @classmethod
    def read(cls, state: str | None) -> Progress:
        """Read what `write` wrote; what it did not write counts as no progress.

        The seal says that this server wrote it, and for this very request. So other text is
        that of another version of the server's program.
        """
        try:
            found: Any = json.loads(state or "null")
            if not is_object(found) or found.get("v") != _VERSION:
                return cls()
            return cls(
                {key: Recorded(q, a) for key, (q, a) in found["answered"].items()},
                {key: str(q) for key, q in found["asked"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def write(self) -> str:
        return json.dumps(
            {
                "v": _VERSION,
                "answered": {key: [e.question, e.answer] for key, e in self.answered.items()},
                "asked": self.asked,
            },
            separators=(",", ":"),
        )
