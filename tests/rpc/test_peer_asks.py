from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from trio_mcp._codec import Malformed
from trio_mcp._rpc._calls import MAX_LAG
from trio_mcp._rpc._channel import SplitChannel
from trio_mcp._rpc._link import CallOptions
from trio_mcp._rpc._outbox import NOTICE_TIMEOUT
from trio_mcp._rpc._peer import open_peer
from trio_mcp.errors import ConnectionLost, InvalidResponse, MCPError, RequestTimeout
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.transports._line_channel import LineChannel
from trio_mcp.types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCResponse


async def collect(into, peer, *args, **kwargs):
    try:
        into.append(await peer.request(*args, **kwargs))
    except MCPError as exc:
        into.append(exc)


async def test_an_answer_goes_to_the_one_who_asked(autojump_clock, open_wire):
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        first, second = [], []
        nursery.start_soon(collect, first, peer, "m", {"n": 1})
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(collect, second, peer, "m", {"n": 2})
        one, two = await far.next(), await far.next()
        await far.answer(two, {"for": 2})
        await far.answer(one, {"for": 1})
        await trio.testing.wait_all_tasks_blocked()
        assert (first, second) == ([{"for": 1}], [{"for": 2}])


@pytest.mark.req("R-005", "R-525")
async def test_concurrent_requests_have_distinct_ids(autojump_clock, open_wire):
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(peer.request, "m", None)
        ids = [(await far.next()).id for _ in range(50)]
        assert len(set(ids)) == 50
        nursery.cancel_scope.cancel()


async def test_an_error_answer_is_raised(autojump_clock, open_wire):
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        nursery.start_soon(collect, outcome, peer, "m", None)
        request = await far.next()
        error = ErrorData(code=-32602, message="no", data={"a": 1})
        await far.channel.send([JSONRPCError(id=request.id, error=error)])
        await trio.testing.wait_all_tasks_blocked()
        (raised,) = outcome
        assert type(raised) is MCPError
        assert (raised.code, raised.message, raised.data) == (-32602, "no", {"a": 1})


@pytest.mark.req("R-017")
@pytest.mark.parametrize("code", [-32000, -32001])
async def test_no_answer_passes_for_a_local_failure(autojump_clock, open_wire, code):
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        nursery.start_soon(collect, outcome, peer, "m", None)
        request = await far.next()
        error = ErrorData(code=code, message="Connection closed")
        await far.channel.send([JSONRPCError(id=request.id, error=error)])
        await trio.testing.wait_all_tasks_blocked()
        assert type(outcome[0]) is MCPError


# Cancellation


@pytest.mark.req("R-087", "R-205", "R-209")
@pytest.mark.case("C020")
async def test_leaving_a_scope_tells_the_peer_with_the_exact_id(autojump_clock, open_wire):
    async with open_wire() as (peer, far):
        with trio.move_on_after(1):
            await peer.request("m", None)
        request, notice = await far.next(), await far.next()
        assert notice.method == "notifications/cancelled"
        assert notice.params == {"requestId": request.id, "reason": "a deadline passed"}


async def fail(after) -> None:
    await after.wait()
    raise ValueError("the password is 1234")


async def test_a_failing_sibling_is_told_to_the_peer_without_its_exception(
    autojump_clock, open_wire
):
    async with open_wire() as (peer, far):
        sent = trio.Event()
        with pytest.raises(ExceptionGroup):  # noqa: PT012 - it ends the call
            async with trio.open_nursery() as nursery:
                nursery.start_soon(peer.request, "m", None)
                nursery.start_soon(fail, sent)
                await far.next()
                sent.set()
        assert (await far.next()).params["reason"] == "a sibling task failed"


@pytest.mark.case("C020")
async def test_sixty_abandoned_calls_are_sixty_notices(autojump_clock, open_wire):
    async with open_wire() as (peer, far):
        with trio.move_on_after(1):
            async with trio.open_nursery() as nursery:
                for _ in range(60):
                    nursery.start_soon(peer.request, "m", None)
        asked = [(await far.next()).id for _ in range(60)]
        cancelled = [(await far.next()).params["requestId"] for _ in range(60)]
        assert sorted(asked) == sorted(cancelled)
        assert len(set(cancelled)) == 60


async def test_the_reason_of_a_cancel_travels(autojump_clock, open_wire):
    async with open_wire() as (peer, far):
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(peer.request, "m", None)
                await far.next()
                scope.cancel(reason="the user pressed stop")
        assert (await far.next()).params["reason"] == "the user pressed stop"


async def test_leaving_waits_for_what_is_being_written(autojump_clock, serving):
    near, far = open_memory_channel_pair()
    begun, slow = trio.Event(), NOTICE_TIMEOUT / 2

    class SlowChannel(SplitChannel):
        async def send(self, messages):
            begun.set()
            await trio.sleep(slow)
            await super().send(messages)

    async with open_peer(SlowChannel(near, near), serving()) as peer:
        await peer.notify("n")
        await begun.wait()
    (notice,) = await far.receive()
    assert notice.method == "n"


async def test_what_is_told_before_all_is_cancelled_is_written(autojump_clock, serving):
    near, far = trio.testing.memory_stream_pair()
    with trio.CancelScope() as scope:
        async with open_peer(LineChannel(near, near), serving()) as peer:
            await trio.testing.wait_all_tasks_blocked()
            await peer.notify("n")
            # The writer has been woken, and has written nothing yet.
            scope.cancel()
    assert b'"method":"n"' in await far.receive_some()


async def test_a_request_that_is_still_queued_is_taken_back(autojump_clock, open_wire):
    async with open_wire() as (peer, far):
        with trio.CancelScope() as scope:
            scope.cancel()
            await peer.request("m", None)
        await far.silence()


@pytest.mark.req("R-576")
async def test_a_request_that_must_not_be_cancelled_is_not(autojump_clock, open_wire):
    async with open_wire() as (peer, far):
        with trio.move_on_after(1):
            await peer.request("initialize", None, CallOptions(may_cancel=False))
        assert (await far.next()).method == "initialize"
        await far.silence()


@pytest.mark.req("R-217", "R-218")
async def test_a_late_answer_is_dropped_and_neighbours_go_on(autojump_clock, open_wire):
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        nursery.start_soon(collect, outcome, peer, "slow", None)
        neighbour = await far.next()
        with trio.move_on_after(1):
            await peer.request("m", None)
        request, _ = await far.next(), await far.next()
        await far.answer(request, {"late": True})
        await far.answer(neighbour, {"in": "time"})
        await trio.testing.wait_all_tasks_blocked()
        assert outcome == [{"in": "time"}]


@pytest.mark.case("C020")
@pytest.mark.req("R-214", "R-575")
@pytest.mark.parametrize("first", ["answer", "cancel"])
async def test_a_request_whose_answer_was_seen_is_not_cancelled(autojump_clock, open_wire, first):
    async with open_wire() as (peer, far):
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(collect, [], peer, "m", None)
                request = await far.next()
                # Both in one step: the caller has seen neither when the other comes.
                if first == "cancel":
                    scope.cancel()
                peer._dispatch(JSONRPCResponse(id=request.id, result={}))
                scope.cancel()
        await far.silence()


@pytest.mark.case("C020")
@pytest.mark.req("R-214", "R-575")
async def test_a_request_that_was_answered_is_not_cancelled(autojump_clock, open_wire):
    async with open_wire() as (peer, far):
        outcome = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(collect_and_stay, outcome, peer)
            await far.answer(await far.next(), {"a": 1})
            await trio.testing.wait_all_tasks_blocked()
            assert outcome == [{"a": 1}]
            nursery.cancel_scope.cancel()
        await far.silence()


async def collect_and_stay(into, peer):
    await collect(into, peer, "m", None)
    await trio.sleep_forever()


@pytest.mark.case("C020")
async def test_notices_are_written_though_everything_round_is_cancelled(autojump_clock, open_wire):
    near_far = []
    with trio.move_on_after(1):
        async with open_wire() as (peer, far):
            near_far.append(far)
            await peer.request("m", None)
    far = near_far[0]
    assert (await far.next()).method == "m"
    assert (await far.next()).method == "notifications/cancelled"


# Time limits


@pytest.mark.req("R-210", "R-211", "R-212")
async def test_a_timeout_raises_and_tells_the_peer(autojump_clock, open_wire):
    async with open_wire() as (peer, far):
        began = trio.current_time()
        with pytest.raises(RequestTimeout, match=r"tools/call: no answer within 0\.3 s") as caught:
            await peer.request("tools/call", None, CallOptions(timeout=0.3))
        assert trio.current_time() - began == pytest.approx(0.3)
        assert caught.value.code == -32001
        assert isinstance(caught.value, MCPError)
        await far.next()
        assert (await far.next()).method == "notifications/cancelled"


async def test_the_clock_starts_when_the_request_was_written(autojump_clock, serving):
    near, far = open_memory_channel_pair(max_buffered=1)
    async with open_peer(near, serving()) as peer:
        await peer.notify("fills the pipe")
        async with trio.open_nursery() as nursery:
            outcome = []
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(collect, outcome, peer, "m", None, CallOptions(timeout=1))
            await trio.sleep(5)
            assert outcome == []
            await far.receive()
            began = trio.current_time()
            await trio.sleep(2)
            assert isinstance(outcome[0], RequestTimeout)
            assert began == pytest.approx(5)


@pytest.mark.req("R-210")
async def test_a_peer_that_never_reads_does_not_hold_a_call_for_ever(autojump_clock, serving):
    near, _ = open_memory_channel_pair(max_buffered=1)
    async with open_peer(near, serving()) as peer:
        await peer.notify("fills the pipe")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(RequestTimeout):
            await peer.request("m", None, CallOptions(timeout=1))
        assert trio.current_time() == pytest.approx(10)
        with pytest.raises(RequestTimeout):
            await peer.request("m", None, CallOptions(timeout=1, max_total_timeout=2))
        assert trio.current_time() == pytest.approx(12)


@pytest.mark.req("R-213")
@pytest.mark.case("C023")
async def test_progress_pushes_the_limit_forward_but_not_past_the_maximum(
    autojump_clock, open_wire
):
    async def report(*args):
        pass

    options = CallOptions(
        timeout=0.5, reset_timeout_on_progress=True, max_total_timeout=3, on_progress=report
    )
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        nursery.start_soon(collect, outcome, peer, "m", None, options)
        request = await far.next()
        for step in range(20):
            if outcome:
                break
            await far.tell(
                "notifications/progress", {"progressToken": request.id, "progress": step}
            )
            await trio.sleep(0.4)
        assert isinstance(outcome[0], RequestTimeout)
        assert trio.current_time() == pytest.approx(3.2, abs=0.3)


@pytest.mark.case("C023")
async def test_progress_leaves_the_limit_alone_unless_asked(autojump_clock, open_wire):
    async def report(*args):
        pass

    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        options = CallOptions(timeout=0.5, on_progress=report)
        nursery.start_soon(collect, outcome, peer, "m", None, options)
        request = await far.next()
        for step in range(4):
            await far.tell(
                "notifications/progress", {"progressToken": request.id, "progress": step}
            )
            await trio.sleep(0.2)
        assert isinstance(outcome[0], RequestTimeout)


# Progress


@pytest.mark.req("R-222")
async def test_progress_comes_in_order_and_before_the_call_returns(autojump_clock, open_wire):
    seen = []

    async def slow(progress, total, message):
        await trio.sleep(1)
        seen.append((progress, total, message))

    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        options = CallOptions(on_progress=slow)
        nursery.start_soon(collect, outcome, peer, "m", {"_meta": {"x": 1}}, options)
        request = await far.next()
        token = request.params["_meta"]["progressToken"]
        assert type(token) in (int, str)
        assert request.params["_meta"]["x"] == 1
        notices = [
            JSONRPCNotification(
                method="notifications/progress",
                params={"progressToken": token, "progress": n, "total": 3, "message": f"{n}"},
            )
            for n in (1, 2, 3)
        ]
        await far.channel.send([*notices, JSONRPCResponse(id=request.id, result={})])
        await trio.sleep(2.5)
        assert outcome == []
        await trio.sleep(1)
        assert seen == [(1, 3, "1"), (2, 3, "2"), (3, 3, "3")]
        assert outcome == [{}]


@pytest.mark.req("R-222", "R-223")
async def test_each_call_is_reported_to_under_a_token_of_its_own(autojump_clock, open_wire):
    async def listen(into, peer):
        async def report(progress, total, message):
            into.append(message)

        await peer.request("m", {}, CallOptions(on_progress=report))

    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        heard = [[] for _ in range(20)]
        for each in heard:
            nursery.start_soon(listen, each, peer)
        requests = [await far.next() for _ in range(20)]
        tokens = [request.params["_meta"]["progressToken"] for request in requests]
        assert len(set(tokens)) == 20
        assert {type(token) for token in tokens} <= {int, str}
        for token in reversed(tokens):
            params = {"progressToken": token, "progress": 1, "message": f"for {token}"}
            await far.tell("notifications/progress", params)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(heard) == sorted([f"for {token}"] for token in tokens)
        nursery.cancel_scope.cancel()


@pytest.mark.case("C031")
async def test_a_progress_callback_that_raises_harms_nobody(autojump_clock, open_wire, caplog):
    async def broken(*args):
        raise ValueError("mine")

    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        nursery.start_soon(collect, outcome, peer, "m", None, CallOptions(on_progress=broken))
        request = await far.next()
        await far.tell("notifications/progress", {"progressToken": request.id, "progress": 1})
        await far.answer(request, {"ok": 1})
        await trio.testing.wait_all_tasks_blocked()
        assert outcome == [{"ok": 1}]
    assert "mine" in caplog.text


@pytest.mark.req("R-227")
@pytest.mark.case("C034")
@pytest.mark.parametrize("token", [99, None, {}, [], True, "1"])
async def test_progress_that_nobody_waits_for_is_dropped(autojump_clock, open_wire, token):
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        nursery.start_soon(collect, outcome, peer, "m", None)
        request = await far.next()
        await far.tell("notifications/progress", {"progressToken": token, "progress": 1})
        await far.answer(request, {})
        await far.tell("notifications/progress", {"progressToken": request.id, "progress": 1})
        await trio.testing.wait_all_tasks_blocked()
        assert outcome == [{}]


@pytest.mark.req("R-228")
async def test_a_callback_that_lags_too_far_loses_the_oldest_and_says_so(
    autojump_clock, open_wire, caplog
):
    seen = []
    go = trio.Event()

    async def stuck(progress, total, message):
        await go.wait()
        seen.append(progress)

    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        nursery.start_soon(collect, outcome, peer, "m", None, CallOptions(on_progress=stuck))
        request = await far.next()
        for n in range(MAX_LAG + 12):
            await far.tell("notifications/progress", {"progressToken": request.id, "progress": n})
        await trio.testing.wait_all_tasks_blocked()
        go.set()
        await far.answer(request, {})
        await trio.testing.wait_all_tasks_blocked()
    assert outcome == [{}]
    assert seen[0] == 0
    assert seen[-1] == MAX_LAG + 11
    assert len(seen) == MAX_LAG + 1
    assert "11 progress reports were lost" in caplog.text


# The end of the connection


@pytest.mark.case("C009")
async def test_the_end_of_the_connection_fails_every_call_with_an_error_of_its_own(
    autojump_clock, open_wire
):
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        outcome = []
        for _ in range(3):
            nursery.start_soon(collect, outcome, peer, "m", None)
        await trio.testing.wait_all_tasks_blocked()
        await far.channel.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert [type(each) for each in outcome] == [ConnectionLost] * 3
        assert len({id(each) for each in outcome}) == 3
        with pytest.raises(ConnectionLost):
            await peer.request("later", None)
        with pytest.raises(ConnectionLost):
            await peer.notify("later")


@pytest.mark.case("C016")
async def test_closing_fails_what_waits_elsewhere_with_one_clear_error(autojump_clock, open_wire):
    outcome = []
    async with trio.open_nursery() as nursery, open_wire() as (peer, far):
        for _ in range(50):
            nursery.start_soon(collect, outcome, peer, "m", None)
        for _ in range(25):
            await far.answer(await far.next(), {})
        await trio.testing.wait_all_tasks_blocked()
    assert outcome.count({}) == 25
    lost = [each for each in outcome if isinstance(each, ConnectionLost)]
    assert len(lost) == 25
    assert {each.message for each in lost} == {"The connection was closed on this side"}


async def test_an_answer_that_is_malformed_fails_its_call_alone(autojump_clock, open_wire):
    async with open_wire() as (peer, far), trio.open_nursery() as nursery:
        bad, good = [], []
        nursery.start_soon(collect, bad, peer, "m", None)
        one = await far.next()
        nursery.start_soon(collect, good, peer, "m", None)
        two = await far.next()
        peer._dispatch(
            Malformed(-32600, "result is no object", one.id, is_response=True, answers=one.id)
        )
        await far.answer(two, {})
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(bad[0], InvalidResponse)
        assert good == [{}]


async def test_an_error_without_an_id_is_logged(autojump_clock, open_wire, caplog):
    async with open_wire() as (_, far):
        error = ErrorData(code=-32700, message="Parse error")
        await far.channel.send([JSONRPCError(id=None, error=error)])
        await trio.testing.wait_all_tasks_blocked()
    assert "Parse error" in caplog.text


async def test_answers_to_nothing_are_dropped(autojump_clock, open_wire, caplog):
    caplog.set_level(logging.DEBUG)
    async with open_wire() as (_, far):
        await far.channel.send([JSONRPCResponse(id="who", result={})])
        await trio.testing.wait_all_tasks_blocked()
    assert "'who'" in caplog.text


async def test_a_caller_who_is_cancelled_with_the_connection_is_told_that(
    autojump_clock, open_wire
):
    async with open_wire() as (peer, far):
        await far.channel.aclose()
        await peer.wait_lost()
        with trio.CancelScope() as scope:
            scope.cancel()
            await peer.request("x/y", None)
        assert scope.cancelled_caught
        with trio.testing.assert_checkpoints(), pytest.raises(ConnectionLost):
            await peer.request("x/y", None)
