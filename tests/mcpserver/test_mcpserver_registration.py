from __future__ import annotations

import functools
import logging
import threading
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import pytest
import trio

from trio_mcp.client import Client
from trio_mcp.errors import InvalidSignature, ResourceNotFoundError, ToolError
from trio_mcp.mcpserver import (
    Context,
    InvalidUriTemplate,
    MCPServer,
    Prompt,
    ResourceSecurity,
    ResourceTemplate,
    TextResource,
    Tool,
)
from trio_mcp.server import CacheHint
from trio_mcp.types import Icon

if TYPE_CHECKING:
    from trio_mcp.mcpserver._registry import DuplicatePolicy


def tool_names(mcp: MCPServer) -> list[str]:
    return [tool.name for tool in trio.run(mcp.list_tools)]


# Decorators


def test_decorators_give_the_function_back() -> None:
    mcp = MCPServer()

    def plain(x: int) -> int:
        return x

    assert mcp.tool()(plain) is plain
    assert mcp.tool(plain) is plain
    assert mcp.completion()(plain) is plain
    assert mcp.completion(plain) is plain
    assert mcp.prompt()(plain) is plain
    assert mcp.prompt(plain) is plain
    assert mcp.resource("a://{x}")(plain) is plain
    assert mcp.completion()(plain) is plain


def test_a_tool_may_be_decorated_with_and_without_parentheses() -> None:
    mcp = MCPServer()

    @mcp.tool
    def bare() -> str: ...

    @mcp.tool()
    def called() -> str: ...

    @mcp.tool("named", title="Named", description="Told.")
    def other() -> str: ...

    assert tool_names(mcp) == ["bare", "called", "named"]
    named = trio.run(mcp.list_tools)[2]
    assert (named.title, named.description) == ("Named", "Told.")


def test_a_resource_needs_a_uri() -> None:
    with pytest.raises(TypeError, match="needs a URI"):
        MCPServer().resource(lambda: "")  # type: ignore[arg-type]


@pytest.mark.case("C058")
def test_the_context_of_a_callable_object_is_not_listed() -> None:
    class Lookup:
        def __call__(self, word: str, ctx: Context | None = None) -> str:
            return word

    mcp = MCPServer()
    mcp.add_tool(Lookup(), name="lookup")
    mcp.add_tool(functools.partial(Lookup(), word="x"), name="partial")
    lookup, partial = trio.run(mcp.list_tools)
    assert list(lookup.input_schema["properties"]) == ["word"]
    assert partial.input_schema["properties"] == {}


@pytest.mark.case("C057")
def test_hints_may_be_strings_and_name_what_comes_later() -> None:
    mcp = MCPServer()

    @mcp.tool()
    def move(to: Annotated[Later, "where to"], ctx: Context) -> Later:
        return to

    @mcp.prompt()
    def ask(to: Annotated[str, "where to"], ctx: Context) -> str:
        return to

    @mcp.resource("later://{at}")
    def at(at: int | None, ctx: Context) -> str:
        return str(at)

    [tool] = trio.run(mcp.list_tools)
    assert list(tool.input_schema["properties"]) == ["to"]
    [prompt] = trio.run(mcp.list_prompts)
    assert [each.name for each in prompt.arguments or ()] == ["to"]


@attrs.frozen
class Later:
    x: int


# Refusals


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("a://{x", "not closed"),
        ("a://{}", "names no variable"),
        ("a://{x}{y}", "Nothing stands between"),
        ("a://{x:3}", "prefix modifier"),
    ],
)
def test_a_malformed_template_is_refused_at_decoration(template: str, message: str) -> None:
    with pytest.raises(InvalidUriTemplate, match=message) as caught:
        MCPServer().resource(template)
    assert isinstance(caught.value, ValueError)


def test_a_template_that_does_not_fit_its_function_is_refused() -> None:
    mcp = MCPServer()
    with pytest.raises(
        ValueError, match="no parameter for 'y'; the template has no variable for 'z'"
    ):

        @mcp.resource("a://{x}/{y}")
        def wrong(x: str, z: str) -> str: ...

    with pytest.raises(ValueError, match="'a://all' has no variables, but its function takes 'x'"):

        @mcp.resource("a://all")
        def fixed(x: str) -> str: ...

    with pytest.raises(ValueError, match="leave 'page' out of the query"):

        @mcp.resource("a://{x}{?page}")
        def paged(x: str, page: int) -> str: ...

    assert trio.run(mcp.list_resources) == []
    assert trio.run(mcp.list_resource_templates) == []


@pytest.mark.req("R-278")
@pytest.mark.parametrize(
    "uri",
    [
        "notes",
        "notes/{name}",
        "no scheme://x",
        "{x y}://",
        "{a}",
        "{a}/{b}",
        "a{b}",
        "{/a}",
        "+a:b",
    ],
)
def test_a_resource_without_a_scheme_is_refused(uri: str) -> None:
    with pytest.raises(ValueError):
        MCPServer().resource(uri)(lambda **names: "")


@pytest.mark.parametrize("template", ["{scheme}://x", "x{scheme}:y", "{+scheme}", "x{+scheme}"])
def test_a_template_may_leave_its_scheme_to_a_variable(template: str) -> None:
    mcp = MCPServer()

    @mcp.resource(template, security=ResourceSecurity(exempt_params={"scheme"}))
    def any_scheme(scheme: str) -> str: ...

    assert len(trio.run(mcp.list_resource_templates)) == 1


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
def test_hints_without_a_schema_are_refused_by_name(kind: str) -> None:
    mcp = MCPServer()

    def odd(lock: threading.Lock) -> str: ...  # type: ignore[valid-type]

    decorate = mcp.resource("a://{lock}") if kind == "resource" else getattr(mcp, kind)()
    with pytest.raises(InvalidSignature, match="'lock'") as caught:
        decorate(odd)
    assert isinstance(caught.value, ValueError)
    assert tool_names(mcp) == []


@pytest.mark.case("C057")
def test_names_that_nothing_defines_are_refused_at_registration() -> None:
    mcp = MCPServer()

    def odd(x: Nowhere) -> str: ...  # type: ignore[name-defined]  # noqa: F821

    for decorate in (mcp.tool(), mcp.prompt(), mcp.resource("a://{x}")):
        with pytest.raises(InvalidSignature, match="Nowhere"):
            decorate(odd)


# Duplicates, and taking back


def test_of_two_with_one_name_the_first_stays_and_it_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mcp = MCPServer()
    for text in ("first", "second"):
        mcp.add_tool(lambda: "", name="t", description=text)
        mcp.add_resource(TextResource(uri="a://b", text=text))
        mcp.add_resource_template(
            ResourceTemplate.from_function(lambda x: x, "a://{x}", name=text)
        )
        mcp.add_prompt(Prompt.from_function(lambda: "", name="p", description=text))
    assert [tool.description for tool in trio.run(mcp.list_tools)] == ["first"]
    assert trio.run(mcp.read_resource, "a://b")[0].content == "first"  # type: ignore[index]
    assert [each.name for each in trio.run(mcp.list_resource_templates)] == ["first"]
    assert [prompt.description for prompt in trio.run(mcp.list_prompts)] == ["first"]
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        "Tool already exists: t",
        "Resource already exists: a://b",
        "Resource template already exists: a://{x}",
        "Prompt already exists: p",
    ]


def test_the_warning_can_be_switched_off(caplog: pytest.LogCaptureFixture) -> None:
    mcp = MCPServer(
        warn_on_duplicate_tools=False,
        warn_on_duplicate_resources=False,
        warn_on_duplicate_prompts=False,
    )
    for _ in range(2):
        mcp.add_tool(lambda: "", name="t")
        mcp.add_resource(TextResource(uri="a://b", text=""))
        mcp.add_prompt(Prompt.from_function(lambda: "", name="p"))
    assert caplog.records == []


def test_what_was_added_can_be_removed_once() -> None:
    mcp = MCPServer(tools=[Tool.from_function(lambda: "", name="t")])
    mcp.add_resource(TextResource(uri="a://b", text=""))
    mcp.add_resource_template(ResourceTemplate.from_function(lambda x: x, "a://{x}", name="x"))
    mcp.add_prompt(Prompt.from_function(lambda: "", name="p"))
    mcp.remove_tool("t")
    mcp.remove_resource("a://b")
    mcp.remove_resource_template("a://{x}")
    mcp.remove_prompt("p")
    for listed in (
        mcp.list_tools,
        mcp.list_resources,
        mcp.list_resource_templates,
        mcp.list_prompts,
    ):
        assert trio.run(listed) == []
    with pytest.raises(ToolError, match="Unknown tool: t"):
        mcp.remove_tool("t")
    with pytest.raises(ResourceNotFoundError, match="Unknown resource: a://b"):
        mcp.remove_resource("a://b")
    with pytest.raises(ResourceNotFoundError, match="Unknown resource template"):
        mcp.remove_resource_template("a://{x}")
    with pytest.raises(ValueError, match="Unknown prompt: p"):
        mcp.remove_prompt("p")


# The server itself


def test_the_server_says_what_it_was_made_with() -> None:
    icons = [Icon(src="https://x/i.png")]
    mcp = MCPServer("n", "t", "d", "i", "https://x", icons, "1.2")
    assert (mcp.name, mcp.title, mcp.description, mcp.instructions) == ("n", "t", "d", "i")
    assert (mcp.website_url, mcp.icons, mcp.version) == ("https://x", icons, "1.2")
    assert MCPServer().name == "mcp-server"
    assert mcp.settings.log_level == "INFO"
    assert mcp.dependencies == []
    assert mcp.lowlevel_server.middleware is mcp.middleware


def test_bad_options_are_refused() -> None:
    with pytest.raises(
        ValueError, match="list_page_size: expected a whole number of at least 1, got 0"
    ):
        MCPServer(list_page_size=0)
    with pytest.raises(ValueError, match="cannot be cached"):
        MCPServer(cache_hints={"tools/call": CacheHint()})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"expected one of 'stdio', .*, got 'carrier"):
        MCPServer().run("carrier-pigeon")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="no option 'port'"):
        MCPServer().run("stdio", port=1)


def test_registering_holds_nothing_of_trio() -> None:
    """One server, made outside of Trio, serves several runs and threads."""
    mcp = MCPServer()

    @mcp.tool()
    def here() -> int:
        return threading.get_ident()

    async def call() -> object:
        return await mcp.call_tool("here", {})

    results = [trio.run(call), trio.run(call)]
    thread = threading.Thread(target=lambda: results.append(trio.run(call)))
    thread.start()
    thread.join()
    assert len(results) == 3


@pytest.mark.parametrize("policy", ["error", "replace"])
def test_one_policy_for_duplicates_of_all_kinds(policy: DuplicatePolicy) -> None:
    mcp = MCPServer(on_duplicate=policy, warn_on_duplicate_tools=False)
    for add in (
        lambda: mcp.add_tool(lambda: 0, "a"),
        lambda: mcp.add_prompt(Prompt(name="a", fn=lambda: "")),
        lambda: mcp.add_resource(TextResource(uri="a://b", text="")),
        lambda: mcp.resource("a://{b}", name="a")(lambda b: b),
    ):
        add()
        if policy == "replace":
            add()
            continue
        with pytest.raises(ValueError, match="already exists"):
            add()


def test_a_policy_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="on_duplicate: expected one of 'warn', 'error'"):
        MCPServer(on_duplicate="merge")  # type: ignore[arg-type]


async def test_the_decorator_takes_what_a_tool_takes(autojump_clock: Any) -> None:
    mcp = MCPServer()

    @mcp.tool(timeout=3)
    async def slow() -> None:
        await trio.sleep_forever()

    @mcp.tool(run_in_thread=False)
    def here() -> str:
        return trio.lowlevel.current_task().name

    @mcp.tool(input_schema={"type": "object", "properties": {"x-y": {"type": "integer"}}})
    def free(**kwargs: Any) -> str:
        return repr(kwargs)

    @mcp.tool(ignore_unknown_arguments=True)
    def lenient(a: int) -> int:
        return a

    async with Client(mcp) as client:
        start = trio.current_time()
        late = await client.call_tool("slow")
        assert late.content[0].text == "Error executing tool slow: it took longer than 3 seconds"
        assert trio.current_time() - start == pytest.approx(3)
        assert not (await client.call_tool("here")).is_error
        free_result = await client.call_tool("free", {"x-y": 1})
        assert free_result.content[0].text == "{'x-y': 1}"
        assert (await client.call_tool("lenient", {"a": 1, "b": 2})).content[0].text == "1"
