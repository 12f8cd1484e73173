"""Drives the machine of `trio_mcp.auth._steps`: carries out what it yields, one flow at a time.

Nothing is held while a flow is under way: whoever needs a token meanwhile waits for its outcome in
a scope of its own, and begins where it ended. If it failed, all who waited are told so; if it was
cancelled, one of them takes over.

What a server acts on once (a code, a refresh token, an assertion) is seen through for a few
seconds although the caller is cancelled, with writing what came to the store. So the store and
the server never disagree for longer than that.
"""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, assert_never, cast, final

import attrs
import trio

from trio_mcp._codec._json import dumps
from trio_mcp._rpc._flight import Flight
from trio_mcp._rpc._nursery import finish_begun, finish_within
from trio_mcp.auth._addresses import AddressRefused, is_private_host
from trio_mcp.auth._fetch import fetch
from trio_mcp.auth._identifiers import canonical_resource, is_same_origin, split_url
from trio_mcp.auth._memory import CodeGrant, FlowConfig, IdentityAssertionGrant, Memory
from trio_mcp.auth._models import OAuthClientInformationFull, OAuthToken
from trio_mcp.auth._step_types import (
    AssertionStep,
    AuthorizeStep,
    CheckResourceStep,
    HttpStep,
    LoadStep,
    NobodyToAsk,
    SaveClientStep,
    SaveTokensStep,
    Stored,
)
from trio_mcp.errors import ConnectionLost, OAuthFlowError
from trio_mcp.transports.http._http_errors import shown

from ._callbacks import check_answer
from ._storage import TokenStore
from ._turns import turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Hashable, Mapping

    from trio_mcp.auth._step_types import AssertionKind, Flow, HttpAnswer, Step

    from ._callbacks import AuthorizationCallback, OpenCallback
    from ._storage import TokenStorage

T = TypeVar("T")

logger: Final = logging.getLogger("trio_mcp.auth")

TOKEN_SECONDS: Final = 5.0
"""How long a request that a server acts on once is seen through after a cancellation."""

FLOW_SECONDS: Final = 90.0
"""How long a flow may take in all, besides what people and functions of the user take. Many
documents may have to be looked for, and each request has a limit of its own."""

STORE_SECONDS: Final = 5.0
"""How long a store may take, to be read and to write."""


_within: Final[ContextVar[tuple[tuple[Hashable, Flight[None]], ...]]] = ContextVar(
    "flows that call this", default=()
)

_Asking: TypeAlias = HttpStep | AuthorizeStep | AssertionStep | LoadStep | CheckResourceStep


@final
@attrs.frozen
class _End:
    """What a flow returned."""

    value: Any


@attrs.frozen
class Parties:
    """Whom a flow has to do with, besides servers.

    Attributes:
      storage: Where tokens are kept.
      store: The whole of it, if that is for many servers, as the user gave it.
      callback: How a person logs in.
      assertions: Where those of each kind come from.
      check_resource: Refuses what a server calls itself, by raising.
      http_client: What sends the requests of OAuth, if that is the user's.
      allow_private: Whether addresses that a server has named may be private; None for the way
        it is with the server itself.

    """

    storage: TokenStorage
    callback: AuthorizationCallback | None = None
    assertions: Mapping[AssertionKind, Callable[[AssertionStep], Awaitable[str]]] = attrs.field(
        factory=dict[Any, Any]
    )
    check_resource: Callable[[str, str | None], Awaitable[None]] | None = None
    http_client: Any = None
    allow_private: bool | None = None
    store: Any = None


@final
@attrs.define(eq=False)
class Driver:
    """The flows for one server.

    Attributes:
      memory: What is known of it.
      config: What the application says.
      login: Tells one login from another; no secret.

    """

    config: FlowConfig
    _parties: Parties
    memory: Memory = attrs.Factory(Memory)
    login: str = ""
    _flight: Flight[None] | None = None
    _runner: trio.lowlevel.TrioToken | None = None
    _subject: str = ""
    _ended: int = 0
    _failed: tuple[int, str, Flight[None]] | None = None
    _store_fails: bool = False

    @property
    def ended(self) -> int:
        """How many flows have come to an end: a request remembers it when it is signed."""
        return self._ended

    async def run(
        self,
        make_flow: Callable[[FlowConfig], Flow[T]],
        *,
        subject: str = "",
        since: int | None = None,
        may_ask: bool | None = None,
        http_client: Any = None,
    ) -> T:
        """Run a flow, when no other one is under way.

        Args:
          make_flow: Begins it.
          subject: What it is for. A failure is one of all that are for the same.
          since: The value of `ended` when the request was signed that it is for: a failure that
              came later is that of this flow, too.
          may_ask: Whether a person may be asked to log in; None if it takes none.
          http_client: What sends its requests, if that is the user's.

        Raises:
          NobodyToAsk: if a person may not be asked, and it is of no use without.
          OAuthFlowError: if it fails, here or where it was made for others.

        """
        self._check_caller()
        while self._flight is not None:
            await self._wait_for(self._flight, subject)
        if since is not None and self._failed is not None:
            when, of_what, failed = self._failed
            if when > since and of_what == subject:
                await failed.wait()
        self._subject = subject
        flight = self._flight = Flight[None]()
        self._runner = trio.lowlevel.current_trio_token()
        within = _within.set((*_within.get(), (self._key(), flight)))
        before = self.memory.tokens
        try:
            with flight:
                value = await self._run_asking(make_flow, may_ask, http_client)
        except Exception as exc:
            self._ended += 1
            if not isinstance(exc, NobodyToAsk):
                self._failed = self._ended, subject, flight
            raise
        finally:
            _within.reset(within)
            self._flight = None
        self._ended += 1
        if may_ask is not None or self.memory.tokens is not before:
            # What only wrote to the store has changed nothing about a failure.
            self._failed = None
        return value

    def _check_caller(self) -> None:
        """Refuse who would wait for themselves, or for what they cannot wait for."""
        key = self._key()
        if any(each == key and not flight.is_over for each, flight in _within.get()):
            raise OAuthFlowError(
                f"A token for {shown(self.config.server_url)} was asked for by what is called to "
                "get one: it cannot use the same server and store"
            )
        runner = trio.lowlevel.current_trio_token()
        if self._flight is not None and self._runner is not runner:
            raise RuntimeError(
                "One provider of OAuth is used by two trio.run() at the same time: each needs "
                "one of its own (they may share a store)"
            )

    async def _wait_for(self, flight: Flight[None], subject: str) -> None:
        of_same = subject == self._subject
        try:
            await flight.wait()
        except NobodyToAsk:
            pass  # it was for what needs no person
        except Exception:
            if of_same:
                raise

    async def _run_asking(
        self, make_flow: Callable[[FlowConfig], Flow[T]], may_ask: bool | None, http_client: Any
    ) -> T:
        try:
            return await self._run(make_flow, bool(may_ask), http_client)
        except OAuthFlowError as exc:
            if may_ask is False:
                raise NobodyToAsk("This is no time to ask somebody") from exc
            raise

    async def _run(
        self, make_flow: Callable[[FlowConfig], Flow[T]], may_ask: bool, http_client: Any
    ) -> T:
        async with turn(self._key()) as has_waited:
            # What somebody else has got meanwhile is in the store.
            if has_waited:
                self.memory.loaded = False
            with trio.move_on_after(FLOW_SECONDS) as limit:
                async with AsyncExitStack() as stack:
                    alone = await stack.enter_async_context(AsyncExitStack())
                    run = _Run(self, self._parties, http_client, alone, limit)
                    config = await run.prepare(stack, may_ask=may_ask)
                    return cast("T", await run.drive(make_flow(config)))
        raise OAuthFlowError(
            f"No token was got for {shown(self.config.server_url)!r:.200} within "
            f"{FLOW_SECONDS:g} s, besides what people took"
        )

    def _key(self) -> Hashable:
        """Tell what only one flow at a time may work on: the tokens of a server in one store."""
        parties = self._parties
        store = parties.storage if parties.store is None else parties.store
        return id(store), canonical_resource(self.config.server_url)

    async def write(self, write: Callable[[], Awaitable[None]]) -> bool:
        """Have a store write, for a time; returns whether it has."""
        try:
            with finish_within(STORE_SECONDS) as scope:
                await write()
        except Exception:  # noqa: BLE001 - whatever a store does, it can be done without
            self._tell("failed", has_trace=True)
            return False
        if scope.cancelled_caught:
            self._tell(f"took more than {STORE_SECONDS:g} s")
            return False
        self._store_fails = False
        return True

    def _tell(self, what: str, *, has_trace: bool = False) -> None:
        # Once, and not with each request that tries again.
        level = logging.DEBUG if self._store_fails else logging.ERROR
        self._store_fails = True
        logger.log(level, "Tokens are not kept: the store %s", what, exc_info=has_trace)

    def loaded(self, stored: Stored) -> None:
        """Take note of whose tokens a store has."""
        tokens, known = stored.tokens, self.memory.tokens
        if tokens is None or (known is not None and known.access_token == tokens.access_token):
            return
        secret = tokens.refresh_token or tokens.access_token
        self.login = hashlib.sha256(secret.encode()).hexdigest()[:32]

    def logged_in(self) -> None:
        """Take note that a person has logged in, whoever it was."""
        self.login = secrets.token_hex(16)

    async def may_be_private(self, url: str) -> bool:
        """Whether an address that somebody has named may be one of a private network."""
        if any(is_same_origin(url, each) for each in self._trusted()):
            return True
        if self._parties.allow_private is not None:
            return self._parties.allow_private
        # As it is now: an answer about a name is its owner's, and may change.
        return await _is_private(self.config.server_url)

    def _trusted(self) -> list[str]:
        """Give the URLs that the application itself has named."""
        config = self.config
        named = [config.server_url, config.issuer]
        if isinstance(config.grant, IdentityAssertionGrant) and config.grant.identity_provider:
            named.append(config.grant.identity_provider.token_endpoint)
        return [each for each in named if each is not None]


async def _is_private(url: str) -> bool:
    parts = split_url(url)
    if parts is None:
        return False
    try:
        return await is_private_host(parts.host, parts.port or 443, "the server")
    except ConnectionLost:
        return False


@final
@attrs.define(eq=False)
class _Run:
    """One flow on its way."""

    _driver: Driver
    _parties: Parties
    _http_client: Any
    _alone: AsyncExitStack
    _limit: trio.CancelScope
    _person: OpenCallback | None = None

    async def prepare(self, stack: AsyncExitStack, *, may_ask: bool) -> FlowConfig:
        """Be ready for a person, if one may be asked: where they come back to is registered."""
        config = self._driver.config
        if not may_ask or self._parties.callback is None or not _asks_people(config):
            return config
        known = self._driver.memory.clients.values()
        registered = [uri for client in known for uri in client.redirect_uris or []]
        self._person = await stack.enter_async_context(self._parties.callback.open(registered))
        uris = [self._person.redirect_uri]
        metadata = config.client_metadata.evolve(redirect_uris=uris)
        return attrs.evolve(config, client_metadata=metadata)

    async def drive(self, flow: Flow[Any]) -> Any:
        """Carry out its steps until it returns."""
        try:
            step = _feed(flow, None)
            while not isinstance(step, _End):
                step = await self._advance(flow, step)
            return step.value
        finally:
            flow.close()

    async def _advance(self, flow: Flow[Any], step: Step) -> Step | _End:
        if not isinstance(step, HttpStep) or not step.once:
            return await self._take(flow, step)
        following: Step | _End | None = None
        async with finish_begun(TOKEN_SECONDS):
            following = await self._take(flow, step)
            while isinstance(following, (SaveTokensStep, SaveClientStep)):
                following = await self._take(flow, following)
        assert following is not None  # or it was cancelled
        return following

    async def _take(self, flow: Flow[Any], step: Step) -> Step | _End:
        if isinstance(step, (SaveTokensStep, SaveClientStep)):
            return await self._save(flow, step)
        try:
            fed = await self._carry_out(step)
        except Exception as exc:  # noqa: BLE001 - the flow is told, and raises it
            return _throw(flow, exc)
        return _feed(flow, fed)

    async def _save(self, flow: Flow[Any], step: SaveTokensStep | SaveClientStep) -> Step | _End:
        """Write to the store. What cannot be written is used, and written the next time."""
        storage, driver = self._parties.storage, self._driver
        if isinstance(step, SaveTokensStep):
            is_written = await driver.write(partial(storage.set_tokens, step.tokens))
        else:
            is_written = await driver.write(partial(storage.set_client_info, step.client_info))
        following = _feed(flow, None)
        if not is_written and isinstance(step, SaveTokensStep):
            driver.memory.tokens_unsaved = True
        elif not is_written and isinstance(step, SaveClientStep):
            driver.memory.unsaved_client = step.client_info
        return following

    async def _carry_out(self, step: _Asking) -> Any:
        match step:
            case HttpStep():
                return await self._request(step)
            case AuthorizeStep():
                return await self._ask(step)
            case AssertionStep():
                return await self._assertion(step)
            case LoadStep():
                if step.renews:
                    await self._be_alone()
                return await self._load()
            case CheckResourceStep():
                assert self._parties.check_resource is not None
                return await self._parties.check_resource(step.server_url, step.resource)
            case _:
                assert_never(step)

    async def _request(self, step: HttpStep) -> HttpAnswer:
        options: dict[str, Any] = {
            "method": step.method,
            "headers": step.headers,
            "content": step.content,
            "http_client": self._parties.http_client or self._http_client,
            "what": step.what,
            # What is at the server itself is as safe as the server; no secret goes there.
            "allow_http": not step.foreign and step.method == "GET",
        }
        refused: AddressRefused | None = None
        try:
            return await fetch(step.url, allow_private=not step.foreign, **options)
        except AddressRefused as exc:
            refused = exc
        try:
            # Only now: it may take a look-up.
            if not await self._driver.may_be_private(step.url):
                raise refused
        finally:
            refused = None  # its traceback refers to this frame
        return await fetch(step.url, allow_private=True, **options)

    async def _ask(self, step: AuthorizeStep) -> Any:
        if self._person is None:
            raise NobodyToAsk("Somebody has to log in, and there is nobody to ask")
        # A person takes their time, and others may be logged in already.
        await self._alone.aclose()
        with self._untimed():
            answer = await self._person.ask(step.url, step.state)
        check_answer(answer, f"{type(self._person).__name__}.ask")
        self._driver.logged_in()
        return answer

    async def _assertion(self, step: AssertionStep) -> str:
        source = self._parties.assertions.get(step.kind)
        if source is None:
            raise OAuthFlowError(f"An assertion ({step.kind}) is needed, and nothing makes one")
        # It may be a person who is asked there, too.
        with self._untimed():
            return await source(step)

    @contextmanager
    def _untimed(self) -> Generator[None, None, None]:
        began, deadline = trio.current_time(), self._limit.deadline
        self._limit.deadline = math.inf
        try:
            yield
        finally:
            self._limit.deadline = deadline + trio.current_time() - began

    async def _be_alone(self) -> None:
        store = self._parties.store
        if not isinstance(store, TokenStore):
            return
        await self._alone.aclose()
        try:
            block = store.alone(canonical_resource(self._driver.config.server_url))
            await self._alone.enter_async_context(block)
        except Exception:
            # Whatever a store does, it can be done without.
            logger.exception("Other processes could not be kept from renewing tokens")

    async def _load(self) -> Stored:
        storage = self._parties.storage
        tokens: OAuthToken | None = None
        client_info: OAuthClientInformationFull | None = None
        # Whatever a store does, it can be done without, and what has come is used.
        with trio.move_on_after(STORE_SECONDS) as scope:
            tokens = await _read(storage.get_tokens, OAuthToken)
            client_info = await _read(storage.get_client_info, OAuthClientInformationFull)
        if scope.cancelled_caught:
            logger.error("The store of tokens was not read within %g s", STORE_SECONDS)
        stored = Stored(tokens=tokens, client_info=client_info)
        self._driver.loaded(stored)
        return stored


_Document = TypeVar("_Document", OAuthToken, OAuthClientInformationFull)


async def _read(get: Callable[[], Awaitable[Any]], kind: type[_Document]) -> _Document | None:
    """Have a store read; None for what it has not, and for what is none of that kind."""
    try:
        found = await get()
    except Exception:
        logger.exception("The store of tokens could not be read")
        return None
    if found is None:
        return None
    name, method = kind.__name__, getattr(get, "__name__", "reading it")
    if not isinstance(found, kind):
        logger.error(
            "The store of tokens: expected %s to return %s or None, got %s",
            method, name, type(found).__name__,
        )  # fmt: skip
        return None
    try:
        # Those made by hand are of any types.
        kind.from_json(dumps(found.to_json()))
    except Exception:  # noqa: BLE001 - what is wrong may be told with a secret
        logger.error("The store of tokens: %s returned %s of wrong types", method, name)  # noqa: TRY400 - as above
        return None
    return found


def _asks_people(config: FlowConfig) -> bool:
    return isinstance(config.grant, CodeGrant)


def _feed(flow: Flow[Any], fed: Any) -> Step | _End:
    try:
        return flow.send(fed)
    except StopIteration as end:
        return _End(end.value)


def _throw(flow: Flow[Any], error: Exception) -> Step | _End:
    try:
        return flow.throw(error)
    except StopIteration as end:
        return _End(end.value)
