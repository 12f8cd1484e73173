"""A conversation over stdio in each of the revisions that the other tests try in memory only."""

from __future__ import annotations

from trio_mcp.types._revisions import KNOWN_REVISIONS

from ._roads import OVER_STDIO, Features, at
from ._story import error_of, fill_in, roots, say, text_of

TRIED = [each.revision for each in OVER_STDIO]


@at(Features("stdio", each) for each in KNOWN_REVISIONS if each not in TRIED)
async def test_a_process_speaks_every_revision(features):
    steps = []

    async def watch(progress, total, message):
        steps.append(progress)

    everything = {
        "elicitation_callback": fill_in,
        "sampling_callback": say,
        "list_roots_callback": roots,
    }
    async with features.open(**everything) as client:
        assert client.protocol_version == features.revision.version
        assert text_of(await client.call_tool("add", {"a": 1})) == "2"
        await client.call_tool("progress", {"to": 3}, progress_callback=watch)
        assert steps == [1, 2, 3]
        [contents] = (await client.read_resource("note://first")).contents
        assert contents.text == "note of first"
        [message] = (await client.get_prompt("bare")).messages
        assert message.content.text == "As it is."
        assert text_of(await client.call_tool("consult", {"what": "Hello"})) == "loud: Hi"
        assert text_of(await client.call_tool("where")) == "file:///home/ada"
        if features.revision.has_elicitation:
            assert text_of(await client.call_tool("order", {"what": "tea"})) == "3 s tea for Ann"
        else:
            assert (await error_of(client.call_tool("order", {"what": "tea"}))).code == -32021
        await client.send_ping()
