"""Resources: what a server lets clients read, and the kinds that need no file system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

import attrs
import trio

from trio_mcp import types
from trio_mcp._checks import check_kind, check_scope_names, check_text
from trio_mcp._protocol._meta import check_meta_keys

from ._resource_contents import BINARY, TEXT, ReadResourceContents, contents_of
from ._resource_uris import check_uri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.types import Annotations, Icon
    from trio_mcp.types._base import JsonObject

    from ._context import Context


@attrs.define(kw_only=True, eq=False, slots=False)
class Resource(ABC):
    """Something to read under a fixed URI. Subclasses say how by `read`.

    Attributes:
      uri: An absolute URI.
      name: For programs; the URI if it is not given.
      title: For people.
      description: What it holds, for the model.
      mime_type: The MIME type of its contents. A declared one is listed and read whatever the
        contents are; without one it is guessed, and empty if nothing tells it.
      declared_mime_type: What was declared, or None.
      icons: For user interfaces.
      annotations: Whom it is for, and how much it matters.
      meta: What ``_meta`` says, both in the list and with the contents.
      size: In bytes, where that is known beforehand.
      required_scopes: What a reader over a network has to be allowed.

    Raises:
      ValueError: if the URI is none.

    """

    uri: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str = ""
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: JsonObject | None = None
    size: int | None = None
    required_scopes: Sequence[str] = ()
    declared_mime_type: str | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        check_uri(self.uri)
        check_scope_names("required_scopes", self.required_scopes)
        check_meta_keys("meta", self.meta)
        self._fill_in()

    def _fill_in(self) -> None:
        self.name = self.name or self.uri
        self.declared_mime_type = self.mime_type or None
        self.mime_type = self.mime_type or self.guess_mime_type()

    def guess_mime_type(self) -> str:
        """Guess the MIME type for the list, since none was declared."""
        return TEXT

    @abstractmethod
    async def read(self) -> str | bytes:
        """Read it: text, or bytes, which clients get in Base64.

        Raises:
          ResourceError: with a text for the client. The text of other exceptions is not told.

        """

    async def read_contents(self, context: Context[Any, Any]) -> list[ReadResourceContents]:  # noqa: ARG002 - for resources that ask or report
        """Read it within a request. What `read` gives, unless a subclass has more to say."""
        # Subclasses are other people's: checked, whatever their hints say.
        content = cast("Any", await self.read())
        if not isinstance(content, (str, bytes)):
            kind = type(self).__name__
            raise TypeError(
                f"{kind}.read() must give str or bytes, it gave {type(content).__name__}"
            )
        return contents_of(content, self.declared_mime_type or self._guess_for(content), self.meta)

    def _guess_for(self, content: str | bytes) -> str | None:
        guess = self.guess_mime_type()
        # "text/plain" is the guess of those who know nothing; the contents know more.
        return None if guess == TEXT and isinstance(content, bytes) else guess

    def to_wire(self) -> types.Resource:
        """Make the entry of ``resources/list``."""
        return types.Resource(
            uri=self.uri,
            name=self.name or self.uri,
            title=self.title,
            description=self.description or None,
            mime_type=self.mime_type or None,
            icons=self.icons,
            annotations=self.annotations,
            meta=self.meta,
            size=self.size,
        )


@attrs.define(kw_only=True, eq=False, slots=False)
class TextResource(Resource):
    """A resource that is a string.

    Attributes:
      text: Its text.

    """

    text: str

    def __attrs_post_init__(self) -> None:
        check_text("text", self.text)
        super().__attrs_post_init__()
        if self.size is None:
            self.size = len(self.text.encode())

    async def read(self) -> str:
        await trio.lowlevel.checkpoint()
        return self.text


@attrs.define(kw_only=True, eq=False, slots=False)
class BinaryResource(Resource):
    """A resource that is a row of bytes.

    Attributes:
      data: Its bytes.

    """

    data: bytes

    def __attrs_post_init__(self) -> None:
        check_kind("data", self.data, (bytes, bytearray, memoryview))
        super().__attrs_post_init__()
        if self.size is None:
            self.size = len(self.data)

    def guess_mime_type(self) -> str:
        return BINARY

    async def read(self) -> bytes:
        await trio.lowlevel.checkpoint()
        return self.data
