"""A server that asks its client for tasks, as 2025-11-25 has them."""

from __future__ import annotations

import gc
import logging
import sys
import weakref
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from tests.extensions.tasks._studio import connect
from trio_mcp import Context, MCPServer
from trio_mcp.client import Client
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.extensions import (
    AcceptedTasks,
    TaskCancelled,
    TasksClientExtension,
    TasksExtension,
    TasksNotSupported,
    ask_in_task,
)
from trio_mcp.testing import cancel_everywhere
from trio_mcp.transports import StdioServerParameters
from trio_mcp.types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ListTasksRequest,
    ListTasksResult,
    SamplingMessage,
    TextContent,
)

from ._asking_server import Person, sample
from ._scripted_client import CREATED, DECLARED, RELATED, SILENCE, ScriptedClient, connected, task

BOUNDS = AcceptedTasks(poll_interval=0.05)
OPTIONS = {"mode": "2025-11-25", "extensions": [TasksClientExtension(accepts=BOUNDS)]}
DECLINED = {"action": "decline", "_meta": {RELATED: {"taskId": "t-1"}}}


def form(message="Name?"):
    schema = {"type": "object", "properties": {}}
    params = ElicitRequestFormParams(message=message, requested_schema=schema)
    return ElicitRequest(params=params)


def chat():
    message = SamplingMessage(role="user", content=TextContent(text="hi"))
    params = CreateMessageRequestParams(messages=[message], max_tokens=9)
    return CreateMessageRequest(params=params)


def server_that(act, *, tasks=None):
    """Make a server with one tool, which does this."""
    mcp = MCPServer("clerk", extensions=[] if tasks is None else [TasksExtension(tasks)])

    @mcp.tool(name="act")
    async def tool(ctx: Context) -> str:
        return str(await act(ctx))

    return mcp


# To its end


@pytest.mark.parametrize("road", ["direct", "text", "http"])
async def test_a_server_asks_in_a_task_and_fetches_the_answer(road):
    async def act(ctx):
        named = await ask_in_task(ctx, form(), ttl=60)
        before = await named.get()
        person.may_answer.set()
        said = await ask_in_task(ctx, chat())
        answer, message = await named.wait(), await said.wait()
        after = await named.get()
        assert named.is_over
        assert said.is_over
        return before.status, answer.action, message.content.text, after.status, after.ttl_ms

    person = Person()
    options = {**OPTIONS, "elicitation_callback": person.elicit, "sampling_callback": sample}
    async with connect(server_that(act), road, **options) as client:
        result = await client.call_tool("act")
        assert result.content[0].text == "('working', 'decline', 'ho', 'completed', 60000)"


PROGRAM = """
from trio_mcp import Context, MCPServer
from trio_mcp.extensions import ask_in_task
from trio_mcp.types import ElicitRequest, ElicitRequestFormParams

mcp = MCPServer("clerk")

@mcp.tool()
async def act(ctx: Context) -> str:
    schema = {"type": "object", "properties": {}}
    params = ElicitRequestFormParams(message="Name?", requested_schema=schema)
    task = await ask_in_task(ctx, ElicitRequest(params=params))
    return (await task.wait()).action

mcp.run("stdio")
"""


async def test_a_server_in_another_process_asks_in_a_task():
    person = Person()
    person.may_answer.set()
    server = StdioServerParameters(command=sys.executable, args=["-c", PROGRAM])
    async with Client(server, elicitation_callback=person.elicit, **OPTIONS) as client:
        result = await client.call_tool("act")
        assert result.content[0].text == "decline"
    assert person.asked[0].task is not None


@pytest.mark.req("R-607", "R-608", "R-630")
async def test_a_server_asks_how_the_task_is_as_often_as_the_client_wants(autojump_clock):
    async def act(ctx):
        return (await (await ask_in_task(ctx, form())).wait()).action

    # Nobody tells it of a change: it has to ask.
    client = ScriptedClient(
        elicitation__create=CREATED,
        tasks__get=[task(pollInterval=3000), task(pollInterval=4000), task("completed")],
        tasks__result=DECLINED,
    )
    async with connected(client, server_that(act)):
        begun = trio.current_time()
        assert await client.call() == "decline"
    assert client.asked[0][2]["task"] == {}
    assert [(when - begun, method) for when, method, _ in client.asked[1:]] == [
        (pytest.approx(2), "tasks/get"),
        (pytest.approx(5), "tasks/get"),
        (pytest.approx(9), "tasks/get"),
        (pytest.approx(9), "tasks/result"),
    ]
    assert all(params == {"taskId": "t-1"} for _, _, params in client.asked[1:])


@pytest.mark.req("R-620")
async def test_a_task_that_wants_input_is_asked_for_its_result(autojump_clock):
    async def act(ctx):
        return (await (await ask_in_task(ctx, form())).wait()).action

    client = ScriptedClient(
        elicitation__create=CREATED,
        tasks__get=[task("input_required"), task("completed")],
        tasks__result=DECLINED,
    )
    async with connected(client, server_that(act)):
        assert await client.call() == "decline"
    assert client.methods == ["elicitation/create", "tasks/get", "tasks/result"]


async def test_the_time_that_a_task_is_to_be_kept_is_told_in_milliseconds(autojump_clock):
    async def act(ctx):
        return (await ask_in_task(ctx, form(), ttl=1.5)).task_id

    client = ScriptedClient(elicitation__create=CREATED)
    async with connected(client, server_that(act)):
        assert await client.call() == "t-1"
    assert client.asked[0][2]["task"] == {"ttl": 1500}


async def test_an_answer_to_the_visit_of_a_page_has_no_content(autojump_clock):
    async def act(ctx):
        params = ElicitRequestURLParams(message="m", url="https://a.test/", elicitation_id="e")
        answer = await (await ask_in_task(ctx, ElicitRequest(params=params))).wait()
        return answer.action, answer.content

    declared = {**DECLARED, "elicitation": {"url": {}}}
    client = ScriptedClient(
        elicitation__create=CREATED,
        tasks__get=task("completed"),
        tasks__result={"action": "accept", "content": {"a": "b"}},
    )
    async with connected(client, server_that(act), declared=declared):
        assert await client.call() == "('accept', None)"


# Where that cannot be


async def refused(ctx):
    try:
        await ask_in_task(ctx, form())
    except MCPError as exc:
        return f"{type(exc).__name__}: {exc}"
    return "asked"


@pytest.mark.req("R-601")
@pytest.mark.parametrize(
    "tasks",
    [
        None,
        {},
        {"requests": {}},
        {"requests": {"elicitation": {}}},
        {"requests": {"sampling": {"createMessage": {}}}},
    ],
    ids=["none", "empty", "no-requests", "no-create", "other"],
)
async def test_a_client_that_did_not_declare_it_is_not_asked_for_a_task(autojump_clock, tasks):
    declared = {"elicitation": {}, "sampling": {}}
    if tasks is not None:
        declared["tasks"] = tasks
    client = ScriptedClient()
    async with connected(client, server_that(refused), declared=declared):
        said = await client.call()
    assert said.startswith("TasksNotSupported: ")
    assert "tasks.requests.elicitation.create" in said
    assert client.asked == []


@pytest.mark.req("R-601")
async def test_sampling_and_elicitation_are_declared_each_for_itself(autojump_clock):
    async def act(ctx):
        with pytest.raises(TasksNotSupported, match=r"tasks\.requests\.sampling\.createMessage"):
            await ask_in_task(ctx, chat())
        return await refused(ctx)

    tasks = {"requests": {"elicitation": {"create": {}}}}
    client = ScriptedClient(elicitation__create=CREATED)
    async with connected(client, server_that(act), declared={**DECLARED, "tasks": tasks}):
        assert await client.call() == "asked"


@pytest.mark.req("R-601")
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_other_revisions_have_no_tasks_of_clients(version):
    options = {
        "mode": version,
        "elicitation_callback": Person().elicit,
        "extensions": [TasksClientExtension()],
    }
    async with Client(server_that(refused), **options) as client:
        said = (await client.call_tool("act")).content[0].text
    assert said.startswith("TasksNotSupported: ")
    assert version in said


async def test_a_client_that_does_not_answer_such_questions_is_not_asked(autojump_clock):
    async def act(ctx):
        with pytest.raises(MCPError) as raised:
            await ask_in_task(ctx, form())
        return raised.value.code

    client = ScriptedClient()
    declared = {**DECLARED, "elicitation": {"url": {}}}
    async with connected(client, server_that(act), declared=declared):
        assert await client.call() == "-32021"
    assert client.asked == []


# How it fails


@pytest.mark.req("R-649")
@pytest.mark.parametrize("road", ["direct", "text", "http"])
async def test_the_error_that_the_question_is_answered_with_is_raised(road):
    async def act(ctx):
        with pytest.raises(MCPError) as raised:
            await (await ask_in_task(ctx, form())).wait()
        return raised.value.code, raised.value.message, raised.value.data

    person = Person(ErrorData(code=-1, message="the user said no", data=[7]))
    person.may_answer.set()
    options = {**OPTIONS, "elicitation_callback": person.elicit}
    async with connect(server_that(act), road, **options) as client:
        result = await client.call_tool("act")
        assert result.content[0].text == "(-1, 'the user said no', [7])"


async def test_a_client_that_refuses_the_task_is_quoted(autojump_clock):
    client = ScriptedClient(elicitation__create=MCPError(-31503, "too many tasks"))
    async with connected(client, server_that(refused)):
        assert await client.call() == "MCPError: too many tasks"


@pytest.mark.parametrize(
    "answer",
    [{"action": "decline"}, {"task": {}}, {"task": task("odd")}, {"task": task(taskId=7)}],
    ids=["direct", "empty", "status", "id"],
)
async def test_a_client_that_answers_with_no_task_is_told_apart(autojump_clock, answer):
    async def act(ctx):
        with pytest.raises(InvalidResponse, match="elicitation/create"):
            await ask_in_task(ctx, form())

    client = ScriptedClient(elicitation__create=answer)
    async with connected(client, server_that(act)):
        assert await client.call() == "None"


async def test_a_time_of_less_than_nothing_is_none(autojump_clock):
    async def act(ctx):
        return (await (await ask_in_task(ctx, form())).wait()).action

    client = ScriptedClient(
        elicitation__create={"task": task(ttl=-1, pollInterval=-1)},
        tasks__get=[task(pollInterval=-1), task("completed", ttl=-1)],
        tasks__result=DECLINED,
    )
    async with connected(client, server_that(act)):
        assert await client.call() == "decline"


async def test_an_answer_that_belongs_to_another_task_is_none(autojump_clock):
    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        with pytest.raises(InvalidResponse, match="about another task"):
            await asked.wait()

    client = ScriptedClient(
        elicitation__create=CREATED,
        tasks__get=task("completed"),
        tasks__result={"action": "decline", "_meta": {RELATED: {"taskId": "t-2"}}},
    )
    async with connected(client, server_that(act)):
        assert await client.call() == "None"


async def test_an_answer_about_another_task_is_none(autojump_clock):
    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        with pytest.raises(InvalidResponse, match="about another task"):
            await asked.get()
        with pytest.raises(InvalidResponse, match="about another task"):
            await asked.cancel()

    other = task("cancelled", taskId="t-2")
    client = ScriptedClient(elicitation__create=CREATED, tasks__get=other, tasks__cancel=other)
    async with connected(client, server_that(act)):
        assert await client.call() == "None"


async def test_a_task_that_the_client_has_forgotten_is_over(autojump_clock):
    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        with pytest.raises(MCPError, match="Unknown task"):
            await asked.wait()
        return asked.is_over

    unknown = MCPError(-32602, "Unknown task: t-1")
    client = ScriptedClient(elicitation__create=CREATED, tasks__get=unknown)
    async with connected(client, server_that(act)):
        assert await client.call() == "True"


# How it is cancelled


@pytest.mark.req("R-577")
@pytest.mark.parametrize("road", ["direct", "text", "http"])
async def test_a_task_is_cancelled_and_the_person_is_asked_no_longer(road):
    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        await person.is_asked.wait()
        await asked.cancel()
        assert asked.is_over
        with pytest.raises(TaskCancelled, match="cancelled"):
            await asked.wait()
        await asked.cancel()
        return (await asked.get()).status

    person = Person()
    options = {**OPTIONS, "elicitation_callback": person.elicit}
    async with connect(server_that(act), road, **options) as client:
        result = await client.call_tool("act")
        assert result.content[0].text == "cancelled"
    assert person.left == person.asked


@pytest.mark.req("R-577")
async def test_the_block_of_a_task_cancels_it_at_its_end(autojump_clock):
    async def act(ctx):
        async with await ask_in_task(ctx, form()) as asked:
            with trio.move_on_after(5):
                await asked.wait()
            return "gave up"

    client = ScriptedClient(
        elicitation__create=CREATED, tasks__get=task(), tasks__cancel=task("cancelled")
    )
    async with connected(client, server_that(act)):
        assert await client.call() == "gave up"
        assert client.methods[-1] == "tasks/cancel"
        assert client.told == []


async def test_the_block_of_a_task_leaves_one_alone_that_is_over(autojump_clock):
    async def act(ctx):
        async with await ask_in_task(ctx, form()) as asked:
            return (await asked.wait()).action

    client = ScriptedClient(
        elicitation__create=CREATED, tasks__get=task("completed"), tasks__result=DECLINED
    )
    async with connected(client, server_that(act)):
        assert await client.call() == "decline"
        assert client.methods == ["elicitation/create", "tasks/get", "tasks/result"]


@pytest.mark.req("R-577")
async def test_a_call_that_is_cancelled_within_the_block_cancels_the_task(autojump_clock):
    async def act(ctx):
        async with await ask_in_task(ctx, form()) as asked:
            await asked.wait()

    client = ScriptedClient(
        elicitation__create=CREATED, tasks__get=task(), tasks__cancel=task("cancelled")
    )
    async with connected(client, server_that(act)):
        await client.send("tools/call", {"name": "act", "arguments": {}}, 1)
        await trio.sleep(5)
        await client.tell("notifications/cancelled", {"requestId": 1})
        await trio.sleep(5)
        assert client.methods[-1] == "tasks/cancel"


@pytest.mark.req("R-577")
async def test_a_call_that_is_cancelled_before_the_task_is_there_leaves_none_behind(
    autojump_clock,
):
    async def act(ctx):
        await ask_in_task(ctx, form())

    client = ScriptedClient(elicitation__create=SILENCE, tasks__cancel=task("cancelled"))
    async with connected(client, server_that(act)):
        await client.send("tools/call", {"name": "act", "arguments": {}}, 1)
        await trio.testing.wait_all_tasks_blocked()
        await client.tell("notifications/cancelled", {"requestId": 1})
        await trio.testing.wait_all_tasks_blocked()
        await client.answer_last(CREATED)
        await trio.testing.wait_all_tasks_blocked()
        assert client.methods == ["elicitation/create", "tasks/cancel"]
        assert client.told == []


async def test_what_the_client_does_not_cancel_is_refused_before_it_is_sent(autojump_clock):
    async def act(ctx):
        async with await ask_in_task(ctx, form()) as asked:
            with pytest.raises(TasksNotSupported, match=r"tasks\.cancel"):
                await asked.cancel()

    tasks = {"requests": {"elicitation": {"create": {}}}}
    client = ScriptedClient(elicitation__create=CREATED)
    async with connected(client, server_that(act), declared={**DECLARED, "tasks": tasks}):
        assert await client.call() == "None"
        assert client.methods == ["elicitation/create"]


async def test_a_task_that_ended_meanwhile_need_not_be_cancelled(autojump_clock):
    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        await asked.cancel()
        return (await asked.get()).status

    client = ScriptedClient(
        elicitation__create=CREATED,
        tasks__get=task("completed"),
        tasks__cancel=MCPError(-32602, "it is completed already"),
    )
    async with connected(client, server_that(act)):
        assert await client.call() == "completed"


async def test_a_refusal_to_cancel_what_goes_on_is_raised(autojump_clock):
    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        with pytest.raises(MCPError, match="not now"):
            await asked.cancel()

    client = ScriptedClient(
        elicitation__create=CREATED,
        tasks__get=task(),
        tasks__cancel=MCPError(-32602, "not now"),
    )
    async with connected(client, server_that(act)):
        assert await client.call() == "None"


async def test_a_block_that_is_cancelled_anywhere_leaves_no_task_behind():
    @asynccontextmanager
    async def open_tool():
        async def act(ctx):
            contexts.send_nowait(ctx)
            await trio.sleep_forever()

        person = Person()
        person.may_answer.set()
        contexts, taken = trio.open_memory_channel(1)
        options = {**OPTIONS, "elicitation_callback": person.elicit}
        async with (
            connect(server_that(act), "text", **options) as client,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(client.call_tool, "act")
            yield await taken.receive()
            nursery.cancel_scope.cancel()

    async def ask(ctx):
        async with await ask_in_task(ctx, form()) as asked:
            await asked.wait()

    async def see_that_none_goes_on(ctx):
        listed = await ctx.session.send_request(ListTasksRequest(), ListTasksResult)
        assert {each.status for each in listed.tasks} <= {"completed", "cancelled"}

    assert await cancel_everywhere(open_tool, ask, see_that_none_goes_on) > 5


async def test_a_tool_whose_client_goes_waits_no_longer(autojump_clock):
    left = []

    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        try:
            await asked.wait()
        finally:
            left.append(trio.current_time())

    client = ScriptedClient(elicitation__create=CREATED, tasks__get=task())
    async with connected(client, server_that(act)):
        await client.send("tools/call", {"name": "act", "arguments": {}}, 1)
        await trio.sleep(5)
        gone = trio.current_time()
        await client.channel.aclose()
        await trio.sleep(60)
        assert left == [pytest.approx(gone, abs=2)]


@pytest.mark.req("R-658")
async def test_what_a_server_asks_for_is_logged(autojump_clock, caplog):
    async def act(ctx):
        return (await (await ask_in_task(ctx, form())).wait()).action

    caplog.set_level(logging.INFO, "trio_mcp.extensions.tasks")
    client = ScriptedClient(
        elicitation__create=CREATED, tasks__get=task("completed"), tasks__result=DECLINED
    )
    async with connected(client, server_that(act)):
        await client.call()
    assert [each.getMessage() for each in caplog.records if "task" in each.getMessage()] == [
        "A client has begun the task t-1… for elicitation/create",
        "The answer of the client's task t-1… has come",
    ]


# Within a task of the server


@pytest.mark.req("R-618", "R-619", "R-630")
async def test_a_task_of_the_server_may_ask_for_one_of_its_client(autojump_clock):
    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        return (await asked.wait()).action

    client = ScriptedClient(
        elicitation__create=CREATED, tasks__get=task("completed"), tasks__result=DECLINED
    )
    async with connected(client, server_that(act, tasks={"act": "required"})):
        created = await client.ask("tools/call", {"name": "act", "arguments": {}, "task": {}})
        task_id = created["task"]["taskId"]
        result = await client.ask("tasks/result", {"taskId": task_id}, 2)
        assert result["content"][0]["text"] == "decline"
    asked, *about = [params for _, _, params in client.asked]
    assert asked["_meta"][RELATED] == {"taskId": task_id}
    assert about == [{"taskId": "t-1"}] * 2


# Wrong uses


@pytest.mark.parametrize(
    ("request_", "options", "named"),
    [
        ("elicitation/create", {}, "request"),
        (form(), {"ttl": "1"}, "ttl"),
        (form(), {"ttl": 0}, "ttl"),
        (form(), {"ttl": float("inf")}, "ttl: expected a finite number"),
        (form(), {"read_timeout_seconds": -1}, "read_timeout_seconds"),
    ],
    ids=["request", "ttl", "no-ttl", "endless", "timeout"],
)
async def test_what_cannot_be_asked_is_refused_before_it_is_sent(
    autojump_clock, request_, options, named
):
    async def act(ctx):
        with pytest.raises((TypeError, ValueError), match=named):
            await ask_in_task(ctx, request_, **options)

    client = ScriptedClient()
    async with connected(client, server_that(act)):
        assert await client.call() == "None"
    assert client.asked == []


async def test_a_client_that_is_slow_to_say_how_its_task_is_may_be_given_a_limit(autojump_clock):
    async def act(ctx):
        asked = await ask_in_task(ctx, form(), read_timeout_seconds=3)
        with pytest.raises(MCPError, match="tasks/get"):
            await asked.get()

    client = ScriptedClient(elicitation__create=CREATED, tasks__get=SILENCE)
    async with connected(client, server_that(act)):
        begun = trio.current_time()
        await client.call()
        assert trio.current_time() - begun == pytest.approx(3)


@pytest.mark.parametrize("road", ["direct", "text"])
@pytest.mark.parametrize("is_answered", [True, False], ids=["answered", "left"])
async def test_what_a_session_had_of_tasks_is_freed_at_once(road, is_answered):
    seen = []

    async def elicit(context, params):
        seen.append(weakref.ref(context))
        if not is_answered:
            await trio.sleep_forever()
        return ElicitResult(action="decline")

    async def act(ctx):
        asked = await ask_in_task(ctx, form())
        seen.append(weakref.ref(asked))
        if is_answered:
            await asked.wait()

    async def use():
        options = {**OPTIONS, "elicitation_callback": elicit}
        async with connect(server_that(act), road, **options) as client:
            seen.append(weakref.ref(client.session))
            assert not (await client.call_tool("act")).is_error
            await trio.testing.wait_all_tasks_blocked()

    gc.collect()
    gc.disable()
    try:
        await use()
        await trio.testing.wait_all_tasks_blocked()
        assert [each() for each in seen if each() is not None] == []
    finally:
        gc.enable()
    assert len(seen) >= 3
