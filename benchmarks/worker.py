"""One side in a process of its own: takes what to measure on stdin, tells numbers on stdout."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, Any, Self

from benchmarks.sides.side import ROOT, load_side

if TYPE_CHECKING:
    from types import TracebackType


class MeasureFailed(Exception):
    """A row could not be measured; the message is the traceback."""


class Worker:
    """The process of one side, seen from outside; ends with its block."""

    def __init__(self, side: str) -> None:
        self.side = side
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", side],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def take(self, measure: str, count: int) -> list[float]:
        """Measure once.

        Raises:
          MeasureFailed: if that went wrong.

        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"measure": measure, "count": count}) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise MeasureFailed(f"the process of {self.side} has ended") from None
        answer = process.stdout.readline()
        if not answer:
            raise MeasureFailed(f"the process of {self.side} ended with {process.wait()}")
        told: dict[str, Any] = json.loads(answer)
        if "error" in told:
            raise MeasureFailed(told["error"])
        values: list[float] = told["values"]
        return values

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def main() -> None:
    import benchmarks.rows  # noqa: F401, PLC0415 - fills MEASURES
    from benchmarks.measures import MEASURES  # noqa: PLC0415

    side = load_side(sys.argv[1])
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            told: Any = {"values": MEASURES[asked["measure"]].take(side, asked["count"])}
        except Exception:  # noqa: BLE001 - whatever it is, the parent tells it
            told = {"error": traceback.format_exc()}
        print(json.dumps(told), file=answers, flush=True)


if __name__ == "__main__":
    main()
