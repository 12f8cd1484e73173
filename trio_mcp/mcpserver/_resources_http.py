"""A resource that is fetched from the web."""

from __future__ import annotations

import attrs

from ._resource_contents import JSON, is_textual
from ._resource_uris import check_web_address
from ._resources import Resource


@attrs.define(kw_only=True, eq=False, slots=False)
class HttpResource(Resource):
    """A resource that is fetched by HTTP, anew each time it is read.

    Attributes:
      url: Where it is. Redirects are not followed, so that a client learns nothing of other
        places that this server can reach.

    Raises:
      ValueError: if the URL is not one of http or https.

    """

    url: str

    def __attrs_post_init__(self) -> None:
        check_web_address(self.url)
        super().__attrs_post_init__()

    def guess_mime_type(self) -> str:
        return JSON

    async def read(self) -> str | bytes:
        """Fetch it; text if the answer's type is one of text, else bytes.

        Raises:
          httpx.HTTPError: if it cannot be fetched. Clients are not told why.

        """
        import httpx  # noqa: PLC0415 - heavy, and most servers need none of it

        async with httpx.AsyncClient() as client:
            response = await client.get(self.url)
        # A redirect raises too: its body is not what was asked for.
        response.raise_for_status()
        textual = is_textual(response.headers.get("content-type", self.mime_type))
        return response.text if textual else response.content
