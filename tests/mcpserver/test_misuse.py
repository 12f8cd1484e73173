"""What is written wrong is told where it was written: which argument, what was expected, what came."""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import pytest

from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver import (
    BinaryResource,
    FileResource,
    FunctionResource,
    Image,
    MCPServer,
    Resolve,
    ResourceTemplate,
    TextResource,
)
from trio_mcp.mcpserver._prompts import Prompt
from trio_mcp.mcpserver._tool import Tool
from trio_mcp.types import Icon, ToolAnnotations


def fn() -> str:
    return ""


def of(n: str) -> str:
    return n


BROKEN = "\ud800"
mcp = MCPServer("misused")
tool = functools.partial(Tool.from_function, fn)

SERVER = [
    ({"name": 5}, "name: expected str, got int"),
    ({"title": 5}, "title: expected str, got int"),
    ({"description": b""}, "description: expected str, got bytes"),
    ({"instructions": 5}, "instructions: expected str, got int"),
    ({"website_url": 5}, "website_url: expected str, got int"),
    ({"version": None}, "version: expected str, got NoneType"),
    ({"icons": "x.png"}, "icons: expected list, got str"),
    ({"icons": ["x.png"]}, "icons: expected Icon, got str (at icons[0])"),
    ({"icons": [{}]}, "icons: expected Icon, got dict (at icons[0])"),
    ({"icons": {"src": "x"}}, "icons: expected list, got dict"),
    ({"icons": [Icon(src=5)]}, "Icon.src: expected str, got int (at icons[0])"),  # type: ignore[arg-type]
    ({"tools": [fn]}, "tool: expected Tool, got function"),
    ({"resources": [fn]}, "resource: expected a Resource (@mcp.resource(…) is for functions)"),
    ({"debug": "no"}, "debug: expected bool, got str"),
    ({"log_level": "LOUD"}, "log_level: expected one of 'DEBUG', 'INFO'"),
    ({"log_level": 10}, "log_level: expected one of 'DEBUG', 'INFO'"),
    ({"warn_on_duplicate_tools": 1}, "warn_on_duplicate_tools: expected bool, got int"),
    ({"warn_on_duplicate_prompts": 1}, "warn_on_duplicate_prompts: expected bool, got int"),
    ({"warn_on_duplicate_resources": 1}, "warn_on_duplicate_resources: expected bool, got int"),
    ({"on_duplicate": "shout"}, "on_duplicate: expected one of"),
    ({"dependencies": "httpx"}, "dependencies: expected a list of strings, got one str"),
    ({"dependencies": [5]}, "dependencies[0]: expected str, got int"),
    ({"lifespan": 5}, "lifespan: expected a function, got int"),
    ({"resource_security": None}, "resource_security: expected ResourceSecurity, got NoneType"),
    ({"request_state_security": "key"}, "request_state_security: expected RequestStateSecurity"),
    ({"cache_hints": 5}, "cache_hints: expected a dict of CacheHint by method, got int"),
    ({"cache_hints": {"tools/list": 5}}, "cache_hints['tools/list']: expected CacheHint, got int"),
    (
        {"subscriptions": True},
        "subscriptions: expected a SubscriptionBus, False or None, got bool",
    ),
    ({"middleware": fn}, "middleware: expected a list of functions, got function"),
    ({"middleware": [5]}, "middleware[0]: expected Callable, got int"),
    ({"list_page_size": "5"}, "list_page_size: expected a whole number of at least 1, got str"),
    ({"list_page_size": 1.5}, "list_page_size: expected a whole number of at least 1, got float"),
    ({"list_page_size": math.nan}, "list_page_size: expected a whole number of at least 1"),
    ({"list_page_size": True}, "list_page_size: expected a whole number of at least 1, got bool"),
]

TOOL = [
    ({"name": 5}, "name: expected str, got int"),
    ({"name": False}, "name: expected str, got bool"),
    ({"title": 5}, "title: expected str, got int"),
    ({"description": 5}, "description: expected str, got int"),
    ({"annotations": 5}, "annotations: expected ToolAnnotations, got int"),
    ({"annotations": "x"}, "annotations: expected ToolAnnotations, got str"),
    ({"annotations": {}}, "annotations: expected ToolAnnotations, got dict"),
    ({"annotations": {"readOnlyHint": True}}, "annotations: expected ToolAnnotations, got dict"),
    (
        {"annotations": ToolAnnotations(read_only_hint="yes")},  # type: ignore[arg-type]
        "ToolAnnotations.read_only_hint: expected bool, got str",
    ),
    ({"icons": 5}, "icons: expected list, got int"),
    ({"icons": "x"}, "icons: expected list, got str"),
    ({"icons": [{}]}, "icons: expected Icon, got dict (at icons[0])"),
    ({"meta": 5}, "meta: expected dict, got int"),
    ({"meta": {"a": {1}}}, "meta.a: set has no JSON form"),
    ({"structured_output": "yes"}, "structured_output: expected bool, got str"),
]

OWN_TOOL = [
    ({"timeout": "5"}, "timeout: expected a number above 0, got str"),
    ({"timeout": -1}, "timeout: expected a number above 0, got -1"),
    ({"timeout": 0}, "timeout: expected a number above 0, got 0"),
    ({"timeout": math.nan}, "timeout: expected a number above 0, got nan"),
    ({"timeout": True}, "timeout: expected a number above 0, got bool"),
    ({"run_in_thread": 1}, "run_in_thread: expected bool, got int"),
    ({"ignore_unknown_arguments": "no"}, "ignore_unknown_arguments: expected bool, got str"),
    ({"context_kwarg": 5}, "context_kwarg: expected str, got int"),
]

RESOURCE = [
    ({"name": 5}, "name: expected str, got int"),
    ({"title": 5}, "title: expected str, got int"),
    ({"description": 5}, "description: expected str, got int"),
    ({"mime_type": 5}, "mime_type: expected str, got int"),
    ({"icons": 5}, "icons: expected list, got int"),
    ({"icons": "x"}, "icons: expected list, got str"),
    ({"icons": [Icon(src="a"), {"src": "b"}]}, "icons: expected Icon, got dict (at icons[1])"),
    ({"annotations": 5}, "annotations: expected Annotations, got int"),
    ({"annotations": {"priority": 1}}, "annotations: expected Annotations, got dict"),
    ({"meta": 5}, "meta: expected dict, got int"),
    ({"meta": "x"}, "meta: expected dict, got str"),
    ({"security": "strict"}, "security: expected ResourceSecurity, got str"),
]

PROMPT = [
    ({"name": 5}, "name: expected str, got int"),
    ({"title": 5}, "title: expected str, got int"),
    ({"description": 5}, "description: expected str, got int"),
    ({"icons": [5]}, "icons: expected Icon, got int (at icons[0])"),
    ({"icons": "x"}, "icons: expected list, got str"),
    ({"icons": [{}]}, "icons: expected Icon, got dict (at icons[0])"),
]

REGISTERING = [
    (lambda: mcp.tool(5), "name: expected str, got int"),
    (lambda: mcp.tool()(5), "fn: expected a function, got int"),
    (lambda: mcp.add_tool(5), "fn: expected a function, got int"),
    (lambda: mcp.add_tool(tool()), "fn: expected a function, got Tool"),
    (lambda: mcp.prompt(5), "name: expected str, got int"),
    (lambda: mcp.prompt()(5), "fn: expected a function, got int"),
    (lambda: mcp.add_prompt(5), "prompt: expected a Prompt (@mcp.prompt() is for functions)"),
    (lambda: mcp.add_prompt(fn), "prompt: expected a Prompt (@mcp.prompt() is for functions)"),
    (lambda: mcp.resource(5), "uri: expected str, got int"),
    (lambda: mcp.resource(fn), "A resource needs a URI"),
    (lambda: mcp.resource("a://b")(5), "fn: expected a function, got int"),
    (lambda: mcp.resource("a://{n}")(5), "fn: expected a function, got int"),
    (lambda: mcp.add_resource(fn), "resource: expected a Resource (@mcp.resource(…) is for"),
    (lambda: mcp.add_resource_template(fn), "template: expected ResourceTemplate, got function"),
    (lambda: mcp.completion()(5), "fn: expected a function, got int"),
    (lambda: Resolve(5), "fn: expected a function, got int"),
    (lambda: Prompt(name="x", fn=5), "fn: expected a function, got int"),
    (lambda: FunctionResource(uri="a://b", fn=5), "fn: expected a function, got int"),
    (lambda: FunctionResource(uri=5, fn=fn), "uri: expected str, got int"),
    (lambda: ResourceTemplate.from_function(of, 5), "uri_template: expected str, got int"),
    (lambda: TextResource(uri="a://b", text=5), "text: expected str, got int"),
    (lambda: BinaryResource(uri="a://b", data="x"), "data: expected bytes or bytearray or memory"),
    (lambda: FileResource(uri="a://b", path=5), "path: expected str or PurePath, got int"),
    (lambda: Image(data="x"), "data: expected bytes or bytearray or memoryview, got str"),
    (lambda: Image(path=5), "path: expected str or PurePath, got int"),
]


def refused(message: str) -> Any:
    # The kind of error is Python's: a value of the wrong kind, or a kind of value with no use.
    return pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}")


@pytest.mark.parametrize(("options", "message"), SERVER)
def test_options_of_a_server(options: dict[str, Any], message: str) -> None:
    with refused(message):
        MCPServer(**{"name": "x", **options})


@pytest.mark.parametrize("page_size", [0, -1])
def test_a_page_has_an_entry(page_size: int) -> None:
    with refused(f"list_page_size: expected a whole number of at least 1, got {page_size}"):
        MCPServer(list_page_size=page_size)


@pytest.mark.parametrize(("options", "message"), TOOL)
def test_options_of_a_tool(options: dict[str, Any], message: str) -> None:
    with refused(message):
        mcp.add_tool(fn, **options)
    with refused(message):
        mcp.tool(**options)(fn)
    with refused(message):
        tool(**options)


@pytest.mark.parametrize(("options", "message"), OWN_TOOL)
def test_options_of_a_tool_of_ones_own(options: dict[str, Any], message: str) -> None:
    with refused(message):
        tool(**options)


@pytest.mark.parametrize(("options", "message"), RESOURCE)
def test_options_of_a_resource(options: dict[str, Any], message: str) -> None:
    with refused(message):
        mcp.resource("a://b", **options)(fn)
    with refused(message):
        mcp.resource("a://{n}", **options)(of)


@pytest.mark.parametrize(("options", "message"), PROMPT)
def test_options_of_a_prompt(options: dict[str, Any], message: str) -> None:
    with refused(message):
        mcp.prompt(**options)(fn)
    with refused(message):
        mcp.add_prompt(Prompt.from_function(fn, **options))


@pytest.mark.parametrize(("misuse", "message"), REGISTERING)
def test_what_is_no_function_and_no_part_of_a_server(misuse: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        misuse()


@pytest.mark.parametrize(
    "publish",
    [
        tool,
        lambda **said: mcp.resource("a://b", **said)(fn),
        lambda **said: mcp.resource("a://{n}", **said)(of),
        lambda **said: mcp.prompt(**said)(fn),
        lambda **said: MCPServer("x", **said),
    ],
    ids=["tool", "resource", "template", "prompt", "server"],
)
@pytest.mark.parametrize("argument", ["title", "description"])
def test_texts_that_nobody_could_send(publish: Any, argument: str) -> None:
    with pytest.raises(ValueError, match=rf"^{argument}: the text holds a lone surrogate$"):
        publish(**{argument: f"a {BROKEN}"})


def test_nothing_of_it_was_published() -> None:
    assert mcp._tools.items() == mcp._resources.items() == []
    assert mcp._templates.items() == mcp._prompts.items() == []


@pytest.mark.parametrize("publish", [tool, functools.partial(Prompt.from_function, fn)])
def test_the_context_goes_to_a_parameter_that_is_there(publish: Any) -> None:
    with pytest.raises(
        InvalidSignature, match="fn: context_kwarg is 'ctx', which is no parameter"
    ):
        publish(context_kwarg="ctx")


def test_any_keyword_may_take_the_context() -> None:
    def catching(**anything: Any) -> str: ...

    made = Tool.from_function(catching, context_kwarg="ctx", input_schema={"type": "object"})
    assert made.context_kwarg == "ctx"


@pytest.mark.req("R-046", "R-048")
@pytest.mark.parametrize(
    "publish",
    [
        lambda meta: MCPServer().add_tool(fn, meta=meta),
        lambda meta: MCPServer().tool(meta=meta)(fn),
        lambda meta: MCPServer().resource("a://b", meta=meta)(fn),
        lambda meta: MCPServer().resource("a://{n}", meta=meta)(of),
        lambda meta: TextResource(uri="a://b", text="", meta=meta),
    ],
    ids=["a tool", "a decorated tool", "a resource", "a template", "a text"],
)
def test_what_is_published_has_keys_that_every_client_can_read(publish):
    publish({"com.example/colour": "red", "plain": 1})
    for key in ("no good", "_own", "9.example/x"):
        with pytest.raises(ValueError, match="meta: expected keys like") as caught:
            publish({"com.example/colour": "red", key: 1})
        assert repr(key) in str(caught.value)
