"""Serving in a nursery of the caller: where it listens, how it starts and how it ends."""

from __future__ import annotations

import logging
import socket
import ssl
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio
import trio.testing
from starlette.applications import Starlette
from starlette.routing import Mount

from tests._limits import SOON
from trio_mcp import MCPServer
from trio_mcp.transports.http._listeners import CannotServe, tls_context
from trio_mcp.transports.http._serve import ServeOptions, serve_http_app

from ._serving import App, Raw, answer, bystander, connected, make_certificate, serving, until

if TYPE_CHECKING:
    from pathlib import Path


async def get(url: str, **options: Any) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, **options) as client:
        return await client.get(url)


# Where


async def test_free_port_is_reported_and_served():
    async with serving() as (served, _):
        assert served.url.startswith("http://127.0.0.1:")
        assert not served.url.endswith(":0")
        assert (await get(f"{served.url}/scope", http1=True)).text.startswith("1.1 http ")


async def test_several_addresses_are_served_at_once(tmp_path):
    path = tmp_path / "socket"
    binds = ["127.0.0.1:0", "[::1]:0", f"unix:{path}"]
    async with serving(binds=binds) as (served, _):
        four, six, unix = served.urls
        assert four.startswith("http://127.0.0.1:")
        assert six.startswith("http://[::1]:")
        assert unix == f"unix:{path}"
        assert (await get(f"{four}/scope")).status_code == 200
        assert (await get(f"{six}/scope")).status_code == 200
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        answer = await get("http://anything/scope", transport=transport)
        # Nobody has an address there.
        assert answer.text == "1.1 http  True"
    assert not path.exists()


async def test_a_socket_that_was_inherited_is_listened_on():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        async with serving(binds=[f"fd:{listening.detach()}"]) as (served, _):
            assert served.urls == (f"http://127.0.0.1:{port}",)
            assert (await get(f"{served.url}/scope")).status_code == 200


@pytest.mark.parametrize(
    ("kind", "words"),
    [("none", "Bad file descriptor"), ("file", "non-socket"), ("silent", "no socket that is lis")],
)
async def test_what_was_inherited_has_to_be_listened_on(tmp_path, kind, words):
    with socket.socket() as silent, (tmp_path / "file").open("w") as file:
        number = {"none": 12_345, "file": file.fileno(), "silent": silent.fileno()}[kind]
        with pytest.raises(OSError, match=f"cannot listen on fd:{number}: .*{words}"):
            await serve_http_app(App(), ServeOptions(binds=[f"fd:{number}"]))
        silent.getsockname()  # it is still its owner's


async def test_nothing_is_left_where_one_of_several_addresses_cannot_be_had(tmp_path):
    path = tmp_path / "socket"
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.create_server(("127.0.0.1", 0)) as inherited,
    ):
        number = inherited.fileno()
        binds = [f"unix:{path}", f"fd:{number}", f"127.0.0.1:{taken.getsockname()[1]}"]
        with pytest.raises(OSError, match="in use"):
            await serve_http_app(App(), ServeOptions(binds=binds))
        assert not path.exists()
        # It is still its owner's.
        assert inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


async def test_a_server_that_stops_leaves_its_unix_socket_to_the_next_one(tmp_path):
    path = tmp_path / "socket"
    app = App()
    async with trio.open_nursery() as nursery:
        first = await nursery.start(serve_http_app, app, ServeOptions(unix_socket=path))
        async with await trio.open_unix_socket(path) as stream:
            raw = Raw(stream)
            await raw.send(b"GET /hold HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: app.running == 1)
            first.stop()
            await until(lambda: not path.exists())
            async with serving(unix_socket=path):
                app.release.set()
                await raw.until(b"held")
                await until(lambda: not nursery.child_tasks)
                assert path.is_socket()


async def test_unix_socket_that_a_dead_server_left_is_replaced(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    async with serving(unix_socket=path) as (_, _):
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        assert (await get("http://x/scope", transport=transport)).status_code == 200


@pytest.mark.parametrize("what", ["server", "file"])
async def test_unix_socket_of_somebody_else_is_left_alone(tmp_path, what):
    path = tmp_path / "socket"
    if what == "file":
        path.write_text("precious")
        await assert_refused(path)
        assert path.read_text() == "precious"
        return
    async with serving(unix_socket=path):
        await assert_refused(path)
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        assert (await get("http://x/scope", transport=transport)).status_code == 200


async def assert_refused(path: Path) -> None:
    with pytest.raises(OSError, match="in use"):
        await serve_http_app(App(), ServeOptions(unix_socket=path))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"keyfile_password": "right"}, None),
        ({"keyfile_password": "WRONG"}, "keyfile_password is not the password of the key"),
        ({}, "the key has a password, and no keyfile_password is given"),
        ({"keyfile": "of-another"}, "key values mismatch"),
        ({"keyfile": "cert"}, "there is no private key in "),
        ({"keyfile": "nowhere"}, "No such file or directory"),
    ],
)
def test_what_is_wrong_with_the_files_for_tls_is_said(tmp_path, given, says):
    files = make_certificate(tmp_path, "right")
    other = tmp_path / "other"
    other.mkdir()
    names = {
        "of-another": make_certificate(other)["keyfile"],
        "cert": files["certfile"],
        "nowhere": tmp_path / "nowhere",
    }
    keyfile = names.get(given.get("keyfile"), files["keyfile"])
    password = given.get("keyfile_password")
    if says is None:
        tls_context(files["certfile"], keyfile, password, http2=False)
        return
    with pytest.raises(CannotServe) as caught:
        tls_context(files["certfile"], keyfile, password, http2=False)
    assert says in caught.value.strerror
    assert "WRONG" not in str(caught.value)


@pytest.mark.case("C019")
async def test_port_that_is_taken_is_an_error_of_the_caller():
    async with serving() as (served, _):
        port = int(served.url.rpartition(":")[2])
        with pytest.RaisesGroup(OSError):
            async with trio.open_nursery() as nursery:
                await nursery.start(serve_http_app, App(), ServeOptions(port=port))


async def test_no_address_is_kept_when_another_cannot_be_had():
    async with serving() as (served, _):
        taken = int(served.url.rpartition(":")[2])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            free = probe.getsockname()[1]
        binds = [f"127.0.0.1:{free}", f"127.0.0.1:{taken}"]
        with pytest.raises(OSError):
            await serve_http_app(App(), ServeOptions(binds=binds))
        async with serving(port=free):
            pass


@pytest.mark.parametrize("password", [None, "SECRET"])
async def test_tls_with_a_certificate_from_files(tmp_path, password):
    files = make_certificate(tmp_path, password)
    async with serving(**files, keyfile_password=password) as (served, _):
        port = served.url.rpartition(":")[2]
        assert served.url == f"https://127.0.0.1:{port}"
        context = ssl.create_default_context(cafile=files["certfile"])
        answer = await get(f"https://localhost:{port}/scope", verify=context, http2=True)
        assert answer.text == "1.1 https  False"


async def test_http2_is_offered_when_asked_for(tmp_path):
    files = make_certificate(tmp_path)
    async with serving(**files, http2=True) as (served, _):
        port = served.url.rpartition(":")[2]
        context = ssl.create_default_context(cafile=files["certfile"])
        answer = await get(f"https://localhost:{port}/scope", verify=context, http2=True)
        assert answer.text == "2 https  False"
        # Others are served, too.
        answer = await get(f"https://localhost:{port}/scope", verify=context)
        assert answer.text == "1.1 https  False"


async def test_wrong_password_is_an_error_and_no_question_at_the_terminal(tmp_path):
    files = make_certificate(tmp_path, "right")
    with pytest.raises(OSError, match=r"cert\.pem and .*key\.pem, cannot be read"):
        await serve_http_app(App(), ServeOptions(**files, port=0))


@pytest.mark.parametrize(
    ("root_path", "told"), [("/mounted/", "/mounted"), ("/a/b", "/a/b"), ("/", ""), ("", "")]
)
async def test_root_path_reaches_the_application(root_path, told):
    async with serving(root_path=root_path) as (served, _):
        assert (await get(f"{served.url}/scope")).text == f"1.1 http {told} False"


@pytest.mark.parametrize("is_stripped", [False, True])
@pytest.mark.parametrize("mounted_at", ["", "/tools"])
async def test_a_proxy_may_take_the_root_path_off_or_not(mounted_at, is_stripped):
    paths = []

    async def app(scope, receive, send):
        assert scope["type"] == "http", "no lifespan"
        paths.append((scope["root_path"], scope["path"], scope["raw_path"]))
        await answer(send, b"")

    host = Starlette(routes=[Mount(mounted_at, app)]) if mounted_at else app
    asked = mounted_at + "/r%C3%A4d%2F"
    async with serving(host, root_path="/pre/at") as (served, _):
        url = served.url + ("" if is_stripped else "/pre/at") + asked
        assert (await get(url)).status_code == 200
    raw = b"/pre/at" + asked.encode()
    assert paths == [(f"/pre/at{mounted_at}", f"/pre/at{mounted_at}/räd/", raw)]


@pytest.mark.parametrize("path", ["/tools/mcp", "/pre/tools/mcp"])
async def test_an_endpoint_is_found_below_a_root_path_and_a_mount(path):
    # What is taken off is the mount's path as well.
    endpoint = MCPServer("tests").streamable_http_app()
    routes = [Mount("/tools", endpoint)]

    @asynccontextmanager
    async def lifespan(app):
        async with endpoint.session_manager.run():
            yield

    host = Starlette(routes=routes, lifespan=lifespan)
    async with serving(host, root_path="/pre") as (served, _):
        found = await get(served.url + path)
        # It has no session, and was found.
        assert "Mcp-Session-Id is missing" in found.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": -1}, "port"),
        (
            {"port": 65_536},
            "port: expected a whole number of at least 0 and at most 65535, got 65536",
        ),
        ({"port": "80"}, "port"),
        ({"host": None}, "host"),
        ({"binds": "127.0.0.1:80"}, "binds: expected several"),
        ({"binds": ["nonsense"]}, "binds: expected 'host:port'"),
        ({"binds": ["fd:x"]}, "binds: expected a number after 'fd:'"),
        ({"binds": ["fd:-1"]}, "binds: expected a number after 'fd:'"),
        ({"root_path": None}, "root_path: expected str, got None"),
        *(
            ({"root_path": path}, "root_path: expected nothing, or a path with a slash first")
            for path in ("api", "//api", "/a b", "/api?x", "/api#x", "/%2F", "/caf\u00e9", " ")
        ),
        ({"http2": True}, "needs TLS: give certfile, too"),
        ({"keyfile": "key.pem"}, "needs TLS: give certfile, too"),
        ({"max_connections": 0}, "max_connections"),
        ({"host": ""}, "host: expected a host, such as 0.0.0.0 or :: for every"),
        ({"binds": ["127.0.0.1:0", ":0"]}, "binds: expected a host, .* got ':0'"),
        ({"binds": ["[]:0"]}, r"binds: expected a host, .* got '\[\]:0'"),
        # Each would be a server that serves nobody.
        *(
            ({f"{name}_timeout": seconds}, f"{name}_timeout: expected a number above 0")
            for name in ("head", "body", "write", "keep_alive")
            for seconds in (0, -1)
        ),
        ({"graceful_timeout": -1}, "graceful_timeout: expected a number of at least 0"),
        ({"write_timeout": "3"}, "write_timeout"),
    ],
)
def test_wrong_option_is_refused_where_it_is_given(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ServeOptions(**options)


def test_password_is_not_shown():
    assert "SECRET" not in repr(ServeOptions(keyfile_password="SECRET"))


# The lifespan


class Living(App):
    def __init__(self) -> None:
        super().__init__()
        self.story: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.live(scope, receive, send)
            return
        self.story.append("request")
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.story.append("request ended")

    async def live(self, scope: Any, receive: Any, send: Any) -> None:
        self.story.append((await receive())["type"])
        scope["state"]["greeting"] = "hello"
        await send({"type": "lifespan.startup.complete"})
        self.story.append((await receive())["type"])
        await send({"type": "lifespan.shutdown.complete"})

    async def state(self, scope: Any, receive: Any, send: Any) -> None:
        from ._serving import answer

        await answer(send, scope["state"]["greeting"].encode())


@pytest.mark.parametrize("graceful", [True, False])
async def test_lifespan_begins_before_the_first_request_and_ends_after_the_last(graceful):
    app = Living()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        assert app.story == ["lifespan.startup"]
        assert (await get(f"{served.url}/state")).text == "hello"
        async with connected(served) as raw:
            await raw.get("/hold")
            await until(lambda: app.story[-1] == "request")
            if graceful:
                served.stop()
                await trio.testing.wait_all_tasks_blocked(0.01)
                app.release.set()
                await raw.until(b"held")
            else:
                nursery.cancel_scope.cancel()
    assert app.story == [
        "lifespan.startup",
        *["request", "request ended"] * 2,
        "lifespan.shutdown",
    ]


@pytest.mark.case("C019")
@pytest.mark.parametrize("says_so_first", [True, False])
async def test_lifespan_that_raises_is_an_error_of_the_caller(says_so_first):
    class Failing(Living):
        async def live(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            if says_so_first:
                await send({"type": "lifespan.startup.failed", "message": "no database"})
            raise LookupError("no database")

    with pytest.raises(LookupError, match="no database"):
        await serve_http_app(Failing(), ServeOptions(port=0))


async def test_lifespan_that_says_that_it_failed_is_an_error_of_the_caller():
    class Failing(Living):
        async def live(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(RuntimeError, match="cannot start: no database"):
        await serve_http_app(Failing(), ServeOptions(port=0))


@pytest.mark.parametrize("way", ["raises", "returns"])
async def test_application_without_a_lifespan_is_served(way):
    class Without(Living):
        async def live(self, scope: Any, receive: Any, send: Any) -> None:
            if way == "raises":
                raise TypeError("unknown scope")

    async with serving(Without()) as (served, _):
        assert (await get(f"{served.url}/scope")).status_code == 200


async def test_lifespan_that_fails_at_its_end_is_an_error_of_the_caller():
    class Failing(Living):
        async def live(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            raise LookupError("cannot close")

    with pytest.RaisesGroup(LookupError):
        async with trio.open_nursery() as nursery:
            served = await nursery.start(serve_http_app, Failing(), ServeOptions(port=0))
            served.stop()


@pytest.mark.parametrize("way", ["raises", "says that it failed", "says that it has ended"])
async def test_a_lifespan_that_ends_while_the_application_is_served_ends_that(way, caplog):
    fail = trio.Event()

    class Failing(Living):
        async def live(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await fail.wait()
            if way == "raises":
                raise LookupError("the database is gone")
            kind = "failed" if "failed" in way else "complete"
            await send({"type": f"lifespan.shutdown.{kind}", "message": "no database"})

    app = Failing()

    async def serve(*, task_status: Any) -> None:  # noqa: ASYNC128 - what it serves does
        raises = pytest.raises(LookupError, match="is gone") if way == "raises" else nullcontext()
        with raises:
            await serve_http_app(app, ServeOptions(port=0), task_status=task_status)

    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            served = await nursery.start(serve)
            async with connected(served) as raw:
                await raw.get("/hold")
                await until(lambda: app.story == ["request"])
                fail.set()
                assert await raw.rest() == b""
    assert app.cancelled == 1
    logged = [each.message for each in caplog.records if each.levelno == logging.ERROR]
    assert ["no database" in each for each in logged] == [True] * ("failed" in way)


async def test_an_application_that_does_not_care_for_the_end_is_served_on():
    class Brief(Living):
        async def live(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "lifespan.startup.complete"})

    async with serving(Brief()) as (served, _):
        await trio.testing.wait_all_tasks_blocked()
        assert (await get(f"{served.url}/scope")).status_code == 200


async def test_start_that_hangs_can_be_cancelled():
    class Hanging(Living):
        async def live(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await trio.sleep_forever()

    with trio.move_on_after(0.1) as scope:
        await serve_http_app(Hanging(), ServeOptions(port=0))
    assert scope.cancelled_caught


async def test_end_that_hangs_is_bounded(autojump_clock):
    class Hanging(Living):
        async def live(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, Hanging(), ServeOptions(port=0))
        before = trio.current_time()
        served.stop()
    assert trio.current_time() - before == pytest.approx(10, abs=0.1)


# Stopping


@pytest.mark.case("C049")
async def test_cancelling_closes_open_streams_at_once(capfd):
    app = App()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        async with connected(served) as stream, connected(served) as idle:
            await stream.get("/events")
            await stream.until(b"begin\n\n")
            await idle.get("/echo", body=b"x")
            await idle.until(b"\r\n\r\nx")
            nursery.cancel_scope.cancel()
    assert app.cancelled == 1
    assert capfd.readouterr() == ("", "")


async def test_cancelling_does_not_wait_for_a_client_that_does_not_read():
    async with trio.open_nursery() as nursery:
        options = ServeOptions(port=0, graceful_timeout=60, write_timeout=60)
        served = await nursery.start(serve_http_app, App(), options)
        stream = await trio.open_tcp_stream("127.0.0.1", int(served.url.rpartition(":")[2]))
        await Raw(stream).get("/flood")
        await trio.sleep(0.2)
        with trio.fail_after(SOON):
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await until(lambda: not nursery.child_tasks)
        stream.socket.close()


@pytest.mark.case("C049")
async def test_stopping_waits_for_open_streams_within_its_bound():
    app = App()
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(
            serve_http_app, app, ServeOptions(port=0, graceful_timeout=0.2)
        )
        async with connected(served) as raw:
            await raw.get("/events")
            await raw.until(b"begin\n\n")
            served.stop()
            await raw.rest()
    assert app.cancelled == 1
    # Less than where nothing is said.
    assert 0.2 <= trio.current_time() - began < ServeOptions().graceful_timeout


async def test_stopping_closes_idle_connections_and_lets_requests_end():
    app = App()
    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve_http_app, app, ServeOptions(port=0))
        async with connected(served) as busy, connected(served) as idle:
            await busy.get("/hold")
            await idle.get("/echo", body=b"x")
            await idle.until(b"\r\n\r\nx")
            served.stop()
            assert await idle.rest() == b""
            with pytest.raises(OSError):
                await trio.open_tcp_stream("127.0.0.1", int(served.url.rpartition(":")[2]))
            app.release.set()
            received = await busy.rest()
            # It is told not to send another request.
            assert b"connection: close" in received.lower()
            assert received.endswith(b"held")
    assert app.cancelled == 0


async def test_what_is_called_on_stopping_ends_what_would_not_end_by_itself():
    app = App()

    async def end_streams() -> None:
        app.release.set()

    async def serve(*, task_status: Any) -> None:  # noqa: ASYNC128 - handed on
        await serve_http_app(
            app, ServeOptions(port=0), on_stop=end_streams, task_status=task_status
        )

    async with trio.open_nursery() as nursery:
        served = await nursery.start(serve)
        async with connected(served) as raw:
            await raw.get("/hold")
            await until(lambda: app.running)
            served.stop()
            served.stop()
            await raw.until(b"held")
    assert app.cancelled == 0


async def test_failure_on_stopping_is_logged_and_stops_all_the_same(caplog):
    async def fail() -> None:
        raise LookupError("lost")

    async def serve(*, task_status: Any) -> None:  # noqa: ASYNC128 - handed on
        await serve_http_app(App(), ServeOptions(port=0), on_stop=fail, task_status=task_status)

    async with trio.open_nursery() as nursery:
        (await nursery.start(serve)).stop()
    assert "on_stop failed" in caplog.text


async def test_application_is_served_several_times_one_after_the_other():
    app = App()
    for _ in range(2):
        async with serving(app) as (served, _), bystander(served, app):
            assert (await get(f"{served.url}/scope")).status_code == 200
