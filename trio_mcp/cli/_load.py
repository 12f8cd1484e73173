"""Importing a file, and finding the server in it."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from trio_mcp.cli._mistakes import Failure, UsageMistake
from trio_mcp.cli._streams import spared
from trio_mcp.errors import WrongVariable
from trio_mcp.mcpserver import MCPServer
from trio_mcp.server import Server

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

    AnyServer = MCPServer[Any] | Server[Any]

NAMES: Final = ("mcp", "server", "app")
"""What a server is called in a file that is served without naming it."""


def load_server(file_name: str, object_name: str | None) -> AnyServer:
    """Import a file and return its server.

    What stands under ``if __name__ == "__main__"`` is not executed. The file's folder becomes
    the first place to import from, as for ``python FILE``, and what is printed meanwhile goes
    to stderr.

    Args:
      file_name: A Python file.
      object_name: What the server is called there, with dots for attributes of objects; the
          first of `NAMES` that is a server when None.

    Raises:
      UsageMistake: if there is no such file or object, or it is no server, or a variable of the
          environment that it goes by has a value that it cannot have.
      Failure: if importing the file fails; the traceback is printed.

    """
    module = _import(Path(file_name))
    if object_name is not None:
        return _named(module, file_name, object_name)
    for name in NAMES:
        found = getattr(module, name, None)
        if is_server(found):
            return found
    raise UsageMistake(
        f"{file_name} has no server called {', '.join(NAMES[:-1])} or {NAMES[-1]}"
        + _suggestion(module, file_name)
    )


def _import(file: Path) -> ModuleType:
    if not file.is_file():
        raise UsageMistake(f"there is no file {file}")
    name = file.stem
    if name in sys.modules:
        # Not in place of a module that others use.
        name = f"_trio_mcp_served_{name}"
    path = file.absolute()
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageMistake(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Hints are resolved, and values pickled, by the name of their module.
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        # stdout is the wire as soon as the server runs.
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except SystemExit as exc:
        raise Failure(f"{file} ended the program while it was imported: {exc.code}") from exc
    except WrongVariable as exc:
        raise UsageMistake(str(exc)) from exc
    except Exception as exc:
        with spared(sys.stderr):
            traceback.print_exception(exc.with_traceback(_of_file(exc, path)))
        raise Failure(f"{file} cannot be imported: {type(exc).__name__}: {exc}") from exc
    return module


def _of_file(exc: BaseException, file: Path) -> TracebackType | None:
    """Leave out how we came to the file. A file that does not parse has no frame at all."""
    here = exc.__traceback__
    while here is not None and here.tb_frame.f_code.co_filename != str(file):
        here = here.tb_next
    return here


def _named(module: ModuleType, file_name: str, object_name: str) -> AnyServer:
    found: Any = module
    for part in object_name.split("."):
        if not hasattr(found, part):
            raise UsageMistake(f"{file_name} has no {object_name}{_suggestion(module, file_name)}")
        found = getattr(found, part)
    if not is_server(found):
        raise UsageMistake(
            f"{object_name} in {file_name} is a {type(found).__name__}, not an MCPServer or a "
            "Server"
        )
    return found


def is_server(value: object) -> TypeGuard[AnyServer]:
    """Whether this can be served."""
    return isinstance(value, MCPServer | Server)


def _suggestion(module: ModuleType, file_name: str) -> str:
    others = [name for name, value in vars(module).items() if is_server(value)]
    return f"; did you mean {file_name}:{others[0]}?" if others else ""
