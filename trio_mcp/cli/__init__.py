"""The command ``trio-mcp``.

`main` is its entry point; what it can do is said in docs/cli.md. It needs the extra ``cli``,
and what a command does not use is not imported for it.
"""

from __future__ import annotations

import sys

from trio_mcp.cli._mistakes import interrupted

_EXTRA = frozenset({"click", "rich", "typer"})


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    Args:
      argv: The words after the command's name; those of this process when None.

    Returns:
      The exit status: 0, 1 for a failure, 2 for a mistake in the command, 130 when it was
      interrupted.

    """
    try:
        from trio_mcp.cli._app import start  # noqa: PLC0415 - so that this can be caught
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] not in _EXTRA:
            raise
        print(
            f"trio-mcp: the command line needs {exc.name}: pip install 'trio-mcp[cli]'",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return interrupted()
    return start(sys.argv[1:] if argv is None else argv)
