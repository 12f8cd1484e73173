"""What a server offers under a name is what clients take it for."""

from __future__ import annotations

import pytest

from trio_mcp.extensions import InvalidSkill, SkillsClient, SkillsExtension

from ._skills import FORMS, connect, serve, write, write_forms


@pytest.mark.parametrize(
    "name", ["a%2Fb", "a%5Cb", "%2e%2e", "a%00b", "%252e%252e", "a%2541", "a%25252541"]
)
@pytest.mark.parametrize("inner", ["", "references/"])
def test_names_that_clients_would_take_for_others_are_refused(tmp_path, name, inner):
    write(write_forms(tmp_path), {f"forms/{inner}{name}": "x"})
    with pytest.raises(InvalidSkill, match="reads as another name") as caught:
        SkillsExtension(tmp_path)
    assert repr(name) in str(caught.value)


async def test_a_client_takes_each_name_that_a_server_offers(tmp_path):
    names = ["100%", "%", "a b", "a?b", "a#b", "é", "a%41", "a;b&c=d"]
    write(write_forms(tmp_path), {f"forms/{name}": name for name in names})
    async with connect(serve(SkillsExtension(tmp_path))) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        read = [(await skills.read_file(skill, uri)).text for uri in skill.files if uri != FORMS]
    assert set(names) <= set(read)
