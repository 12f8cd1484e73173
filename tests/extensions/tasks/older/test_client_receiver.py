"""A client that answers questions of a server with tasks, as 2025-11-25 has them."""

from __future__ import annotations

import logging
import re
from contextlib import AbstractAsyncContextManager
from datetime import datetime

import pytest
import trio
import trio.testing

from trio_mcp.client import Client, ClientExtension, ClientSession, RestartPolicy
from trio_mcp.errors import MCPError
from trio_mcp.extensions import AcceptedTasks, TasksClientExtension
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import ElicitResult, ErrorData, JSONRPCResponse

from ._asking_server import CHAT, FORM, AskingServer, Person, sample, served

RELATED = "io.modelcontextprotocol/related-task"


async def code_of(asking):
    with pytest.raises(MCPError) as refused:
        await asking
    return refused.value.code


# What is declared


@pytest.mark.req("R-600", "R-655")
async def test_a_client_declares_tasks_for_the_callbacks_that_it_has(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit, sampling_callback=sample):
        assert server.declared["tasks"] == {
            "list": {},
            "cancel": {},
            "requests": {
                "sampling": {"createMessage": {}},
                "elicitation": {"create": {}},
            },
        }
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        assert server.declared["tasks"]["requests"] == {"sampling": {"createMessage": {}}}
    server = AskingServer()
    async with served(server):
        assert "tasks" not in server.declared


async def test_tasks_of_another_revision_are_not_declared(autojump_clock):
    server = AskingServer("2025-06-18")
    async with served(server, version="2025-06-18", elicitation_callback=Person().elicit):
        assert "tasks" not in server.declared


@pytest.mark.req("R-609")
@pytest.mark.parametrize("tasks", [[], [TasksClientExtension(accepts=None)]])
async def test_a_client_that_did_not_declare_tasks_answers_as_if_none_was_asked_for(
    autojump_clock, tasks
):
    person = Person()
    person.may_answer.set()
    server = AskingServer()
    async with served(server, tasks=tasks, elicitation_callback=person.elicit):
        assert "tasks" not in server.declared
        answer = await server.ask("elicitation/create", {**FORM, "task": {"ttl": 1000}})
        assert answer == {"action": "decline"}
        assert await code_of(server.about("tasks/get", "x")) == -32601


@pytest.mark.req("R-609")
async def test_an_older_revision_has_no_tasks_whatever_a_server_sends(autojump_clock):
    person = Person()
    person.may_answer.set()
    server = AskingServer("2025-06-18")
    async with served(server, version="2025-06-18", elicitation_callback=person.elicit):
        answer = await server.ask("elicitation/create", {**FORM, "task": {}})
        assert answer == {"action": "decline"}
        assert await code_of(server.about("tasks/get", "x")) == -32601


async def test_a_client_that_has_nothing_to_answer_with_has_no_tasks(autojump_clock):
    server = AskingServer()
    async with served(server):
        assert await code_of(server.about("tasks/get", "x")) == -32601
        assert await code_of(server.ask("elicitation/create", {**FORM, "task": {}})) == -32601


async def test_a_question_without_task_is_answered_directly(autojump_clock):
    person = Person()
    person.may_answer.set()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        assert await server.ask("elicitation/create", FORM) == {"action": "decline"}
        assert await server.ask("tasks/list", {}) == {"tasks": []}


# From its beginning to its end


@pytest.mark.req("R-610", "R-611", "R-613", "R-624", "R-625")
async def test_a_question_becomes_a_task_before_anybody_has_answered(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        created = await server.ask("elicitation/create", {**FORM, "task": {"ttl": 60_000}})
        task = created["task"]
        assert created["_meta"] == {RELATED: {"taskId": task["taskId"]}}
        assert isinstance(task["taskId"], str)
        assert task["status"] == "working"
        assert not person.may_answer.is_set()


@pytest.mark.req("R-621", "R-622", "R-623", "R-632")
async def test_how_a_task_is_can_be_asked_until_it_is_over_and_after(autojump_clock):
    person = Person()
    server = AskingServer()
    tasks = [TasksClientExtension(accepts=AcceptedTasks(poll_interval=0.5))]
    async with served(server, tasks=tasks, elicitation_callback=person.elicit):
        created = await server.ask_in_task(ttl=60_000)
        before = await server.about("tasks/get", created["taskId"])
        assert before == created
        person.may_answer.set()
        await trio.testing.wait_all_tasks_blocked()
        after = await server.about("tasks/get", created["taskId"])
        assert (before["status"], after["status"]) == ("working", "completed")
        for each in (before, after):
            assert (each["ttl"], each["pollInterval"]) == (60_000, 500)
            assert datetime.fromisoformat(each["createdAt"]).tzinfo is not None
            assert datetime.fromisoformat(each["lastUpdatedAt"]).tzinfo is not None
            assert "_meta" not in each


@pytest.mark.req("R-626", "R-633")
async def test_the_result_of_a_task_that_is_over_is_given_whenever_it_is_asked_for(autojump_clock):
    person = Person()
    person.may_answer.set()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        task_id = (await server.ask_in_task())["taskId"]
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(2):
            result = await server.about("tasks/result", task_id)
            assert result == {"action": "decline", "_meta": {RELATED: {"taskId": task_id}}}


@pytest.mark.req("R-628")
async def test_the_result_is_what_the_question_would_have_been_answered(autojump_clock):
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        direct = await server.ask("sampling/createMessage", CHAT)
        task = await server.ask_in_task("sampling/createMessage", CHAT)
        result = await server.about("tasks/result", task["taskId"])
        del result["_meta"]
        assert result == direct


@pytest.mark.req("R-627")
async def test_whoever_asks_for_the_result_waits_until_there_is_one(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        task = await server.ask_in_task()
        one = await server.start("tasks/result", {"taskId": task["taskId"]})
        two = await server.start("tasks/result", {"taskId": task["taskId"]})
        await person.is_asked.wait()
        assert (await server.about("tasks/get", task["taskId"]))["status"] == "working"
        person.may_answer.set()
        assert (await one())["action"] == (await two())["action"] == "decline"
        assert len(person.asked) == 1


async def test_who_gives_up_waiting_for_a_result_leaves_the_task_alone(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        task = await server.ask_in_task()
        waiting = await server.start("tasks/result", {"taskId": task["taskId"]})
        await server.tell("notifications/cancelled", {"requestId": waiting.request_id})
        person.may_answer.set()
        assert (await server.about("tasks/result", task["taskId"]))["action"] == "decline"
        assert person.left == []


@pytest.mark.req("R-577")
async def test_the_request_that_made_a_task_can_no_longer_be_cancelled(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        asking = await server.start("elicitation/create", {**FORM, "task": {}})
        task_id = (await asking())["task"]["taskId"]
        await person.is_asked.wait()
        await server.tell("notifications/cancelled", {"requestId": asking.request_id})
        await trio.testing.wait_all_tasks_blocked()
        assert (await server.about("tasks/get", task_id))["status"] == "working"
        assert person.left == []


@pytest.mark.req("R-612", "R-653")
async def test_ids_are_unique_and_cannot_be_guessed(autojump_clock):
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        made = [await server.ask_in_task("sampling/createMessage", CHAT) for _ in range(50)]
    ids = {each["taskId"] for each in made}
    assert len(ids) == 50
    # 24 random bytes are 192 bits.
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", each) for each in ids)


# How it fails


@pytest.mark.req("R-648", "R-649")
@pytest.mark.parametrize(
    "said",
    [
        ErrorData(code=-1, message="the user said no", data={"why": 7}),
        MCPError(-1, "the user said no", {"why": 7}),
    ],
    ids=["returned", "raised"],
)
async def test_a_question_that_is_answered_with_an_error_fails_its_task(autojump_clock, said):
    person = Person(said)
    person.may_answer.set()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        task = await server.ask_in_task()
        with pytest.raises(MCPError) as raised:
            await server.about("tasks/result", task["taskId"])
        assert raised.value.error == ErrorData(
            code=-1, message="the user said no", data={"why": 7}
        )
        got = await server.about("tasks/get", task["taskId"])
        assert (got["status"], got["statusMessage"]) == ("failed", "the user said no")


@pytest.mark.req("R-646", "R-648", "R-649")
@pytest.mark.parametrize(
    "answer", [ValueError("secret"), "no answer"], ids=["raises", "no-answer"]
)
async def test_a_defect_of_a_callback_is_logged_and_told_as_no_more_than_that(
    autojump_clock, caplog, answer
):
    person = Person(answer)
    person.may_answer.set()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        with pytest.raises(MCPError) as direct:
            await server.ask("elicitation/create", FORM)
        task = await server.ask_in_task()
        with pytest.raises(MCPError) as raised:
            await server.about("tasks/result", task["taskId"])
        assert raised.value.error == direct.value.error
        got = await server.about("tasks/get", task["taskId"])
        assert (got["status"], got["statusMessage"]) == ("failed", direct.value.message)
    assert "secret" not in direct.value.message
    assert caplog.records


class Answering(ClientExtension):
    identifier = "com.example/answering"

    def __init__(self, answer):
        self.answer = answer

    async def intercept_request(self, request, context, call_next):
        return self.answer


@pytest.mark.req("R-646")
@pytest.mark.parametrize(
    ("answer", "status"),
    [({"action": "cancel"}, "completed"), ({"action": object()}, "failed")],
    ids=["json", "no-json"],
)
async def test_an_extension_further_in_may_answer_in_place_of_the_callback(
    autojump_clock, answer, status
):
    server = AskingServer()
    tasks = [TasksClientExtension(), Answering(answer)]
    async with served(server, tasks=tasks, elicitation_callback=Person().elicit):
        task = await server.ask_in_task()
        await trio.testing.wait_all_tasks_blocked()
        assert (await server.about("tasks/get", task["taskId"]))["status"] == status
        if status == "completed":
            assert (await server.about("tasks/result", task["taskId"]))["action"] == "cancel"
        else:
            assert await code_of(server.about("tasks/result", task["taskId"])) == -32603


# How it is cancelled


@pytest.mark.req("R-577", "R-632", "R-640", "R-641")
async def test_a_task_is_cancelled_and_nobody_is_asked_any_longer(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        task = await server.ask_in_task()
        await person.is_asked.wait()
        waiting = await server.start("tasks/result", {"taskId": task["taskId"]})
        cancelled = await server.about("tasks/cancel", task["taskId"])
        assert cancelled["status"] == "cancelled"
        assert "_meta" not in cancelled
        assert person.left == person.asked
        assert await code_of(waiting()) == -32603
        with pytest.raises(MCPError, match="cancelled"):
            await server.about("tasks/result", task["taskId"])


async def test_a_callback_that_fails_while_its_task_is_cancelled_harms_nothing_else(
    autojump_clock, caplog
):
    is_asked = trio.Event()

    async def breaks(context, params):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                is_asked.set()
                await trio.sleep_forever()
            finally:
                raise ValueError("while being cancelled")

    server = AskingServer()
    async with served(server, elicitation_callback=breaks):
        task = await server.ask_in_task("elicitation/create", FORM)
        await is_asked.wait()
        await server.about("tasks/cancel", task["taskId"])
        await trio.testing.wait_all_tasks_blocked()
        assert (await server.about("tasks/get", task["taskId"]))["status"] == "cancelled"
    assert "while being cancelled" in caplog.text


@pytest.mark.req("R-614", "R-615", "R-642")
async def test_a_cancelled_task_stays_cancelled_whatever_the_callback_does(autojump_clock):
    async def stubborn(context, params):
        asked.set()
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
        return ElicitResult(action="accept", content={})

    asked = trio.Event()
    server = AskingServer()
    async with served(server, elicitation_callback=stubborn):
        task = await server.ask_in_task()
        await asked.wait()
        await server.about("tasks/cancel", task["taskId"])
        await trio.sleep(10)
        got = await server.about("tasks/get", task["taskId"])
        assert got["status"] == "cancelled"
        assert await code_of(server.about("tasks/result", task["taskId"])) == -32603


@pytest.mark.req("R-639", "R-615")
@pytest.mark.parametrize("how", ["completed", "failed", "cancelled"])
async def test_a_task_that_is_over_cannot_be_cancelled(autojump_clock, how):
    person = Person(MCPError(-1, "no") if how == "failed" else None)
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        task = await server.ask_in_task()
        if how == "cancelled":
            await server.about("tasks/cancel", task["taskId"])
        person.may_answer.set()
        await trio.testing.wait_all_tasks_blocked()
        before = await server.about("tasks/get", task["taskId"])
        assert before["status"] == how
        with pytest.raises(MCPError, match=how) as refused:
            await server.about("tasks/cancel", task["taskId"])
        assert refused.value.code == -32602
        assert await server.about("tasks/get", task["taskId"]) == before


# What cannot be had


@pytest.mark.req("R-644", "R-647")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
@pytest.mark.parametrize("task_id", ["no-such", "", 7, None])
async def test_an_id_that_is_none_is_refused(autojump_clock, method, task_id):
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        with pytest.raises(MCPError, match=r"Unknown task|params\.taskId") as refused:
            await server.about(method, task_id)
        assert refused.value.code == -32602


@pytest.mark.req("R-650", "R-651", "R-652")
async def test_tasks_of_another_session_are_not_there(autojump_clock):
    one, two = AskingServer(), AskingServer()
    tasks = [TasksClientExtension()]
    async with (
        served(one, tasks=tasks, sampling_callback=sample),
        served(two, tasks=tasks, sampling_callback=sample),
    ):
        task = await one.ask_in_task("sampling/createMessage", CHAT)
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            assert await code_of(two.about(method, task["taskId"])) == -32602
        assert await two.ask("tasks/list", {}) == {"tasks": []}
        assert len((await one.ask("tasks/list", {}))["tasks"]) == 1


@pytest.mark.req("R-629", "R-631")
async def test_the_id_of_the_params_counts_whatever_the_meta_says(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        one, two = await server.ask_in_task(), await server.ask_in_task()
        meta = {RELATED: {"taskId": one["taskId"]}}
        params = {"taskId": two["taskId"], "_meta": meta}
        assert (await server.ask("tasks/get", params))["taskId"] == two["taskId"]
        assert (await server.ask("tasks/cancel", params))["taskId"] == two["taskId"]
        assert await code_of(server.ask("tasks/result", params)) == -32603
        assert (await server.about("tasks/get", one["taskId"]))["status"] == "working"


@pytest.mark.req("R-647")
@pytest.mark.parametrize(
    ("ttl", "kept"),
    [(1, 1), (10**400, 600_000), (None, 600_000), (5_000.0, 5_000)],
    ids=["short", "long", "null", "float"],
)
async def test_the_time_of_a_task_is_the_one_asked_for_within_bounds(autojump_clock, ttl, kept):
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        task = await server.ask_in_task("sampling/createMessage", CHAT, ttl=ttl)
        assert task["ttl"] == kept


@pytest.mark.req("R-647")
@pytest.mark.parametrize("ttl", [0, -1, -(10**400), "1000", 1.5, True, {}], ids=repr)
async def test_a_time_that_is_none_is_refused(autojump_clock, ttl):
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        with pytest.raises(MCPError, match=r"params\.task\.ttl") as refused:
            await server.ask_in_task("sampling/createMessage", CHAT, ttl=ttl)
        assert refused.value.code == -32602
        assert await server.ask("tasks/list", {}) == {"tasks": []}


@pytest.mark.req("R-657")
async def test_a_server_may_have_only_so_many_tasks(autojump_clock):
    person = Person()
    server = AskingServer()
    tasks = [TasksClientExtension(accepts=AcceptedTasks(max_tasks=2, ttl=60))]
    async with served(server, tasks=tasks, elicitation_callback=person.elicit):
        for _ in range(2):
            await server.ask_in_task()
        with pytest.raises(MCPError, match="too many tasks") as refused:
            await server.ask_in_task()
        assert refused.value.code == -31503
        await trio.sleep(61)
        await server.ask_in_task()


@pytest.mark.req("R-657")
async def test_what_has_been_over_for_longest_makes_room(autojump_clock):
    person = Person()
    now = 1_700_000_000

    def clock():
        nonlocal now
        now += 1
        return now

    server = AskingServer()
    tasks = [TasksClientExtension(accepts=AcceptedTasks(max_tasks=3, clock=clock))]
    options = {"elicitation_callback": person.elicit, "sampling_callback": sample}
    async with served(server, tasks=tasks, **options):
        asked = await server.ask_in_task()
        made = [
            (await server.ask_in_task("sampling/createMessage", CHAT))["taskId"] for _ in range(3)
        ]
        listed = (await server.ask("tasks/list", {}))["tasks"]
        assert [each["taskId"] for each in listed] == [asked["taskId"], *made[1:]]
        assert await code_of(server.about("tasks/result", made[0])) == -32602
        assert (await server.about("tasks/get", asked["taskId"]))["status"] == "working"


@pytest.mark.req("R-657")
async def test_a_server_may_have_only_so_many_questions_asked_at_the_same_time(autojump_clock):
    person = Person()
    server = AskingServer()
    tasks = [TasksClientExtension(accepts=AcceptedTasks(max_running=2))]
    async with served(server, tasks=tasks, elicitation_callback=person.elicit):
        await server.ask_in_task()
        await server.ask_in_task()
        with pytest.raises(MCPError, match="too many tasks"):
            await server.ask_in_task()
        person.may_answer.set()
        await trio.testing.wait_all_tasks_blocked()
        await server.ask_in_task()


@pytest.mark.req("R-657", "R-644")
async def test_a_task_is_forgotten_when_its_time_is_over(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit, sampling_callback=sample):
        done = await server.ask_in_task("sampling/createMessage", CHAT, ttl=30_000)
        open_ = await server.ask_in_task(ttl=30_000)
        waiting = await server.start("tasks/result", {"taskId": open_["taskId"]})
        await trio.sleep(29)
        assert person.left == []
        assert len((await server.ask("tasks/list", {}))["tasks"]) == 2
        await trio.sleep(2)
        assert person.left == person.asked
        assert await code_of(waiting()) == -32603
        for task in (done, open_):
            assert await code_of(server.about("tasks/get", task["taskId"])) == -32602
        assert await server.ask("tasks/list", {}) == {"tasks": []}


# Lists


@pytest.mark.req("R-635", "R-636", "R-637", "R-638", "R-632")
async def test_tasks_are_listed_by_pages_in_the_order_in_which_they_were_made(autojump_clock):
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        made = [
            (await server.ask_in_task("sampling/createMessage", CHAT))["taskId"]
            for _ in range(250)
        ]
        listed, params = [], {}
        while True:
            page = await server.ask("tasks/list", params)
            assert len(page["tasks"]) <= 100
            assert "_meta" not in page
            listed += page["tasks"]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        assert [each["taskId"] for each in listed] == made
        assert await server.about("tasks/get", made[0]) == listed[0]


@pytest.mark.req("R-645", "R-647")
@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "9" * 100, "٣", 7], ids=ascii)
async def test_a_cursor_that_is_none_is_refused(autojump_clock, cursor):
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        with pytest.raises(MCPError, match="cursor") as refused:
            await server.ask("tasks/list", {"cursor": cursor})
        assert refused.value.code == -32602


# The end of the session


async def test_tasks_end_with_their_session(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit):
        await server.ask_in_task()
        await person.is_asked.wait()
    assert person.left == person.asked


async def test_tasks_end_when_their_server_has_gone(autojump_clock):
    person = Person()
    server = AskingServer()
    async with served(server, elicitation_callback=person.elicit) as client:
        await server.ask_in_task()
        await person.is_asked.wait()
        await server.channel.aclose()
        await client.session.wait_lost()
        await trio.testing.wait_all_tasks_blocked()
        assert person.left == person.asked


class Series(AbstractAsyncContextManager):
    """A transport to one server after the other."""

    def __init__(self):
        self.servers = []

    async def __aenter__(self):
        near, far = open_memory_channel_pair(as_text=True)
        self.servers.append(AskingServer())
        self.nursery = trio.open_nursery()
        nursery = await self.nursery.__aenter__()
        self.scope = nursery.cancel_scope
        nursery.start_soon(self.servers[-1].run, far)
        return near

    async def __aexit__(self, *exc_info):
        self.scope.cancel()
        return await self.nursery.__aexit__(*exc_info)


async def test_a_server_that_takes_the_place_of_another_has_none_of_its_tasks(autojump_clock):
    person = Person()
    series = Series()
    client = Client(
        series,
        mode="2025-11-25",
        elicitation_callback=person.elicit,
        extensions=[TasksClientExtension()],
        restart=RestartPolicy(),
    )
    async with client:
        task = await series.servers[0].ask_in_task()
        await person.is_asked.wait()
        await series.servers[0].channel.aclose()
        await trio.sleep(10)
        assert person.left == person.asked
        assert await code_of(series.servers[1].about("tasks/get", task["taskId"])) == -32602
        assert (await series.servers[1].ask_in_task())["status"] == "working"


async def test_a_callback_in_a_task_may_ask_the_server(autojump_clock):
    class Pinging(AskingServer):
        async def _take(self, message):
            if getattr(message, "method", None) == "ping":
                await self.channel.send([JSONRPCResponse(id=message.id, result={})])
            else:
                await super()._take(message)

    async def pinging(context, params):
        await context.session.send_ping()
        return ElicitResult(action="cancel")

    server = Pinging()
    async with served(server, elicitation_callback=pinging):
        task = await server.ask_in_task()
        assert (await server.about("tasks/result", task["taskId"]))["action"] == "cancel"


# What belongs to a task says so


@pytest.mark.req("R-581", "R-582", "R-619")
async def test_progress_of_the_callback_belongs_to_the_task_and_goes_by_its_token(autojump_clock):
    async def elicit(context, params):
        await asked.wait()
        await context.report_progress(1, 2, "half")
        return ElicitResult(action="decline")

    asked = trio.Event()
    server = AskingServer()
    async with served(server, elicitation_callback=elicit):
        params = {**FORM, "task": {}, "_meta": {"progressToken": "p"}}
        task_id = (await server.ask("elicitation/create", params))["task"]["taskId"]
        asked.set()
        await server.about("tasks/result", task_id)
        told = [each.params for each in server.notified if "progress" in each.method]
        assert told == [
            {
                "progressToken": "p",
                "progress": 1,
                "total": 2,
                "message": "half",
                "_meta": {RELATED: {"taskId": task_id}},
            }
        ]


@pytest.mark.req("R-634")
async def test_a_server_is_told_without_asking_when_a_task_has_come_to_its_end(autojump_clock):
    person = Person()
    server = AskingServer()
    options = {"elicitation_callback": person.elicit, "sampling_callback": sample}
    async with served(server, **options):
        done = await server.ask_in_task("sampling/createMessage", CHAT)
        cancelled = await server.ask_in_task()
        await server.about("tasks/cancel", cancelled["taskId"])
        await trio.testing.wait_all_tasks_blocked()
        told = [each.params for each in server.notified if "tasks/status" in each.method]
        # Of what it did itself it knows.
        assert told == [await server.about("tasks/get", done["taskId"])]
        assert told[0]["status"] == "completed"


@pytest.mark.req("R-583")
async def test_nothing_is_reported_of_a_task_that_is_over(autojump_clock):
    async def stubborn(context, params):
        await context.report_progress(1)
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
            await context.report_progress(2)
            reported.set()
        return ElicitResult(action="decline")

    reported = trio.Event()
    server = AskingServer()
    async with served(server, elicitation_callback=stubborn):
        params = {**FORM, "task": {}, "_meta": {"progressToken": "p"}}
        task_id = (await server.ask("elicitation/create", params))["task"]["taskId"]
        await trio.testing.wait_all_tasks_blocked()
        await server.about("tasks/cancel", task_id)
        await reported.wait()
        await server.about("tasks/get", task_id)
        told = [each.params["progress"] for each in server.notified if "progress" in each.method]
        assert told == [1]


@pytest.mark.req("R-619")
@pytest.mark.parametrize("tasks", [TasksClientExtension(), TasksClientExtension(accepts=None)])
async def test_what_answers_a_question_of_a_task_of_the_server_says_so(autojump_clock, tasks):
    async def elicit(context, params):
        await context.report_progress(1)
        return ElicitResult(action="decline", meta={"own": 1})

    related = {RELATED: {"taskId": "of-server"}}
    server = AskingServer()
    async with served(server, tasks=[tasks], elicitation_callback=elicit):
        params = {**FORM, "_meta": {**related, "progressToken": "p"}}
        answer = await server.ask("elicitation/create", params)
        assert answer == {"action": "decline", "_meta": {"own": 1, **related}}
        assert server.notified[-1].params["_meta"] == related


@pytest.mark.req("R-619")
async def test_a_question_of_a_task_that_becomes_one_itself_belongs_to_its_own(autojump_clock):
    server = AskingServer()
    async with served(server, elicitation_callback=Person().elicit):
        meta = {RELATED: {"taskId": "of-server"}}
        created = await server.ask("elicitation/create", {**FORM, "task": {}, "_meta": meta})
        assert created["_meta"] == {RELATED: {"taskId": created["task"]["taskId"]}}


# For those who look after it


@pytest.mark.req("R-658")
async def test_what_becomes_of_a_task_is_logged(autojump_clock, caplog):
    caplog.set_level(logging.INFO, "trio_mcp.extensions.tasks")
    server = AskingServer()
    async with served(server, sampling_callback=sample):
        task = await server.ask_in_task("sampling/createMessage", CHAT)
        await server.about("tasks/result", task["taskId"])
    said = [each.getMessage() for each in caplog.records if "task" in each.getMessage()]
    shown = task["taskId"][:6]
    assert said == [
        f"The task {shown}… for sampling/createMessage has begun",
        f"The task {shown}… is over: completed",
        f"The result of the task {shown}… is fetched",
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"max_tasks": 0},
        {"max_running": 0},
        {"ttl": 0},
        {"ttl": float("inf")},
        {"poll_interval": -1},
    ],
    ids=str,
)
def test_bounds_that_are_none_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        AcceptedTasks(**options)


def test_options_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="clock"):
        AcceptedTasks(clock=7)
    with pytest.raises(TypeError, match="accepts"):
        TasksClientExtension(accepts=True)


def test_a_session_that_is_made_by_hand_may_have_tasks():
    near, far = open_memory_channel_pair()
    extensions = [TasksClientExtension()]
    session = ClientSession(near, far, sampling_callback=sample, extensions=extensions)
    requests = session.client_capabilities.tasks.requests
    assert requests.elicitation is None
    assert requests.sampling.create_message is not None
