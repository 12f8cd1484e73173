"""A drawing of a task, the tasks in its nurseries, and where each of them waits."""

from __future__ import annotations

import traceback
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import trio


def format_task_tree(task: trio.lowlevel.Task) -> str:
    """Draw the tree below a task, one line for each task: its name, and where it is."""
    return "\n".join(_lines_of(task))


def _lines_of(task: trio.lowlevel.Task) -> Iterator[str]:
    yield f"{task.name}  {_position(task)}".rstrip()
    children = [child for nursery in task.child_nurseries for child in _tasks_of(nursery)]
    for child in children:
        is_last = child is children[-1]
        first, *rest = _lines_of(child)
        yield ("└── " if is_last else "├── ") + first
        for line in rest:
            yield ("    " if is_last else "│   ") + line


def _tasks_of(nursery: trio.Nursery) -> list[trio.lowlevel.Task]:
    return sorted(nursery.child_tasks, key=lambda task: task.name)


def _position(task: trio.lowlevel.Task) -> str:
    """Name the innermost line that is neither Trio's nor this package's way of calling it."""
    stack = list(task.iter_await_frames())
    own = [entry for entry in stack if not _belongs_to_trio(entry[0].f_code.co_filename)]
    if not own:
        return ""
    frame, line = own[-1]
    summary = traceback.FrameSummary(frame.f_code.co_filename, line, frame.f_code.co_name)
    place = f"{PurePath(summary.filename).name}:{line} in {summary.name}"
    return f"{place}: {summary.line}" if summary.line else place


def _belongs_to_trio(filename: str) -> bool:
    return "trio" in PurePath(filename).parts
