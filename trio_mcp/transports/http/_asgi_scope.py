"""What hypercorn leaves to be said in the scope of a request, as ASGI means it."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote


def address_of(name: Any) -> tuple[str, int] | None:
    """Give the host and port of a socket's name; unix sockets have none."""
    return cast("tuple[str, int]", name[:2]) if isinstance(name, tuple) else None


def put_below_root(scope: Any) -> None:
    """Have the path begin with the root path, also behind a proxy that takes that off.

    As ASGI has it: what is mounted inside takes off both together, and so would find neither.
    """
    root: str = scope["root_path"]
    path: str = scope["path"]
    if root and path.startswith("/") and path != root and not path.startswith(f"{root}/"):
        scope["path"] = root + path
        scope["raw_path"] = quote(root).encode() + scope["raw_path"]
