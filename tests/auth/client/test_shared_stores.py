"""One store for several providers, processes and servers."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from trio_mcp import Client
from trio_mcp.auth import FileTokenStorage, InMemoryTokenStorage, OAuth, OAuthToken
from trio_mcp.auth.client import _file_storage
from trio_mcp.auth.client._file_storage import _FileLock
from trio_mcp.auth.client._storage import Member, TokenStore

from ._town import Person, Seen, Town, as_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from trio_mcp.types._base import JsonObject

    from ._town import Answer

ONE, OTHER = "https://one.example/mcp", "https://other.example/mcp"
TOKENS = OAuthToken(access_token="secret")
locks = pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")


class Plain(TokenStore):
    """All that a store has to have."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    async def read(self, server_url: str) -> JsonObject:
        await trio.lowlevel.checkpoint()
        return dict(self.kept.get(server_url, {}))

    async def write(self, server_url: str, member: Member, document: JsonObject) -> None:
        await trio.lowlevel.checkpoint()
        self.kept.setdefault(server_url, {})[member] = document


@pytest.fixture(params=["memory", "plain", pytest.param("file", marks=locks)])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], TokenStore]:
    """Make a store for one more provider; a file is opened anew, as by another process."""
    if request.param == "file":
        return lambda: FileTokenStorage(tmp_path / "tokens.json")
    store = InMemoryTokenStorage() if request.param == "memory" else Plain()
    return lambda: store


@asynccontextmanager
async def connected(town: Town, auth: Any) -> AsyncGenerator[Client, None]:
    async with Client(town.transport(auth), mode="2026-07-28") as client:
        yield client


async def log_in(town: Town, store: TokenStore) -> None:
    async with connected(town, OAuth(callback=Person(town), storage=store)) as client:
        await client.call_tool("work")


@pytest.mark.case("C055")
async def test_several_providers_with_one_store_refresh_once(
    make_store: Callable[[], TokenStore],
) -> None:
    town = Town()
    await log_in(town, make_store())
    providers = [OAuth(callback=Person(town), storage=make_store()) for _ in range(3)]
    for provider in providers:
        async with connected(town, provider) as client:
            await client.call_tool("work")
    town.expire()
    town.seen.clear()

    async def call(provider: OAuth) -> None:
        async with connected(town, provider) as client:
            await client.call_tool("work")

    async with trio.open_nursery() as nursery:
        for provider in providers:
            nursery.start_soon(call, provider)
    assert [each.form.get("refresh_token") for each in town.asked("/token")] == ["refresh-1"]
    assert (town.logins, town.punished) == (1, False)


async def test_several_providers_with_one_store_log_in_once() -> None:
    town, store = Town(), InMemoryTokenStorage()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(log_in, town, store)
    assert (town.logins, town.registrations) == (1, 1)


async def test_who_is_cancelled_leaves_the_store_to_the_others() -> None:
    town, store = Town(), InMemoryTokenStorage()
    away, scope = Person(town), trio.CancelScope()
    asked = trio.Event()

    async def think() -> None:
        asked.set()
        await trio.sleep_forever()

    away.think = think

    async def give_up() -> None:
        with scope:
            async with connected(town, OAuth(callback=away, storage=store)) as client:
                await client.call_tool("work")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(give_up)
        await asked.wait()
        nursery.start_soon(log_in, town, store)
        await trio.testing.wait_all_tasks_blocked()
        assert town.logins == 0
        scope.cancel()
    assert town.logins == 1


async def test_who_fails_leaves_the_store_to_the_others() -> None:
    town, store = Town(), InMemoryTokenStorage()
    town.hooks["/token"] = lambda seen: town.hooks.pop(seen.path) and as_json({}, 500)
    results: list[str] = []

    async def attempt() -> None:
        try:
            await log_in(town, store)
            results.append("in")
        except Exception as exc:  # noqa: BLE001 - any
            results.append(type(exc).__name__)

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(attempt)
    assert sorted(results) == ["OAuthTokenError", "in"]


# Among processes


def lock_of(path: Path) -> _FileLock:
    """Give the lock for the only server, as another process would use it."""
    names = {each.name for each in path.parent.iterdir()} - {f"{path.name}.lock"}
    (name,) = (each for each in names if each.endswith(".lock"))
    return _FileLock(path.with_name(name))


@locks
async def test_another_process_that_renews_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town, path = Town(), tmp_path / "tokens.json"
    await log_in(town, FileTokenStorage(path))
    async with FileTokenStorage(path).alone(town.url):
        pass
    held = lock_of(path)
    assert held.attempt()
    town.expire()

    # What it has got is in the store when it is through.
    paused = trio.Event()
    sleep = trio.sleep

    async def pause(seconds: float) -> None:
        paused.set()
        await sleep(0)

    monkeypatch.setattr(_file_storage.trio, "sleep", pause)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(log_in, town, FileTokenStorage(path))
        await paused.wait()
        status, _, content = town.refresh("refresh-1")
        assert status == 200
        fresh = OAuthToken.from_json(content)
        part = FileTokenStorage(path).for_server(town.url)
        before = await part.get_tokens()
        assert before is not None
        await part.set_tokens(
            before.evolve(access_token=fresh.access_token, refresh_token=fresh.refresh_token)
        )
        held.release()
    assert (town.logins, town.punished) == (1, False)
    assert [each.form["grant_type"] for each in town.asked("/token")] == ["authorization_code"]


@locks
async def test_another_process_that_never_comes_to_an_end_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    town, path = Town(), tmp_path / "tokens.json"
    await log_in(town, FileTokenStorage(path))
    async with FileTokenStorage(path).alone(town.url):
        pass
    held = lock_of(path)
    assert held.attempt()
    town.expire()
    monkeypatch.setattr(_file_storage, "RENEWAL_SECONDS", 0.0)
    await log_in(town, FileTokenStorage(path))
    assert (town.logins, town.punished) == (1, False)
    assert "is locked for long" in caplog.text
    held.release()


@locks
async def test_nothing_is_locked_while_a_person_is_asked(tmp_path: Path) -> None:
    town, path = Town(), tmp_path / "tokens.json"
    await log_in(town, FileTokenStorage(path))
    town.expire()
    town.refresh_tokens.clear()
    person = Person(town)
    free: list[bool] = []

    async def think() -> None:
        lock = lock_of(path)
        free.append(lock.attempt())
        lock.release()

    person.think = think
    oauth = OAuth(callback=person, storage=FileTokenStorage(path))
    async with connected(town, oauth) as client:
        await client.call_tool("work")
    assert free == [True]


@locks
async def test_who_waits_for_a_lock_can_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens.json"
    store = FileTokenStorage(path)
    monkeypatch.setattr(_file_storage, "LOCK_SECONDS", 3600.0)
    monkeypatch.setattr(_file_storage, "RENEWAL_SECONDS", 3600.0)
    async with store.alone(ONE):
        pass
    held = [_FileLock(tmp_path / "tokens.json.lock"), lock_of(path)]
    assert [each.attempt() for each in held] == [True, True]
    begun = trio.current_time()

    async def renew() -> None:
        async with store.alone(ONE):
            raise AssertionError("it is locked")

    with trio.move_on_after(0.1) as scope:
        async with trio.open_nursery() as nursery:
            for number in range(8):
                url = f"https://server-{number}.example"
                nursery.start_soon(store.for_server(url).set_tokens, TOKENS)
            nursery.start_soon(renew)
    assert scope.cancelled_caught
    assert trio.current_time() - begun < 1000
    assert not path.exists()
    for each in held:
        each.release()


async def test_a_store_that_cannot_keep_others_away_is_used_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Failing(Plain):
        @asynccontextmanager
        async def alone(self, server_url: str) -> AsyncGenerator[None, None]:
            raise OSError("no locks here")
            yield

    town, store = Town(), Failing()
    await log_in(town, store)
    town.expire()
    await log_in(town, store)
    assert (town.logins, len(town.asked("/token"))) == (1, 2)
    assert "no locks here" in caplog.text


async def test_what_another_process_has_got_meanwhile_is_used_after_a_refusal() -> None:
    # It shares the store, and knows nothing of locks.
    town, store = Town(), Plain()
    await log_in(town, store)
    town.expire()

    def refuse(seen: Seen) -> Answer | None:
        del town.hooks["/token"]
        _, _, content = town.refresh("refresh-1")
        kept = store.kept[town.url]["tokens"]
        fresh = OAuthToken.from_json(content)
        store.kept[town.url]["tokens"] = {
            **kept, "access_token": fresh.access_token, "refresh_token": fresh.refresh_token
        }  # fmt: skip
        return as_json({"error": "invalid_grant"}, 400)

    town.hooks["/token"] = refuse
    await log_in(town, store)
    assert town.logins == 1


# What is of no server yet


@pytest.mark.req("R-452")
async def test_what_is_of_no_server_yet_gets_to_one_alone(
    make_store: Callable[[], TokenStore],
) -> None:
    await make_store().set_tokens(TOKENS)
    found: dict[str, OAuthToken | None] = {}

    async def ask(url: str) -> None:
        found[url] = await make_store().for_server(url).get_tokens()

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(ask, f"https://server-{number}.example")
    assert sorted(map(str, found.values())) == sorted([str(TOKENS), *["None"] * 4])


async def test_two_clients_of_the_first_server_who_asks_both_have_it(
    make_store: Callable[[], TokenStore],
) -> None:
    await make_store().set_tokens(TOKENS)
    found: list[OAuthToken | None] = []

    async def ask() -> None:
        found.append(await make_store().for_server(ONE).get_tokens())

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
    assert found == [TOKENS] * 3


@pytest.mark.req("R-452")
@pytest.mark.parametrize("steps", range(12))
async def test_who_is_cancelled_gives_it_to_no_second_server(
    make_store: Callable[[], TokenStore], steps: int
) -> None:
    await make_store().set_tokens(TOKENS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_store().for_server(ONE).get_tokens)
        for _ in range(steps):
            await trio.lowlevel.cancel_shielded_checkpoint()
        nursery.cancel_scope.cancel()
    one = await make_store().for_server(ONE).get_tokens()
    assert one == TOKENS
    assert await make_store().for_server(OTHER).get_tokens() is None
