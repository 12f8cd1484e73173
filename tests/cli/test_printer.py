from __future__ import annotations

import base64
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from trio_mcp.cli._clean import clean, one_line
from trio_mcp.cli._printer import Printer, dump_json
from trio_mcp.cli._results import describe, print_resource, print_tool_result
from trio_mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], io.BytesIO]:
    """Make stdout a terminal, and return what it shows."""

    def open_terminal() -> io.BytesIO:
        shown = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", Terminal(shown, "utf-8", write_through=True))
        return shown

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return open_terminal


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("tea\tand\ncake", "tea\tand\ncake"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb\x00\x7f", "a\\x0db\\x00\\x7f"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("größe 🍵", "größe 🍵"),
    ],
)
def test_control_characters_are_shown_and_not_sent(text, harmless):
    assert clean(text) == harmless


def test_one_line_is_one_line():
    assert one_line("a\n  b\tc\x1b") == "a b c\\x1b"


def test_json_says_the_same_without_control_characters():
    value = {"text": "\x1b\x9b\x7f\u202e\n\tü", "n": 2**70}
    written = dump_json(value)
    assert json.loads(written) == value
    assert not set(written) & {"\x1b", "\x9b", "\x7f", "\u202e"}
    assert "ü" in written


def test_terminal_gets_colours(open_terminal):
    shown = open_terminal()
    printer = Printer()
    assert printer.animates(printer.out)
    printer.write_json({"a": 1}, coloured=True)
    assert b"\x1b[" in shown.getvalue()


@pytest.mark.parametrize(("plain", "no_color"), [(True, ""), (False, "1")])
def test_terminal_gets_no_colours_where_they_are_not_wanted(
    plain, no_color, open_terminal, monkeypatch
):
    monkeypatch.setenv("NO_COLOR", no_color)
    shown = open_terminal()
    printer = Printer(plain=plain)
    printer.write_json({"a": 1}, coloured=True)
    assert json.loads(shown.getvalue()) == {"a": 1}
    # NO_COLOR speaks of colours alone.
    assert printer.animates(printer.out) is not plain


def test_dumb_terminal_gets_nothing_that_moves(open_terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    open_terminal()
    assert not Printer().animates(Printer().out)


def test_text_of_a_server_gives_a_terminal_no_orders(open_terminal):
    shown = open_terminal()
    Printer().write("\x1b]0;title\x07")
    assert shown.getvalue() == b"\\x1b]0;title\\x07\n"


@pytest.mark.case("C063")
@pytest.mark.parametrize("spell", [base64.b64encode, base64.urlsafe_b64encode])
def test_bytes_go_to_a_pipe_and_are_described_to_a_terminal(capfdbinary, open_terminal, spell):
    data = b"\x89PNG\x00\xff"
    blob = BlobResourceContents(uri="a:b", blob=spell(data).decode(), mime_type="image/png")
    result = ReadResourceResult(contents=[blob])
    print_resource(Printer(), result)
    assert capfdbinary.readouterr().out == data
    shown = open_terminal()
    print_resource(Printer(), result)
    assert shown.getvalue() == b"[image/png, 6 bytes]\n"


def test_bytes_that_are_no_base64_are_described(capfd):
    broken = BlobResourceContents(uri="a:b", blob="%%%%")
    print_resource(Printer(), ReadResourceResult(contents=[broken]))
    assert capfd.readouterr().out == "[binary, 3 bytes]\n"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (TextContent(text="a"), "a"),
        (ImageContent(data="AAAA", mime_type="image/png"), "[image/png, 3 bytes]"),
        (AudioContent(data="AAA=", mime_type="audio/wav"), "[audio/wav, 2 bytes]"),
        (ResourceLink(name="x", uri="a:b"), "a:b"),
        (EmbeddedResource(resource=TextResourceContents(uri="a:b", text="c")), "c"),
        (object(), "[content that is no text; --json shows it]"),
    ],
)
def test_each_kind_of_content_is_described(block, text):
    assert describe(block) == text


def test_structured_content_is_printed_where_there_is_no_other(capfd):
    print_tool_result(Printer(), CallToolResult(content=[], extra={"structuredContent": None}))
    assert capfd.readouterr().out == "null\n"
    print_tool_result(Printer(), CallToolResult(content=[]))
    assert capfd.readouterr().out == ""
