"""HTTP+SSE, the HTTP carrier of 2024-11-05: one stream for what the server says, POSTs to it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urljoin, urlsplit

import attrs
import trio

from trio_mcp._checks import check_mapping, check_number, check_text
from trio_mcp._codec import dump_message, parse_frame
from trio_mcp._codec._lines import MAX_LINE_SIZE
from trio_mcp._codec._sse import EventSplitter, EventTooLong
from trio_mcp._rpc._block import guarded_block
from trio_mcp._rpc._channel import Channel
from trio_mcp._rpc._nursery import open_background_nursery
from trio_mcp.errors import ConnectionLost

from ._body import Body
from ._client_answer import media_type
from ._endpoint import Endpoint, check_url, make_client, origin_of, refused
from ._http_errors import shown

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from trio_mcp._codec import Frame
    from trio_mcp.types import JSONRPCMessage

_GET: Final = {"accept": "text/event-stream", "accept-encoding": "identity"}
_POST: Final = {"content-type": "application/json", "accept-encoding": "identity"}


class SseChannel(Channel):
    """Both directions of one connection over HTTP+SSE; see `sse_client`."""

    __slots__ = ("_closed", "_endpoint", "_lost", "_post_to", "_reading", "_received", "_taken")

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._post_to: Endpoint | None = None
        # Size 0: what is not received is not read, so the server waits.
        self._received, self._taken = trio.open_memory_channel[list["Frame"]](0)
        self._reading = trio.CancelScope()
        self._lost: ConnectionLost | None = None
        self._closed = False

    async def receive(self) -> list[Frame]:
        """See `Channel.receive`."""
        if self._closed:
            await trio.lowlevel.checkpoint()
            raise trio.ClosedResourceError("this channel is closed")
        try:
            return await self._taken.receive()
        except trio.EndOfChannel:
            raise trio.EndOfChannel from self._lost

    async def send(self, messages: list[JSONRPCMessage]) -> None:
        """See `Channel.send`. Each message is a POST, and the next one waits for its status."""
        await trio.lowlevel.checkpoint()
        if self._closed:
            raise trio.ClosedResourceError("this channel is closed")
        assert self._post_to is not None
        for message in messages:
            try:
                await self._post(self._post_to, dump_message(message))
            except ConnectionLost as exc:
                raise trio.BrokenResourceError(str(exc)) from exc

    async def aclose(self) -> None:
        """Close both directions. Does not wait."""
        self._closed = True
        self._reading.cancel(reason="the channel was closed")
        self._taken.close()
        await trio.lowlevel.checkpoint()

    async def _post(self, endpoint: Endpoint, content: bytes) -> None:
        response = await endpoint.send("POST", _POST, content)
        what = f"POST {shown(endpoint.url)}"
        if response.status_code >= 300:
            raise await refused(response, what)
        body = Body(response, what)
        try:
            await body.finish()
        finally:
            await body.leave()  # noqa: ASYNC102 - it shields itself, bounded

    async def run(  # noqa: ASYNC114, ASYNC128 - `_read` reports; only `sse_client` calls it
        self, max_size: int, task_status: trio.TaskStatus[str]
    ) -> None:
        """Read what the server says; reports where it wants to be posted to.

        Raises:
          ConnectionLost: if it does not say that.

        """
        with self._reading, self._received:
            response = await self._endpoint.send("GET", _GET)
            what = f"GET {shown(self._endpoint.url)}"
            if response.status_code != 200 or media_type(response) != "text/event-stream":
                raise await refused(response, what)
            body = Body(response, what)
            try:
                await self._read(body, EventSplitter(max_size), task_status)
            finally:
                await body.leave()  # noqa: ASYNC102 - it shields itself, bounded

    async def _read(  # noqa: ASYNC114 - as above
        self, body: Body, splitter: EventSplitter, task_status: trio.TaskStatus[str]
    ) -> None:
        try:
            while (chunk := await body.next()) is not None:
                frames: list[Frame] = []
                for event in splitter.feed(chunk):
                    text = event.data
                    if event.event == "endpoint" and self._post_to is None:
                        task_status.started(self._take_endpoint(text.decode("utf-8", "replace")))
                    elif event.event == "message" and text:
                        frames.append(parse_frame(text))
                if frames:
                    await self._received.send(frames)
            self._lost = ConnectionLost(f"{body.what}: the server ended the stream")
        except ConnectionLost as exc:
            self._lost = exc
        except EventTooLong as exc:
            self._lost = ConnectionLost(f"{body.what}: {exc}")
        except trio.BrokenResourceError:
            return  # this side was closed
        if self._post_to is None:
            raise ConnectionLost(
                f"{self._lost.message}, and has not said where messages are to be posted"
            )

    def _take_endpoint(self, text: str) -> str:
        url = urljoin(self._endpoint.url, text.strip())
        if origin_of(url) != origin_of(self._endpoint.url):
            raise ConnectionLost(
                f"GET {shown(self._endpoint.url)}: the server wants messages to be posted to "
                f"{shown(url)}, which is another origin"
            )
        self._post_to = attrs.evolve(self._endpoint, url=url)
        return url


@guarded_block("sse_client")
@asynccontextmanager
async def sse_client(
    url: str,
    headers: Mapping[str, str] | None = None,
    timeout: float = 5.0,
    sse_read_timeout: float = 300.0,
    httpx_client_factory: Callable[..., Any] | None = None,
    auth: Any = None,
    on_session_created: Callable[[str], None] | None = None,
) -> AsyncGenerator[SseChannel, None]:
    """Reach a server over HTTP+SSE, the HTTP transport of 2024-11-05.

    Newer servers speak Streamable HTTP; ``Client("http://…")`` tries this where they do not.

    Args:
      url: Of the stream.
      headers: Further headers of each request.
      timeout: Seconds to reach the server, and for it to say where messages are to be posted.
      sse_read_timeout: There because people know it, and limits nothing: a stream may be silent
          for as long as it likes.
      httpx_client_factory: Makes the HTTP client in place of this package; it is called with
          ``headers`` and ``auth``.
      auth: What signs the requests: an ``httpx.Auth``, or a name and a password.
      on_session_created: Called with the id of the session, where the server tells one in the
          address for messages.

    Raises:
      ConnectionLost: if the server is not reached, or is none of this kind.

    Cancellation:
      Nothing is left open.

    """
    check_text("url", url)
    check_url(url)
    if headers is not None:
        check_mapping("headers", headers)
    check_number("timeout", timeout, least=0)
    check_number("sse_read_timeout", sse_read_timeout, least=0)
    if httpx_client_factory is None:
        client = make_client(url)
        endpoint = Endpoint(client, url, headers or {}, auth, timeout)
    else:
        client = httpx_client_factory(headers=headers, auth=auth)
        endpoint = Endpoint(client, url, {}, None, timeout)
    async with client, open_background_nursery() as nursery:
        channel = SseChannel(endpoint)
        where = await _start(nursery, channel, timeout)
        if on_session_created is not None:
            named = parse_qs(urlsplit(where).query)
            for session_id in named.get("session_id", named.get("sessionId", []))[:1]:
                on_session_created(session_id)
        try:
            yield channel
        finally:
            await channel.aclose()  # noqa: ASYNC102 - does not wait


async def _start(nursery: trio.Nursery, channel: SseChannel, seconds: float) -> str:
    with trio.move_on_after(seconds):
        where: str = await nursery.start(channel.run, MAX_LINE_SIZE, name="HTTP+SSE reader")
        return where
    raise ConnectionLost(
        f"The server did not say within {seconds:g} s where messages are to be posted"
    )
