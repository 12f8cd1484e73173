"""The command ``trio-mcp``.

`main` is its entry point; what it can do is said in docs/cli.md. It needs the extra ``cli``,
and what a command does not use is not imported for it.
"""

from __future__ import annotations

import sys

from trio_mcp.cli._mistakes import INTERRUPTED
from trio_mcp.cli._streams import replace_missing_stderr, say, say_interrupted

_EXTRA = frozenset({"click", "rich", "typer"})


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    Args:
      argv: The words after the command's name; those of this process when None.

    Returns:
      The exit status: 0, 1 for a failure, 2 for a mistake in the command, 130 when it was
      interrupted.

    """
    replace_missing_stderr()
    try:
        from trio_mcp.cli._app import start  # noqa: PLC0415 - so that this can be caught

        return start(sys.argv[1:] if argv is None else argv)
    except ModuleNotFoundError as exc:
        package = (exc.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        needs = f"the command line needs {package}: pip install 'trio-mcp[cli]'"
        say(f"trio-mcp: {needs}")
        return 1
    except KeyboardInterrupt:
        say_interrupted()
        return INTERRUPTED
