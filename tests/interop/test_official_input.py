"""Questions of a server and their answers, with the official SDK on the other side of stdio."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.transports import StdioServerParameters, stdio_client
from trio_mcp.types import (
    CreateMessageResult,
    ElicitResult,
    InputRequiredResult,
    ListRootsResult,
    Root,
    TextContent,
)

from ._peers import PEERS

ASKING = PEERS / "asking.py"
MODES = ["auto", "legacy"]

Report = dict[str, Any]


# Our server, its client


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """What the official client found out, by mode."""
    ran = subprocess.run(
        [sys.executable, str(PEERS / "answering.py"), str(ASKING), *MODES],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    found: dict[str, Report] = json.loads(ran.stdout)
    return found


@pytest.fixture(params=MODES)
def report(reports: dict[str, Report], request: pytest.FixtureRequest) -> Report:
    return reports[str(request.param)]


def test_both_eras_were_spoken(reports: dict[str, Report]) -> None:
    assert [reports[mode]["version"] for mode in MODES] == ["2026-07-28", "2025-11-25"]


@pytest.mark.req("R-343", "R-345")
def test_it_fills_in_our_forms(report: Report) -> None:
    assert report["order"]["text"] == "3 s tea True"
    first, second = report["order"]["asked"]
    assert first["message"] == "How much tea?"
    assert first["requestedSchema"]["properties"] == {
        "count": {"type": "integer", "title": "Count"},
        "size": {"type": "string", "enum": ["s", "l"], "title": "Size", "default": "s"},
    }
    assert first["requestedSchema"]["required"] == ["count"]
    assert second["message"] == "Really 3?"


def test_it_asks_its_model_and_tells_its_roots(report: Report) -> None:
    assert report["consult"]["text"] == "Hi file:///a"
    assert "roots" in report["consult"]["asked"]
    [asked] = [each for each in report["consult"]["asked"] if each != "roots"]
    assert (asked["maxTokens"], asked["messages"][0]["content"]["text"]) == (5, "Hello")


def test_it_is_asked_by_hand_in_both_eras(report: Report) -> None:
    assert report["by_hand"]["text"] == "Ann asked"


def test_it_is_asked_while_it_waits_in_the_older_era(reports: dict[str, Report]) -> None:
    assert reports["legacy"]["confirm"]["text"] == "True"
    assert "InputRequiredResult" in reports["auto"]["confirm"]["message"]
    assert reports["auto"]["confirm"]["asked"] == []


def test_it_declines(report: Report) -> None:
    assert report["declined"]["error"] is True
    assert "elicitation was decline" in report["declined"]["text"]


@pytest.mark.req("R-054", "R-187", "R-342")
def test_it_is_told_what_it_lacks(report: Report) -> None:
    assert report["no elicitation"]["code"] == -32021
    assert report["no elicitation"]["data"] == {
        "requiredCapabilities": {"elicitation": {"form": {}}}
    }
    assert report["no sampling"]["code"] == -32021


# Our client, its server

PARAMETERS = StdioServerParameters(command=sys.executable, args=[str(ASKING), "mcp"])


async def fill_in(context: Any, params: Any) -> ElicitResult:
    answers: dict[str, Any] = {"count": 3, "sure": True, "name": "Ann"}
    names = params.requested_schema["properties"]
    content = {name: answers[name] for name in names if name in answers}
    return ElicitResult(action="accept", content=content)


async def say(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="Hi"), model="m")


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///a")])


def text_of(result: Any) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.req("R-189", "R-190", "R-340", "R-385", "R-404")
@pytest.mark.parametrize("mode", MODES)
async def test_our_client_answers_its_server(mode: str) -> None:
    async with Client(
        stdio_client(PARAMETERS, errlog=None),
        mode=mode,
        elicitation_callback=fill_in,
        sampling_callback=say,
        list_roots_callback=roots,
    ) as client:
        assert text_of(await client.call_tool("order", {"what": "tea"})) == "3 s tea True"
        assert text_of(await client.call_tool("consult", {"what": "Hello"})) == "Hi file:///a"
        if mode == "legacy":
            assert text_of(await client.call_tool("confirm")) == "True"
        else:
            assert text_of(await client.call_tool("by_hand")) == "Ann asked"


async def test_our_client_answers_its_server_by_hand() -> None:
    async with Client(
        stdio_client(PARAMETERS, errlog=None), elicitation_callback=fill_in
    ) as client:
        first = await client.session.call_tool("by_hand", {}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        answer = ElicitResult(action="accept", content={"name": "Bob"})
        second = await client.call_tool(
            "by_hand", {}, input_responses={"who": answer}, request_state=first.request_state
        )
        assert text_of(second) == "Bob asked"
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await client.call_tool(
                "by_hand", {}, input_responses={"who": answer}, request_state="mine"
            )
