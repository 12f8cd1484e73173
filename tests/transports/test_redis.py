"""Reaching a Redis over a network, with TLS, and again and again."""

from __future__ import annotations

import logging
import socket
import ssl
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise

import pytest
import trio
import trio.testing

from trio_mcp.transports import RedisEventStore, _redis, _redis_link
from trio_mcp.transports._redis import RedisAddress, RedisLost, RedisRefused, connect_redis
from trio_mcp.transports._redis_link import RedisLink

from .http._serving import make_certificate


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.mark.parametrize(
    ("url", "host", "port", "db", "credentials", "said"),
    [
        ("redis://h", "h", 6379, 0, (None, None), "redis://h:6379/0"),
        ("redis://h:1/3", "h", 1, 3, (None, None), "redis://h:1/3"),
        ("redis://h?db=4", "h", 6379, 4, (None, None), "redis://h:6379/4"),
        ("redis://:p%40ss@h/", "h", 6379, 0, (None, "p@ss"), "redis://h:6379/0"),
        ("redis://me:p%2Fw@[::1]:1/2", "::1", 1, 2, ("me", "p/w"), "redis://[::1]:1/2"),
        ("rediss://h", "h", 6379, 0, (None, None), "rediss://h:6379/0"),
    ],
)
def test_urls_are_read(url, host, port, db, credentials, said):
    address = RedisAddress.parse(url)
    assert (address.host, address.port, address.db) == (host, port, db)
    assert (address.username, address.password) == credentials
    assert str(address) == said
    assert (address.ssl_context is not None) == url.startswith("rediss")


def test_a_path_is_read():
    address = RedisAddress.parse("unix://me:pw@/run/my%20redis.sock?db=7")
    assert (address.path, address.db, address.host) == ("/run/my redis.sock", 7, None)
    assert (address.username, address.password) == ("me", "pw")
    assert str(address) == "unix:///run/my redis.sock?db=7"


async def test_a_database_has_its_own_keys(redis_server):
    async with connect_redis(RedisAddress.parse(f"{redis_server.url}?db=3")) as there:
        await there.ask(b"SET", "key", "3")
        assert b"0" in redis_server.ask("EXISTS", "key")
    async with connect_redis(RedisAddress.parse(f"{redis_server.url}?db=3")) as there:
        assert await there.ask(b"GET", "key") == b"3"


async def test_it_is_reached_over_a_port_with_a_name_and_a_password(start_redis):
    port = free_port()
    server = start_redis("--port", str(port))
    server.ask("ACL", "SETUSER", "me", "on", ">a:b/c@d %", "+@all", "allkeys")
    url = f"redis://me:a%3Ab%2Fc%40d%20%25@localhost:{port}/0"
    async with connect_redis(RedisAddress.parse(url)) as connection:
        assert await connection.ask(b"ACL", "WHOAMI") == b"me"


async def test_tls_trusts_who_it_shall_and_checks_the_name(start_redis, tmp_path):
    files = make_certificate(tmp_path)
    port = free_port()
    start_redis(
        *("--tls-port", str(port)),
        *("--tls-cert-file", files["certfile"], "--tls-key-file", files["keyfile"]),
        *("--tls-auth-clients", "no"),
    )
    trusting = ssl.create_default_context(cafile=files["certfile"])
    store = RedisEventStore(f"rediss://localhost:{port}", ssl_context=trusting)
    async with store.open():
        event_id = await store.store_event("a", None)

        async def collect(event):
            raise AssertionError(event)

        assert await store.replay_events_after(event_id, collect) == "a"
    for url, context in [
        (f"rediss://localhost:{port}", None),
        (f"rediss://127.0.0.1:{port}", trusting),  # it is for localhost
    ]:
        with pytest.raises(RedisLost, match="CERTIFICATE_VERIFY_FAILED"):
            async with connect_redis(RedisAddress.parse(url, context)):
                pass


async def test_a_port_that_says_nothing_is_given_up(monkeypatch):
    pytest.importorskip("coredis")
    monkeypatch.setattr(_redis, "CONNECT_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = RedisAddress.parse(f"redis://127.0.0.1:{deaf.getsockname()[1]}")
        with pytest.raises(RedisLost, match=r"did not answer in 0\.2 s"):
            async with connect_redis(address):
                pass


async def test_coredis_says_nothing_of_attempts_that_fail(caplog, monkeypatch):
    pytest.importorskip("coredis")
    monkeypatch.setattr(_redis, "CONNECT_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = RedisAddress.parse(f"redis://127.0.0.1:{deaf.getsockname()[1]}")
        with pytest.raises(RedisLost):
            async with connect_redis(address):
                pass
    assert not caplog.records
    # Its other users hear of theirs.
    logging.getLogger("coredis").error("a connection of somebody else")
    assert [each.message for each in caplog.records] == ["a connection of somebody else"]


async def test_a_port_of_something_else_is_an_error():
    pytest.importorskip("coredis")

    async def greet(stream):
        async with stream:
            await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, greet, 0, host="127.0.0.1")
        (listener,) = await nursery.start(serve)
        port = listener.socket.getsockname()[1]
        with pytest.raises(ConnectionError, match=f"^Redis at redis://127.0.0.1:{port}/0 "):
            async with connect_redis(RedisAddress.parse(f"redis://127.0.0.1:{port}")):
                pass
        nursery.cancel_scope.cancel()


async def test_attempts_come_more_and_more_slowly(monkeypatch, autojump_clock):
    times = []

    class Refused:
        def __init__(self, address) -> None:
            times.append(trio.current_time())

        async def __aenter__(self):
            await trio.lowlevel.checkpoint()
            raise RedisLost("refused")

        async def __aexit__(self, *args):
            raise AssertionError("never entered")

    monkeypatch.setattr(_redis_link, "connect_redis", Refused)
    monkeypatch.setattr(_redis_link.random, "uniform", lambda least, most: most)
    link = RedisLink(RedisAddress.parse("redis://h"))
    with trio.move_on_after(30):
        await link.run(must_begin=False)
    pauses = [after - before for before, after in pairwise(times)]
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5, 5])
    with pytest.raises(RedisLost, match=r"^refused$"):
        await RedisLink(RedisAddress.parse("redis://h")).run()


async def test_a_command_does_not_wait_for_a_redis_that_has_long_been_away(autojump_clock):
    link = RedisLink(RedisAddress.parse("redis://h"))
    with pytest.raises(RedisLost, match="it has not been connected yet"):
        await link.ask(b"PING")
    assert trio.current_time() == 0


async def test_a_refusal_that_lasts_is_logged_once(redis_server, monkeypatch, caplog):
    monkeypatch.setattr(_redis_link, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(_redis_link, "LONGEST_DELAY", 0.01)
    redis_server.ask("ACL", "SETUSER", "me", "on", ">pw", "+@all", "allkeys")
    link = RedisLink(RedisAddress.parse(f"unix://me:pw@{redis_server.path}"))
    attempts = 0

    def connect(address):
        nonlocal attempts
        attempts += 1
        return connect_redis(address)

    monkeypatch.setattr(_redis_link, "connect_redis", connect)
    async with trio.open_nursery() as nursery:
        await nursery.start(link.run)
        redis_server.ask("ACL", "DELUSER", "me")
        while attempts < 6:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert caplog.text.count("refused the connection: invalid username-password pair") == 1
    assert "it is tried again" in caplog.text


@pytest.mark.parametrize(
    ("failures", "told"),
    [
        ([RedisRefused("LOADING"), RedisLost("refused")], ["LOADING"]),
        ([RedisLost("refused"), RedisRefused("LOADING")], ["refused", "LOADING"]),
        ([RedisRefused(f"in {n} s") for n in range(90)], [f"in {n} s" for n in range(5)]),
    ],
    ids=["in turn", "after another failure", "each in other words"],
)
async def test_refusals_are_told_by_their_reason_and_a_few_of_them(
    monkeypatch, autojump_clock, caplog, failures, told
):
    attempts = 0

    @asynccontextmanager
    async def connect(address):
        nonlocal attempts
        attempts += 1
        await trio.lowlevel.checkpoint()
        raise failures[attempts % len(failures) - 1]
        yield

    monkeypatch.setattr(_redis_link, "connect_redis", connect)
    with trio.move_on_after(1000):
        await RedisLink(RedisAddress.parse("redis://h")).run(must_begin=False)
    assert attempts > 100
    assert [each.partition(";")[0] for each in caplog.messages] == told


async def test_a_connection_that_comes_and_goes_fills_no_log(monkeypatch, autojump_clock, caplog):
    caplog.set_level(logging.INFO, "trio_mcp.redis")
    times = 0

    class Brief:
        async def begin(self, connection, *, again):
            await trio.lowlevel.checkpoint()

        async def go_on(self, connection):
            await trio.sleep(6)
            raise RedisLost("broke")

    @asynccontextmanager
    async def connect(address):
        nonlocal times
        times += 1
        yield None

    monkeypatch.setattr(_redis_link, "connect_redis", connect)
    with trio.move_on_after(1000):
        await RedisLink(RedisAddress.parse("redis://h"), Brief()).run()
    assert times > 100
    assert [each.partition(";")[0] for each in caplog.messages] == [
        "broke",
        "Redis at redis://h:6379/0 is reached again",
        "broke",
    ]
