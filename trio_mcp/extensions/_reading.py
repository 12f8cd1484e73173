"""Reading what an extension keeps as one resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from trio_mcp._codec import excerpt
from trio_mcp.client import Client
from trio_mcp.errors import InvalidResponse
from trio_mcp.types import InputRequiredResult

if TYPE_CHECKING:
    from trio_mcp.client import ClientSession
    from trio_mcp.types import BlobResourceContents, TextResourceContents


async def read_one(
    client: Client | ClientSession, uri: str, *, cache_mode: Literal["use", "bypass"] = "use"
) -> TextResourceContents | BlobResourceContents:
    """Read a resource, and check that what came is that one, and that alone.

    Args:
      client: Who asks. Only a `Client` answers what the server asks in between.
      uri: Of the resource.
      cache_mode: Whether a `Client` may answer out of its cache; a session has none.

    Raises:
      InvalidResponse: if something else came.
      MCPError: as `Client.read_resource`.

    """
    if isinstance(client, Client):
        result = await client.read_resource(uri, cache_mode=cache_mode)
    else:
        answer = await client.read_resource(uri)
        # It was not told to return one.
        assert not isinstance(answer, InputRequiredResult)
        result = answer
    contents = result.contents
    if len(contents) != 1 or contents[0].uri != uri:
        raise InvalidResponse(
            f"resources/read: the contents of {excerpt(uri)} alone were expected, got those of "
            f"{[excerpt(each.uri) for each in contents[:3]]}"
        )
    return contents[0]
