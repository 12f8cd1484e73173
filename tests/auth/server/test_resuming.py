"""Who carries on a stream is allowed what those calls took that it answers."""

from __future__ import annotations

from typing import Any

import pytest
import trio.testing

from trio_mcp import Context  # noqa: TC001 - the tool is read
from trio_mcp.errors import InsufficientScopeError
from trio_mcp.transports import InMemoryEventStore, SharedEventStore
from trio_mcp.transports.http._following import belongs_to, name_stream

from ._protected import Verifier, bearer, challenges, make_server, older, open_protected, settings
from ._protected import token as make_token


@pytest.fixture(autouse=True)
def clock():
    return trio.testing.MockClock(autojump_threshold=0)


class Shared(SharedEventStore):
    """Several applications of one process, in place of several processes."""

    def __init__(self) -> None:
        self.store = InMemoryEventStore()

    async def store_event(self, stream_id: Any, message: Any) -> Any:
        return await self.store.store_event(stream_id, message)

    async def replay_events_after(self, last_event_id: Any, send_callback: Any) -> Any:
        return await self.store.replay_events_after(last_event_id, send_callback)

    async def is_written(self, stream_id: Any) -> bool:
        await trio.lowlevel.checkpoint()
        return True

    async def end_session(self, session_id: str) -> None:
        await self.store.end_session(session_id)

    async def has_ended(self, session_id: str) -> bool:
        await trio.lowlevel.checkpoint()
        return False


def server(**auth: Any) -> Any:
    known = {
        "admin": make_token(subject="ada", scopes=["use", "files:read", "files:write"]),
        "reader": make_token(subject="ada", scopes=["use", "files:read"]),
        "user": make_token(subject="ada"),
        "all": make_token(subject="ada", scopes=["use", "files"]),
        "bob": make_token(subject="bob", scopes=["use", "files:read", "files:write"]),
    }
    mcp = make_server(Verifier(known), settings(**auth))

    @mcp.tool(required_scopes=["files:read", "files:write"])
    async def slow(ctx: Context) -> str:
        await ctx.report_progress(1)
        await trio.sleep(10)
        return "SECRET"

    return mcp


async def begin(client: Any, tool: str) -> tuple[Any, Any]:
    """Call a tool with all rights; the session, and the first event of its answer."""
    session = older(client, "admin")
    await session.initialize(headers=bearer("admin"))
    answer = session.call(tool, meta={"progressToken": "t"})
    return session, await answer.next_event()


@pytest.mark.req("R-465", "R-563")
@pytest.mark.parametrize("seconds", [0, 60], ids=["under way", "answered"])
@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["here", "in another process"])
async def test_token_with_fewer_scopes_reads_no_answer_of_one_with_more(seconds, is_elsewhere):
    store = Shared()
    async with (
        open_protected(server(), event_store=store) as client,
        open_protected(server(), event_store=store) as other,
    ):
        session, first = await begin(client, "slow")
        await trio.sleep(seconds)
        if is_elsewhere:
            session.client = other
        for name in ("user", "reader"):
            refused = await session.get(last_event_id=first.id, **bearer(name)).wait_complete()
            assert refused.status == 403
            challenge = challenges(refused)["Bearer"]
            assert challenge["error"] == "insufficient_scope"
            assert challenge["scope"] == "use files:read files:write"
            assert b"SECRET" not in refused.body
        stranger = await session.get(last_event_id=first.id, **bearer("bob")).wait_complete()
        assert stranger.status == 404
        resumed = session.get(last_event_id=first.id, **bearer("admin"))
        assert "SECRET" in str((await resumed.messages())[-1])


async def test_one_scope_may_cover_what_a_call_took():
    auth = {"scope_covers": lambda granted, needed: needed.startswith(f"{granted}:")}
    async with open_protected(server(**auth), event_store=InMemoryEventStore()) as client:
        session, first = await begin(client, "slow")
        resumed = session.get(last_event_id=first.id, **bearer("all"))
        assert "SECRET" in str((await resumed.messages())[-1])


async def test_what_took_no_scope_is_carried_on_with_any_token_of_its_user():
    async with open_protected(server(), event_store=InMemoryEventStore()) as client:
        session, first = await begin(client, "whoami")
        resumed = session.get(last_event_id=first.id, **bearer("user"))
        assert "ada" in str((await resumed.messages())[-1])


@pytest.mark.parametrize(
    "scopes", [["b", "a/b", "c%20d"], ["https://as.example/files.read", "%2F"], []]
)
def test_name_of_a_stream_says_what_it_takes(scopes):
    name = name_stream("s", None, 7, [*scopes, *scopes])
    assert name.partition("/")[0] == "s"
    if scopes:
        with pytest.raises(InsufficientScopeError) as caught:
            belongs_to(name, "s", None)
        assert caught.value.scopes == sorted(scopes)
    else:
        assert belongs_to(name, "s", None)
    for other in ("", "s", "s/", "s//7", f"{name}/", f"x{name}"):
        assert not belongs_to(other, "s", None)
