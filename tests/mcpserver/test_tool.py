from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver._context import Context
from trio_mcp.mcpserver._prompts import Prompt
from trio_mcp.mcpserver._resolve import Resolve
from trio_mcp.mcpserver._tool import Tool, is_context
from trio_mcp.types import Icon, ToolAnnotations
from trio_mcp.types import Tool as WireTool
from trio_mcp.types._revisions import KNOWN_REVISIONS, LATEST_MODERN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def add(a: int, b: int) -> int:
    """Add numbers.

    Args:
        a: The first.
    """
    return a + b


def test_a_tool_of_a_function() -> None:
    tool = Tool.from_function(add)
    assert tool.fn is add
    assert tool.name == "add"
    assert tool.title is None
    assert tool.description == "Add numbers."
    assert tool.parameters["properties"]["a"] == {"type": "integer", "description": "The first."}
    assert tool.output_schema is not None
    assert not tool.is_async
    assert tool.context_kwarg is None
    assert tool.resolved_params == {}
    assert (tool.annotations, tool.icons, tool.meta) == (None, None, None)


def test_arguments_are_described_in_their_schemas_alone() -> None:
    def look(what: str, ctx: Context) -> str:
        """Look something up.

        Args:
            what: A word.
            ctx: The request.

        Returns:
            What it means.
        """
        return what

    tool = Tool.from_function(look)
    assert tool.description == "Look something up.\n\nReturns:\n    What it means."
    assert tool.parameters["properties"]["what"]["description"] == "A word."
    # A schema that the author wrote need not say what the docstring says.
    schema = {"type": "object", "properties": {"what": {}}, "required": ["what"]}
    assert "A word." in Tool.from_function(look, input_schema=schema).description


def test_what_is_said_of_a_tool() -> None:
    icons = [Icon(src="https://a.example/icon.png")]
    annotations = ToolAnnotations(read_only_hint=True)
    tool = Tool.from_function(
        add,
        name="sum",
        title="Sum",
        description="Of two.",
        annotations=annotations,
        icons=icons,
        meta={"a": 1},
    )
    assert tool.to_wire(LATEST_MODERN) == WireTool(
        name="sum",
        title="Sum",
        description="Of two.",
        input_schema=tool.parameters,
        output_schema=tool.output_schema,
        annotations=annotations,
        icons=icons,
        meta={"a": 1},
    )


@pytest.mark.req("R-240")
@pytest.mark.parametrize("revision", KNOWN_REVISIONS, ids=lambda each: each.version)
def test_the_wire_form_is_made_once_for_each_revision(revision: Any) -> None:
    tool = Tool.from_function(add)
    assert tool.to_wire(revision) is tool.to_wire(revision)
    made = tool.to_json(revision)
    assert made is tool.to_json(revision)
    assert made["inputSchema"]["type"] == "object"
    assert ("outputSchema" in made) == (revision.version >= "2025-06-18")


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ValueError, match="A lambda has no name of its own"):
        Tool.from_function(lambda a: a)
    assert Tool.from_function(lambda a: a, name="same").name == "same"


def test_an_empty_description_is_kept_and_not_sent() -> None:
    tool = Tool.from_function(add, description="")
    assert tool.description == ""
    assert "description" not in tool.to_json(LATEST_MODERN)


class Adder:
    """Add."""

    async def __call__(self, a: int, ctx: Context[Any, Any]) -> int:
        assert isinstance(ctx, Context)
        return a


@pytest.mark.case("C058")
async def test_a_callable_object_gets_the_context() -> None:
    tool = Tool.from_function(Adder())
    assert tool.name == "Adder"
    assert tool.is_async
    assert tool.context_kwarg == "ctx"
    assert list(tool.parameters["properties"]) == ["a"]
    context: Context[Any, Any] = Context()
    assert await tool.run({"a": 3}, context) == 3
    seen = []

    async def record(a: int, ctx: Context[Any, Any] | None = None) -> None:
        seen.append(ctx)

    await Tool.from_function(functools.partial(record, 1)).run({}, context)
    assert seen == [context]


@pytest.mark.case("C058")
def test_which_hints_ask_for_the_context() -> None:
    class Own(Context[Any, Any]):
        pass

    assert is_context(Context)
    assert is_context(Context[int, Any])
    assert is_context(Own)
    assert not is_context(int)
    assert not is_context(list[int])
    assert not is_context("Context")


def test_the_context_parameter_can_be_named() -> None:
    def use(a: int, where) -> None: ...  # type: ignore[no-untyped-def]

    tool = Tool.from_function(use, context_kwarg="where")
    assert tool.context_kwarg == "where"
    assert list(tool.parameters["properties"]) == ["a"]


async def _async_generator() -> AsyncIterator[int]:
    yield 1


class _CallableGenerator:
    async def __call__(self) -> AsyncIterator[int]:
        yield 1


@pytest.mark.parametrize(
    "fn", [_async_generator, _CallableGenerator(), functools.partial(_async_generator)]
)
def test_async_generators_are_refused(fn: Any) -> None:
    with pytest.raises(InvalidSignature, match="cannot be an async generator; return a list"):
        Tool.from_function(fn)
    with pytest.raises(InvalidSignature, match="cannot be an async generator; return a list"):
        Prompt.from_function(fn)


def test_a_timeout_cannot_stop_what_blocks_the_event_loop() -> None:
    with pytest.raises(ValueError, match="cannot be stopped by timeout="):
        Tool.from_function(add, timeout=1, run_in_thread=False)


@pytest.mark.req("R-039")
@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"type": "intger"}, "use: the input schema of use"),
        ({"minimum": "a"}, "use: the input schema of use"),
        ({"$ref": "https://a.example/schema"}, "use: the input schema of use"),
    ],
)
def test_a_schema_that_is_none_is_refused(keywords: dict[str, Any], text: str) -> None:
    def use(a: Annotated[int, keywords]) -> None: ...

    with pytest.raises(InvalidSignature, match=text):
        Tool.from_function(use)


def test_a_schema_of_the_author() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}

    def use(a: Any) -> int: ...

    tool = Tool.from_function(use, input_schema=schema)
    schema["properties"] = {}
    assert tool.parameters["properties"] == {"a": {"type": "array"}}
    assert tool.output_schema is not None


@pytest.mark.req("R-240")
@pytest.mark.parametrize(
    "schema", [{}, {"type": "array"}, {"type": ["object"]}, [], {"type": "object", "a": {1, 2}}]
)
def test_a_schema_of_the_author_has_an_object_at_its_root(schema: Any) -> None:
    with pytest.raises(InvalidSignature, match="add: "):
        Tool.from_function(add, input_schema=schema)


def test_the_plan_can_be_seen() -> None:
    tool = Tool.from_function(add)
    assert tool.validator.engine == "fast"
    assert tool.validator.reason is None
    assert tool.output_validator is not None
    assert Tool.from_function(add, structured_output=False).output_validator is None


def test_resolved_parameters_are_listed() -> None:
    marker = Resolve(lambda: "yes")

    def use(a: int, answer: Annotated[str, marker]) -> None: ...

    tool = Tool.from_function(use)
    assert tool.resolved_params == {"answer": marker}
    assert list(tool.parameters["properties"]) == ["a"]


def test_a_docstring_may_begin_with_its_arguments() -> None:
    def greet(who: str) -> str:
        """
        Args:
            who: The one to greet.
        """
        return who

    tool = Tool.from_function(greet)
    assert tool.description == ""
    assert tool.parameters["properties"]["who"]["description"] == "The one to greet."
