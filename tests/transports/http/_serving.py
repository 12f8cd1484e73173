"""An ASGI application with all manners, served on a real socket, and raw clients for it."""

from __future__ import annotations

import datetime as dt
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import h2.config
import h2.connection
import h2.events
import trio

from trio_mcp.transports.http._serve import ServeOptions, serve_http_app

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from trio_mcp.transports.http._serve import HttpServing


LARGE = 4_000_000
"""Bytes of an answer in one piece, far more than systems keep between two sockets."""


class App:
    """Routes by path; remembers what happened."""

    def __init__(self) -> None:
        self.tick = trio.Event()
        self.disconnects = 0
        self.hook_calls = 0
        self.cancelled = 0
        self.running = 0
        self.sent = 0
        self.bodies: list[bytes] = []
        self.upgrades: list[str] = []
        self.release = trio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http", scope["type"]
        self.running += 1
        try:
            path = scope["path"].removeprefix(scope["root_path"])
            await getattr(self, path.strip("/").replace("-", "_"))(scope, receive, send)
        except trio.Cancelled:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    async def echo(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnects += 1
                return
            body += message["body"]
            more = message["more_body"]
        self.bodies.append(body)
        await answer(send, body)

    async def events(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"data: begin\n\n", "more_body": True})
        while True:
            await self.tick.wait()
            self.tick = trio.Event()
            await send(
                {"type": "http.response.body", "body": b"data: tick\n\n", "more_body": True}
            )

    async def watched(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"data: begin\n\n", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        self.disconnects += 1

    async def hooked(self, scope: Any, receive: Any, send: Any) -> None:
        gone = trio.Event()

        def count() -> None:
            self.hook_calls += 1
            gone.set()

        scope["extensions"]["trio_mcp"]["disconnect"](count)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"data: begin\n\n", "more_body": True})
        await gone.wait()
        scope["extensions"]["trio_mcp"]["disconnect"](count)

    async def hooked_echo(self, scope: Any, receive: Any, send: Any) -> None:
        def count() -> None:
            self.hook_calls += 1

        scope["extensions"]["trio_mcp"]["disconnect"](count)
        await self.echo(scope, receive, send)

    async def flood(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(10_000):
            await send({"type": "http.response.body", "body": bytes(10_000), "more_body": True})
            self.sent += 10_000
            if self.release.is_set():
                return

    async def large(self, scope: Any, receive: Any, send: Any) -> None:
        await answer(send, bytes(LARGE))

    async def early(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"7")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": b"too big"})

    async def hold(self, scope: Any, receive: Any, send: Any) -> None:
        await self.release.wait()
        await answer(send, b"held")

    async def unread(self, scope: Any, receive: Any, send: Any) -> None:
        await trio.sleep_forever()

    async def raise_before(self, scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("SECRET-BEFORE")

    async def raise_after(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        raise RuntimeError("SECRET-AFTER")

    async def raise_after_head(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("SECRET-HEAD")

    async def raise_group(self, scope: Any, receive: Any, send: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.raise_before, scope, receive, send)
            nursery.start_soon(trio.sleep_forever)

    async def silent(self, scope: Any, receive: Any, send: Any) -> None:
        pass

    async def two_parts(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})

    async def bad_header(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"x", b"a\nb")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def scope(self, scope: Any, receive: Any, send: Any) -> None:
        told = [
            scope["http_version"],
            scope["scheme"],
            scope["root_path"],
            scope["client"] is None,
        ]
        await answer(send, " ".join(map(str, told)).encode())


async def answer(send: Any, body: bytes, status: int = 200) -> None:
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(
    app: Any = None, **options: Any
) -> AsyncGenerator[tuple[HttpServing, Any], None]:
    """Serve until the block is left, which cancels."""
    app = App() if app is None else app
    options.setdefault("port", 0)
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, app, ServeOptions(**options))
        yield served, app
        nursery.cancel_scope.cancel()


class Raw:
    """A client that says what it likes."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.received = b""

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def get(self, path: str, *, body: bytes | None = None, extra: str = "") -> None:
        method = "GET" if body is None else "POST"
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{length}{extra}\r\n"
        await self.send(head.encode() + (body or b""))

    async def until(self, text: bytes) -> bytes:
        """Read until something has come; returns all up to it."""
        while text not in self.received:
            data = await self.stream.receive_some()
            if not data:
                raise AssertionError(f"ended without {text!r}: {self.received!r}")
            self.received += data
        before, found, self.received = self.received.partition(text)
        return before + found

    async def rest(self) -> bytes:
        """Read to the end of the connection."""
        try:
            while data := await self.stream.receive_some():
                self.received += data
        except trio.BrokenResourceError:
            pass
        return self.received


@asynccontextmanager
async def connected(served: HttpServing) -> AsyncGenerator[Raw, None]:
    host, _, port = served.url.partition("://")[2].rpartition(":")
    stream = await trio.open_tcp_stream(host.strip("[]"), int(port))
    async with stream:
        yield Raw(stream)


@asynccontextmanager
async def bystander(served: HttpServing, app: App) -> AsyncGenerator[Raw, None]:
    """Have a stream open that is still alive at the end of the block."""
    async with connected(served) as raw:
        await raw.get("/events")
        await raw.until(b"begin\n\n")
        yield raw
        app.tick.set()
        await raw.until(b"tick\n\n")


class RawHttp2:
    """An HTTP/2 client without manners."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        config = h2.config.H2Configuration(
            client_side=True,
            header_encoding=None,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self.h2 = h2.connection.H2Connection(config)
        self.seen: list[h2.events.Event] = []

    async def flush(self) -> None:
        await self.stream.send_all(self.h2.data_to_send())

    async def until(self, kind: type[h2.events.Event], stream_id: int | None = None) -> Any:
        """Read until an event comes, of a stream or of any."""
        while True:
            for event in self.seen:
                of = getattr(event, "stream_id", None)
                if isinstance(event, kind) and stream_id in {None, of}:
                    self.seen.remove(event)
                    return event
            data = await self.stream.receive_some()
            if not data:
                raise AssertionError(f"ended without {kind.__name__}: {self.seen}")
            self.seen += self.h2.receive_data(data)
            await self.flush()

    def head(self, path: bytes, method: bytes = b"GET") -> list[tuple[bytes, bytes]]:
        return [
            (b":method", method),
            (b":scheme", b"https"),
            (b":authority", b"x"),
            (b":path", path),
        ]


@asynccontextmanager
async def connected_http2(served: HttpServing) -> AsyncGenerator[RawHttp2, None]:
    host, _, port = served.url.partition("://")[2].rpartition(":")
    context = untrusting_context()
    context.set_alpn_protocols(["h2"])
    tcp = await trio.open_tcp_stream(host, int(port))
    stream = trio.SSLStream(tcp, context, server_hostname="localhost", https_compatible=True)
    async with stream:
        await stream.do_handshake()
        assert stream.selected_alpn_protocol() == "h2"
        client = RawHttp2(stream)
        client.h2.initiate_connection()
        await client.flush()
        yield client


async def until(condition: Any) -> None:
    # What is waited for happens behind a socket, which tells no event.
    while not condition():  # noqa: ASYNC110
        await trio.sleep(0.005)


def untrusting_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def make_certificate(folder: Path, password: str | None = None) -> dict[str, str]:
    """Write a certificate for localhost; returns the options that name it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encryption: Any = serialization.NoEncryption()
    if password is not None:
        encryption = serialization.BestAvailableEncryption(password.encode())
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )
    )
    return {"certfile": str(folder / "cert.pem"), "keyfile": str(folder / "key.pem")}
