"""Resolvers that cannot work are refused when they are registered."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from trio_mcp import Context, Elicit, InvalidSignature, MCPServer, Resolve
from trio_mcp.client import Client
from trio_mcp.mcpserver import Prompt, ResourceTemplate, Tool
from trio_mcp.mcpserver._resolver_plan import plan_resolvers
from trio_mcp.mcpserver._signature import read_signature
from trio_mcp.mcpserver._tool import is_context


@attrs.frozen
class Inner:
    x: int


@attrs.frozen
class Nested:
    inner: Inner


def left(x: LeftHint) -> int:
    return x


def right(x: RightHint) -> int:
    return x


LeftHint = Annotated[int, Resolve(right)]
RightHint = Annotated[int, Resolve(left)]


def test_a_circle() -> None:
    def tool(x: Annotated[int, Resolve(left)]) -> int:
        return x

    with pytest.raises(InvalidSignature, match="in a circle: left → right → left"):
        Tool.from_function(tool)


def takes_path(path: str) -> str:
    return path


def takes_optional(path: str = "a") -> str:
    return path


def takes_place(path: str, /) -> str:
    return path


def takes_context_twice(a: Context, b: Context) -> None: ...


def asks_too_much() -> Elicit[Nested] | int:
    return 0


@pytest.mark.parametrize(
    ("resolver", "message"),
    [
        (takes_path, "the resolver takes_path takes 'path', which is no argument"),
        (takes_place, "resolver takes_place: parameter 'path': a resolver is called with names"),
        (takes_context_twice, "both take the context"),
        (asks_too_much, r"resolver asks_too_much asks with Nested\.inner"),
    ],
)
def test_resolvers_that_cannot_work(resolver: Any, message: str) -> None:
    def tool(name: str, x: Annotated[Any, Resolve(resolver)]) -> None: ...

    with pytest.raises(InvalidSignature, match=message):
        Tool.from_function(tool)

    def prompt(name: str, x: Annotated[Any, Resolve(resolver)]) -> str:
        return ""

    with pytest.raises(InvalidSignature, match=message):
        Prompt.from_function(prompt)
    with pytest.raises(InvalidSignature, match=message):
        ResourceTemplate.from_function(prompt, "a://{name}")


def test_what_has_a_default_may_be_missing() -> None:
    def tool(name: str, x: Annotated[str, Resolve(takes_optional)]) -> str:
        return x

    assert list(Tool.from_function(tool).resolved_params) == ["x"]


def test_resolve_is_for_the_whole_parameter() -> None:
    def tool(x: Annotated[int, Resolve(takes_optional)] | None) -> None: ...

    with pytest.raises(InvalidSignature, match="for the whole parameter"):
        Tool.from_function(tool)


def test_a_schema_of_the_author_tells_what_resolvers_may_take() -> None:
    def tool(x: Annotated[str, Resolve(takes_path)], **arguments: Any) -> str:
        return x

    properties = {"properties": {"path": {"type": "string"}}}
    with pytest.raises(InvalidSignature, match="which a client may leave out"):
        Tool.from_function(tool, input_schema={"type": "object", **properties})
    required = {"type": "object", "required": ["path"], **properties}
    assert list(Tool.from_function(tool, input_schema=required).resolved_params) == ["x"]


async def test_a_client_cannot_slip_a_value_into_kwargs() -> None:
    async def tool(x: Annotated[str, Resolve(takes_path)], **arguments: Any) -> str:
        return x

    schema = {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}
    made = Tool.from_function(tool, input_schema=schema)
    mcp = MCPServer("a", tools=[made])
    async with Client(mcp) as client:
        result = await client.call_tool("tool", {"path": "p", "x": "mine"})
    assert result.structured_content == {"result": "p"}


def make(answer: int) -> Any:
    def resolver() -> int:
        return answer

    return resolver


class Service:
    def __init__(self, answer: int) -> None:
        self.answer = answer

    def find(self) -> int:
        return self.answer


one, two = make(1), make(2)
service, other = Service(3), Service(4)


def keys_of(fn: Any) -> list[str]:
    plan = plan_resolvers(fn, read_signature(fn, is_context=is_context), is_context)
    return [each.key for each in plan.resolvers]


def test_keys_say_where_a_resolver_is_from_and_differ() -> None:
    def tool(
        a: Annotated[int, Resolve(one)],
        b: Annotated[int, Resolve(two)],
        c: Annotated[int, Resolve(one)],
        d: Annotated[int, Resolve(service.find)],
        e: Annotated[int, Resolve(other.find)],
        f: Annotated[int, Resolve(service.find)],
    ) -> None: ...

    here = __name__
    assert keys_of(tool) == [
        f"{here}:make.<locals>.resolver",
        f"{here}:make.<locals>.resolver#1",
        f"{here}:Service.find",
        f"{here}:Service.find#1",
    ]


async def test_methods_and_closures_are_told_apart() -> None:
    mcp = MCPServer("a")

    @mcp.tool()
    def tool(
        a: Annotated[int, Resolve(one)],
        b: Annotated[int, Resolve(two)],
        c: Annotated[int, Resolve(service.find)],
        d: Annotated[int, Resolve(other.find)],
    ) -> list[int]:
        return [a, b, c, d]

    async with Client(mcp) as client:
        assert (await client.call_tool("tool")).structured_content == {"result": [1, 2, 3, 4]}
