"""The server of the feature tests: one object to be opened in memory, and a program for stdio."""

from __future__ import annotations

import base64
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import trio

from trio_mcp import (
    AssistantMessage,
    Context,
    MCPError,
    MCPServer,
    ResourceNotFoundError,
    ToolError,
    UserMessage,
)
from trio_mcp.mcpserver import (
    AcceptedElicitation,
    AcceptedUrlElicitation,
    Audio,
    Elicit,
    ElicitationResult,
    Extension,
    File,
    Image,
    ListRoots,
    MethodBinding,
    Resolve,
    Sample,
)
from trio_mcp.server import CacheHint
from trio_mcp.types import (
    Annotations,
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    Icon,
    InputRequiredResult,
    ListRootsResult,
    Notification,
    PromptReference,
    ResourceLink,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
    Tool,
    ToolAnnotations,
    ToolResultContent,
    ToolUseContent,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from trio_mcp.server import CallNext, ServerRequestContext

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
ICON = Icon(src="https://example.com/icon.png", mime_type="image/png", sizes=["48x48"])


@attrs.define
class Run:
    """What one run of the server remembers."""

    counts: dict[str, int] = attrs.Factory(dict)
    ended: dict[str, str] = attrs.Factory(dict)
    told: list[Any] = attrs.Factory(list)
    something: trio.Event = attrs.field(factory=trio.Event)

    def happened(self) -> None:
        self.something.set()
        self.something = trio.Event()


def run_of(ctx: Context) -> Run:
    run: Run = ctx.request_context.lifespan_context
    return run


@asynccontextmanager
async def lifespan(server: MCPServer[Run]) -> AsyncIterator[Run]:
    yield Run()


async def count(ctx: ServerRequestContext[Run, Any], call_next: CallNext) -> Any:
    counts = ctx.lifespan_context.counts
    counts[ctx.method] = counts.get(ctx.method, 0) + 1
    return await call_next(ctx)


class Receipts(Extension):
    """An extension with a method of its own, and a say in each call of a tool."""

    identifier = "com.example/receipts"

    def settings(self) -> dict[str, Any]:
        return {"paper": "A4"}

    def methods(self) -> Sequence[MethodBinding]:
        return [MethodBinding("com.example/receipt", dict, self.receipt)]

    async def receipt(self, ctx: Any, params: dict[str, Any]) -> dict[str, Any]:
        if params["number"] < 0:
            raise MCPError(-31999, "no such receipt", {"number": params["number"]})
        return {"text": f"receipt {params['number']}"}

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name == "never":
            return CallToolResult(content=[TextContent(text="not even asked")])
        return await call_next(ctx)


mcp = MCPServer(
    "features",
    title="Features",
    description="Has one of everything.",
    instructions="Try them all.",
    version="3",
    website_url="https://example.com/features",
    icons=[ICON],
    lifespan=lifespan,
    middleware=[count],
    list_page_size=3,
    extensions=[Receipts()],
    cache_hints={
        "resources/list": CacheHint(ttl_ms=60_000, scope="public"),
        "resources/read": CacheHint(ttl_ms=60_000),
        "tools/list": CacheHint(ttl_ms=60_000),
    },
    log_level="CRITICAL",
)


@mcp.tool()
def requests(method: str, ctx: Context) -> int:
    """Tell how often a method was asked for."""
    return run_of(ctx).counts.get(method, 0)


# Tools


@dataclass
class Measure:
    value: float
    unit: str


@mcp.tool(
    title="Addition",
    annotations=ToolAnnotations(read_only_hint=True),
    icons=[ICON],
    meta={"com.example/page": 7},
)
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@mcp.tool()
def measure(value: float, unit: Literal["m", "km"] = "m") -> Measure:
    """Measure, in a thread."""
    return Measure(value, unit)


@mcp.tool()
async def kinds() -> list[str | Image | Audio | File | ResourceLink]:
    """Return content of every kind."""
    return [
        "text",
        Image(data=PNG, format="png"),
        Audio(data=b"RIFF", format="wav"),
        File(data=b"a,b", format="csv"),
        ResourceLink(uri="note://first", name="first"),
    ]


@mcp.tool()
async def fail(text: str) -> str:
    """Fail with a text for the model."""
    raise ToolError(text)


@mcp.tool()
async def crash() -> str:
    """Fail in a way that nobody foresaw."""
    raise ZeroDivisionError("secret")


@mcp.tool()
async def refuse() -> str:
    """Answer an error of its own."""
    raise MCPError(-31000, "not today", {"until": "monday"})


@mcp.tool()
async def never() -> str:
    """Be answered by an extension."""
    raise AssertionError("the extension answers")


@mcp.tool(timeout=0.05)
async def slow() -> str:
    """Take longer than it may."""
    await trio.sleep_forever()
    raise AssertionError


# Progress, log messages, cancellation


@mcp.tool()
async def progress(to: int, ctx: Context) -> int:
    """Report progress this often."""
    for done in range(to):
        await ctx.report_progress(done + 1, to, f"step {done + 1}")
    return to


@mcp.tool()
async def pace(steps: int, ctx: Context) -> str:
    """Report progress again and again, in good time."""
    for done in range(steps):
        await trio.sleep(0.1)
        await ctx.report_progress(done + 1)
    return "arrived"


@mcp.tool()
async def speak(ctx: Context) -> str:
    """Send log messages of three levels."""
    for level in ("debug", "info", "error"):
        await ctx.session.send_log_message(level, {"said": level}, logger="speaker")
    return "spoke"


@mcp.tool()
async def nap(name: str, ctx: Context) -> str:
    """Sleep until cancelled, and remember how that was."""
    try:
        await ctx.report_progress(1)
        await trio.sleep_forever()
    finally:
        run_of(ctx).ended[name] = f"cancelled: {ctx.cancel_reason is not None}"
        run_of(ctx).happened()
    raise AssertionError


@mcp.tool()
async def wait_ended(name: str, ctx: Context) -> str:
    """Wait until a nap has ended, and tell how."""
    run = run_of(ctx)
    while name not in run.ended:
        await run.something.wait()
    return run.ended[name]


@mcp.tool()
async def ask_in_vain(ctx: Context) -> str:
    """Ask the user, and lose patience."""
    with trio.move_on_after(0.5):
        await ctx.elicit("Are you there?", Name)
        return "answered"
    return "gave up"


# Resources


@mcp.resource(
    "text://motto",
    title="Motto",
    mime_type="text/markdown",
    annotations=Annotations(audience=["user"], priority=0.5),
    icons=[ICON],
    meta={"com.example/shelf": 1},
)
def motto() -> str:
    """Tell the motto."""
    return "*Many* languages, ünd one."


@mcp.resource("bytes://all", mime_type="application/octet-stream")
def all_bytes() -> bytes:
    """Give every byte."""
    return bytes(range(256))


@mcp.resource("json://measure")
def json_measure() -> Measure:
    """Give an object."""
    return Measure(8.5, "m")


@mcp.resource("broken://disk")
def broken_disk() -> str:
    """Fail."""
    raise OSError("secret")


@mcp.resource("note://{name}", title="Note", mime_type="text/plain")
def note(name: str) -> str:
    """Find a note."""
    if name == "missing":
        raise ResourceNotFoundError(f"there is no note {name}")
    return f"note of {name}"


@mcp.resource("file:///{+path}")
def file(path: str) -> str:
    """Find a file."""
    return f"file at {path}"


@mcp.resource("search://{topic}{?limit}")
def search(topic: str, limit: int = 3) -> str:
    """Search."""
    return f"{limit} of {topic}"


# Prompts and completion


@mcp.prompt(title="Greeting", icons=[ICON])
def greet(name: str, style: str = "plain") -> str:
    """Greet somebody."""
    return f"Greet {name}, {style}."


@mcp.prompt()
async def talk(topic: str) -> list[UserMessage | AssistantMessage]:
    """Begin a talk."""
    return [UserMessage(f"About {topic}?"), AssistantMessage("Gladly.")]


@mcp.prompt()
def bare() -> str:
    return "As it is."


@mcp.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion | None:
    if isinstance(ref, ResourceTemplateReference):
        settled = "" if context is None else f" {context.arguments}"
        return Completion(values=[f"{argument.value}…{settled}"])
    if argument.name != "name":
        return None
    values = [name for name in ("ada", "alan", "grace") if name.startswith(argument.value)]
    return Completion(values=values, total=len(values), has_more=False)


# What changes


@mcp.tool()
async def grow(what: Literal["tool", "resource", "template", "prompt"]) -> str:
    """Publish one more of a kind."""
    match what:
        case "tool":
            mcp.add_tool(lambda: "", name="extra")
        case "resource":
            mcp.resource("new://x", name="extra")(lambda: "")
        case "template":
            mcp.resource("new://x/{y}", name="extra")(lambda y: y)
        case "prompt":
            mcp.prompt("extra")(lambda: "")
    return "grown"


@mcp.tool()
async def shrink(what: Literal["tool", "resource", "template", "prompt"]) -> str:
    """Take it back."""
    match what:
        case "tool":
            mcp.remove_tool("extra")
        case "resource":
            mcp.remove_resource("new://x")
        case "template":
            mcp.remove_resource_template("new://x/{y}")
        case "prompt":
            mcp.remove_prompt("extra")
    return "shrunk"


@mcp.tool()
async def touch(uri: str, ctx: Context) -> str:
    """Tell that a resource has changed."""
    await ctx.notify_resource_updated(uri)
    return "touched"


# What is asked of the client


@attrs.frozen
class Name:
    name: str = "nobody"


@attrs.frozen
class Order:
    count: int
    size: Literal["s", "l"] = "s"


def ask_name() -> Elicit[Name]:
    return Elicit("Who?", Name)


def ask_order(what: str) -> Elicit[Order]:
    return Elicit(f"How much {what}?", Order)


def ask_model(what: str) -> Sample:
    hello = SamplingMessage(role="user", content=TextContent(text=what))
    return Sample([hello], max_tokens=5, system_prompt="Be brief.", temperature=0.5)


WEATHER = Tool(name="weather", input_schema={"type": "object"})


def ask_model_with_tools(what: str) -> Sample:
    use = ToolUseContent(name="weather", id="u1", input={"city": what})
    result = ToolResultContent(tool_use_id="u1", content=[TextContent(text="rain")])
    return Sample(
        [
            SamplingMessage(role="assistant", content=[use]),
            SamplingMessage(role="user", content=[result]),
        ],
        max_tokens=5,
        tools=[WEATHER],
    )


def ask_roots() -> ListRoots:
    return ListRoots()


@mcp.tool()
async def order(
    what: str,
    amount: Annotated[Order, Resolve(ask_order)],
    who: Annotated[ElicitationResult[Name], Resolve(ask_name)],
) -> str:
    """Ask two questions in a form each; the second may be declined."""
    name = who.data.name if isinstance(who, AcceptedElicitation) else who.action
    return f"{amount.count} {amount.size} {what} for {name}"


@mcp.tool()
async def consult(what: str, said: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Ask the client's model."""
    assert isinstance(said.content, TextContent)
    return f"{said.model}: {said.content.text}"


@mcp.tool()
async def consult_with_tools(
    what: str, said: Annotated[CreateMessageResultWithTools, Resolve(ask_model_with_tools)]
) -> str:
    """Go on with a talk in which the model has used a tool."""
    return f"{said.stop_reason}: {[block.type for block in said.content_as_list]}"


@mcp.tool()
async def where(roots: Annotated[ListRootsResult, Resolve(ask_roots)]) -> list[str]:
    """Ask for the client's roots."""
    return [root.uri for root in roots.roots]


@mcp.resource("asking://{what}")
def asking_resource(what: str, who: Annotated[Name, Resolve(ask_name)]) -> str:
    return f"{what} for {who.name}"


@mcp.prompt()
def asking_prompt(what: str, who: Annotated[Name, Resolve(ask_name)]) -> str:
    return f"{what} for {who.name}"


@mcp.tool()
async def by_hand(ctx: Context) -> str | InputRequiredResult:
    """Ask for a form and for a visit in one round, and keep a state meanwhile."""
    answers = ctx.input_responses
    if answers is None:
        form = ElicitRequestFormParams(
            message="Who?", requested_schema={"type": "object", "properties": {}}
        )
        return InputRequiredResult(
            input_requests={
                "who": ElicitRequest(params=form),
                "where": ElicitRequest(
                    params=ElicitRequestURLParams(message="Log in", url="https://a.example/")
                ),
            },
            request_state="asked",
        )
    actions = {
        key: answer.action for key, answer in answers.items() if isinstance(answer, ElicitResult)
    }
    return f"{sorted(actions.items())} {ctx.request_state}"


@mcp.tool()
async def live_form(ctx: Context) -> str:
    """Ask while the call waits, as the older era does."""
    answer = await ctx.elicit("Who?", Name)
    return answer.data.name if isinstance(answer, AcceptedElicitation) else answer.action


@mcp.tool()
async def live_url(ctx: Context) -> str:
    """Send the user to a page while the call waits, and tell when they are done there."""
    answer = await ctx.elicit_url("Log in", "https://a.example/", "visit-1")
    if isinstance(answer, AcceptedUrlElicitation):
        await ctx.session.send_elicit_complete("visit-1")
        return "accept"
    return answer.action


@mcp.tool()
async def live_sample(what: str, ctx: Context) -> str:
    """Ask the client's model while the call waits."""
    message = SamplingMessage(role="user", content=TextContent(text=what))
    said = await ctx.session.create_message([message], max_tokens=5)
    return f"{said.model}: {said.content}"


@mcp.tool()
async def live_roots(ctx: Context) -> list[str]:
    """Ask for the client's roots while the call waits."""
    return [root.uri for root in (await ctx.session.list_roots()).roots]


# What the client tells, and messages beyond the protocol


@mcp.tool()
async def wait_told(method: str, ctx: Context) -> Any:
    """Wait until the client has told something, and tell what came with it."""
    run = run_of(ctx)
    while True:
        for told, params in run.told:
            if told == method:
                return params
        await run.something.wait()


def remember(method: str) -> Any:
    async def heard(ctx: ServerRequestContext[Run, Any], params: Any) -> None:
        ctx.lifespan_context.told.append((method, dict(ctx.params or {})))
        ctx.lifespan_context.happened()

    return heard


for name in ("notifications/roots/list_changed", "notifications/com.example/seen"):
    mcp.lowlevel_server.add_notification_handler(name, dict, remember(name))


@mcp.tool()
async def whisper(ctx: Context) -> str:
    """Send a notification beyond the protocol."""
    await ctx.session.send_notification(
        Notification(method="notifications/com.example/printed", params={"number": "7"})
    )
    return "whispered"


@mcp.tool()
async def meta_of(ctx: Context) -> Any:
    """Tell what the request says in its `_meta`, and say something in the result's."""
    given = {
        key: value
        for key, value in (ctx.request_context.meta or {}).items()
        if key.startswith("com.example/")
    }
    return CallToolResult(
        content=[TextContent(text=str(given), meta={"com.example/of": "block"})],
        meta={"com.example/of": "result"},
    )


@mcp.tool()
async def client_of(ctx: Context) -> dict[str, Any]:
    """Tell who asks, at which revision."""
    return {"name": ctx.client_info and ctx.client_info.name, "version": ctx.protocol_version}


@mcp.tool()
async def ping_client(ctx: Context) -> str:
    """Ask the client for a sign of life."""
    await ctx.session.send_ping()
    return "alive"


if __name__ == "__main__":
    mcp.run("stdio")
