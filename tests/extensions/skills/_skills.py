"""Skills on disk, and servers of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from trio_mcp.client import Client
from trio_mcp.extensions import SkillsClient, SkillsClientExtension
from trio_mcp.mcpserver import MCPServer
from trio_mcp.types import Request

if TYPE_CHECKING:
    from pathlib import Path

FORMS = "skill://forms/SKILL.md"


def head(name: str, description: str = "What it is for") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n"


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, as if that had been long ago."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


def write_forms(folder: Path) -> Path:
    return write(
        folder,
        {
            "forms/SKILL.md": head("forms", "Fill in forms") + "Body\n",
            "forms/references/FIELDS.md": "# Fields\r\n",
            "forms/references/a b%é.txt": "blank",
            "forms/logo.bin": b"\0\1\2",
        },
    )


def serve(extension: Any, **options: Any) -> MCPServer[Any]:
    return MCPServer("office", extensions=[extension], **options)


def connect(mcp: MCPServer[Any], **options: Any) -> Client:
    return Client(mcp, extensions=[SkillsClientExtension()], **options)


async def ask(client: Client, method: str, **params: Any) -> dict[str, Any]:
    request = Request(method=method, params=params)
    return await client.session.send_request(request, dict)


async def listed(client: Client) -> list[str]:
    return [skill.uri async for skill in SkillsClient(client, server="office").iter_skills()]


@attrs.define
class Tampering:
    """A middleware that changes what is answered to a method."""

    method: str
    change: Any

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        answer = await call_next(ctx)
        return self.change(answer) if ctx.method == self.method else answer
