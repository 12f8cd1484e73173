# ruff: noqa: F821, UP037
# Hints are data here, and their names are looked up when the tests run.
from __future__ import annotations

import functools
import importlib.util
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import pytest

from trio_mcp.errors import InvalidSignature
from trio_mcp.mcpserver._context import Context
from trio_mcp.mcpserver._hints import Scope, UnknownName, Walker
from trio_mcp.mcpserver._tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

    Load = Callable[[str], ModuleType]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Import a text as a module."""
    made: list[str] = []

    def load_text(text: str) -> ModuleType:
        name = f"author_{len(made)}"
        path = tmp_path / f"{name}.py"
        path.write_text("from __future__ import annotations\n" + textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        made.append(name)
        spec.loader.exec_module(module)
        return module

    yield load_text
    for name in made:
        del sys.modules[name]


@pytest.mark.case("C057")
async def test_a_class_that_is_defined_below_the_tool(load: Load) -> None:
    module = load(
        """
        from dataclasses import dataclass
        from typing import Annotated, Literal, Optional

        from trio_mcp.mcpserver._context import Context
        from trio_mcp.mcpserver._tool import Tool

        def book(
            ctx: Context,
            trip: Trip,
            seat: Annotated[Literal["aisle", "window"], "Where to sit."] = "aisle",
            note: Optional[str] = None,
        ) -> Ticket:
            return Ticket(f"{trip.goal} {seat} {note} {type(ctx).__name__}")

        tool = Tool.from_function(book)
        context_before = tool.context_kwarg

        @dataclass
        class Trip:
            goal: str

        @dataclass
        class Ticket:
            text: str
        """
    )
    tool = module.tool
    assert module.context_before == "ctx"
    assert tool.context_kwarg == "ctx"
    assert tool.parameters == {
        "type": "object",
        "title": "bookArguments",
        "properties": {
            "trip": {
                "type": "object",
                "title": "Trip",
                "properties": {"goal": {"type": "string"}},
                "required": ["goal"],
                "additionalProperties": False,
            },
            "seat": {
                "type": "string",
                "enum": ["aisle", "window"],
                "description": "Where to sit.",
                "default": "aisle",
            },
            "note": {"type": ["string", "null"], "default": None},
        },
        "required": ["trip"],
        "additionalProperties": False,
    }
    assert tool.output_schema["title"] == "Ticket"
    ticket = await tool.run({"trip": {"goal": "Rome"}}, Context())
    assert ticket == module.Ticket("Rome aisle None Context")


@pytest.mark.case("C057")
def test_a_name_that_is_never_defined_is_told_at_first_use(load: Load) -> None:
    module = load(
        """
        from trio_mcp.mcpserver._tool import Tool

        def book(a: int, trip: Trip) -> str: ...

        tool = Tool.from_function(book)
        """
    )
    for use in (module.tool.complete, lambda: module.tool.parameters):
        with pytest.raises(
            InvalidSignature,
            match=r"book: parameter 'trip' with the hint Trip: the name 'Trip' is not known",
        ):
            use()


@pytest.mark.case("C057")
def test_a_name_that_is_not_defined_is_refused_once_the_module_is_there(load: Load) -> None:
    module = load("def book(trip: list[Trip]) -> str: ...\ndef plan() -> Trip: ...")
    with pytest.raises(InvalidSignature, match=r"'trip' with the hint list\[Trip\]"):
        Tool.from_function(module.book)
    with pytest.raises(InvalidSignature, match="the result with the hint Trip: the name 'Trip'"):
        Tool.from_function(module.plan)


@pytest.mark.case("C057")
def test_a_hint_that_is_no_expression_is_refused() -> None:
    def book(trip: 1 + "a") -> str: ...  # type: ignore[valid-type]

    with pytest.raises(InvalidSignature, match=r"'trip'.*cannot be evaluated"):
        Tool.from_function(book)


def test_a_fault_of_another_kind_is_told_at_once_while_the_module_runs(load: Load) -> None:
    with pytest.raises(InvalidSignature, match="'a': complex"):
        load(
            """
            from trio_mcp.mcpserver._tool import Tool
            Tool.from_function(lambda: 0, name="fine")
            def book(a: complex, trip: Trip) -> str: ...
            Tool.from_function(book)
            """
        )


def test_classes_of_the_functions_round_it() -> None:
    @attrs.define
    class Outer:
        x: int

    def make() -> Tool:
        @attrs.define
        class Inner:
            outer: Outer
            more: list[Inner] = attrs.Factory(list)

        def use(a: Inner, b: Outer) -> int: ...

        return Tool.from_function(use)

    properties = make().parameters["properties"]
    assert properties["b"]["title"] == "Outer"
    assert make().parameters["$defs"]["Inner"]["properties"]["outer"]["title"] == "Outer"


def test_names_of_a_closure_outlive_the_function_round_it() -> None:
    def make() -> Any:
        class Kind(str):
            __slots__ = ()

        def use(a: Kind) -> str:
            return Kind(a)

        return use

    assert Tool.from_function(make()).parameters["properties"]["a"] == {"type": "string"}


def test_wrapped_functions_are_read_in_their_own_module(load: Load) -> None:
    module = load(
        """
        class Kind(str): ...
        def plain(a: Kind, b: list[Kind]) -> Kind: ...
        """
    )

    @functools.wraps(module.plain)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return module.plain(*args, **kwargs)

    for fn in (wrapper, functools.partial(wrapper), functools.lru_cache(module.plain)):
        properties = Tool.from_function(fn).parameters["properties"]
        assert properties["b"] == {"type": "array", "items": {"type": "string"}}


def test_fields_are_read_in_the_module_of_the_class_that_wrote_them(load: Load) -> None:
    base = load(
        """
        import attrs
        class Kind(str): ...
        @attrs.define
        class Base:
            kind: list[Kind]
        """
    )

    @attrs.define
    class Derived(base.Base):  # type: ignore[name-defined,misc]
        own: int

    def use(a: Derived) -> None: ...

    properties = Tool.from_function(use).parameters["properties"]["a"]["properties"]
    assert properties == {
        "kind": {"type": "array", "items": {"type": "string"}},
        "own": {"type": "integer"},
    }


def test_strings_inside_hints() -> None:
    def use(
        a: list["Context"] | None,
        b: Annotated["int | None", "B."],
    ) -> None: ...

    with pytest.raises(InvalidSignature, match=r"'a'.*Context: it has no JSON Schema"):
        Tool.from_function(use)


def test_a_forward_reference_says_its_module(load: Load) -> None:
    load("class Kind(str): ...")
    from typing import ForwardRef

    reference = ForwardRef("Kind", module="author_0")
    assert Walker(Scope(globals())).shape(reference).schema == {"type": "string"}
    with pytest.raises(UnknownName):
        Walker(Scope(globals())).shape(ForwardRef("Kind"))
