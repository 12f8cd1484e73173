"""A low-level server for both SDKs: ``python lowlevel.py mcp`` or ``python lowlevel.py trio_mcp``.

It has what needs no decorators, or has none in the official SDK: pages of every list, subscriptions
of the older era, the session's log level, and questions in the words of each era.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import anyio

if sys.argv[1] == "mcp":
    import mcp_types as types
    from mcp import MCPError
    from mcp.server import Server
    from mcp.server.caching import CacheHint
    from mcp.server.stdio import stdio_server
else:
    from trio_mcp import MCPError, types
    from trio_mcp.server import CacheHint, Server
    from trio_mcp.transports import stdio_server

warnings.simplefilter("ignore")  # much of this is deprecated in both

PAGE = 2
NAMES = [f"n{number}" for number in range(5)]
FORM = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "size": {"type": "string", "enum": ["s", "l"], "default": "s"},
        "fast": {"type": "boolean", "default": True},
    },
    "required": ["count"],
}

asked: dict[str, int] = {}


class Told:
    """What the client has told, in order."""

    def __init__(self) -> None:
        self.everything: list[str] = []
        self._more: anyio.Event | None = None

    def append(self, what: str) -> None:
        self.everything.append(what)
        if self._more is not None:
            self._more.set()
            self._more = None

    async def wait(self, what: str) -> list[str]:
        while what not in self.everything:
            self._more = self._more or anyio.Event()
            await self._more.wait()
        return self.everything


told = Told()


def page(method: str, params: Any) -> tuple[list[str], str | None]:
    asked[method] = asked.get(method, 0) + 1
    cursor = None if params is None else params.cursor
    if cursor is None:
        start = 0
    elif cursor.isdigit():
        start = int(cursor)
    else:
        raise MCPError(-32602, "Invalid cursor", {"cursor": cursor})
    end = start + PAGE
    return NAMES[start:end], str(end) if end < len(NAMES) else None


async def list_tools(ctx: Any, params: Any) -> Any:
    names, following = page("tools/list", params)
    schema = {"type": "object"}
    tools = [types.Tool(name=name, input_schema=schema) for name in names]
    return types.ListToolsResult(tools=tools, next_cursor=following)


async def list_resources(ctx: Any, params: Any) -> Any:
    names, following = page("resources/list", params)
    resources = [types.Resource(uri=f"item://{name}", name=name) for name in names]
    return types.ListResourcesResult(resources=resources, next_cursor=following)


async def list_templates(ctx: Any, params: Any) -> Any:
    names, following = page("resources/templates/list", params)
    found = [types.ResourceTemplate(uri_template=f"{n}://{{x}}", name=n) for n in names]
    return types.ListResourceTemplatesResult(resource_templates=found, next_cursor=following)


async def list_prompts(ctx: Any, params: Any) -> Any:
    names, following = page("prompts/list", params)
    prompts = [types.Prompt(name=name) for name in names]
    return types.ListPromptsResult(prompts=prompts, next_cursor=following)


# Questions: the answer, or what has to be returned to get it


async def ask(ctx: Any, params: Any, request: Any, result_type: Any) -> Any:
    if ctx.protocol_version < "2026":
        return await ctx.session.send_request(request, result_type)
    answers = params.input_responses or {}
    if "q" in answers:
        return answers["q"]
    return types.InputRequiredResult(input_requests={"q": request}, request_state="mine")


def form(message: str) -> Any:
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=FORM)
    )


def talk() -> Any:
    use = types.ToolUseContent(name="weather", id="u1", input={"city": "Paris"})
    rain = types.TextContent(text="rain")
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[
                types.SamplingMessage(role="assistant", content=[use]),
                types.SamplingMessage(
                    role="user",
                    content=[types.ToolResultContent(tool_use_id="u1", content=[rain])],
                ),
            ],
            max_tokens=5,
            system_prompt="Be brief.",
            model_preferences=types.ModelPreferences(speed_priority=0.5),
            tools=[types.Tool(name="weather", input_schema={"type": "object"})],
            tool_choice=types.ToolChoice(mode="auto"),
        )
    )


def said(answer: Any) -> Any:
    """Write an answer for the test, or hand the question on."""
    if isinstance(answer, types.InputRequiredResult):
        return answer
    if isinstance(answer, types.ElicitResult):
        return text({"action": answer.action, "content": answer.content})
    if isinstance(answer, types.ListRootsResult):
        return text([str(root.uri) for root in answer.roots])
    blocks = answer.content if isinstance(answer.content, list) else [answer.content]
    return text({"stop": answer.stop_reason, "blocks": [block.type for block in blocks]})


def text(value: Any) -> Any:
    return types.CallToolResult(content=[types.TextContent(text=json.dumps(value))])


async def ask_form(ctx: Any, params: Any) -> Any:
    return said(await ask(ctx, params, form("How much?"), types.ElicitResult))


async def ask_model(ctx: Any, params: Any) -> Any:
    return said(await ask(ctx, params, talk(), types.CreateMessageResultWithTools))


async def ask_roots(ctx: Any, params: Any) -> Any:
    return said(await ask(ctx, params, types.ListRootsRequest(), types.ListRootsResult))


async def impatient(ctx: Any, params: Any) -> Any:
    with anyio.move_on_after(0.5):
        await ctx.session.elicit_form("Are you there?", FORM)
        return text("answered")
    return text("gave up")


async def ping(ctx: Any, params: Any) -> Any:
    await ctx.session.send_ping()
    return text("alive")


async def touch(ctx: Any, params: Any) -> Any:
    await ctx.session.send_resource_updated(params.arguments["uri"])
    return text("touched")


async def wait_told(ctx: Any, params: Any) -> Any:
    return text(await told.wait(params.arguments["what"]))


async def how_often(ctx: Any, params: Any) -> Any:
    return text(asked.get(params.arguments["method"], 0))


async def visit(ctx: Any, params: Any) -> Any:
    modern = ctx.protocol_version >= "2026"
    options: dict[str, Any] = {} if modern else {"elicitation_id": "visit-1"}
    question = types.ElicitRequestURLParams(message="Log in", url="https://a.example/", **options)
    request = types.ElicitRequest(params=question)
    answer = await ask(ctx, params, request, types.ElicitResult)
    if not modern:
        await ctx.session.send_elicit_complete("visit-1")
    return said(answer)


TOOLS = {
    "form": ask_form,
    "talk": ask_model,
    "roots": ask_roots,
    "visit": visit,
    "impatient": impatient,
    "ping": ping,
    "touch": touch,
    "wait_told": wait_told,
    "asked": how_often,
}


async def call_tool(ctx: Any, params: Any) -> Any:
    return await TOOLS[params.name](ctx, params)


async def read_resource(ctx: Any, params: Any) -> Any:
    answer = await ask(ctx, params, form("Which page?"), types.ElicitResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    contents = types.TextResourceContents(uri=str(params.uri), text=f"page {answer.content}")
    return types.ReadResourceResult(contents=[contents])


async def get_prompt(ctx: Any, params: Any) -> Any:
    answer = await ask(ctx, params, form("Which tone?"), types.ElicitResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    content = types.TextContent(text=f"tone {answer.content}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


# What older clients tell


async def subscribe(ctx: Any, params: Any) -> Any:
    told.append(f"subscribe {params.uri}")
    return types.EmptyResult()


async def unsubscribe(ctx: Any, params: Any) -> Any:
    told.append(f"unsubscribe {params.uri}")
    return types.EmptyResult()


async def set_level(ctx: Any, params: Any) -> Any:
    told.append(f"level {params.level}")
    return types.EmptyResult()


async def roots_changed(ctx: Any, params: Any) -> None:
    told.append("roots")


server: Any = Server(
    "lowlevel",
    version="7",
    cache_hints={"tools/list": CacheHint(ttl_ms=60_000)},
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_set_logging_level=set_level,
    on_roots_list_changed=roots_changed,
)


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main, backend="asyncio" if sys.argv[1] == "mcp" else "trio")
