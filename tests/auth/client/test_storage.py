"""Where tokens are kept."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from trio_mcp.auth import OAuthClientInformationFull, OAuthToken
from trio_mcp.auth.client import _file_storage
from trio_mcp.auth.client._file_storage import FileTokenStorage
from trio_mcp.auth.client._keyring_storage import KeyringTokenStorage
from trio_mcp.auth.client._storage import (
    InMemoryTokenStorage,
    TokenStorage,
    TokenStore,
    part_for,
)
from trio_mcp.testing import cancel_everywhere

if TYPE_CHECKING:
    from collections.abc import Callable

ONE, OTHER = "https://one.example/mcp", "https://other.example/mcp"
TOKENS = OAuthToken(
    access_token="secret-access",
    refresh_token="secret-refresh",
    expires_in=60,
    extra={"expires_at": 1_900_000_000.5, "issuer": "https://auth.example"},
)
CLIENT = OAuthClientInformationFull(
    client_id="c1", client_secret="secret", issuer="https://auth.example"
)


class FakeKeyring(types.ModuleType):
    """What the package ``keyring`` does, in memory."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, password: str) -> None:
        self.kept[service, name] = password


@pytest.fixture(params=["memory", "file", "keyring"])
def make_store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], TokenStore]:
    """Make a store; each made here has what the ones before have."""
    if request.param == "memory":
        in_memory = InMemoryTokenStorage()
        return lambda: in_memory
    if request.param == "file":
        return lambda: FileTokenStorage(tmp_path / "deep" / "tokens.json")
    monkeypatch.setitem(sys.modules, "keyring", FakeKeyring())
    return KeyringTokenStorage


@pytest.mark.req("R-452", "R-492", "R-497")
async def test_what_is_kept_of_one_server_is_not_there_for_another(
    make_store: Callable[[], TokenStore],
) -> None:
    part = make_store().for_server(ONE)
    assert await part.get_tokens() is None
    assert await part.get_client_info() is None
    await part.set_tokens(TOKENS)
    await part.set_client_info(CLIENT)
    for again in (part, make_store().for_server(ONE)):
        assert await again.get_tokens() == TOKENS
        assert await again.get_client_info() == CLIENT
    for elsewhere in (make_store().for_server(OTHER), make_store()):
        assert await elsewhere.get_tokens() is None
        assert await elsewhere.get_client_info() is None


@pytest.mark.req("R-487")
async def test_what_is_of_no_server_yet_is_that_of_the_first_who_asks(
    make_store: Callable[[], TokenStore],
) -> None:
    store: TokenStorage = make_store()
    await store.set_tokens(TOKENS)
    await store.set_client_info(CLIENT)
    assert await make_store().get_tokens() == TOKENS
    assert await make_store().get_client_info() == CLIENT
    for _ in range(2):
        assert await make_store().for_server(ONE).get_tokens() == TOKENS
        assert await make_store().for_server(ONE).get_client_info() == CLIENT
    for elsewhere in (make_store().for_server(OTHER), make_store()):
        assert await elsewhere.get_tokens() is None
        assert await elsewhere.get_client_info() is None


async def test_each_method_is_a_checkpoint(make_store: Callable[[], TokenStore]) -> None:
    store = make_store()
    calls: list[Callable[[], Any]] = [
        store.get_tokens,
        store.get_client_info,
        lambda: store.set_tokens(TOKENS),
        lambda: store.set_client_info(CLIENT),
    ]
    for call in calls:
        with trio.testing.assert_checkpoints():
            await call()


def test_a_store_of_the_user_is_taken_as_it_is() -> None:
    class Own:
        async def get_tokens(self) -> OAuthToken | None: ...
        async def set_tokens(self, tokens: OAuthToken) -> None: ...
        async def get_client_info(self) -> OAuthClientInformationFull | None: ...
        async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...

    own = Own()
    assert part_for(own, ONE) is own
    for wrong in (object(), None, "tokens.json", Own):
        with pytest.raises(TypeError, match="storage: expected a TokenStorage"):
            part_for(wrong, ONE)


# The file


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


posix = pytest.mark.skipif(os.name != "posix", reason="permissions are of POSIX")


@posix
@pytest.mark.req("R-497")
async def test_nobody_else_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "tokens.json"
    umask = os.umask(0)
    try:
        await FileTokenStorage(path).set_tokens(TOKENS)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    # One that others could read is theirs no longer after the next change.
    path.chmod(0o644)
    await FileTokenStorage(path).set_client_info(CLIENT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names_in(path.parent) == {"tokens.json", "tokens.json.lock"}


async def test_a_change_that_fails_leaves_the_file_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens.json"
    store = FileTokenStorage(path)
    await store.set_tokens(TOKENS)

    def fail(*args: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="full"):
            await store.set_tokens(OAuthToken(access_token="other"))
    assert await store.get_tokens() == TOKENS
    assert names_in(tmp_path) == {"tokens.json", "tokens.json.lock"}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"servers": 1}', b'{"servers": {"": 1}}'])
async def test_a_file_that_is_no_store_is_taken_for_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content)
    store = FileTokenStorage(str(path))
    assert await store.get_tokens() is None
    await store.set_tokens(TOKENS)
    assert await store.get_tokens() == TOKENS


@posix
async def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "real.json"
    (tmp_path / "link.json").symlink_to(target)
    await FileTokenStorage(tmp_path / "link.json").set_tokens(TOKENS)
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(target.read_bytes())["version"] == 1


async def test_what_many_write_at_once_is_all_there(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    urls = [f"https://server-{number}.example" for number in range(20)]
    async with trio.open_nursery() as nursery:
        for url in urls:
            # As many processes have an object each.
            nursery.start_soon(FileTokenStorage(path).for_server(url).set_tokens, TOKENS)
    for url in urls:
        assert await FileTokenStorage(path).for_server(url).get_tokens() == TOKENS


@posix
async def test_a_file_that_stays_locked_is_written_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import fcntl

    monkeypatch.setattr(_file_storage, "LOCK_SECONDS", 0.0)
    with (tmp_path / "tokens.json.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        await FileTokenStorage(tmp_path / "tokens.json").set_tokens(TOKENS)
    assert await FileTokenStorage(tmp_path / "tokens.json").get_tokens() == TOKENS
    assert "is locked for long" in caplog.text


async def test_a_cancelled_change_is_made_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    await FileTokenStorage(path).set_tokens(OAuthToken(access_token="before"))

    async def change(store: FileTokenStorage) -> None:
        await store.set_tokens(TOKENS)

    async def look(store: FileTokenStorage) -> None:
        kept = await store.get_tokens()
        assert kept is not None
        assert kept.access_token in {"before", "secret-access"}

    class Opened:
        async def __aenter__(self) -> FileTokenStorage:
            return FileTokenStorage(path)

        async def __aexit__(self, *args: object) -> None:
            pass

    assert await cancel_everywhere(Opened, change, look) >= 1


def test_the_path_has_to_be_one() -> None:
    with pytest.raises(TypeError, match="path: expected the path of a file"):
        FileTokenStorage(7)  # type: ignore[arg-type]
    home = FileTokenStorage(Path("~") / "tokens.json")
    assert home._path == (Path.home() / "tokens.json").resolve()


# The keyring


async def test_the_keyring_has_an_entry_for_each_server(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = FakeKeyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    store = KeyringTokenStorage("my-agent")
    keyring.kept["my-agent", ONE] = "{"
    assert await store.for_server(ONE).get_tokens() is None
    await store.for_server(ONE).set_tokens(TOKENS)
    await store.set_tokens(TOKENS)
    assert set(keyring.kept) == {("my-agent", ONE), ("my-agent", "server")}
    assert await store.for_server(ONE).get_tokens() == TOKENS


async def test_the_keyring_is_asked_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(FakeKeyring):
        def get_password(self, service: str, name: str) -> str | None:
            threads.append(threading.current_thread())
            return super().get_password(service, name)

    threads: list[threading.Thread] = []
    monkeypatch.setitem(sys.modules, "keyring", Slow())
    assert await KeyringTokenStorage().get_tokens() is None
    assert threads != [threading.current_thread()]


def test_without_the_package_there_is_no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ImportError, match="KeyringTokenStorage needs keyring: pip install"):
        KeyringTokenStorage()
