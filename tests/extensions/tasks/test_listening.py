"""Hearing of tasks on a stream, in place of asking again and again."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
import trio

from trio_mcp.extensions import InMemoryTaskStore
from trio_mcp.types import SubscriptionFilter

from ._studio import answer_blue, ask_raw, connect, error_of, on_every_road, settle, start, studio

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.fixture(autouse=True)
def clock(request, road):
    """Virtual time, unless bytes travel in real time."""
    return None if road == "http" else request.getfixturevalue("autojump_clock")


@asynccontextmanager
async def listening(client, **members):
    """Listen as long as the block lasts; gives the notifications, once the first is there."""
    heard = []
    wanted = SubscriptionFilter(extra=members)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            client.session.send_listen,
            wanted,
            lambda method, params: heard.append((method, params)),
        )
        await settle(lambda: heard)
        yield heard
        nursery.cancel_scope.cancel()


@pytest.mark.req("R-675", "R-694")
@on_every_road
async def test_a_listener_is_told_what_it_would_be_answered(road):
    made = studio(patience=0)
    async with connect(made.mcp, road, elicitation_callback=answer_blue) as client:
        painting = await start(client, "paint", {"seconds": 60})
        asking = await start(client, "ask_in_vain")
        other = await start(client, "paint", {"seconds": 60})
        ids = [painting.task_id, "unknown", asking.task_id]
        async with listening(client, taskIds=ids) as heard:
            [(method, params)] = heard[:1]
            assert method == "notifications/subscriptions/acknowledged"
            assert params["notifications"] == {"taskIds": [painting.task_id, asking.task_id]}
            subscription = params["_meta"][SUBSCRIPTION]
            await other.cancel()
            await painting.cancel()

            def told(status):
                return [each for _, each in heard if each.get("status") == status]

            await settle(lambda: told("cancelled"))
            [cancelled] = told("cancelled")
            assert cancelled.pop("_meta")[SUBSCRIPTION] == subscription
            found = await ask_raw(client, "tasks/get", taskId=painting.task_id)
            assert {"resultType": "complete", **cancelled} == found
            assert {method for method, _ in heard[1:]} == {"notifications/tasks"}
            assert {each["taskId"] for _, each in heard[1:]} <= {painting.task_id, asking.task_id}


@pytest.mark.req("R-675")
@pytest.mark.parametrize("road", ["direct", "text"])
async def test_a_listener_hears_of_questions_and_results(road):
    async with connect(studio().mcp, road, elicitation_callback=answer_blue) as client:
        task = await start(client, "paint", {"seconds": 1})
        asking = await start(client, "ask_late_by_result")
        async with listening(client, taskIds=[task.task_id, asking.task_id]) as heard:
            await settle(lambda: len(heard) >= 3)
            told = {each["status"]: each for _, each in heard[1:]}
            assert told["completed"]["result"]["structuredContent"] == {
                "result": "painted for 1 s"
            }
            [question] = told["input_required"]["inputRequests"].values()
            assert question["method"] == "elicitation/create"


@pytest.mark.req("R-693")
@on_every_road
async def test_listening_to_tasks_takes_the_extension(road):
    async with connect(studio().mcp, road, knows_tasks=False) as client:
        wanted = SubscriptionFilter(extra={"taskIds": ["unknown"]})
        error = await error_of(client.session.send_listen(wanted, lambda method, params: None))
        assert error.code == -32021
        wanted = {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
        assert error.data == wanted


@on_every_road
@pytest.mark.parametrize("wanted", ["id", [7], {"id": True}], ids=str)
async def test_ids_that_are_none_are_refused(road, wanted):
    async with connect(studio().mcp, road) as client:
        asked = SubscriptionFilter(extra={"taskIds": wanted})
        error = await error_of(client.session.send_listen(asked, lambda method, params: None))
        assert error.code == -32602
        assert "params.notifications.taskIds" in error.message


@pytest.mark.parametrize("road", ["direct", "text"])
async def test_tasks_that_nobody_knows_are_not_acknowledged(road):
    async with (
        connect(studio().mcp, road) as client,
        listening(client, taskIds=["unknown"], toolsListChanged=True, com_example=7) as heard,
    ):
        assert heard[0][1]["notifications"] == {"toolsListChanged": True}


@pytest.mark.parametrize("road", ["direct"])
async def test_a_member_of_the_filter_has_one_owner(road):
    made = studio()
    for taken in ("taskIds", "toolsListChanged"):
        with pytest.raises(ValueError, match=f"'{taken}' is a member"):
            made.mcp.lowlevel_server.add_subscription(taken, lambda ctx, wanted, tell: None)


@pytest.mark.parametrize("road", ["direct"])
async def test_a_task_that_changes_all_the_time_holds_up_no_other(road):
    class BusyStore(InMemoryTaskStore):
        """Has one task change whenever it is read."""

        busy = ""

        async def get(self, task_id):
            task = await super().get(task_id)
            if task_id == self.busy and not task.is_over:
                await self.replace(task.changed(task.updated_at))
            return task

    store = BusyStore()
    made = studio(patience=0, store=store)
    async with connect(made.mcp, road) as client:
        busy, other = [await start(client, "paint", {"seconds": 60}) for _ in range(2)]
        async with listening(client, taskIds=[busy.task_id, other.task_id]) as heard:
            store.busy = busy.task_id
            await store.get(busy.task_id)
            await other.cancel()
            # Time stands still where something happens all the time.
            for _ in range(1_000):
                await trio.lowlevel.checkpoint()
            store.busy = ""
            assert "cancelled" in [each.get("status") for _, each in heard]
