"""What a client takes of a server's skills, and what it refuses."""

from __future__ import annotations

import logging
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from trio_mcp.client import Client, ClientSession, ClientSessionGroup, ClientSessionParameters
from trio_mcp.errors import InvalidResponse, MCPError
from trio_mcp.extensions import (
    InvalidSkillEntry,
    SkillDigestMismatch,
    SkillFrontmatterMismatch,
    SkillsClient,
    SkillsClientExtension,
    SkillsExtension,
    SkillSizeMismatch,
    SkillsNotSupported,
    SkillVerificationError,
    UnlistedSkillFile,
)
from trio_mcp.extensions.skills._wire import MAX_SKILL_BYTES
from trio_mcp.mcpserver import Extension, MCPServer, MethodBinding
from trio_mcp.transports import open_memory_channel_pair
from trio_mcp.types import BlobResourceContents, ReadResourceResult, TextResourceContents

from ._skills import FORMS, Tampering, connect, head, serve, write, write_forms

if TYPE_CHECKING:
    from pathlib import Path

ROOT = "skill://forms"
DIGEST = f"sha256:{'0' * 64}"


def entry(**changes: Any) -> dict[str, Any]:
    made = {
        "uri": FORMS,
        "frontmatter": {"name": "forms", "description": "Fill in forms"},
        "resources": [{"uri": FORMS, "digest": DIGEST, "size": 5}],
    }
    return {**made, **changes}


class Odd(Extension):
    """Answers with the entries that it is given."""

    identifier = SkillsExtension.identifier

    def __init__(self, *entries: Any, settings: Any = None) -> None:
        self.entries = entries
        self.said = settings

    def settings(self) -> dict[str, Any]:
        return self.said or {}

    def methods(self) -> list[MethodBinding]:
        async def skills_list(ctx: Any, params: Any) -> dict[str, Any]:
            return {"skills": list(self.entries)}

        async def skills_get(ctx: Any, params: Any) -> dict[str, Any]:
            return {"skill": self.entries[0]}

        return [
            MethodBinding("skills/list", dict, skills_list),
            MethodBinding("skills/get", dict, skills_get),
        ]


@pytest.mark.req("R-718")
async def test_files_that_are_as_their_entry_says_are_handed_over(tmp_path):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        skills = SkillsClient(client, server="office")
        [skill] = [each async for each in skills.iter_skills()]
        assert (skill.name, skill.description, skill.root) == ("forms", "Fill in forms", ROOT)
        assert len(skill.files) == 4
        assert not skill.is_dynamic
        manifest = await skills.read_file(skill)
        assert (manifest.uri, manifest.mime_type) == (FORMS, "text/markdown")
        assert manifest.text.endswith("Body\n")
        assert (await skills.read_file(skill, f"{ROOT}/logo.bin")).data == b"\0\1\2"
        assert (
            await skills.read_file(skill, f"{ROOT}/references/a%20b%25%C3%A9.txt")
        ).text == "blank"
        assert await skills.get_skill(FORMS) == skill


async def test_nothing_is_fetched_ahead(tmp_path):
    seen: list[str] = []

    async def look(ctx: Any, call_next: Any) -> Any:
        seen.append(ctx.method)
        return await call_next(ctx)

    mcp = serve(SkillsExtension(write_forms(tmp_path)), middleware=[look])
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        assert len((await skills.list_skills())[0]) == 1
        await skills.get_skill(FORMS)
    assert "resources/read" not in seen
    assert "skills/get" in seen


def answering(text: str) -> Any:
    def change(answer: ReadResourceResult) -> ReadResourceResult:
        contents = TextResourceContents(uri=FORMS, text=text)
        return answer.evolve(contents=[contents])

    return change


GOOD = head("forms", "Fill in forms") + "Body\n"


@pytest.mark.req("R-718", "R-665")
@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        (GOOD.replace("Body", "Evil"), SkillDigestMismatch, "has the digest sha256:"),
        (GOOD + "more", SkillSizeMismatch, "56 bytes, and 52 by its entry"),
        ("", SkillSizeMismatch, "0 bytes"),
    ],
)
async def test_other_bytes_are_refused(tmp_path, text, error, why):
    tampering = Tampering("resources/read", answering(text))
    mcp = serve(SkillsExtension(write_forms(tmp_path)), middleware=[tampering])
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        with pytest.raises(error, match=why) as caught:
            await skills.read_file(skill)
        assert isinstance(caught.value, SkillVerificationError)
        assert FORMS in str(caught.value)


def other_frontmatter(**changes: Any) -> Any:
    def change(answer: Any) -> Any:
        frontmatter = {**answer.skill["frontmatter"], **changes}
        kept = {key: value for key, value in frontmatter.items() if value is not ...}
        return answer.evolve(skill={**answer.skill, "frontmatter": kept})

    return change


@pytest.mark.req("R-718")
@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"description": "Something else"}, "description"),
        ({"license": "MIT"}, "license"),
        ({"flag": 1}, "flag"),
        ({"flag": ...}, "flag"),
        ({"numbers": [1, 2]}, "numbers"),
        ({"numbers": [1, True, 3]}, "numbers"),
        ({"numbers": {"a": 1}}, "numbers"),
        ({"metadata": {"a": {"b": "d"}}}, "metadata"),
        ({"metadata": {"a": {}}}, "metadata"),
        ({"metadata": None}, "metadata"),
        ({"flag": 1, "description": "x"}, "description, flag"),
    ],
)
async def test_another_front_matter_is_refused_by_field(tmp_path, changes, differing):
    write(
        tmp_path,
        {
            "forms/SKILL.md": "---\nname: forms\ndescription: d\nflag: true\n"
            "numbers: [1, 2, 3]\nmetadata: {a: {b: c}}\n---\n"
        },
    )
    tampering = Tampering("skills/get", other_frontmatter(**changes))
    mcp = serve(SkillsExtension(tmp_path), middleware=[tampering])
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        with pytest.raises(SkillFrontmatterMismatch, match=f"than its entry: {differing}$"):
            await skills.read_file(skill)


@pytest.mark.parametrize(
    ("written", "listed", "is_same"),
    [
        ("1.0", 1, True),
        ("1e3", 1000, True),
        # As a peer has it whose numbers are doubles.
        ("12345678901234567890", 12345678901234567000, True),
        ("1234567890123456", 1234567890123457, False),
        ("9" * 400, 10**400, False),
        ("1", True, False),
        ("1", "1", False),
        ("0", None, False),
    ],
)
async def test_numbers_are_compared_by_their_value(tmp_path, written, listed, is_same):
    write(tmp_path, {"forms/SKILL.md": f"---\nname: forms\ndescription: d\nn: {written}\n---\n"})
    tampering = Tampering("skills/get", other_frontmatter(n=listed))
    async with connect(serve(SkillsExtension(tmp_path), middleware=[tampering])) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        if is_same:
            assert (await skills.read_file(skill)).uri == FORMS
        else:
            with pytest.raises(SkillFrontmatterMismatch, match=r"entry: n$"):
                await skills.read_file(skill)


@pytest.mark.req("R-718")
@pytest.mark.parametrize(
    "uri", [f"{ROOT}/new.txt", ROOT, "skill://forms/../x", "test://other", ""]
)
async def test_a_file_that_is_not_in_the_entry_is_not_asked_for(tmp_path, uri):
    asked: list[str] = []

    async def look(ctx: Any, call_next: Any) -> Any:
        asked.append(ctx.method)
        return await call_next(ctx)

    mcp = serve(SkillsExtension(write_forms(tmp_path)), middleware=[look])
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        write(tmp_path, {"forms/new.txt": "new"})
        with pytest.raises(UnlistedSkillFile):
            await skills.read_file(skill, uri)
    assert "resources/read" not in asked


async def test_a_changed_skill_is_read_by_its_new_entry(tmp_path):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        write(tmp_path, {"forms/logo.bin": b"\3\2\1"})
        with pytest.raises(SkillDigestMismatch):
            await skills.read_file(skill, f"{ROOT}/logo.bin")
        now = await skills.get_skill(FORMS)
        assert (await skills.read_file(now, f"{ROOT}/logo.bin")).data == b"\3\2\1"
        # What was approved is another skill.
        assert now.approval != skill.approval
        assert now.approval.uri == skill.approval.uri


async def test_a_kept_answer_does_not_stand_in_for_a_file(tmp_path):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        skills = SkillsClient(client, server="office")
        await client.read_resource(FORMS)
        write(tmp_path, {"forms/SKILL.md": head("forms", "Another")})
        assert "Another" in (await skills.read_file(await skills.get_skill(FORMS))).text


@pytest.mark.req("R-719")
async def test_a_skill_belongs_to_its_server(tmp_path):
    mcp = serve(SkillsExtension(write_forms(tmp_path)))
    async with connect(mcp) as one, connect(mcp) as two:
        ours, theirs = SkillsClient(one, server="ours"), SkillsClient(two, server="theirs")
        skill, other = await ours.get_skill(FORMS), await theirs.get_skill(FORMS)
        assert skill != other
        assert skill.approval != other.approval
        assert len({skill, other, await ours.get_skill(FORMS)}) == 2
        with pytest.raises(ValueError, match="of 'theirs' is read there"):
            await ours.read_file(other)


@pytest.mark.parametrize("label", ["", None, 5])
async def test_a_server_needs_a_label(label):
    async with Client(MCPServer("x")) as client:
        with pytest.raises((TypeError, ValueError), match="server"):
            SkillsClient(client, server=label)


# Entries


# However a server, or a host that keeps files, may join them: none of these is a file in a skill.
OUTSIDE = [
    "..%2fsecret",
    "..%2Fsecret",
    "a%2f..%2f..%2fsecret",
    "a%2fb",
    "..\\secret",
    "..%5csecret",
    "a\\b",
    "%2e%2e%5c%2e%2e",
    "%252e%252e/secret",
    "..%252fsecret",
    "..%25252fsecret",
    "%%32%65%%32%65/secret",
    "%00",
    "a%00.md",
    "a\0.md",
    "a%0ab",
    "C:/secret",
    "C:secret",
    "c%3Asecret",
    "..%20/secret",
    ".. /secret",
    ".../secret",
    "..?/secret",
    "..#/secret",
    "a?b",
    "a#b",
]

BAD_ENTRIES = [
    ({"uri": "skill://forms/README.md"}, "none of a SKILL.md"),
    ({"uri": "SKILL.md"}, "none of a SKILL.md"),
    ({"uri": "skill://SKILL.md"}, "none of a SKILL.md"),
    ({"uri": "skill:///SKILL.md"}, "not that of its directory"),
    ({"uri": "forms/SKILL.md"}, "none of a SKILL.md"),
    ({"uri": "/forms/SKILL.md"}, "none of a SKILL.md"),
    *(
        ({"uri": f"skill://{path}/forms/SKILL.md"}, "none of a SKILL.md")
        for path in ("..", "a/..", "a/%2e%2e", "a\\..", "a%5c..", "a%2f..", "C:", "a/%00", "a//b")
    ),
    ({"uri": 5}, "uri"),
    ({"frontmatter": {"description": "x"}}, "its name is None"),
    ({"frontmatter": {"name": "other", "description": "x"}}, "not that of its directory"),
    ({"frontmatter": {"name": "forms"}}, "has no description"),
    ({"frontmatter": "text"}, "frontmatter"),
    ({"resources": "static"}, "resources"),
    ({"resources": None}, "resources"),
    ({"resources": []}, "its SKILL.md is not among its files"),
    ({"resources": [{"uri": f"{ROOT}/a", "digest": DIGEST, "size": 1}]}, "not among its files"),
    ({"resources": [{"uri": FORMS, "digest": DIGEST.upper(), "size": 1}]}, "digest"),
    ({"resources": [{"uri": FORMS, "digest": "md5:0", "size": 1}]}, "digest"),
    ({"resources": [{"uri": FORMS, "digest": DIGEST + "\n", "size": 1}]}, "digest"),
    ({"resources": [{"uri": FORMS, "digest": DIGEST, "size": -1}]}, "size"),
    ({"resources": [{"uri": FORMS, "digest": DIGEST, "size": 1.5}]}, "size"),
    ({"resources": [{"uri": FORMS, "digest": DIGEST}]}, "size"),
    ({"resources": [{"uri": FORMS, "digest": DIGEST, "size": 1}] * 2}, "there twice"),
    (
        {
            "resources": [
                {"uri": uri, "digest": DIGEST, "size": 1} for uri in (FORMS, f"{ROOT}/SKILL%2emd")
            ]
        },
        "there twice",
    ),
    *(
        ({"resources": [{"uri": uri, "digest": DIGEST, "size": 1}]}, "does not lie in it")
        for uri in (
            "file:///etc/passwd",
            "skill://formsx/a",
            f"{ROOT}/../a",
            f"{ROOT}/%2e%2E/a",
            f"{ROOT}/.%2e/a",
            f"{ROOT}//a",
            f"{ROOT}/",
            ROOT,
            *(f"{ROOT}/{path}" for path in OUTSIDE),
        )
    ),
]


@pytest.mark.req("R-665")
@pytest.mark.parametrize(("changes", "why"), BAD_ENTRIES)
async def test_an_entry_that_is_none_is_refused(changes, why):
    async with connect(serve(Odd(entry(**changes)))) as client:
        with pytest.raises(InvalidSkillEntry, match=why):
            await SkillsClient(client, server="office").get_skill(FORMS)


async def test_a_bad_entry_in_a_list_is_left_out(caplog):
    async with connect(serve(Odd(entry(resources=[]), entry()))) as client:
        with caplog.at_level(logging.WARNING, "trio_mcp.extensions"):
            held, cursor = await SkillsClient(client, server="office").list_skills()
        assert ([each.uri for each in held], cursor) == ([FORMS], None)
        assert "'office' is left out" in caplog.text


@pytest.mark.parametrize("bad", [5, None, "skill://forms/SKILL.md", []])
async def test_what_is_no_entry_costs_no_other(bad):
    async with connect(serve(Odd(bad, entry()))) as client:
        held, _ = await SkillsClient(client, server="office").list_skills()
        assert [each.uri for each in held] == [FORMS]


async def test_a_server_cannot_fill_the_log_with_bad_entries(caplog):
    async with connect(serve(Odd(*[entry(resources=[])] * 150))) as client:
        skills = SkillsClient(client, server="office")
        with caplog.at_level(logging.WARNING, "trio_mcp.extensions"):
            assert await skills.list_skills() == ([], None)
        assert len(caplog.messages) == 3
        assert "(100 times by now)" in caplog.text


async def test_an_entry_of_another_skill_is_refused():
    async with connect(serve(Odd(entry()))) as client:
        with pytest.raises(InvalidSkillEntry, match="the entry is of skill://forms"):
            await SkillsClient(client, server="office").get_skill("skill://mail/SKILL.md")


@pytest.mark.parametrize("uri", ["file:///forms/SKILL.md", "github://o/r/forms/SKILL.md"])
async def test_a_skill_may_lie_in_any_directory(uri):
    resources = [
        {"uri": uri.replace("SKILL.md", name), "digest": DIGEST, "size": 5}
        for name in ("SKILL.md", "a%20b.txt", "100%2525", "..a", "a..", "x/...b", "aa:b", "é")
    ]
    async with connect(serve(Odd(entry(uri=uri, resources=resources)))) as client:
        skill = await SkillsClient(client, server="office").get_skill(uri)
        assert list(skill.files) == [each["uri"] for each in resources]


async def test_another_scheme_is_as_good():
    uri = "https://example.com/skills/forms/SKILL.md"
    resources = [{"uri": uri, "digest": DIGEST, "size": 5}]
    async with connect(serve(Odd(entry(uri=uri, resources=resources)))) as client:
        skill = await SkillsClient(client, server="office").get_skill(uri)
        assert skill.root == "https://example.com/skills/forms"


async def test_a_dynamic_skill_is_read_where_that_is_wanted(tmp_path):
    dynamic = entry(resources="dynamic")
    tampering = Tampering("skills/get", lambda answer: {"skill": dynamic})
    mcp = serve(SkillsExtension(write_forms(tmp_path)), middleware=[tampering])
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        assert skill.is_dynamic
        assert skill.approval is None
        with pytest.raises(UnlistedSkillFile, match="allow_dynamic=True"):
            await skills.read_file(skill)
        read = await skills.read_file(skill, f"{ROOT}/logo.bin", allow_dynamic=True)
        assert read.data == b"\0\1\2"
        with pytest.raises(UnlistedSkillFile, match="does not lie in"):
            await skills.read_file(skill, "test://elsewhere", allow_dynamic=True)
        # Its front matter is known, and compared.
        assert (await skills.read_file(skill, allow_dynamic=True)).uri == FORMS
        write(tmp_path, {"forms/SKILL.md": "# Title"})
        with pytest.raises(SkillFrontmatterMismatch, match="front matter"):
            await skills.read_file(skill, allow_dynamic=True)


@pytest.mark.req("R-665", "R-718")
@pytest.mark.parametrize("path", [*OUTSIDE, "../forms/SKILL.md", "%2e%2e/x", "", "/", "a//b"])
async def test_nothing_outside_of_a_dynamic_skill_is_asked_for(tmp_path, path):
    await refuse_of_dynamic(tmp_path, f"{ROOT}/{path}", "does not lie in")


@pytest.mark.req("R-718")
@pytest.mark.parametrize(
    "name",
    ["skill.md", "Skill.MD", "SKILL%2emd", "%53KILL.md", "SKILL.md.", "SKILL.md%20",
     "skill.md::$DATA", "SKILL%252emd"],
)  # fmt: skip
async def test_the_front_matter_of_a_dynamic_skill_is_compared_whatever_it_is_called(
    tmp_path, name
):
    # One of these may be the same file for its server, and would be read without that.
    await refuse_of_dynamic(tmp_path, f"{ROOT}/{name}", "another spelling of")


async def refuse_of_dynamic(folder: Path, uri: str, why: str) -> None:
    asked: list[str] = []

    async def look(ctx: Any, call_next: Any) -> Any:
        asked.append(ctx.method)
        return await call_next(ctx)

    mcp = serve(SkillsExtension(write_forms(folder), dynamic=[FORMS]), middleware=[look])
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        with pytest.raises(UnlistedSkillFile, match=why):
            await skills.read_file(skill, uri, allow_dynamic=True)
    assert "resources/read" not in asked


async def test_a_file_of_a_dynamic_skill_is_no_larger_than_a_skill(tmp_path):
    large = BlobResourceContents(uri=f"{ROOT}/a", blob="A" * 4 * (MAX_SKILL_BYTES // 3 + 1))
    mcp = serve(
        SkillsExtension(write_forms(tmp_path), dynamic=[FORMS]),
        middleware=[Tampering("resources/read", contents(large))],
    )
    write(tmp_path, {"forms/a": "small"})
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        skill = await skills.get_skill(FORMS)
        with pytest.raises(SkillSizeMismatch, match="16777216 at most"):
            await skills.read_file(skill, f"{ROOT}/a", allow_dynamic=True)


def contents(*pieces: Any) -> Any:
    return lambda answer: answer.evolve(contents=list(pieces))


@pytest.mark.parametrize(
    "change",
    [
        contents(),
        contents(TextResourceContents(uri="skill://mail/SKILL.md", text=GOOD)),
        contents(*[TextResourceContents(uri=FORMS, text=GOOD)] * 2),
        contents(BlobResourceContents(uri=FORMS, blob="!")),
    ],
)
async def test_contents_that_are_not_those_of_the_file_are_refused(tmp_path, change):
    tampering = Tampering("resources/read", change)
    mcp = serve(SkillsExtension(write_forms(tmp_path)), middleware=[tampering])
    async with connect(mcp) as client:
        skills = SkillsClient(client, server="office")
        with pytest.raises(InvalidResponse):
            await skills.read_file(await skills.get_skill(FORMS))


# What the server declared


@pytest.mark.req("R-712")
@pytest.mark.parametrize("verb", ["list", "get", "directory"])
async def test_a_server_that_did_not_declare_skills_is_not_asked(verb):
    asked: list[str] = []

    async def look(ctx: Any, call_next: Any) -> Any:
        asked.append(ctx.method)
        return await call_next(ctx)

    async with connect(MCPServer("plain", middleware=[look])) as client:
        skills = SkillsClient(client, server="office")
        assert not skills.is_supported
        asked.clear()
        verbs = {
            "list": skills.list_skills,
            "get": lambda: skills.get_skill(FORMS),
            "directory": lambda: skills.list_directory(ROOT),
        }
        with pytest.raises(SkillsNotSupported, match="'office' did not declare") as caught:
            await verbs[verb]()
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert asked == []


@pytest.mark.req("R-712")
@pytest.mark.parametrize("settings", [{}, {"directoryRead": False}, {"directoryRead": "true"}])
async def test_directories_are_not_asked_for_where_that_is_not_declared(settings):
    async with connect(serve(Odd(entry(), settings=settings))) as client:
        skills = SkillsClient(client, server="office")
        assert skills.is_supported
        assert not skills.reads_directories
        with pytest.raises(SkillsNotSupported, match="directories"):
            await skills.iter_directory(ROOT).__anext__()


async def test_a_pinned_client_asks_after_it_has_seen_what_is_declared(tmp_path):
    mcp = serve(SkillsExtension(write_forms(tmp_path)))
    async with connect(mcp, mode="2026-07-28") as client:
        skills = SkillsClient(client, server="office")
        with pytest.raises(SkillsNotSupported):
            await skills.list_skills()
        await client.session.discover()
        assert len((await skills.list_skills())[0]) == 1


@pytest.mark.parametrize(
    ("mode", "options", "is_declared"),
    [
        ("auto", {}, True),
        ("2026-07-28", {}, True),
        ("legacy", {}, False),
        ("2025-11-25", {}, False),
        ("legacy", {"older_revisions": True}, True),
        ("auto", {"older_revisions": True}, True),
    ],
)
async def test_the_client_declares_that_it_knows_skills_where_they_are_meant(
    mode, options, is_declared
):
    declared: list[Any] = []

    async def look(ctx: Any, call_next: Any) -> Any:
        declared.append(ctx.session.client_capabilities.extensions)
        return await call_next(ctx)

    mcp = MCPServer("x", middleware=[look])
    async with Client(mcp, mode=mode, extensions=[SkillsClientExtension(**options)]) as client:
        await client.list_tools()
    assert declared[-1] == ({"io.modelcontextprotocol/skills": {}} if is_declared else None)


def test_whether_older_servers_are_told_is_a_flag():
    with pytest.raises(TypeError, match="older_revisions"):
        SkillsClientExtension(older_revisions="yes")


async def test_a_session_will_do(tmp_path):
    async with connect(serve(SkillsExtension(write_forms(tmp_path)))) as client:
        await use(SkillsClient(client.session, server="office"))


async def test_a_member_of_a_group_will_do(tmp_path):
    mcp = serve(SkillsExtension(write_forms(tmp_path)))
    parameters = ClientSessionParameters(extensions=[SkillsClientExtension()])
    async with ClientSessionGroup() as group:
        session = await group.connect_to_server(mcp, parameters)
        plain = await group.connect_to_server(MCPServer("plain"))
        await use(SkillsClient(session, server="office"))
        assert not SkillsClient(plain, server="plain").is_supported
        await group.disconnect_from_server(session)
        with pytest.raises(MCPError):
            await SkillsClient(session, server="office").list_skills()


async def use(skills: SkillsClient) -> None:
    assert skills.is_supported
    [skill] = [each async for each in skills.iter_skills()]
    assert await skills.get_skill(FORMS) == skill
    assert (await skills.read_file(skill)).text.endswith("Body\n")
    children = [each.name async for each in skills.iter_directory(skill.root)]
    assert children == ["forms", "logo.bin", "references"]


async def test_a_session_that_has_not_agreed_on_anything_supports_nothing():
    near, far = open_memory_channel_pair()
    async with near, far, ClientSession(near) as session:
        skills = SkillsClient(session, server="office")
        assert not skills.is_supported
        with pytest.raises(SkillsNotSupported):
            await skills.list_skills()


@pytest.mark.parametrize("client", [None, "client", MCPServer("x")])
def test_something_else_is_no_client(client):
    with pytest.raises(TypeError, match="client"):
        SkillsClient(client, server="office")
