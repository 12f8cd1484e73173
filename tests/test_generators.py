"""No async generator is handed out: one that is left half-way is finished by nobody knows whom."""

from __future__ import annotations

import contextlib
import gc
import inspect
import warnings
from importlib import import_module

import pytest

from trio_mcp.client import Client
from trio_mcp.mcpserver import MCPServer, TextResource

PUBLIC = ("", ".client", ".server", ".mcpserver", ".transports", ".auth", ".testing", ".errors")


def callables():
    """Every public function, and every public method of a public class."""
    for package in PUBLIC:
        module = import_module(f"trio_mcp{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                for own, member in inspect.getmembers(value, callable):
                    if not own.startswith("_"):
                        yield f"{package}.{name}.{own}", member
            elif callable(value):
                yield f"{package}.{name}", value


@pytest.mark.case("C014")
def test_no_public_function_is_an_async_generator():
    found = dict(callables())
    assert len(found) > 300
    # Those behind an asynccontextmanager are finished by their own `async with`.
    generators = [name for name, each in found.items() if inspect.isasyncgenfunction(each)]
    # The interface of httpx, which finishes them itself. They wait for nothing across a yield.
    assert {name.rpartition(".")[2] for name in generators} <= {"async_auth_flow"}


@pytest.mark.case("C014")
@pytest.mark.parametrize(
    "name", ["iter_tools", "iter_prompts", "iter_resources", "iter_resource_templates"]
)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_pages_may_be_left_half_way_and_collected(mode, name):
    mcp = MCPServer(list_page_size=1)
    for each in "abc":
        mcp.add_tool(lambda: 0, each)
        mcp.prompt(each)(lambda: "")
        mcp.add_resource(TextResource(uri=f"x://{each}", name=each, text=""))
        mcp.resource(f"y://{each}/{{v}}", name=each)(lambda v: v)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        async with Client(mcp, mode=mode) as client:
            pages = getattr(client, name)
            async for item in pages():
                assert item.name == "a"
                break
            gc.collect()
            with contextlib.suppress(KeyError):
                async for _ in pages():
                    raise KeyError
            gc.collect()
            abandoned = pages()
            await anext(abandoned)
            del abandoned
            gc.collect()
            assert [item.name async for item in pages()] == ["a", "b", "c"]
        gc.collect()
    assert told == []
