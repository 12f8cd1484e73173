"""What an extension may do with requests of the server, and round the life of a session."""

from __future__ import annotations

from contextlib import asynccontextmanager

import attrs
import pytest
import trio
import trio.testing

from trio_mcp.client import ClientExtension, ClientSession, RequestBinding
from trio_mcp.errors import MCPError
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    ClientCapabilities,
    ClientTasksCapability,
    ElicitResult,
    EmptyResult,
    ErrorData,
    JSONRPCError,
    JSONRPCResponse,
    ListRootsRequest,
    TasksListCapability,
    WireModel,
    wire_model,
)

QUESTION = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}


@wire_model
class Weighing(WireModel):
    parcel: int


class Shop(ClientExtension):
    """Serves one request, stands round questions, and runs something meanwhile."""

    identifier = "com.example/shop"

    def __init__(self, answer=None, versions=None):
        self.answer = answer
        self.versions = versions
        self.seen = []
        self.life = []

    def requests(self):
        return [
            RequestBinding(
                method="com.example/weigh",
                params_type=Weighing,
                handler=self.weigh,
                protocol_versions=self.versions,
            )
        ]

    async def weigh(self, context, params):
        self.seen.append((context.session.lifespan_states[self.identifier], params.parcel))
        return {"grams": 10} if self.answer is None else self.answer

    @asynccontextmanager
    async def lifespan(self, session):
        self.life.append(("entered", session.protocol_version))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.run)
            try:
                yield "scales"
            finally:
                nursery.cancel_scope.cancel()
        self.life.append(("left", session.protocol_version))

    async def run(self):
        await trio.sleep_forever()


async def answered(server):
    await trio.testing.wait_all_tasks_blocked()
    return server.received[-1]


async def decline(context, params):
    return ElicitResult(action="decline")


async def test_an_extension_serves_requests_of_its_own(
    autojump_clock, connect, script, initialized
):
    shop = Shop()
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", extensions=[shop]):
        await server.ask("com.example/weigh", {"parcel": 7}, "w")
        assert await answered(server) == JSONRPCResponse(id="w", result={"grams": 10})
        assert shop.seen == [("scales", 7)]


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        (EmptyResult(), {}),
        (ErrorData(code=-7, message="no scales"), -7),
        ("heavy", -32603),
        ({"grams": object()}, -32603),
    ],
    ids=["type", "error", "text", "no-json"],
)
async def test_the_answer_of_an_extension_is_a_type_an_object_or_an_error(
    autojump_clock, connect, script, initialized, answer, written
):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", extensions=[Shop(answer)]):
        await server.ask("com.example/weigh", {"parcel": 7})
        answer = await answered(server)
        if isinstance(answer, JSONRPCError):
            assert answer.error.code == written
        else:
            assert answer.result == written


async def test_params_that_do_not_fit_are_refused(autojump_clock, connect, script, initialized):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", extensions=[Shop()]):
        await server.ask("com.example/weigh", {"parcel": "x"})
        error = (await answered(server)).error
        assert error.code == -32602
        assert "params.parcel" in error.message


async def test_a_request_is_served_at_the_revisions_of_its_binding(
    autojump_clock, connect, script, initialized
):
    server = script(initialize=initialized("2025-06-18"))
    shop = Shop(versions=frozenset({"2025-11-25"}))
    async with connect(server, mode="2025-06-18", extensions=[shop]):
        await server.ask("com.example/weigh", {"parcel": 7})
        assert (await answered(server)).error.code == -32601
        assert shop.seen == []


async def test_a_modern_server_may_not_ask_for_what_an_extension_serves(
    autojump_clock, connect, script, discovery
):
    server = script(server__discover=discovery)
    async with connect(server, extensions=[Shop()]):
        before = len(server.received)
        await server.ask("com.example/weigh", {"parcel": 7})
        await trio.testing.wait_all_tasks_blocked()
        assert len(server.received) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "elicitation/create"}, "intercept_request"),
        ({"method": "ping"}, "belongs to the core protocol"),
        ({"protocol_versions": frozenset({"2026-07-28"})}, "2025-11-25"),
        ({"protocol_versions": frozenset()}, "one or more"),
    ],
    ids=["question", "ping", "modern", "never"],
)
def test_what_can_never_be_served_is_refused(change, said):
    binding = {"method": "a/b", "params_type": dict, "handler": decline, **change}
    with pytest.raises(ValueError, match=said):
        RequestBinding(**binding)


def test_two_extensions_cannot_serve_the_same_request():
    class Other(Shop):
        identifier = "com.example/other"

    near, far = open_memory_channel_pair()
    with pytest.raises(ValueError, match=r"com\.example/weigh"):
        ClientSession(near, far, extensions=[Shop(), Other()])


# Round the life of a session


async def test_the_block_of_an_extension_is_round_the_life_of_the_session(
    autojump_clock, connect, script, initialized
):
    shop = Shop()
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", extensions=[shop]) as client:
        assert shop.life == [("entered", None)]
        assert client.session.lifespan_states == {"com.example/shop": "scales"}
        session = client.session
    assert shop.life == [("entered", None), ("left", "2025-11-25")]
    with pytest.raises(RuntimeError, match="being opened or closed"):
        _ = session.lifespan_states


async def test_each_session_has_its_own_block(autojump_clock, connect, script, initialized):
    class Numbered(Shop):
        number = 0

        @asynccontextmanager
        async def lifespan(self, session):
            self.number += 1
            yield self.number

    shop = Numbered()
    one, two = script(initialize=initialized()), script(initialize=initialized())
    async with (
        connect(one, mode="legacy", extensions=[shop]) as first,
        connect(two, mode="legacy", extensions=[shop]) as second,
    ):
        assert first.session.lifespan_states[shop.identifier] == 1
        assert second.session.lifespan_states[shop.identifier] == 2


async def test_sessions_without_extensions_have_no_states(
    autojump_clock, connect, script, initialized
):
    server = script(initialize=initialized())
    async with connect(server, mode="legacy") as client:
        assert client.session.lifespan_states == {}


async def test_a_block_that_cannot_be_entered_keeps_the_session_from_opening(
    autojump_clock, connect, script, initialized
):
    class Broken(Shop):
        @asynccontextmanager
        async def lifespan(self, session):
            raise ValueError("no scales")
            yield

    server = script(initialize=initialized())
    with pytest.raises(ValueError, match="no scales"):
        async with connect(server, mode="legacy", extensions=[Broken()]):
            pytest.fail("it was opened")


async def test_a_server_that_asks_before_the_block_is_entered_is_refused(
    autojump_clock, connect, script, initialized
):
    class Slow(Shop):
        @asynccontextmanager
        async def lifespan(self, session):
            await trio.testing.wait_all_tasks_blocked()
            await server.ask("com.example/weigh", {"parcel": 7})
            await trio.testing.wait_all_tasks_blocked()
            yield

    shop = Slow()
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", extensions=[shop]):
        refused = server.received[0]
        assert refused.error.code == -32600
        assert shop.seen == []


# What it declares


def declared_to(server):
    return server.received[0].params["capabilities"]


class Listing(ClientExtension):
    identifier = "com.example/listing"

    def capabilities(self, declared):
        assert declared.elicitation is not None
        return declared.evolve(
            tasks=ClientTasksCapability(list=TasksListCapability()), extra={"com.example": {}}
        )


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_an_extension_adds_to_what_is_declared_by_what_a_revision_has_words_for(
    autojump_clock, connect, script, initialized, version
):
    server = script(initialize=initialized(version))
    options = {"elicitation_callback": decline, "extensions": [Listing()]}
    async with connect(server, mode=version, **options) as client:
        declared = declared_to(server)
        assert declared["com.example"] == {}
        assert declared.get("tasks") == ({"list": {}} if version == "2025-11-25" else None)
        assert declared["extensions"] == {"com.example/listing": {}}
        assert client.session.client_capabilities.tasks is not None


async def test_what_an_extension_declares_reaches_a_modern_server_with_each_request(
    autojump_clock, connect, script, discovery
):
    server = script(server__discover=discovery)
    options = {"elicitation_callback": decline, "extensions": [Listing()]}
    async with connect(server, **options):
        meta = server.received[0].params["_meta"]
        declared = meta["io.modelcontextprotocol/clientCapabilities"]
        assert declared["com.example"] == {}
        assert "tasks" not in declared


def test_an_extension_that_declares_something_else_is_named():
    class Wrong(ClientExtension):
        identifier = "com.example/wrong"

        def capabilities(self, declared):
            return {"tasks": {}}

    near, far = open_memory_channel_pair()
    with pytest.raises(TypeError, match=r"Wrong\.capabilities returned"):
        ClientSession(near, far, extensions=[Wrong()])


def test_capabilities_do_not_replace_what_is_declared_of_extensions():
    class Greedy(ClientExtension):
        identifier = "com.example/greedy"

        def capabilities(self, declared):
            return ClientCapabilities(extensions={"com.example/other": {}})

    near, far = open_memory_channel_pair()
    session = ClientSession(near, far, extensions=[Greedy()])
    assert session.client_capabilities.extensions == {"com.example/greedy": {}}


# Round what callbacks answer


class Around(ClientExtension):
    identifier = "com.example/around"

    def __init__(self, name, seen, answer=None):
        self.name = name
        self.seen = seen
        self.answer = answer

    async def intercept_request(self, request, context, call_next):
        self.seen.append((self.name, request.method, context.request_id))
        if self.answer is not None:
            return self.answer
        params = request.params.evolve(message=request.params.message + self.name)
        return await call_next(request.evolve(params=params))


class Inner(Around):
    identifier = "com.example/inner"


async def test_extensions_stand_round_questions_the_first_outermost(
    autojump_clock, connect, script, initialized
):
    seen = []

    async def elicit(context, params):
        seen.append(params.message)
        return ElicitResult(action="decline")

    server = script(initialize=initialized())
    extensions = [Around("a", seen), Inner("b", seen)]
    options = {"elicitation_callback": elicit, "extensions": extensions}
    async with connect(server, mode="legacy", **options):
        await server.ask("elicitation/create", QUESTION, "q")
        assert (await answered(server)).result == {"action": "decline"}
        method = "elicitation/create"
        assert seen == [("a", method, "q"), ("b", method, "q"), "mab"]


async def test_questions_of_a_modern_server_are_intercepted_alike(
    autojump_clock, connect, script, discovery
):
    seen = []
    wanted = {
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": QUESTION}},
    }
    done = {"resultType": "complete", "content": []}
    server = script(
        server__discover=discovery,
        tools__call=lambda params: done if "inputResponses" in params else wanted,
    )
    answering = Around("a", seen, ElicitResult(action="cancel"))
    options = {"elicitation_callback": decline, "extensions": [answering]}
    async with connect(server, **options) as client:
        await client.call_tool("x")
        assert seen == [("a", "elicitation/create", "k")]
        assert server.received[-1].params["inputResponses"] == {"k": {"action": "cancel"}}


async def test_only_older_servers_are_answered_with_any_other_result(
    autojump_clock, connect, script, discovery, initialized
):
    answering = Around("a", [], {"ticket": 7})
    options = {"elicitation_callback": decline, "extensions": [answering]}
    older = script(initialize=initialized())
    async with connect(older, mode="legacy", **options):
        await older.ask("elicitation/create", QUESTION)
        assert (await answered(older)).result == {"ticket": 7}
    wanted = {
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": QUESTION}},
    }
    modern = script(server__discover=discovery, tools__call=wanted)
    async with connect(modern, **options) as client:
        with pytest.raises(TypeError, match="intercept_request"):
            await client.call_tool("x")


async def test_nothing_is_intercepted_that_no_callback_would_answer(
    autojump_clock, connect, script, initialized
):
    seen = []
    server = script(initialize=initialized())
    async with connect(server, mode="legacy", extensions=[Around("a", seen)]):
        await server.ask("elicitation/create", QUESTION)
        assert (await answered(server)).error.code == -32601
        assert seen == []


async def test_what_an_extension_raises_is_answered_as_what_a_callback_raises(
    autojump_clock, connect, script, initialized
):
    class Refusing(ClientExtension):
        identifier = "com.example/refusing"

        async def intercept_request(self, request, context, call_next):
            raise MCPError(-9, "not today")

    server = script(initialize=initialized())
    options = {"elicitation_callback": decline, "extensions": [Refusing()]}
    async with connect(server, mode="legacy", **options):
        await server.ask("elicitation/create", QUESTION)
        assert (await answered(server)).error.code == -9


async def test_the_callback_may_be_called_when_the_question_has_been_answered(
    autojump_clock, connect, script, initialized
):
    class Later(ClientExtension):
        identifier = "com.example/later"

        def __init__(self):
            self.answers = []

        @asynccontextmanager
        async def lifespan(self, session):
            async with trio.open_nursery() as nursery:
                yield nursery
                nursery.cancel_scope.cancel()

        async def intercept_request(self, request, context, call_next):
            async def ask():
                self.answers.append(await call_next(request))

            context.session.lifespan_states[self.identifier].start_soon(ask)
            return {"ticket": 7}

    later = Later()
    server = script(initialize=initialized())
    options = {"elicitation_callback": decline, "extensions": [later]}
    async with connect(server, mode="legacy", **options):
        await server.ask("elicitation/create", QUESTION)
        assert (await answered(server)).result == {"ticket": 7}
        assert [each.action for each in later.answers] == ["decline"]


async def test_what_the_callback_is_told_may_be_changed_by_who_stands_further_out(
    autojump_clock, connect, script, initialized
):
    class Marking(ClientExtension):
        identifier = "com.example/marking"

        async def intercept_request(self, request, context, call_next):
            return await call_next(request, attrs.evolve(context, meta={"marked": True}))

    class Looking(ClientExtension):
        identifier = "com.example/looking"

        async def intercept_request(self, request, context, call_next):
            seen.append(context.meta)
            return await call_next(request)

    async def elicit(context, params):
        seen.append(context.meta)
        return ElicitResult(action="decline")

    seen = []
    server = script(initialize=initialized())
    options = {"elicitation_callback": elicit, "extensions": [Marking(), Looking()]}
    async with connect(server, mode="legacy", **options):
        await server.ask("elicitation/create", QUESTION)
        await answered(server)
        assert seen == [{"marked": True}] * 2


@pytest.mark.parametrize(
    "passed_on",
    [lambda request: request.params, lambda request: ListRootsRequest()],
    ids=["params", "another"],
)
@pytest.mark.parametrize("is_innermost", [True, False], ids=["innermost", "outermost"])
async def test_an_extension_that_passes_on_another_question_is_told_so(
    autojump_clock, connect, script, initialized, caplog, passed_on, is_innermost
):
    class Wrong(ClientExtension):
        identifier = "com.example/wrong"

        async def intercept_request(self, request, context, call_next):
            return await call_next(passed_on(request))

    class Passing(ClientExtension):
        identifier = "com.example/passing"

        async def intercept_request(self, request, context, call_next):
            return await call_next(request, context)

    server = script(initialize=initialized())
    inner = [] if is_innermost else [Passing()]
    options = {"elicitation_callback": decline, "extensions": [Wrong(), *inner]}
    async with connect(server, mode="legacy", **options):
        await server.ask("elicitation/create", QUESTION)
        assert (await answered(server)).error.code == -32603
    assert "what intercept_request passes on" in caplog.text
