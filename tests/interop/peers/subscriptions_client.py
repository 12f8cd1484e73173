"""The official SDK's client and changes of our server: ``python … BACKEND SERVER MODE``.

Prints what it heard as JSON.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import suppress
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.subscriptions import SubscriptionLost


async def listen(client: Client) -> Any:
    report: dict[str, Any] = {}
    async with (
        client.listen(tools_list_changed=True, prompts_list_changed=True) as tools,
        client.listen(resource_subscriptions=["note://1"]) as notes,
    ):
        report["honored"] = [
            each.honored.model_dump(by_alias=True, exclude_none=True) for each in (tools, notes)
        ]
        await client.call_tool("touch", {"uri": "note://1"})
        await client.call_tool("touch", {"uri": "note://2"})
        await client.call_tool("grow", {"name": "one"})
        report["updated"] = repr(await anext(notes))
        report["changed"] = repr(await anext(tools))
        await client.call_tool("grow", {"name": "two"})
        await anext(tools)
        await client.call_tool("finish")
        report["rest"] = [repr(each) async for each in notes] + [
            repr(each) async for each in tools
        ]
        report["listed"] = sorted(tool.name for tool in (await client.list_tools()).tools)
    async with client.listen(tools_list_changed=True) as left:
        del left
    async with client.listen(tools_list_changed=True) as again:
        await client.call_tool("grow", {"name": "three"})
        report["again"] = repr(await anext(again))
        with suppress(MCPError):
            await client.call_tool("crash")
        try:
            await anext(again)
        except SubscriptionLost:
            report["lost"] = True
    return report


async def hear(client: Client, heard: list[str], wait: Any) -> Any:
    capabilities = client.server_capabilities.model_dump(by_alias=True, exclude_none=True)
    await client.call_tool("touch", {"uri": "note://1"})
    await client.subscribe_resource("note://1")
    await client.call_tool("touch", {"uri": "note://1"})
    await client.call_tool("touch", {"uri": "note://2"})
    await wait(1)
    await client.unsubscribe_resource("note://1")
    await client.call_tool("touch", {"uri": "note://1"})
    await client.call_tool("grow", {"name": "one"})
    await wait(2)
    return {"capabilities": capabilities, "heard": heard}


async def main(server: str, mode: str) -> None:
    heard: list[str] = []
    more = anyio.Event()

    async def handler(message: Any) -> None:
        nonlocal more
        heard.append(message.method)
        more.set()
        more = anyio.Event()

    async def wait(count: int) -> None:
        with anyio.fail_after(10):
            while len(heard) < count:
                await more.wait()

    parameters = StdioServerParameters(command=sys.executable, args=[server, "trio_mcp"])
    with anyio.fail_after(25):
        async with Client(
            stdio_client(parameters), mode=mode, message_handler=handler, cache=None
        ) as client:
            report = await (listen(client) if mode == "auto" else hear(client, heard, wait))
    print(json.dumps(report))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    anyio.run(main, sys.argv[2], sys.argv[3], backend=sys.argv[1])
