"""HTTP+SSE, the HTTP carrier of 2024-11-05: one stream for what the server says, POSTs to it."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import attrs
import trio

from trio_mcp._checks import check_number, check_text
from trio_mcp._codec import parse_frame
from trio_mcp._codec._lines import MAX_LINE_SIZE
from trio_mcp._codec._sse import EventSplitter, EventTooLong
from trio_mcp._rpc._block import guarded_block
from trio_mcp._rpc._channel import Channel
from trio_mcp._rpc._link import CallOptions
from trio_mcp._rpc._nursery import finish_within, open_background_nursery
from trio_mcp._rpc._time_limit import TimeLimit
from trio_mcp.errors import ConnectionLost

from ._authorizing import Authorizer, check_auth
from ._body import Body
from ._client_answer import media_type
from ._client_notices import NOTICE_TIMEOUT
from ._endpoint import (
    Endpoint,
    check_headers,
    check_url,
    joined,
    make_client,
    refused,
    url_within,
)
from ._http_errors import quoted, shown
from ._sse_posts import SsePosts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from trio_mcp._codec import Frame
    from trio_mcp._rpc._channel import Undelivered
    from trio_mcp.types import JSONRPCMessage

_GET: Final = {"accept": "text/event-stream", "accept-encoding": "identity"}


class SseChannel(Channel):
    """Both directions of one connection over HTTP+SSE; see `sse_client`."""

    __slots__ = ("_closed", "_endpoint", "_lost", "_posts", "_reading", "_received", "_taken")

    def __init__(self, endpoint: Endpoint, nursery: trio.Nursery) -> None:
        self._endpoint = endpoint
        self._posts = SsePosts(nursery, self._take_undelivered)
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
        """See `Channel.send`. Each message is a POST of its own, which is not waited for.

        A request that the server does not take is answered by an `Undelivered`.
        """
        if self._closed:
            await trio.lowlevel.checkpoint()
            raise trio.ClosedResourceError("this channel is closed")
        # First the deed: the last notices are sent when all is cancelled already.
        await self._posts.start(messages)
        await trio.lowlevel.cancel_shielded_checkpoint()

    async def finish(self) -> None:
        """Have the last notices sent, in bounded time, also when cancelled."""
        with finish_within(NOTICE_TIMEOUT):
            await self._posts.finish()

    async def aclose(self) -> None:
        """Close both directions. Does not wait."""
        self._closed = True
        self._reading.cancel(reason="the channel was closed")
        self._taken.close()
        await trio.lowlevel.checkpoint()

    async def _take_undelivered(self, answer: Undelivered) -> None:
        # Where nobody reads any more, nobody waits for an answer.
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._received.send([answer])

    async def run(  # noqa: ASYNC114, ASYNC128 - `_read` reports; only `sse_client` calls it
        self, max_size: int, limit: TimeLimit, task_status: trio.TaskStatus[str]
    ) -> None:
        """Read what the server says; reports where it wants to be posted to.

        Args:
          max_size: Of an event, in bytes.
          limit: For the report; it stands still while a token is fetched.
          task_status: Takes the report.

        Raises:
          ConnectionLost: if it does not say that.

        """
        with self._reading, self._received:
            response = await self._endpoint.send("GET", _GET, limit=limit)
            what = f"GET {shown(self._endpoint.url)}"
            if response.status_code != 200 or media_type(response) != "text/event-stream":
                raise await refused(response, what)
            body = Body(response, what)
            try:
                url = str(response.request.url)
                await self._read(body, url, EventSplitter(max_size), task_status)
            finally:
                await body.leave()  # noqa: ASYNC102 - it shields itself, bounded

    async def _read(  # noqa: ASYNC114 - as above
        self, body: Body, url: str, splitter: EventSplitter, task_status: trio.TaskStatus[str]
    ) -> None:
        try:
            while (chunk := await body.next()) is not None:
                frames: list[Frame] = []
                for event in splitter.feed(chunk):
                    text = event.data
                    if event.event == "endpoint" and self._posts.endpoint is None:
                        task_status.started(self._take_endpoint(url, text))
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
        if self._posts.endpoint is None:
            raise ConnectionLost(
                f"{self._lost.message}, and has not said where messages are to be posted"
            )

    def _take_endpoint(self, url: str, data: bytes) -> str:
        text = data.decode("utf-8", "replace").strip()
        target = url_within(url, text)
        if target is None:
            elsewhere = joined(url, text)
            why = "is no URL"
            if elsewhere is not None:
                why = f"leads to {quoted(elsewhere)}, of another origin"
            raise ConnectionLost(
                f"GET {shown(url)}: the server wants messages to be posted to {quoted(text)}, "
                f"which {why}"
            )
        self._posts.endpoint = attrs.evolve(self._endpoint, url=target)
        return target


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
          ``headers`` and ``auth`` (None for an `Authorizer`, which needs no client that knows it).
      auth: What signs the requests: `trio_mcp.OAuth` and its like (any `Authorizer`), an
          ``httpx.Auth``, or a name and a password.
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
        check_headers(headers)
    check_auth(auth, url)
    check_number("timeout", timeout, above=0)
    check_number("sse_read_timeout", sse_read_timeout, above=0)
    if httpx_client_factory is None:
        client = make_client(url)
        endpoint = Endpoint(client, url, headers or {}, auth, timeout)
    else:
        ours = auth if isinstance(auth, Authorizer) else None
        client = httpx_client_factory(headers=headers, auth=auth if ours is None else None)
        endpoint = Endpoint(client, url, {}, ours, timeout, is_own=False)
    async with client, open_background_nursery() as nursery:
        channel = SseChannel(endpoint, nursery)
        where = await _start(nursery, channel, timeout)
        if on_session_created is not None:
            named = parse_qs(urlsplit(where).query)
            for session_id in named.get("session_id", named.get("sessionId", []))[:1]:
                on_session_created(session_id)
        try:
            yield channel
        finally:
            await channel.finish()  # noqa: ASYNC102 - it shields itself, bounded
            await channel.aclose()  # noqa: ASYNC102 - does not wait


async def _start(nursery: trio.Nursery, channel: SseChannel, seconds: float) -> str:
    with trio.CancelScope() as scope:
        limit = TimeLimit(CallOptions(timeout=seconds), scope)
        limit.start()
        job = (channel.run, MAX_LINE_SIZE, limit)
        where: str = await nursery.start(*job, name="HTTP+SSE reader")
        return where
    raise ConnectionLost(
        f"The server did not say within {seconds:g} s where messages are to be posted"
    )
