"""Methods and notifications beyond the protocol, and extensions that have a say in it."""

from __future__ import annotations

from trio_mcp.client import ClientExtension, NotificationBinding
from trio_mcp.types import Notification, Request, Result
from trio_mcp.types._base import WireModel, wire_model

from ._roads import in_a_conversation, in_memory
from ._story import error_of, settle, text_of


@wire_model
class Receipt(Result):
    text: str


@wire_model
class Printed(WireModel):
    number: str


class Receipts(ClientExtension):
    identifier = "com.example/receipts"

    def __init__(self):
        self.printed = []

    def notifications(self):
        method = "notifications/com.example/printed"
        return [NotificationBinding(method=method, params_type=Printed, handler=self.hear)]

    async def hear(self, params):
        self.printed.append(params.number)


@in_memory
async def test_methods_of_an_extension_are_asked_as_others_are(features):
    def receipt(number):
        request = Request(method="com.example/receipt", params={"number": number})
        return client.session.send_request(request, Receipt)

    async with features.open() as client:
        assert (await receipt(7)).text == "receipt 7"
        error = await error_of(receipt(-1))
        assert (error.code, error.data) == (-31999, {"number": -1})
        unknown = Request(method="com.example/nope", params={})
        error = await error_of(client.session.send_request(unknown, Receipt))
        assert error.code == -32601


@in_memory
async def test_an_extension_stands_round_the_calls_of_tools(features):
    async with features.open() as client:
        assert text_of(await client.call_tool("never")) == "not even asked"


@in_a_conversation
async def test_notifications_go_both_ways(features):
    receipts = Receipts()
    async with features.open(extensions=[receipts]) as client:
        assert text_of(await client.call_tool("whisper")) == "whispered"
        await settle(lambda: receipts.printed == ["7"])
        seen = Notification(method="notifications/com.example/seen", params={"number": "7"})
        await client.session.send_notification(seen)
        told = await client.call_tool("wait_told", {"method": seen.method})
        assert "'7'" in text_of(told) or '"7"' in text_of(told)
