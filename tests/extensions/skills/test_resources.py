"""Skills among the resources of their server, which has others, too."""

from __future__ import annotations

import shutil

import pytest

from trio_mcp.extensions import InvalidSkill, SkillsExtension
from trio_mcp.mcpserver import TextResource

from ._skills import FORMS, connect, head, listed, serve, write, write_forms


@pytest.mark.parametrize("policy", ["warn", "ignore", "error"])
async def test_what_the_application_has_at_the_uri_of_a_skill_stays(tmp_path, policy):
    mcp = serve(SkillsExtension(write_forms(tmp_path)), on_duplicate=policy)
    uri = "skill://mail/SKILL.md"
    mcp.add_resource(TextResource(uri=uri, text="mine", name="own"))
    async with connect(mcp) as client:
        for description in ("What it is for", "Something else"):
            write(tmp_path, {"mail/SKILL.md": head("mail", description)})
            assert await listed(client) == [FORMS, uri]
            assert [each.name for each in await mcp.list_resources()] == ["forms", "own"]
        shutil.rmtree(tmp_path / "mail")
        assert await listed(client) == [FORMS]
        assert (await client.read_resource(uri)).contents[0].text == "mine"


async def test_a_skill_takes_the_place_that_the_application_left(tmp_path):
    mcp = serve(SkillsExtension(write_forms(tmp_path)))
    uri = "skill://mail/SKILL.md"
    mcp.add_resource(TextResource(uri=uri, text="mine", name="own"))
    write(tmp_path, {"mail/SKILL.md": head("mail")})
    async with connect(mcp) as client:
        assert await listed(client) == [FORMS, uri]
        mcp.remove_resource(uri)
        assert await listed(client) == [FORMS, uri]
        assert [each.name for each in await mcp.list_resources()] == ["forms", "mail"]


def test_a_fault_that_is_raised_is_not_logged_as_well(tmp_path, caplog):
    write(tmp_path, {"forms/SKILL.md": "# Title"})
    with pytest.raises(InvalidSkill, match="front matter"):
        SkillsExtension(tmp_path)
    assert caplog.messages == []
