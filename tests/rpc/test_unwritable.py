"""Messages that are no JSON: whoever sends one is told at once, and nobody else notices."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trio_mcp._codec._json import MAX_JSON_DEPTH
from trio_mcp._rpc._link import CallOptions
from trio_mcp._rpc._peer import open_peer
from trio_mcp.errors import MCPError
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.transports._line_channel import LineChannel
from trio_mcp.types import ErrorData, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from .conftest import FarEnd

TOO_DEEP = f"nested deeper than {MAX_JSON_DEPTH} levels"


def nested(depth):
    value = {}
    for _ in range(depth - 1):
        value = {"x": value}
    return value


# A message and its params are two levels more.
DEEPEST = MAX_JSON_DEPTH - 2

UNWRITABLE = [
    ({"uri": "r://\ud800"}, ValueError, "params.uri: the text holds a lone surrogate"),
    ({"a": [{"b c": ["\udfff"]}]}, ValueError, 'params.a[0]["b c"][0]: the text holds'),
    ({"\ud800": 1}, ValueError, "params['\\ud800']: the text holds a lone surrogate"),
    ({"x": nested(DEEPEST + 1)}, ValueError, TOO_DEEP),
    ({"x": nested(3000)}, ValueError, TOO_DEEP),
    ({"x": 10**5000}, ValueError, "params.x: the integer has too many digits"),
    ({"x": object()}, TypeError, "params.x: object has no JSON form"),
]


def line_pair():
    near, far = trio.testing.memory_stream_pair()
    return LineChannel(near, near), LineChannel(far, far)


CARRIERS = {
    "memory": open_memory_channel_pair,
    "memory as text": lambda: open_memory_channel_pair(as_text=True),
    "lines": line_pair,
}


@pytest.fixture(params=list(CARRIERS))
def open_carrier(request, serving):
    @asynccontextmanager
    async def open_carrier(served=None):
        near, far = CARRIERS[request.param]()
        async with open_peer(near, served or serving()) as peer:
            yield peer, FarEnd(far)

    return open_carrier


UNWRITABLE_IDS = ["text", "nested text", "name", "deep", "very deep", "digits", "object"]


@pytest.mark.parametrize(("params", "kind", "what"), UNWRITABLE, ids=UNWRITABLE_IDS)
@pytest.mark.parametrize("timeout", [None, 5])
async def test_a_request_that_is_no_json_is_refused_at_once(
    autojump_clock, open_carrier, params, kind, what, timeout
):
    async with open_carrier() as (peer, far):
        with pytest.raises(kind) as caught:
            await peer.request("the/method", params, CallOptions(timeout=timeout))
        assert type(caught.value) is kind
        assert str(caught.value).startswith("the/method: params")
        assert what.replace('"', "'") in str(caught.value)
        assert str(caught.value).encode()
        assert trio.current_time() == 0
        # Not even a cancellation is told of what was never sent.
        await far.silence()


async def test_what_is_just_not_too_deep_is_sent(autojump_clock, open_carrier):
    async with open_carrier() as (peer, far):
        await peer.notify("m", {"x": nested(DEEPEST)})
        assert (await far.next()).params == {"x": nested(DEEPEST)}


async def test_a_method_that_is_no_text_is_refused(autojump_clock, open_carrier):
    async with open_carrier() as (peer, far):
        with pytest.raises(ValueError, match=r"^m\\ud800: method: the text holds a lone surr"):
            await peer.request("m\ud800", {"x": 1})
        with pytest.raises(ValueError, match=r"^m\\ud800: method: the text holds a lone surr"):
            await peer.notify("m\ud800")
        await far.silence()


async def test_a_bad_request_in_a_burst_harms_no_other_message(autojump_clock, open_carrier):
    async with open_carrier() as (peer, far), trio.open_nursery() as nursery:
        outcome = {}

        async def ask(name, params):
            try:
                outcome[name] = await peer.request(name, params)
            except ValueError as exc:
                outcome[name] = exc

        for name in ("one", "two", "three", "four", "five"):
            bad = name in ("two", "four")
            nursery.start_soon(ask, name, {"x": "\ud800" if bad else "ok"})
        requests = [await far.next() for _ in range(3)]
        assert sorted(each.method for each in requests) == ["five", "one", "three"]
        assert {name for name, each in outcome.items() if isinstance(each, ValueError)} == {
            "two",
            "four",
        }
        for request in requests:
            await far.answer(request, {"for": request.method})
        await trio.testing.wait_all_tasks_blocked()
        assert outcome["five"] == {"for": "five"}
        assert len(outcome) == 5


@pytest.mark.parametrize(("params", "kind", "what"), UNWRITABLE, ids=UNWRITABLE_IDS)
async def test_a_notification_that_is_no_json_is_refused_where_it_is_sent(
    autojump_clock, open_carrier, params, kind, what
):
    async with open_carrier() as (peer, far):
        with pytest.raises(kind) as caught:
            await peer.notify("the/notice", params)
        assert str(caught.value).startswith("the/notice: params")
        assert what.replace('"', "'") in str(caught.value)
        await peer.notify("next", {"x": None})
        assert await far.next() == JSONRPCNotification(method="next", params={"x": None})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
async def test_a_notification_with_a_number_that_json_lacks_is_refused(
    autojump_clock, open_carrier, number
):
    async with open_carrier() as (peer, far):
        with pytest.raises(ValueError, match=r"^n: params\.total: JSON has no -?(nan|inf)$"):
            await peer.notify("n", {"progress": None, "total": number})
        await far.silence()


@pytest.mark.parametrize(
    "options", [{"message": "\ud800"}, {"total": math.nan}, {"total": math.inf}], ids=str
)
async def test_a_handler_learns_that_its_progress_is_no_json(
    autojump_clock, open_carrier, serving, options
):
    refused = []

    async def reports(exchange):
        with pytest.raises(ValueError, match=r"^notifications/progress: params\.") as caught:
            await exchange.report_progress(1, **options)
        refused.append(caught.value)
        await exchange.report_progress(2)
        return {}

    async with open_carrier(serving(reports=reports)) as (_, far):
        await far.ask("do/reports", {"_meta": {"progressToken": "t"}})
        assert (await far.next()).params == {"progressToken": "t", "progress": 2}
        assert isinstance(await far.next(), JSONRPCResponse)
    assert len(refused) == 1


async def test_a_handler_is_told_and_can_go_on_when_its_question_is_no_json(
    autojump_clock, open_carrier, serving
):
    async def asks(exchange):
        with pytest.raises(ValueError, match=r"^sampling: params\.x: the text holds a lone"):
            await exchange.link.request("sampling", {"x": "\ud800"})
        return await exchange.link.request("sampling", {"x": "fine"})

    async with open_carrier(serving(asks=asks)) as (_, far):
        await far.ask("do/asks")
        question = await far.next()
        assert question.params == {"x": "fine"}
        await far.answer(question, {"said": 1})
        assert (await far.next()).result == {"said": 1}


async def test_a_refused_request_leaves_the_id_of_another_alone(autojump_clock, open_carrier):
    async with open_carrier() as (peer, far), trio.open_nursery() as nursery:
        results = []

        async def ask():
            results.append(await peer.request("m", {}))

        with pytest.raises(ValueError, match="surrogate"):
            await peer.request("m", {"x": "\ud800"})
        nursery.start_soon(ask)
        request = await far.next()
        assert isinstance(request, JSONRPCRequest)
        await far.channel.send([JSONRPCResponse(id=request.id - 1, result={"stray": 1})])
        await far.answer(request, {"good": 1})
        await trio.testing.wait_all_tasks_blocked()
        assert results == [{"good": 1}]


async def test_an_error_whose_text_is_no_text_is_answered_all_the_same(
    autojump_clock, open_carrier, serving
):
    async def fails(exchange):
        raise MCPError(-31000, "no file caf\udce9", {"x": 1})

    async with open_carrier(serving(fails=fails)) as (_, far):
        await far.ask("do/fails")
        error = (await far.next()).error
        assert error == ErrorData(code=-31000, message=r"no file caf\udce9", data={"x": 1})


async def test_a_result_that_is_no_json_is_a_defect_of_the_handler(
    autojump_clock, open_carrier, serving, caplog
):
    async def fails(exchange):
        return {"names": ["caf\udce9"]}

    async with open_carrier(serving(fails=fails)) as (_, far):
        await far.ask("do/fails")
        error = (await far.next()).error
        assert error == ErrorData(code=-32603, message="Internal server error")
    assert "result.names[0]: the text holds a lone surrogate" in caplog.text


async def test_a_reason_that_is_no_text_still_cancels(autojump_clock, open_carrier):
    async with open_carrier() as (peer, far):
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(peer.request, "m", None)
                request = await far.next()
                scope.cancel(reason="\ud800 pressed")
        notice = await far.next()
        assert notice.params == {"requestId": request.id, "reason": r"\ud800 pressed"}


async def test_a_channel_that_fails_by_itself_is_not_taken_for_bad_json(serving):
    class Broken:
        async def receive(self):
            await trio.sleep_forever()

        async def send(self, messages):
            await trio.lowlevel.checkpoint()
            raise ValueError("no bytes left")

    with pytest.raises(ValueError, match="no bytes left"):
        async with open_peer(Broken(), serving()) as peer:
            await peer.request("m", {})
