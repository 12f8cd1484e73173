"""What a server offers of the skills in a directory."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sys
from base64 import b64decode
from typing import Any

import pytest
import trio

from tests._limits import SOON
from trio_mcp.client import Client
from trio_mcp.errors import MCPError
from trio_mcp.extensions import InvalidSkill, SkillsClient, SkillsExtension
from trio_mcp.mcpserver import PathEscapeError, TextResource
from trio_mcp.server import CacheHint

from ._skills import FORMS, ask, connect, head, listed, serve, write, write_forms

both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.mark.req("R-711", "R-714")
async def test_an_entry_has_all_the_files_of_a_skill(tmp_path):
    mcp = serve(SkillsExtension(write_forms(tmp_path)))
    async with connect(mcp) as client:
        assert client.server_capabilities.resources is not None
        result = await ask(client, "skills/list")
        [entry] = result["skills"]
        assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == (
            "complete",
            0,
            "private",
        )
        assert entry["uri"] == FORMS
        assert entry["frontmatter"] == {"name": "forms", "description": "Fill in forms"}
        assert [each["uri"].removeprefix("skill://forms/") for each in entry["resources"]] == [
            "SKILL.md", "logo.bin", "references/FIELDS.md", "references/a%20b%25%C3%A9.txt",
        ]  # fmt: skip
        for each in entry["resources"]:
            [content] = (await client.read_resource(each["uri"])).contents
            data = content.text.encode() if hasattr(content, "text") else b64decode(content.blob)
            assert each["size"] == len(data)
            assert each["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
        got = await ask(client, "skills/get", uri=FORMS)
        assert (got["skill"], got["ttlMs"], got["cacheScope"]) == (entry, 0, "private")


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("SKILL.md", "text/markdown"),
        ("references/FIELDS.md", "text/markdown"),
        ("references/a%20b%25%C3%A9.txt", "text/plain"),
        ("logo.bin", "application/octet-stream"),
    ],
)
async def test_files_are_read_with_their_type(tmp_path, name, mime_type):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        [content] = (await client.read_resource(f"skill://forms/{name}")).contents
        assert (content.uri, content.mime_type) == (f"skill://forms/{name}", mime_type)


async def test_the_list_of_resources_has_each_skill_by_its_name(tmp_path):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        [resource] = (await client.list_resources()).resources
        assert (resource.uri, resource.name) == (FORMS, "forms")
        assert (resource.description, resource.mime_type) == ("Fill in forms", "text/markdown")


@pytest.mark.req("R-712")
@pytest.mark.parametrize("directory_read", [True, False])
async def test_directories_are_read_where_that_is_declared(tmp_path, directory_read):
    mcp = serve(SkillsExtension(write_forms(tmp_path), directory_read=directory_read))
    async with connect(mcp) as client:
        declared = client.server_capabilities.extensions[SkillsExtension.identifier]
        assert declared == ({"directoryRead": True} if directory_read else {})
        if not directory_read:
            with pytest.raises(MCPError) as caught:
                await ask(client, "resources/directory/read", uri="skill://forms")
            assert caught.value.code == -32601
            return
        found = (await ask(client, "resources/directory/read", uri="skill://forms"))["resources"]
        assert [(each["uri"], each["mimeType"]) for each in found] == [
            (FORMS, "text/markdown"),
            ("skill://forms/logo.bin", "application/octet-stream"),
            ("skill://forms/references", "inode/directory"),
        ]
        inner = await ask(client, "resources/directory/read", uri="skill://forms/references")
        assert [each["name"] for each in inner["resources"]] == ["FIELDS.md", "a b%é.txt"]


@pytest.mark.req("R-715")
@pytest.mark.parametrize(
    ("method", "uri"),
    [
        ("skills/get", "skill://nope/SKILL.md"),
        ("skills/get", "skill://forms"),
        ("skills/get", "skill://forms/logo.bin"),
        ("resources/directory/read", FORMS),
        ("resources/directory/read", "skill://nope"),
        ("resources/directory/read", "skill://forms/"),
        ("resources/directory/read", "skill://forms/../forms"),
        ("resources/directory/read", "file:///"),
    ],
)
async def test_what_is_not_there_is_an_error(tmp_path, method, uri):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        with pytest.raises(MCPError) as caught:
            await ask(client, method, uri=uri)
        assert (caught.value.code, caught.value.data) == (-32602, {"uri": uri})


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "..%2Fsecret.txt",
        "forms/../../secret.txt",
        "forms/%2e%2e/%2e%2e/secret.txt",
        "forms/..%5C..%5Csecret.txt",
        "forms/%252e%252e/secret.txt",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "forms/SKILL.md%00",
        "forms/.hidden",
        "forms/.git/config",
        "forms/__pycache__/x.pyc",
        "forms/references",
        "forms//SKILL.md",
        "stray.md",
        "",
    ],
)
async def test_nothing_else_can_be_read(tmp_path, path):
    write(tmp_path, {"secret.txt": "secret"})
    skills = write(
        write_forms(tmp_path / "skills"),
        {
            "forms/.hidden": "secret",
            "forms/.git/config": "secret",
            "forms/__pycache__/x.pyc": "secret",
            "stray.md": "secret",
        },
    )
    async with connect(serve(SkillsExtension(skills))) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"skill://{path}")
        assert caught.value.code == -32602
        assert "secret" not in str((await ask(client, "skills/list"))["skills"])


async def test_what_only_begins_like_a_hidden_name_is_offered(tmp_path):
    name = "__pycache__explained.md"
    write(write_forms(tmp_path), {f"forms/{name}": "text", "forms/__pycache__x/a.md": "text"})
    async with connect(serve(SkillsExtension(tmp_path))) as client:
        entry = (await ask(client, "skills/get", uri=FORMS))["skill"]
        uris = {each["uri"] for each in entry["resources"]}
        assert uris >= {f"skill://forms/{name}", "skill://forms/__pycache__x/a.md"}
        assert (await client.read_resource(f"skill://forms/{name}")).contents[0].text == "text"


@pytest.mark.skipif(sys.platform == "win32", reason="there they are no names of files")
@pytest.mark.parametrize(
    "name", ["a\\b.md", "x..\\secret.txt", "C:secret.txt", "c:", "a\nb", "a\x7fb", "a\tb"]
)
@pytest.mark.parametrize("inner", ["", "references/"])
def test_names_that_are_paths_elsewhere_are_refused(tmp_path, name, inner):
    write(write_forms(tmp_path), {f"forms/{inner}{name}": "x"})
    with pytest.raises(InvalidSkill, match="more than a name on some system") as caught:
        SkillsExtension(tmp_path)
    assert repr(name) in str(caught.value)


@pytest.mark.req("R-712")
async def test_a_directory_without_files_can_be_read(tmp_path):
    (write_forms(tmp_path) / "forms" / "empty" / "inner").mkdir(parents=True)
    (tmp_path / "forms" / "__pycache__").mkdir()
    async with connect(serve(SkillsExtension(tmp_path))) as client:
        found = (await ask(client, "resources/directory/read", uri="skill://forms"))["resources"]
        assert [each["name"] for each in found] == ["forms", "empty", "logo.bin", "references"]
        empty = await ask(client, "resources/directory/read", uri="skill://forms/empty")
        assert [(each["uri"], each["mimeType"]) for each in empty["resources"]] == [
            ("skill://forms/empty/inner", "inode/directory")
        ]
        inner = await ask(client, "resources/directory/read", uri="skill://forms/empty/inner")
        assert inner["resources"] == []


@pytest.mark.req("R-713")
async def test_skills_lie_in_directories_and_in_each_other(tmp_path):
    write(
        tmp_path,
        {
            "office/mail/SKILL.md": head("mail"),
            "office/mail/inner/SKILL.md": head("inner"),
            "office/mail/inner/help.md": "help",
            "zip/SKILL.md": head("zip"),
        },
    )
    async with connect(serve(SkillsExtension(tmp_path))) as client:
        skills = {each["uri"]: each for each in (await ask(client, "skills/list"))["skills"]}
        inner = "skill://office/mail/inner/"
        assert list(skills) == [
            "skill://office/mail/SKILL.md",
            f"{inner}SKILL.md",
            "skill://zip/SKILL.md",
        ]
        files = [each["uri"] for each in skills["skill://office/mail/SKILL.md"]["resources"]]
        assert files == ["skill://office/mail/SKILL.md", f"{inner}SKILL.md", f"{inner}help.md"]
        [mail] = (await ask(client, "resources/directory/read", uri="skill://office"))["resources"]
        assert (mail["name"], mail["mimeType"]) == ("mail", "inode/directory")


async def test_several_directories_and_single_skills_are_offered_together(tmp_path):
    one = write(tmp_path / "one", {"mail/SKILL.md": head("mail")})
    two = write_forms(tmp_path / "two")
    async with connect(serve(SkillsExtension([one, str(two / "forms")]))) as client:
        assert await listed(client) == [FORMS, "skill://mail/SKILL.md"]
        [content] = (await client.read_resource("skill://forms/references/FIELDS.md")).contents
        assert content.text == "# Fields\r\n"


@pytest.mark.req("R-713", "R-717")
@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"a/SKILL.md": "# A"}, "does not begin with a front matter"),
        ({"a/SKILL.md": b"---\nname: \xff\n---\n"}, "not in UTF-8"),
        ({"a/SKILL.md": "---\nname: a\n---\n"}, "needs a description"),
        ({"a/SKILL.md": "---\nname: a\ndescription: ' '\n---\n"}, "needs a description"),
        ({"a/SKILL.md": "---\nname: a\ndescription: 5\n---\n"}, "needs a description"),
        ({"a/SKILL.md": "---\ndescription: x\n---\n"}, "1 to 64 lowercase"),
        ({"A/SKILL.md": head("A")}, "1 to 64 lowercase"),
        ({"a--b/SKILL.md": head("a--b")}, "1 to 64 lowercase"),
        ({"-a/SKILL.md": head("-a")}, "1 to 64 lowercase"),
        ({f"{'a' * 65}/SKILL.md": head("a" * 65)}, "1 to 64 lowercase"),
        ({"a/SKILL.md": head("b")}, "its name is 'b', and its directory has another"),
        ({"My Group/a/SKILL.md": head("a")}, "'My Group' becomes a part of its URI"),
        (
            {
                "a/SKILL.md": "---\nname: a\ndescription: x\nmetadata: {io.modelcontextprotocol/x: 1}\n---\n"
            },
            "belongs to the protocol",
        ),
        ({"a/SKILL.md": head("a"), **{f"a/{i}": "" for i in range(512)}}, "more than 512 files"),
        ({"a/SKILL.md": head("a"), "a/b": b"x" * 16 * 1024 * 1024}, "16 MiB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_good_skill_is_refused_at_once(tmp_path, files, why):
    write(tmp_path, files)
    with pytest.raises(InvalidSkill, match=why) as caught:
        SkillsExtension(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_as_much_as_a_skill_may_have_is_offered(tmp_path):
    manifest = head("a")
    rest = 16 * 1024 * 1024 - len(manifest)
    write(
        tmp_path,
        {"a/SKILL.md": manifest, **{f"a/{i}": "" for i in range(510)}, "a/x": b"x" * rest},
    )
    assert SkillsExtension(tmp_path).resources()


@pytest.mark.skipif(sys.platform == "win32", reason="links take a privilege there")
@pytest.mark.parametrize("target", ["secret.txt", "skills/forms/SKILL.md", "nowhere", "outside"])
@pytest.mark.parametrize("link", ["skills/forms/link", "skills/forms/references/link"])
def test_symbolic_links_in_a_skill_are_refused(tmp_path, target, link):
    write(tmp_path, {"secret.txt": "secret", "outside/SKILL.md": head("outside")})
    write_forms(tmp_path / "skills")
    (tmp_path / link).symlink_to(tmp_path / target)
    with pytest.raises(InvalidSkill, match="link"):
        SkillsExtension(tmp_path / "skills")


@pytest.mark.skipif(sys.platform == "win32", reason="links take a privilege there")
def test_a_skill_that_is_a_link_is_refused(tmp_path):
    write(tmp_path, {"outside/SKILL.md": head("outside")})
    write_forms(tmp_path / "skills")
    (tmp_path / "skills" / "outside").symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidSkill, match="a link to another directory"):
        SkillsExtension(tmp_path / "skills")


@pytest.mark.skipif(sys.platform == "win32", reason="links take a privilege there")
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("link", ["logo.bin", "references"])
@pytest.mark.parametrize("target", ["secret", "skills/secret", "skills/forms/secret"])
async def test_what_became_a_link_is_not_read(tmp_path, single, link, target):
    skills = write_forms(tmp_path / "skills")
    extension = SkillsExtension(skills / "forms" if single else skills)
    async with connect(serve(extension)) as client:
        (skills / "forms" / link).rename(tmp_path / target)
        (skills / "forms" / link).symlink_to(tmp_path / target)
        for name in ("logo.bin", "references/FIELDS.md"):
            if name.startswith(link):
                with pytest.raises(MCPError) as caught:
                    await client.read_resource(f"skill://forms/{name}")
                assert caught.value.code == -32602
            else:
                assert (await client.read_resource(f"skill://forms/{name}")).contents
        assert await listed(client) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a kind of file that not all systems have")
def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(write_forms(tmp_path) / "forms" / "pipe")
    with pytest.raises(InvalidSkill, match="neither a file nor a directory"):
        SkillsExtension(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a kind of file that not all systems have")
@pytest.mark.parametrize("link", [True, False])
async def test_what_is_no_file_any_more_is_not_opened(tmp_path, link):
    path = write_forms(tmp_path) / "forms" / "logo.bin"
    async with connect(serve(SkillsExtension(tmp_path))) as client:
        path.unlink()
        if link:
            os.mkfifo(tmp_path / "pipe")
            path.symlink_to(tmp_path / "pipe")
        else:
            os.mkfifo(path)
        # Nobody writes into it: who waited for that would wait for good.
        with trio.fail_after(SOON), pytest.raises(MCPError):
            await client.read_resource("skill://forms/logo.bin")


@pytest.mark.skipif(sys.platform == "win32", reason="links take a privilege there")
@pytest.mark.parametrize("times", [1, 2, 9])
def test_what_is_replaced_while_it_is_opened_is_opened_again(tmp_path, monkeypatch, times):
    from trio_mcp.extensions.skills import _files

    path = (write_forms(tmp_path) / "forms" / "logo.bin").resolve()
    left = [times]
    really_open = os.open

    def open_late(opened: Any, *args: Any) -> int:
        fd = really_open(opened, *args)
        if left[0]:
            left[0] -= 1
            path.rename(tmp_path / "old")
            path.write_bytes(b"new")
        return fd

    monkeypatch.setattr(_files.os, "open", open_late)
    if times < 3:
        assert _files.read_bytes(path) == b"new"
    else:
        with pytest.raises(PathEscapeError):
            _files.read_bytes(path)


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"dynamic": FORMS}, TypeError, "put it into a list"),
        ({"dynamic": ["skill://nope/SKILL.md"]}, ValueError, "dynamic: there is no skill"),
        ({"directory": "nowhere"}, ValueError, "there is no directory"),
        ({"directory": "empty"}, ValueError, "no SKILL.md"),
        ({"directory": 5}, TypeError, "a path, or a list of paths"),
        ({"unlisted": FORMS}, TypeError, "put it into a list"),
        ({"unlisted": ["skill://nope/SKILL.md"]}, ValueError, "there is no skill"),
        ({"page_size": 0}, ValueError, "page_size"),
        ({"directory_read": 1}, TypeError, "directory_read"),
        ({"older_revisions": "yes"}, TypeError, "older_revisions"),
        ({"cache_hint": 5}, TypeError, "cache_hint"),
    ],
)
def test_wrong_arguments_are_told_at_once(tmp_path, monkeypatch, arguments, error, why):
    write_forms(tmp_path / "skills")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=why):
        SkillsExtension(**{"directory": "skills", **arguments})


def test_two_skills_at_one_uri_are_refused(tmp_path):
    one, two = write_forms(tmp_path / "one"), write_forms(tmp_path / "two")
    with pytest.raises(InvalidSkill, match="there is another skill at skill://forms/") as caught:
        SkillsExtension([one, two])
    assert f"{two / 'forms'}: " in str(caught.value)
    assert str(caught.value).endswith(str(one / "forms"))


@pytest.mark.req("R-714")
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("inner", ["forms/mail", "forms/other/mail"])
def test_skills_of_two_directories_do_not_lie_in_each_other(tmp_path, inner, order):
    one = write(write_forms(tmp_path / "one"), {f"{inner}/help.md": "of one"})
    two = write(
        tmp_path / "two", {f"{inner}/SKILL.md": head("mail"), f"{inner}/help.md": "of two"}
    )
    with pytest.raises(InvalidSkill, match="it would be mixed up with the skill of") as caught:
        SkillsExtension([one, two][::order])
    assert str(one / "forms") in str(caught.value)
    assert str(two / inner) in str(caught.value)


async def test_skills_that_come_to_lie_in_those_of_another_directory_are_left_out(
    tmp_path, caplog
):
    one = write_forms(tmp_path / "one")
    two = write(tmp_path / "two", {"zip/SKILL.md": head("zip")})
    async with connect(serve(SkillsExtension([one, two]))) as client:
        write(two, {"forms/logo.bin/SKILL.md": head("x"), "forms/mail/SKILL.md": head("mail")})
        assert await listed(client) == [FORMS, "skill://zip/SKILL.md"]
        entry = (await ask(client, "skills/get", uri=FORMS))["skill"]
        assert len(entry["resources"]) == 4
    assert str(two / "forms" / "mail") in caplog.text
    assert f"the skill of another directory, {one / 'forms'}" in caplog.text


def test_the_extra_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.setattr("trio_mcp.extensions.skills._frontmatter.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'trio-mcp\[skills\]'"):
        SkillsExtension(write_forms(tmp_path))


# Pages


@pytest.mark.parametrize("size", [1, 2, 3, 5])
async def test_a_list_comes_in_pages_and_each_entry_once(tmp_path, size):
    names = ["a", "b", "c", "d", "e"]
    write(tmp_path, {f"{name}/SKILL.md": head(name) for name in names})
    async with connect(serve(SkillsExtension(tmp_path, page_size=size))) as client:
        assert await listed(client) == [f"skill://{name}/SKILL.md" for name in names]
        first = await ask(client, "skills/list")
        assert len(first["skills"]) == min(size, 5)
        assert ("nextCursor" in first) == (size < 5)


async def test_a_directory_comes_in_pages(tmp_path):
    mcp = serve(SkillsExtension(write_forms(tmp_path), page_size=2))
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        found = [each.name async for each in skills.iter_directory("skill://forms")]
        assert found == ["forms", "logo.bin", "references"]


async def test_a_cursor_stays_good_while_skills_come_and_go(tmp_path):
    write(tmp_path, {f"{name}/SKILL.md": head(name) for name in "bd"})
    async with connect(serve(SkillsExtension(tmp_path, page_size=1))) as client:
        first = await ask(client, "skills/list")
        shutil.rmtree(tmp_path / "b")
        write(tmp_path, {f"{name}/SKILL.md": head(name) for name in "ac"})
        second = await ask(client, "skills/list", cursor=first["nextCursor"])
        assert [each["uri"] for each in second["skills"]] == ["skill://c/SKILL.md"]


@pytest.mark.parametrize("cursor", ["", "nope", "YQ==", "YWZ0ZXI6YQ", "é"])
@pytest.mark.parametrize("page_size", [1, None])
async def test_a_cursor_that_was_never_given_out_is_refused(tmp_path, cursor, page_size):
    mcp = serve(SkillsExtension(write_forms(tmp_path), page_size=page_size))
    async with connect(mcp) as client:
        with pytest.raises(MCPError) as caught:
            await ask(client, "skills/list", cursor=cursor)
        assert (caught.value.code, caught.value.message) == (-32602, "Invalid cursor")


# What is there, and to whom


@pytest.mark.req("R-716")
async def test_an_unlisted_skill_is_served_to_those_who_know_it(tmp_path):
    write(tmp_path, {"secret/SKILL.md": head("secret")})
    mcp = serve(SkillsExtension(write_forms(tmp_path), unlisted=["skill://secret/SKILL.md"]))
    async with connect(mcp) as client:
        assert await listed(client) == [FORMS]
        assert [each.uri for each in (await client.list_resources()).resources] == [FORMS]
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill("skill://secret/SKILL.md")
        assert (await skills.read_file(skill)).text == head("secret")


@pytest.mark.req("R-714")
async def test_a_dynamic_skill_has_no_digests_nor_has_what_it_lies_in(tmp_path):
    skills = write(
        write_forms(tmp_path),
        {"forms/daily/SKILL.md": head("daily"), "mail/SKILL.md": head("mail")},
    )
    daily = "skill://forms/daily/SKILL.md"
    async with connect(serve(SkillsExtension(skills, dynamic=[daily]))) as client:
        entries = {each["uri"]: each for each in (await ask(client, "skills/list"))["skills"]}
        assert entries[FORMS]["resources"] == entries[daily]["resources"] == "dynamic"
        assert len(entries["skill://mail/SKILL.md"]["resources"]) == 1
        assert (await ask(client, "skills/get", uri=daily))["skill"] == entries[daily]
        reader = SkillsClient(client, server="office")
        skill = await reader.get_skill(daily)
        assert skill.is_dynamic
        for text in ("one", "two"):
            write(skills, {"forms/daily/SKILL.md": head("daily") + text})
            assert (await reader.read_file(skill, allow_dynamic=True)).text.endswith(text)


@pytest.mark.req("R-716")
async def test_an_unlisted_skill_is_in_no_list_of_a_directory_but_of_a_skill_that_it_lies_in(
    tmp_path,
):
    hidden = ["skill://office/secret/SKILL.md", "skill://office/mail/inner/SKILL.md"]
    write(
        tmp_path,
        {
            f"office/{name}/SKILL.md": head(name.rpartition("/")[2])
            for name in ("mail", "secret", "mail/inner")
        },
    )
    async with connect(serve(SkillsExtension(tmp_path, unlisted=hidden))) as client:
        skills = SkillsClient(client, server="office")

        async def names(directory: str) -> list[str]:
            return [each.name async for each in skills.iter_directory(directory)]

        assert await names("skill://office") == ["mail"]
        assert await names("skill://office/secret") == ["secret"]
        # The files of a skill are told as a whole.
        assert await names("skill://office/mail") == ["mail", "inner"]
        assert len((await skills.get_skill("skill://office/mail/SKILL.md")).files) == 2


async def test_how_long_entries_may_be_kept_is_said(tmp_path):
    hint = CacheHint(ttl_ms=60_000, scope="public")
    async with connect(serve(SkillsExtension(write_forms(tmp_path), cache_hint=hint))) as client:
        for answer in (
            await ask(client, "skills/list"),
            await ask(client, "skills/get", uri=FORMS),
        ):
            assert (answer["ttlMs"], answer["cacheScope"]) == (60_000, "public")


@pytest.mark.parametrize("older", [True, False])
async def test_older_clients_hear_of_skills_where_that_is_wanted(tmp_path, older):
    mcp = serve(SkillsExtension(write_forms(tmp_path), older_revisions=older))
    async with Client(mcp, mode="legacy") as client:
        assert SkillsClient(client, server="office").is_supported is older
        if older:
            result = await ask(client, "skills/list")
            assert list(result) == ["skills"]
        else:
            assert client.server_capabilities.extensions is None
            with pytest.raises(MCPError) as caught:
                await ask(client, "skills/list")
            assert caught.value.code == -32601
        # As resources they are there for anybody.
        assert len((await client.list_resources()).resources) == 1


async def test_a_client_that_does_not_know_skills_is_served(tmp_path):
    async with Client(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        assert await listed(client) == [FORMS]


# Changes on disk


def digest_of(answer: dict[str, Any], name: str) -> str:
    resources = answer["skill"]["resources"]
    return next(each["digest"] for each in resources if each["uri"].endswith(name))


@pytest.mark.parametrize("text", ["0123", "012345"])
async def test_a_changed_file_has_another_digest(tmp_path, text):
    write(write_forms(tmp_path), {"forms/data.txt": "abcd"})
    async with connect(serve(SkillsExtension(tmp_path))) as client:
        before = digest_of(await ask(client, "skills/get", uri=FORMS), "data.txt")
        # Of the same time, and once of the same size.
        write(tmp_path, {"forms/data.txt": text})
        after = digest_of(await ask(client, "skills/get", uri=FORMS), "data.txt")
        assert after != before
        assert after == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


async def test_files_that_have_not_changed_are_not_read_again(tmp_path, monkeypatch):
    from trio_mcp.extensions.skills import _files

    # What was written just now is read again, since times of files are coarse.
    monkeypatch.setattr(_files, "_SETTLED_NS", -60_000_000_000)
    read: list[str] = []
    really_read = _files.read_bytes
    monkeypatch.setattr(
        _files, "read_bytes", lambda path: read.append(path.name) or really_read(path)
    )
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        assert len(read) == 4
        read.clear()
        await ask(client, "skills/list")
        assert read == []
        write(tmp_path, {"forms/logo.bin": b"\0\1\2\3"})
        await ask(client, "skills/list")
        assert read == ["logo.bin"]


async def test_skills_come_and_go_while_the_server_runs(tmp_path):
    mcp = serve(SkillsExtension(write_forms(tmp_path)))
    async with connect(mcp) as client:
        write(tmp_path, {"mail/SKILL.md": head("mail")})
        assert await listed(client) == [FORMS, "skill://mail/SKILL.md"]
        shutil.rmtree(tmp_path / "forms")
        resources = (await client.list_resources()).resources
        assert [each.uri for each in resources] == ["skill://mail/SKILL.md"]
        with pytest.raises(MCPError):
            await client.read_resource("skill://forms/logo.bin")


async def test_a_new_description_is_in_the_list_of_resources(tmp_path):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        write(tmp_path, {"forms/SKILL.md": head("forms", "Something else")})
        [resource] = (await client.list_resources()).resources
        assert resource.description == "Something else"


async def test_a_new_file_can_be_read_before_anybody_lists(tmp_path):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        write(tmp_path, {"forms/new.txt": "new"})
        [content] = (await client.read_resource("skill://forms/new.txt")).contents
        assert content.text == "new"


async def test_clients_are_told_that_there_are_other_resources(tmp_path):
    async with (
        connect(serve(SkillsExtension(write_forms(tmp_path)))) as client,
        client.listen(resources_list_changed=True) as subscription,
    ):
        write(tmp_path, {"mail/SKILL.md": head("mail")})
        await listed(client)
        with trio.fail_after(10):
            event = await subscription.__anext__()
        assert type(event).__name__ == "ResourcesListChanged"


async def test_a_skill_that_is_spoilt_is_left_out_and_told_once(tmp_path, caplog):
    write(write_forms(tmp_path), {"mail/SKILL.md": head("mail")})
    async with connect(serve(SkillsExtension(tmp_path))) as client:
        write(tmp_path, {"forms/SKILL.md": "# Title"})
        with caplog.at_level(logging.WARNING, "trio_mcp.extensions"):
            assert await listed(client) == ["skill://mail/SKILL.md"]
            assert await listed(client) == ["skill://mail/SKILL.md"]
        assert len(caplog.messages) == 1
        assert "does not begin with a front matter" in caplog.text
        write_forms(tmp_path)
        assert await listed(client) == [FORMS, "skill://mail/SKILL.md"]


async def test_a_directory_that_is_gone_has_no_skills(tmp_path, caplog):
    skills = write_forms(tmp_path / "skills")
    async with connect(serve(SkillsExtension(skills))) as client:
        shutil.rmtree(skills)
        assert await listed(client) == []
        assert (await client.list_resources()).resources == []
        assert "cannot be read" in caplog.text


async def test_a_file_that_grew_too_large_is_not_sent(tmp_path):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        write(tmp_path, {"forms/logo.bin": b"x" * (16 * 1024 * 1024 + 1)})
        with pytest.raises(
            MCPError, match="cannot be offered any more: more than 16777216 bytes"
        ) as caught:
            await client.read_resource("skill://forms/logo.bin")
        assert caught.value.code == -32603


async def test_one_extension_may_be_given_to_two_servers(tmp_path):
    extension = SkillsExtension(write_forms(tmp_path))
    one, two = serve(extension), serve(extension)
    async with connect(one) as first, connect(two) as second:
        write(tmp_path, {"mail/SKILL.md": head("mail")})
        for client in (first, second):
            assert len((await client.list_resources()).resources) == 2


async def test_other_resources_are_left_alone(tmp_path):
    mcp = serve(SkillsExtension(write_forms(tmp_path)))
    mcp.add_resource(TextResource(uri="skill://own", text="mine", name="own"))
    async with connect(mcp) as client:
        shutil.rmtree(tmp_path / "forms")
        assert [each.name for each in (await client.list_resources()).resources] == ["own"]
        assert (await client.read_resource("skill://own")).contents[0].text == "mine"
