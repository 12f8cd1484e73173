from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from trio_mcp._codec import Batch, Malformed
from trio_mcp._rpc import _peer
from trio_mcp._rpc._calls import MAX_LAG
from trio_mcp._rpc._channel import SplitChannel
from trio_mcp._rpc._peer import open_peer
from trio_mcp.errors import ConnectionLost, MCPError
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)


async def echo(exchange):
    return {"params": exchange.params}


async def sleep(exchange):
    await trio.sleep_forever()


@pytest.mark.req("R-006", "R-012")
@pytest.mark.case("C027")
@pytest.mark.parametrize("request_id", ["1", 1, 0, "", -7, "007", 2**70])
async def test_the_answer_has_the_very_id(autojump_clock, open_wire, serving, request_id):
    async with open_wire(serving(echo=echo)) as (_, far):
        await far.ask("do/echo", {"x": 1}, request_id)
        answer = await far.next()
        assert answer == JSONRPCResponse(id=request_id, result={"params": {"x": 1}})
        assert type(answer.id) is type(request_id)
        await far.ask("no/such", None, request_id)
        refused = await far.next()
        assert type(refused.id) is type(request_id)
        assert refused.error.code == -32601


@pytest.mark.req("R-027")
async def test_requests_are_handled_side_by_side(autojump_clock, open_wire, serving):
    async def slow(exchange):
        await trio.sleep(5)
        return {}

    async with open_wire(serving(slow=slow, echo=echo)) as (_, far):
        await far.ask("do/slow", None, 1)
        await far.ask("do/echo", None, 2)
        assert (await far.next()).id == 2
        assert trio.current_time() == 0
        assert (await far.next()).id == 1


@pytest.mark.case("C028")
async def test_an_id_in_flight_is_refused_and_the_first_goes_on(
    autojump_clock, open_wire, serving
):
    async def slow(exchange):
        await trio.sleep(4)
        return {"first": True}

    async with open_wire(serving(slow=slow, echo=echo)) as (_, far):
        await far.ask("do/slow", None, 1)
        await far.ask("do/echo", None, 1)
        refused = await far.next()
        assert isinstance(refused, JSONRPCError)
        assert (refused.id, refused.error.code) == (1, -32600)
        assert (await far.next()).result == {"first": True}
        await far.ask("do/echo", {"again": 1}, 1)
        assert (await far.next()).result == {"params": {"again": 1}}


@pytest.mark.case("C028")
async def test_sessions_that_use_the_same_id_never_meet(autojump_clock, open_wire, serving):
    async def slow(exchange):
        await trio.sleep(1)
        return {"params": exchange.params}

    async def session(server, number):
        async with open_wire(server) as (_, far):
            await far.ask("do/slow", {"n": number}, 1)
            answer = await far.next()
            assert (answer.id, answer.result) == (1, {"params": {"n": number}})
            await far.silence(5)

    server = serving(slow=slow)
    async with trio.open_nursery() as nursery:
        for number in range(12):
            nursery.start_soon(session, server, number)


# Errors


async def test_an_mcp_error_is_answered_as_it_is(autojump_clock, open_wire, serving):
    async def refuse(exchange):
        raise MCPError(-31000, "own", {"why": [1]})

    async with open_wire(serving(refuse=refuse)) as (_, far):
        await far.ask("do/refuse")
        assert (await far.next()).error == ErrorData(code=-31000, message="own", data={"why": [1]})


@pytest.mark.parametrize(
    "raised", [ValueError("secret"), ConnectionLost("elsewhere"), ExceptionGroup("g", [OSError()])]
)
@pytest.mark.req("R-013", "R-014", "R-016")
async def test_a_defect_is_logged_and_not_told(autojump_clock, open_wire, serving, caplog, raised):
    async def fail(exchange):
        raise raised

    async with open_wire(serving(fail=fail)) as (_, far):
        await far.ask("do/fail", None, 9)
        error = (await far.next()).error
        assert error == ErrorData(code=-32603, message="Internal server error")
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert record.mcp_method == "do/fail"
    assert record.mcp_request_id == 9


async def test_a_message_that_cannot_be_written_harms_no_other(
    autojump_clock, open_wire, serving, caplog
):
    async def odd(exchange):
        return {"x": "\ud800"}

    async with open_wire(serving(odd=odd, echo=echo)) as (_, far):
        await far.channel.send(
            [
                JSONRPCRequest(id=1, method="do/echo"),
                JSONRPCRequest(id=2, method="do/odd"),
                JSONRPCRequest(id=3, method="do/echo"),
            ]
        )
        answers = {each.id: each for each in [await far.next() for _ in range(3)]}
        assert answers[2].error == ErrorData(code=-32603, message="Internal server error")
        assert isinstance(answers[1], JSONRPCResponse)
        assert isinstance(answers[3], JSONRPCResponse)
    assert "cannot be written as JSON" in caplog.text


async def test_error_data_that_is_no_json_is_left_out(autojump_clock, open_wire, serving, caplog):
    async def odd(exchange):
        raise MCPError(-31000, "own", {"x": object()})

    async with open_wire(serving(odd=odd)) as (_, far):
        await far.ask("do/odd")
        assert (await far.next()).error == ErrorData(code=-31000, message="own")


# Cancels of the peer


@pytest.mark.req("R-088", "R-089", "R-216", "R-219")
@pytest.mark.case("C021")
async def test_a_cancel_stops_the_handler_and_nothing_is_answered(
    autojump_clock, open_wire, serving, caplog
):
    caplog.set_level(logging.DEBUG)
    stopped = []

    async def handler(exchange):
        try:
            await trio.sleep_forever()
        finally:
            stopped.append(exchange.cancel_reason)
            await exchange.notify("too/late")

    async with open_wire(serving(handler=handler, echo=echo)) as (_, far):
        await far.ask("do/handler", None, 5)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            await far.tell("notifications/cancelled", {"requestId": 5, "reason": "enough"})
        await far.silence(10)
        assert stopped == ["enough"]
        await far.ask("do/echo", None, 6)
        assert (await far.next()).id == 6
    assert "enough" in caplog.text


@pytest.mark.case("C020")
@pytest.mark.parametrize("_", range(10))  # Trio runs tasks in random order
async def test_what_is_asked_after_a_cancel_finds_the_handler_stopped(
    autojump_clock, open_wire, serving, _
):
    running = []

    async def work(exchange):
        running.append(exchange.id)
        try:
            await trio.sleep_forever()
        finally:
            running.remove(exchange.id)

    async def ask(exchange):
        return {"running": list(running)}

    async with open_wire(serving(work=work, ask=ask)) as (_, far):
        for request_id in (1, 2, 3):
            await far.ask("do/work", None, request_id)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(running) == [1, 2, 3]
        # All of it is read in one go.
        cancels = [
            JSONRPCNotification(method="notifications/cancelled", params={"requestId": request_id})
            for request_id in (1, 3)
        ]
        await far.channel.send([*cancels, JSONRPCRequest(id=5, method="do/ask")])
        assert (await far.next()).result == {"running": [2]}


@pytest.mark.case("C021")
async def test_a_handler_that_swallows_its_cancel_is_not_answered_either(
    autojump_clock, open_wire, serving
):
    async def stubborn(exchange):
        with trio.CancelScope(shield=True):
            await trio.sleep(1)
        return {"done": "all the same"}

    async with open_wire(serving(stubborn=stubborn)) as (_, far):
        await far.ask("do/stubborn")
        await trio.testing.wait_all_tasks_blocked()
        await far.tell("notifications/cancelled", {"requestId": 1})
        await far.silence(5)


async def test_a_handler_that_fails_while_cancelled_harms_nobody(
    autojump_clock, open_wire, serving, caplog
):
    async def breaks(exchange):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("while being cancelled")

    async with open_wire(serving(breaks=breaks, echo=echo)) as (_, far):
        await far.ask("do/breaks")
        await trio.testing.wait_all_tasks_blocked()
        await far.tell("notifications/cancelled", {"requestId": 1})
        await far.silence()
        await far.ask("do/echo", None, 2)
        assert (await far.next()).id == 2
    assert "while being cancelled" in caplog.text


async def test_the_option_only_drops_the_answer(autojump_clock, open_wire, serving):
    ended = []

    async def slow(exchange):
        await trio.sleep(2)
        ended.append(exchange.cancel_reason)
        return {}

    async with open_wire(serving(slow=slow), interrupt_cancelled=False) as (_, far):
        await far.ask("do/slow")
        await trio.testing.wait_all_tasks_blocked()
        await far.tell("notifications/cancelled", {"requestId": 1})
        await far.silence(5)
        assert ended == ["cancelled by the peer"]


@pytest.mark.req("R-221")
@pytest.mark.case("C022")
@pytest.mark.parametrize(
    "params",
    [{"requestId": 99}, {"requestId": "1"}, None, {}, {"requestId": None}, {"requestId": {}}],
)
async def test_a_cancel_of_nothing_is_ignored(autojump_clock, open_wire, serving, params):
    async def slow(exchange):
        await trio.sleep(1)
        return {}

    async with open_wire(serving(slow=slow)) as (_, far):
        await far.ask("do/slow", None, 1)
        await far.tell("notifications/cancelled", params)
        assert (await far.next()).id == 1


@pytest.mark.req("R-218")
@pytest.mark.case("C021")
async def test_cancels_round_the_end_of_a_call_do_no_harm(autojump_clock, open_wire, serving):
    async def quick(exchange):
        await trio.lowlevel.checkpoint()
        return {}

    async with open_wire(serving(quick=quick, echo=echo)) as (_, far):
        for request_id in range(1000):
            await far.ask("do/quick", None, request_id)
            for _ in range(request_id % 4):
                await trio.lowlevel.checkpoint()
            await far.tell("notifications/cancelled", {"requestId": request_id})
        await trio.testing.wait_all_tasks_blocked()
        await far.ask("do/echo", None, "last")
        answers = []
        while not answers or answers[-1] != "last":
            answers.append((await far.next()).id)
        assert len(set(answers)) == len(answers)


async def test_initialize_cannot_be_cancelled(autojump_clock, open_wire, serving):
    async def slow(exchange):
        await trio.sleep(1)
        return {"done": True}

    async with open_wire(serving(initialize=slow)) as (_, far):
        await far.ask("initialize", None, 1)
        await trio.testing.wait_all_tasks_blocked()
        await far.tell("notifications/cancelled", {"requestId": 1})
        assert (await far.next()).result == {"done": True}


# Notifications


@pytest.mark.req("R-024")
@pytest.mark.case("C031")
async def test_an_unknown_notification_is_not_answered(autojump_clock, open_wire, serving):
    async with open_wire(serving()) as (_, far):
        await far.tell("notifications/vendor/x")
        await far.tell("notifications/vendor/x", {"a": 1})
        await far.silence()


@pytest.mark.case("C026")
async def test_a_callback_may_ask_the_peer(autojump_clock, open_wire, serving):
    server = serving()
    async with open_wire(server) as (peer, far):
        answers = []

        async def callback(method, params):
            answers.append(await peer.request("back", None))

        server.callback = callback
        await far.tell("notifications/x")
        await far.answer(await far.next(), {"a": 1})
        await trio.testing.wait_all_tasks_blocked()
        assert answers == [{"a": 1}]


@pytest.mark.case("C031")
async def test_callbacks_run_in_order_and_may_fail(autojump_clock, open_wire, serving, caplog):
    server = serving()
    seen = []

    async def callback(method, params):
        await trio.sleep(1)
        seen.append(params["n"])
        if params["n"] == 1:
            raise ValueError("first one breaks")

    server.callback = callback
    async with open_wire(server) as (_, far):
        for n in (1, 2, 3):
            await far.tell("notifications/x", {"n": n})
        await trio.sleep(5)
    assert seen == [1, 2, 3]
    assert "first one breaks" in caplog.text


@pytest.mark.case("C026")
async def test_a_callback_that_stands_still_holds_up_nobody_and_loses_the_oldest(
    autojump_clock, open_wire, serving, caplog
):
    server, go, seen = serving(echo=echo), trio.Event(), []

    async def callback(method, params):
        await go.wait()
        seen.append(params["n"])

    server.callback = callback
    async with open_wire(server) as (_, far):
        for n in range(MAX_LAG + 12):
            await far.tell("notifications/x", {"n": n})
            if n % 1000 == 0:
                await trio.testing.wait_all_tasks_blocked()
        await far.ask("do/echo")
        assert isinstance(await far.next(), JSONRPCResponse)
        assert seen == []
        go.set()
        await trio.testing.wait_all_tasks_blocked()
    assert seen == [0, *range(12, MAX_LAG + 12)]
    assert caplog.text.count("Notifications are lost") == 1


@pytest.mark.case("C026")
async def test_a_handler_may_ask_the_peer_and_report(autojump_clock, open_wire, serving):
    async def asks(exchange):
        await exchange.report_progress(1)
        answer = await exchange.link.request("sampling", {})
        await exchange.report_progress(2)
        return answer

    async with open_wire(serving(asks=asks)) as (_, far):
        await far.ask("do/asks", {"_meta": {"progressToken": ""}}, "a")
        assert (await far.next()).params == {"progressToken": "", "progress": 1}
        await far.answer(await far.next(), {"said": "yes"})
        assert (await far.next()).params == {"progressToken": "", "progress": 2}
        assert (await far.next()).result == {"said": "yes"}


# Progress of handlers


@pytest.mark.req("R-224", "R-226", "R-229")
@pytest.mark.case("C034")
@pytest.mark.parametrize("token", [0, "", "t", 7])
async def test_only_rising_progress_is_sent_with_the_very_token(
    autojump_clock, open_wire, serving, token
):
    kept = []

    async def reports(exchange):
        kept.append(exchange)
        for value in (1, 1, 0.5, 2, -7, 3):
            await exchange.report_progress(value, 3, "text")
        return {}

    async with open_wire(serving(reports=reports)) as (_, far):
        await far.ask("do/reports", {"_meta": {"progressToken": token}})
        for value in (1, 2, 3):
            assert (await far.next()).params == {
                "progressToken": token,
                "progress": value,
                "total": 3,
                "message": "text",
            }
        assert isinstance(await far.next(), JSONRPCResponse)
        await kept[0].report_progress(4)
        await far.silence()


@pytest.mark.parametrize("meta", [{}, {"progressToken": None}, {"progressToken": {}}])
@pytest.mark.case("C034")
async def test_no_token_no_progress(autojump_clock, open_wire, serving, meta):
    async def reports(exchange):
        await exchange.report_progress(1)
        return {}

    async with open_wire(serving(reports=reports)) as (_, far):
        await far.ask("do/reports", {"_meta": meta})
        assert isinstance(await far.next(), JSONRPCResponse)


# What is no message


@pytest.mark.case("C029")
async def test_malformed_frames_are_answered_and_the_session_goes_on(
    autojump_clock, open_wire, serving
):
    async with open_wire(serving(echo=echo)) as (peer, far):
        peer._dispatch(Malformed(-32700, "Parse error"))
        answer = await far.next()
        assert (answer.id, answer.error.code) == (None, -32700)
        peer._dispatch(Malformed(-32600, "params is a list", 8))
        answer = await far.next()
        assert (answer.id, answer.error.code) == (8, -32600)
        await far.ask("do/echo")
        assert isinstance(await far.next(), JSONRPCResponse)


async def test_a_batch_is_served_where_the_revision_has_them(autojump_clock, open_wire, serving):
    async with open_wire(serving("2025-03-26", echo=echo)) as (peer, far):
        await trio.testing.wait_all_tasks_blocked()
        peer._dispatch(
            Batch(
                (
                    JSONRPCRequest(id=1, method="do/echo"),
                    Malformed(-32600, "what", 2),
                    JSONRPCRequest(id=3, method="initialize"),
                    JSONRPCRequest(id=4, method="do/echo"),
                )
            )
        )
        answers = {(await far.next()).id: None for _ in range(4)}
        assert set(answers) == {1, 2, 3, 4}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_batch_is_refused_elsewhere(autojump_clock, open_wire, serving, revision):
    async with open_wire(serving(revision, echo=echo)) as (peer, far):
        peer._dispatch(Batch((JSONRPCRequest(id=1, method="do/echo"),)))
        answer = await far.next()
        assert (answer.id, answer.error.code) == (None, -32600)
        await far.silence()


# Limits


@pytest.mark.case("C002")
async def test_a_peer_that_hung_up_and_reads_nothing_is_given_up(
    autojump_clock, serving, monkeypatch
):
    monkeypatch.setattr(_peer, "MAX_UNREAD", 2)
    near, far = open_memory_channel_pair(max_buffered=1)

    class Piping(SplitChannel):
        hung_up = False

    channel = Piping(near, near)
    async with open_peer(channel, serving()) as peer:
        await far.send([JSONRPCRequest(id=0, method="unknown")])
        await trio.testing.wait_all_tasks_blocked()
        await far.send([JSONRPCRequest(id=1, method="unknown")])
        await trio.testing.wait_all_tasks_blocked()
        await far.send([JSONRPCRequest(id=number, method="unknown") for number in range(2, 9)])
        await trio.testing.wait_all_tasks_blocked()
        await far.send([JSONRPCNotification(method="not received any more")])
        # It may be slow, for ever; while it is there it is waited for.
        await trio.sleep(1000)
        assert not peer.lost
        channel.hung_up = True
        with trio.fail_after(2):
            await peer.wait_ended()


@pytest.mark.case("C026")
async def test_requests_beyond_the_limit_wait_and_beyond_that_are_refused(
    autojump_clock, open_wire, serving, monkeypatch
):
    monkeypatch.setattr(_peer, "MAX_IN_FLIGHT", 2)
    monkeypatch.setattr(_peer, "MAX_BACKLOG", 2)
    running = []

    async def slow(exchange):
        running.append(exchange.id)
        await trio.sleep(1)
        return {}

    async with open_wire(serving(slow=slow)) as (_, far):
        for request_id in range(5):
            await far.ask("do/slow", None, request_id)
        refused = await far.next()
        assert (refused.id, refused.error.code) == (4, -31503)
        assert refused.error.data == {"retryAfter": 1.0}
        assert sorted(running) == [0, 1]
        await far.tell("notifications/cancelled", {"requestId": 2})
        assert {(await far.next()).id for _ in range(3)} == {0, 1, 3}
        assert sorted(running) == [0, 1, 3]


@pytest.mark.parametrize("how", ["answer", "fail", "cancelled"])
async def test_streams_of_notifications_leave_room_for_other_requests(
    autojump_clock, serving, monkeypatch, how
):
    monkeypatch.setattr(_peer, "MAX_IN_FLIGHT", 2)
    monkeypatch.setattr(_peer, "MAX_BACKLOG", 9)
    over = trio.Event()

    async def stream(exchange):
        await trio.sleep(0.1)
        exchange.begin_stream({"over": True})
        await over.wait()
        if how == "fail":
            raise MCPError(-32603, "no more")
        return {"over": True}

    async def quick(exchange):
        return {}

    near, far = open_memory_channel_pair()
    async with _peer.open_peer(near, serving(stream=stream, quick=quick)) as peer:
        # They begin two at a time, and nothing waits for those that have begun.
        await far.send([JSONRPCRequest(id=each, method="do/stream") for each in range(5)])
        await trio.sleep(1)
        assert (peer._busy, peer._slots) == (5, 0)
        await far.send([JSONRPCRequest(id="x", method="do/quick")])
        (answer,) = await far.receive()
        assert answer.id == "x"
        if how == "cancelled":
            params = [{"requestId": each} for each in range(5)]
            method = "notifications/cancelled"
            await far.send([JSONRPCNotification(method=method, params=each) for each in params])
        else:
            over.set()
        await trio.sleep(1)
        assert (peer._busy, peer._slots) == (0, 0)


async def test_a_peer_that_does_not_read_cannot_pile_up_answers(
    autojump_clock, serving, monkeypatch
):
    from trio_mcp.transports import open_memory_channel_pair

    monkeypatch.setattr(_peer, "MAX_IN_FLIGHT", 10)
    monkeypatch.setattr(_peer, "MAX_BACKLOG", 10)
    handled = []

    async def quick(exchange):
        handled.append(exchange.id)
        return {}

    near, far = open_memory_channel_pair(max_buffered=1)
    async with _peer.open_peer(near, serving(quick=quick)) as peer:
        with trio.move_on_after(5):
            for request_id in range(100):
                await far.send([JSONRPCRequest(id=request_id, method="do/quick")])
        assert len(handled) < 30
        assert peer._busy <= 10


# The end


async def test_running_handlers_may_still_answer_when_input_ends(autojump_clock, serving):
    from trio_mcp.transports import open_memory_channel_pair

    async def short(exchange):
        await trio.sleep(0.5)
        return {"answered": True}

    lost = []

    async def long(exchange):
        try:
            await trio.sleep_forever()
        finally:
            lost.append(exchange.cancel_reason)

    near, far = open_memory_channel_pair()
    async with _peer.open_peer(near, serving(short=short, long=long), drain_seconds=1) as peer:
        await far.send(
            [JSONRPCRequest(id=1, method="do/short"), JSONRPCRequest(id=2, method="do/long")]
        )
        await trio.testing.wait_all_tasks_blocked()
        far._outbound.sender_closed = True  # it says no more, but still listens
        far._outbound.wake()
        await peer.wait_ended()
        assert trio.current_time() == pytest.approx(1)
        assert [each.result for each in await far.receive()] == [{"answered": True}]
    assert lost == ["the connection ended"]


@pytest.mark.parametrize("seconds", [0.5, 5])
async def test_handlers_of_notifications_may_still_end_when_input_ends(
    autojump_clock, serving, seconds
):
    from trio_mcp.transports import open_memory_channel_pair

    seen = []

    async def hear(method, params):
        seen.append("begun")
        await trio.sleep(seconds)
        seen.append("done")

    near, far = open_memory_channel_pair()
    told = serving()
    told.callback = hear
    async with _peer.open_peer(near, told, drain_seconds=1) as peer:
        await far.send([JSONRPCNotification(method="x")])
        far._outbound.sender_closed = True
        far._outbound.wake()
        await peer.wait_ended()
        assert trio.current_time() == pytest.approx(min(seconds, 1))
    assert seen == (["begun", "done"] if seconds < 1 else ["begun"])


async def test_a_client_that_has_said_its_last_word_still_hears_reports(autojump_clock, serving):
    from trio_mcp.transports import open_memory_channel_pair

    async def reports(exchange):
        for n in (1, 2, 3):
            await trio.sleep(0.2)
            await exchange.report_progress(n)
        return {}

    near, far = open_memory_channel_pair()
    async with _peer.open_peer(near, serving(reports=reports), drain_seconds=1) as peer:
        params = {"_meta": {"progressToken": "t"}}
        await far.send([JSONRPCRequest(id=1, method="do/reports", params=params)])
        far._outbound.sender_closed = True
        far._outbound.wake()
        heard = []
        while len(heard) < 4:
            heard += await far.receive()
        assert [each.params["progress"] for each in heard[:3]] == [1, 2, 3]
        assert heard[3].result == {}
        await peer.wait_ended()


@pytest.mark.case("C024")
async def test_a_client_that_vanishes_is_an_everyday_event(autojump_clock, serving, caplog):
    from trio_mcp.transports import open_memory_channel_pair

    ended = []

    async def handler(exchange):
        try:
            with pytest.raises(ConnectionLost):
                await exchange.link.request("back", None)
            await exchange.report_progress(1)
            await exchange.link.request("back", None)
        finally:
            ended.append(1)

    caplog.set_level(logging.INFO)
    near, far = open_memory_channel_pair()
    async with _peer.open_peer(near, serving(handler=handler), drain_seconds=1) as peer:
        params = {"_meta": {"progressToken": "t"}}
        await far.send([JSONRPCRequest(id=1, method="do/handler", params=params)])
        await trio.testing.wait_all_tasks_blocked()
        await far.aclose()
        await peer.wait_ended()
    assert ended == [1]
    assert caplog.records == []


async def test_a_peer_that_cannot_be_written_to_ends_the_connection(autojump_clock, serving):
    from trio_mcp.transports import open_memory_channel_pair

    async def sleeps(exchange):
        await trio.sleep_forever()

    near, far = open_memory_channel_pair()
    async with _peer.open_peer(near, serving(sleeps=sleeps), drain_seconds=1) as peer:
        await far.send([JSONRPCRequest(id=1, method="do/sleeps")])
        await trio.testing.wait_all_tasks_blocked()
        far._inbound.receiver_closed = True  # it goes on sending, but no longer listens
        await peer.notify("x")
        lost = await peer.wait_ended()
        assert isinstance(lost, ConnectionLost)
        assert trio.current_time() == pytest.approx(_peer.LOSS_REASON_TIMEOUT)
        with pytest.raises(ConnectionLost):
            await peer.notify("y")
