"""The commands that talk to a server, which is a real process."""

from __future__ import annotations

import re
import sys

import pytest


def test_list_shows_all_pages_of_everything(cli, shop):
    done = cli("list", shop)
    assert (done.status, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines() if line]
    assert lines[0] == ["shop", "1.2", "·", "MCP", "2026-07-28"]
    names = [line[0] for line in lines]
    for name in (
        *("tools", "order(article,", "fail()", "where(variable)", "count(to)", "wait()"),
        *("resources", "shop://hours", "shop://logo", "shop://shelf/{number}"),
        *("prompts", "complain(about,"),
    ):
        assert name in names
    assert "order(article, amount?, gift?)" in done.out
    assert "Order something." in done.out
    assert "It is delivered." not in done.out
    assert "\x1b" not in done.out


def test_list_as_json_has_the_names_of_the_protocol(cli, shop):
    done = cli("list", shop, "--json")
    assert done.status == 0
    assert {key: len(value) for key, value in done.json.items()} == {
        "tools": 9,
        "resources": 3,
        "resourceTemplates": 1,
        "prompts": 1,
    }
    assert done.json["tools"][0]["inputSchema"]["properties"]["amount"]["type"] == "integer"
    assert done.json["resourceTemplates"][0]["uriTemplate"] == "shop://shelf/{number}"


def test_inspect_reports_all_of_a_server(cli, shop):
    report = cli("inspect", shop).json
    assert report["protocolVersion"] == "2026-07-28"
    assert report["serverInfo"] == {"name": "shop", "version": "1.2"}
    assert report["instructions"] == "Sells tea."
    assert report["supportedVersions"] == ["2026-07-28"]
    assert set(report["capabilities"]) >= {"tools", "resources", "prompts"}
    assert [tool["name"] for tool in report["tools"]][:2] == ["order", "fail"]


@pytest.mark.parametrize("mode", ["legacy", "2024-11-05", "2025-06-18", "2026-07-28"])
def test_mode_chooses_the_revision(mode, cli, shop):
    report = cli("inspect", shop, "--mode", mode, "--json").json
    assert report["protocolVersion"] == ("2025-11-25" if mode == "legacy" else mode)
    assert ("supportedVersions" in report) == (mode == "2026-07-28")
    assert report["serverInfo"]["name"] == "shop"
    assert len(report["tools"]) == 9


def test_call_reads_values_by_the_schema_of_the_tool(cli, shop):
    done = cli("call", shop, "order", "article=5", "amount=3", "gift=true", "--json")
    assert done.status == 0
    assert done.json["structuredContent"] == {"article": "5", "amount": 3, "gift": True}


def test_call_takes_json_and_a_command(cli, shop):
    command = (sys.executable, "-m", "trio_mcp.cli", "run", shop)
    done = cli("call", "order", "--arguments", '{"article": "tea"}', "--json", "--", *command)
    assert done.json["structuredContent"] == {"article": "tea", "amount": 1, "gift": False}
    done = cli("call", f"{shop}:mcp", "where", '{"variable": "X"}', "-e", "X=1")
    assert done.out.endswith(" 1\n")


def test_server_gets_its_variables_and_its_folder(cli, shop, tmp_path):
    options = ("-e", "COLOUR=red", "--env", "OTHER=blue", "--cwd", tmp_path)
    done = cli("call", shop, "where", "variable=COLOUR", *options)
    assert done.out == f"{tmp_path} red\n"


def test_server_file_is_found_from_here_though_it_runs_elsewhere(cli, shop, tmp_path):
    done = cli("call", "shop.py", "where", "variable=X", "--cwd", tmp_path, cwd=shop.parent)
    assert done.out == f"{tmp_path} None\n"


def test_progress_is_printed_in_order_and_stderr_passes_through(cli, shop):
    done = cli("call", shop, "count", "to=3")
    assert (done.status, done.out) == (0, "counted\n")
    lines = done.err.splitlines()
    assert [line for line in lines if line != "counting"] == [
        "1/3 step 1",
        "2/3 step 2",
        "3/3 step 3",
    ]
    assert "counting" in lines


def test_terminal_gets_a_bar_and_no_orders_from_the_server(terminal, shop):
    done = terminal("call", shop, "work", NO_COLOR="1")
    assert done.status == 0
    assert "━" in done.written
    assert re.search(r"[1-3]/4 \\x1b\[31mstep", done.written)
    assert "\x1b[31m" not in done.written
    # The bar is gone in the end.
    assert [line for line in done.last_state() if line] == ["\\x1b[31mdone"]


def test_log_messages_of_an_older_server_are_shown_on_stderr(cli, shop):
    done = cli("call", shop, "warn", "--mode", "legacy")
    assert (done.status, done.out) == (0, "warned\n")
    assert "[warning stock] low on tea" in done.err.splitlines()


def test_list_without_templates_is_no_failure(cli, tmp_path):
    """One capability covers resources and templates; many servers have only the first."""
    (tmp_path / "few.py").write_text(
        "from trio_mcp import ListResourcesResult, Resource, Server\n"
        "async def on_list(ctx, params):\n"
        "    return ListResourcesResult(resources=[Resource(uri='a:b', name='b')])\n"
        "server = Server('few', on_list_resources=on_list)\n"
    )
    listed = cli("list", tmp_path / "few.py", "--json").json
    assert (len(listed["resources"]), listed["resourceTemplates"]) == (1, [])


def test_server_in_a_terminal_says_who_its_client_is(terminal, shop):
    ctrl_d = b"\x04"
    done = terminal("run", shop, keys=ctrl_d)
    assert done.status == 0
    assert "shop: this terminal is its client" in done.written


def test_progress_is_not_printed_beside_json(cli, shop):
    done = cli("call", shop, "count", "to=3", "--json")
    assert done.json["content"] == [{"type": "text", "text": "counted"}]
    assert done.err == "counting\n"


def test_tool_that_fails_ends_with_status_1_and_its_text_on_stderr(cli, shop):
    done = cli("call", shop, "fail")
    assert (done.status, done.out) == (1, "")
    assert "Error executing tool fail: sold out" in done.err.splitlines()
    done = cli("call", shop, "fail", "--json")
    assert done.status == 1
    assert done.json["isError"] is True


def test_arguments_that_do_not_fit_are_refused_by_the_server(cli, shop):
    done = cli("call", shop, "order", "article=tea", "amount=1.5", "--json")
    assert done.status == 1
    assert done.json["isError"] is True
    assert "amount" in done.json["content"][0]["text"]


def test_unknown_tool_ends_with_status_1_and_one_line(cli, shop):
    done = cli("call", shop, "ordre", "article=tea")
    assert (done.status, done.out) == (1, "")
    assert done.err == "trio-mcp: the server has no tool ordre; did you mean order?\n"
    done = cli("call", shop, "ordre", "--json")
    assert done.status == 1
    assert done.json == {"error": {"code": -32602, "message": "Unknown tool: ordre"}}
    assert done.err.splitlines()[-1] == "trio-mcp: Unknown tool: ordre (-32602)"


def test_read_prints_what_a_resource_holds(cli, shop):
    assert cli("read", shop, "shop://hours").out == "9 to 5\n"
    assert cli("read", shop, "shop://shelf/7").out == "shelf 7\n"
    # A pipe gets it as it is.
    assert cli("read", shop, "shop://strange").out == "\x1b[31mred\n"
    contents = cli("read", shop, "shop://hours", "--json").json["contents"]
    assert contents == [{"uri": "shop://hours", "mimeType": "text/plain", "text": "9 to 5"}]


def test_read_of_an_unknown_resource_is_one_line(cli, shop):
    done = cli("read", shop, "shop://none")
    assert (done.status, done.out) == (1, "")
    assert done.err.splitlines()[-1] == "trio-mcp: Unknown resource: shop://none (-32602)"


def test_prompt_is_filled_with_strings(cli, shop):
    done = cli("prompt", shop, "complain", "about=5", '{"tone": "loud"}')
    assert (done.status, done.out) == (0, "user:\nComplain about 5, be loud.\n")
    messages = cli("prompt", shop, "complain", "about=tea", "--json").json["messages"]
    assert messages[0]["content"]["text"] == "Complain about tea, be polite."


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["call", "SHOP"], "call takes the name of a tool"),
        (["call", "SHOP", "order", "amount=many"], "amount: expected an integer, got 'many'"),
        (["call", "SHOP", "order", "many"], "key=value or a JSON object"),
        (["read", "SHOP"], "read takes the URI"),
        (["read", "SHOP", "a", "b"], "read takes the URI"),
        (["prompt", "SHOP", "complain", '{"about": 5}'], "about of a prompt is a string"),
        (["list", "SHOP", "more"], "list takes a server and nothing else"),
        (["list", "SHOP", "-e", "A"], "KEY=VALUE"),
        (["list", "SHOP", "--mode", "1999-01-01"], "mode: expected one of"),
        (["list", "SHOP", "--timeout", "soon"], "--timeout"),
    ],
)
def test_mistake_in_the_command_ends_with_status_2_and_one_line(words, message, cli, shop):
    done = cli(*(str(shop) if word == "SHOP" else word for word in words))
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("trio-mcp: ")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_request_without_an_answer_ends_after_the_timeout(cli, shop):
    done = cli("call", shop, "wait", "{}", "--timeout", "0.3", "--mode", "2026-07-28")
    assert done.status == 1
    assert done.err.splitlines()[-1].startswith("trio-mcp: ")
    assert "no answer within 0.3 s" in done.err
    assert "Traceback" not in done.err


def test_command_that_does_not_exist_is_one_line(cli):
    done = cli("list", "--", "no-such-command")
    assert (done.status, done.err) == (1, "trio-mcp: command not found: 'no-such-command'\n")


def test_server_that_dies_is_told_with_its_status_and_its_stderr_once(cli):
    program = "import sys; print('no licence', file=sys.stderr); sys.exit(7)"
    done = cli("list", "--", sys.executable, "-c", program)
    assert done.status == 1
    assert done.err == "no licence\ntrio-mcp: server exited with status 7\n"


def test_server_that_cannot_be_imported_says_why(cli, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    done = cli("list", tmp_path / "broken.py")
    assert done.status == 1
    assert "ZeroDivisionError" in done.err
    assert done.err.splitlines()[-1] == "trio-mcp: server exited with status 1"


def test_server_that_writes_what_is_no_message_is_used_all_the_same(cli, tmp_path):
    program = (
        "import sys; print('Welcome!', flush=True)\n"
        "from trio_mcp import MCPServer\n"
        "mcp = MCPServer('loud')\n"
        "mcp.run()"
    )
    done = cli("inspect", "--wire", "--json", "--", sys.executable, "-c", program)
    assert done.status == 0
    assert done.json["serverInfo"]["name"] == "loud"
    assert any(line.startswith("← (") and "Welcome!" in line for line in done.err.splitlines())


@pytest.mark.parametrize("words", [["call"], ["call", "order"], ["read"], ["prompt"]], ids=str)
def test_words_that_are_no_text_are_a_mistake(cli, shop, words):
    command, *before = words
    done = cli(command, shop, *before, "caf\udce9=1")
    assert (done.status, done.out) == (2, "")
    assert r"'caf\udce9=1' is no text: it holds bytes that are not UTF-8" in done.err
