"""Answers are kept until the work of a task has taken them, and no longer."""

from __future__ import annotations

import trio

from trio_mcp import Context, MCPServer
from trio_mcp.extensions import InMemoryTaskStore, RedisTaskStore, Task, TasksExtension
from trio_mcp.types import ElicitResult

from ._stores import stored
from ._studio import Colour, answer_blue, connect, start, until

RED = ElicitResult(action="accept", content={"name": "red"})


def questioning(store, rounds=10):
    """A server with a tool that asks again and again, and goes on behind that."""
    tasks = TasksExtension({"ask": "required"}, store=store, poll_interval=0.05)
    mcp = MCPServer("questioning", extensions=[tasks])

    @mcp.tool()
    async def ask(ctx: Context) -> str:
        """Ask again and again."""
        said = [(await ctx.elicit(f"{each}?", Colour)).data.name for each in range(rounds)]
        await trio.sleep(0.2)
        return " ".join(said)

    return mcp


class Recording(InMemoryTaskStore):
    """Knows what it was given, and may refuse to forget answers.

    Attributes:
      versions: All that it was given.
      refuses: Whether it takes no version without answers that were there.

    """

    def __init__(self):
        super().__init__()
        self.versions = []
        self.refuses = False

    async def replace(self, task):
        kept = await self.get(task.task_id)
        forgets = len(task.input_responses) < len(kept.input_responses)
        if self.refuses and forgets and not task.is_over:
            raise ConnectionError("the store is away")
        self.versions.append(task)
        return await super().replace(task)


async def answer_one(task):
    asked = await until(task.get, "input_required")
    await task.update(dict.fromkeys(asked.input_requests, RED))
    return list(asked.input_requests)


async def test_a_task_with_many_questions_grows_by_none_of_their_answers(autojump_clock):
    store = Recording()
    async with connect(questioning(store), "direct", elicitation_callback=answer_blue) as client:
        task = await start(client, "ask")
        result = await task.wait()
    assert result.content[0].text == " ".join(["blue"] * 10)
    assert max(len(each.input_responses) for each in store.versions) == 1
    # The last answer goes before the task is over.
    last = [each for each in store.versions if not each.is_over][-1]
    assert (last.status, last.input_responses) == ("working", {})


async def test_an_answer_is_dropped_by_the_process_that_took_it(redis_server):
    here, there = (RedisTaskStore(redis_server.url) for _ in range(2))
    async with (
        connect(questioning(here), "direct", elicitation_callback=answer_blue) as one,
        connect(questioning(there), "direct", elicitation_callback=answer_blue) as other,
    ):
        task = await start(one, "ask")
        elsewhere = Task(other, task.task_id)
        [first] = await answer_one(elsewhere)
        kept = None
        while kept is None or kept.input_responses:
            kept = await there.get(task.task_id)
        # A second sending of the same answer is of no use to anybody.
        await elsewhere.update({first: RED})
        kept = await there.get(task.task_id)
        assert first not in {*kept.input_requests, *kept.input_responses}
        assert (await elsewhere.wait()).content[0].text == " ".join(["red"] + 9 * ["blue"])


async def test_work_goes_on_though_its_answers_could_not_be_dropped(autojump_clock):
    store = Recording()
    store.refuses = True
    async with connect(questioning(store), "direct", elicitation_callback=answer_blue) as client:
        task = await start(client, "ask")
        for _ in range(3):
            await answer_one(task)
        kept = await store.get(task.task_id)
        assert len(kept.input_responses) == 3
        store.refuses = False
        await answer_one(task)
        await until(task.get, "input_required")
        # The next time takes along what had to stay.
        assert (await store.get(task.task_id)).input_responses == {}
        await task.cancel()


async def test_a_change_that_its_client_cannot_see_is_no_change_to_it():
    task = stored("a").asking(1.0, {"k": {"method": "roots/list"}})
    answered = task.answered(2.0, {"k": {"roots": []}})
    assert answered.without_answers(["other"]) is None
    taken = answered.without_answers(["k", "other"])
    assert (taken.input_responses, taken.version) == ({}, 3)
    assert taken.to_detailed() == answered.to_detailed()


async def test_what_is_withdrawn_takes_its_answer_along():
    task = stored("a").asking(1.0, {"k": {"method": "roots/list"}})
    answered = task.answered(2.0, {"k": {"roots": []}})
    assert answered.asking(3.0, {}, without=["k"]).input_responses == {}
    assert answered.asking(3.0, {}, without=["other"]) is None
