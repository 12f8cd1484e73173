"""``examples/confirm_delete.py``: a tool that asks before it deletes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pydantic
import pytest
import trio
import trio.testing

from trio_mcp import Elicit, MCPError, MCPServer, Resolve
from trio_mcp.client import Client
from trio_mcp.server import RequestStateSecurity
from trio_mcp.types import ElicitResult, InputRequiredResult, TextContent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

EXAMPLE = Path(__file__).parents[2] / "examples" / "confirm_delete.py"

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


class PydanticConfirm(pydantic.BaseModel):
    sure: bool


@pytest.fixture
def example() -> Iterator[ModuleType]:
    """The example as a fresh module, as if it had been imported for the first time."""
    spec = importlib.util.spec_from_file_location("confirm_delete_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def as_server(example: ModuleType, kind: str, **options: Any) -> MCPServer:
    """The example's server; the same with ``Confirm`` as a pydantic model."""
    mcp = MCPServer("files", **options)
    if kind == "attrs":
        mcp.add_tool(example.delete_file)
        return mcp

    def ask(path: str) -> Elicit[PydanticConfirm]:
        return Elicit(f"Really delete {path}?", PydanticConfirm)

    @mcp.tool()
    def delete_file(path: str, answer: Annotated[PydanticConfirm, Resolve(ask)]) -> str:
        result: str = example.delete_file(path, answer)
        return result

    return mcp


KINDS = pytest.mark.parametrize("kind", ["attrs", "pydantic"])


def answering(action: Any, content: Any = None) -> Any:
    async def answer(ctx: Any, params: Any) -> ElicitResult:
        return ElicitResult(action=action, content=content)

    return answer


YES = ElicitResult(action="accept", content={"sure": True})


def text_of(result: Any) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def ask_first(client: Client, path: str = "notes.txt") -> InputRequiredResult:
    first = await client.session.call_tool(
        "delete_file", {"path": path}, allow_input_required=True
    )
    assert isinstance(first, InputRequiredResult)
    return first


async def come_back(
    client: Client, first: InputRequiredResult, answer: Any = YES, path: str = "notes.txt"
) -> Any:
    [key] = first.input_requests or {}
    return await client.session.call_tool(
        "delete_file",
        {"path": path},
        input_responses={key: answer},
        request_state=first.request_state,
        allow_input_required=True,
    )


def test_it_runs_as_a_program() -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=30, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "input_required __main__:ask Really delete notes.txt?",
        "complete deleted notes.txt",
        "files asks: Really delete draft.txt?",
        "complete deleted draft.txt",
    ]


@pytest.mark.req("R-345", "R-343")
@KINDS
async def test_by_hand(example: ModuleType, kind: str) -> None:
    async with Client(
        as_server(example, kind), elicitation_callback=answering("cancel")
    ) as client:
        first = await ask_first(client)
        assert first.result_type == "input_required"
        [(key, question)] = (first.input_requests or {}).items()
        assert key.endswith("ask")
        params: Any = question.params
        assert (params.mode, params.message) == ("form", "Really delete notes.txt?")
        assert params.requested_schema["required"] == ["sure"]
        assert params.requested_schema["properties"]["sure"]["type"] == "boolean"
        second = await come_back(client, first)
        assert (second.result_type, text_of(second)) == ("complete", "deleted notes.txt")
    assert "notes.txt" not in example.files


@KINDS
@BOTH_ERAS
async def test_by_itself(example: ModuleType, kind: str, mode: str) -> None:
    for sure, told in ((False, "kept draft.txt"), (True, "deleted draft.txt")):
        async with Client(
            as_server(example, kind),
            mode=mode,
            elicitation_callback=answering("accept", {"sure": sure}),
        ) as client:
            assert text_of(await client.call_tool("delete_file", {"path": "draft.txt"})) == told


@pytest.mark.req("R-054", "R-187")
@KINDS
@BOTH_ERAS
async def test_without_a_callback(example: ModuleType, kind: str, mode: str) -> None:
    async with Client(as_server(example, kind), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("delete_file", {"path": "notes.txt"})
    assert caught.value.code == -32021
    assert caught.value.message.startswith(
        "Client did not declare the form elicitation capability"
    )
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert "notes.txt" in example.files


@pytest.mark.req("R-358", "R-359")
@KINDS
@BOTH_ERAS
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_someone_who_says_no(example: ModuleType, kind: str, mode: str, action: str) -> None:
    async with Client(
        as_server(example, kind), mode=mode, elicitation_callback=answering(action)
    ) as client:
        result = await client.call_tool("delete_file", {"path": "notes.txt"})
    assert result.is_error
    assert text_of(result) == (
        "Error executing tool delete_file: Resolver for parameter 'answer' could not resolve: "
        f"elicitation was {action}"
    )
    assert "notes.txt" in example.files


@pytest.mark.req("R-194", "R-195", "R-377")
@KINDS
@pytest.mark.parametrize("content", [None, {}, {"sure": "yes"}, {"sure": 1}, {"other": True}])
async def test_a_wrong_answer(example: ModuleType, kind: str, content: Any) -> None:
    answer = answering("accept", content)
    async with Client(as_server(example, kind), elicitation_callback=answer) as client:
        first = await ask_first(client)
        with pytest.raises(MCPError, match=r"^Resolver '.*ask' got a wrong answer: ") as modern:
            await come_back(client, first, ElicitResult(action="accept", content=content))
        with pytest.raises(MCPError) as by_itself:
            await client.call_tool("delete_file", {"path": "notes.txt"})
    async with Client(
        as_server(example, kind), mode="legacy", elicitation_callback=answer
    ) as client:
        with pytest.raises(MCPError) as older:
            await client.call_tool("delete_file", {"path": "notes.txt"})
    assert modern.value.code == -32602
    assert by_itself.value.error == older.value.error
    assert older.value.code == -32602
    assert "notes.txt" in example.files


@pytest.mark.req("R-181", "R-182", "R-183", "R-184")
@KINDS
async def test_a_state_that_was_changed(example: ModuleType, kind: str) -> None:
    async with Client(
        as_server(example, kind), elicitation_callback=answering("cancel")
    ) as client:
        first = await ask_first(client)
        state = first.request_state
        assert state is not None
        for changed in (state[:-4] + "AAAA", "", "{}", state + "="):
            with pytest.raises(MCPError) as caught:
                await come_back(client, first.evolve(request_state=changed))
            assert caught.value.code == -32602
            assert caught.value.message == "Invalid or expired requestState"
            assert caught.value.data == {"reason": "invalid_request_state"}
        # What was said to one file is not said to another.
        with pytest.raises(MCPError, match="requestState"):
            await come_back(client, first, path="draft.txt")
    assert set(example.files) == {"notes.txt", "draft.txt"}


@pytest.mark.req("R-184")
@KINDS
async def test_a_state_that_expired(
    example: ModuleType, kind: str, mock_clock: trio.testing.MockClock
) -> None:
    security = RequestStateSecurity(keys=[b"k" * 32], clock=trio.current_time)
    mcp = as_server(example, kind, request_state_security=security)
    async with Client(mcp, elicitation_callback=answering("cancel")) as client:
        first = await ask_first(client)
        mock_clock.jump(600)
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await come_back(client, first)
        assert "notes.txt" in example.files
        assert text_of(await come_back(client, await ask_first(client))) == "deleted notes.txt"


async def test_a_file_that_is_not_there(example: ModuleType) -> None:
    async with Client(example.mcp, elicitation_callback=answering("cancel")) as client:
        result = await client.call_tool("delete_file", {"path": "other.txt"})
    assert result.is_error
    assert text_of(result).endswith("there is no file other.txt")
