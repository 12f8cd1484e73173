"""The entry of a skill as a client holds it, checked, with the server that it came from."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

import attrs

from trio_mcp._codec import DecodeError, decode, excerpt
from trio_mcp.types._revisions import LATEST_MODERN

from ._errors import InvalidSkillEntry
from ._uris import is_skill_name, path_in, root_of
from ._wire import Skill, SkillResource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trio_mcp.types import JsonObject, JsonValue

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@attrs.frozen
class SkillApproval:
    """What a person approves: a skill of a server, with these very files.

    Two are equal where nothing has changed; keep it, and compare it with that of the entry when
    the skill is used again.

    Attributes:
      server: The label of the server.
      uri: Of the skill.
      files: The URI and the digest of each file.

    """

    server: str
    uri: str
    files: frozenset[tuple[str, str]]


@attrs.frozen(kw_only=True)
class HeldSkill:
    """A skill, as its server's entry had it. `SkillsClient` makes them.

    Equal URIs of two servers are two skills: what identifies one is the server's label, which
    the application gives, together with the URI.

    Attributes:
      server: The label of the server.
      uri: Of its ``SKILL.md``.
      name: For programs.
      description: What it is for. Untrusted, as all of it: a server wrote it.
      frontmatter: The front matter of ``SKILL.md``.
      files: All its files by their URI; empty where the server cannot tell them beforehand.
      is_dynamic: Whether that is so.

    """

    server: str
    uri: str
    name: str
    description: str
    frontmatter: JsonObject = attrs.field(hash=False)
    files: Mapping[str, SkillResource] = attrs.field(hash=False)
    is_dynamic: bool

    @property
    def root(self) -> str:
        """The URI of its directory."""
        return self.uri.rpartition("/")[0]

    @property
    def approval(self) -> SkillApproval | None:
        """What to bind a person's approval to; None where nothing can be bound (dynamic)."""
        if self.is_dynamic:
            return None
        files = frozenset((uri, each.digest) for uri, each in self.files.items())
        return SkillApproval(self.server, self.uri, files)


def hold(server: str, entry: JsonValue) -> HeldSkill:
    """Check an entry that a server sent.

    Raises:
      InvalidSkillEntry: if it is not what the extension says.

    """
    try:
        skill = decode(Skill, entry, LATEST_MODERN, where="skill")
    except (DecodeError, ValueError) as exc:
        raise InvalidSkillEntry(f"A skill cannot be read: {excerpt(str(exc))}") from exc
    root = root_of(skill.uri)
    if root is None:
        raise _invalid(skill.uri, "its URI is none of a SKILL.md in a directory")
    name, description = skill.frontmatter.get("name"), skill.frontmatter.get("description")
    if not is_skill_name(name) or root.rpartition("/")[2] != name:
        raise _invalid(skill.uri, f"its name is {name!r:.80}, which is not that of its directory")
    if not (isinstance(description, str) and description.strip()):
        raise _invalid(skill.uri, "it has no description")
    assert isinstance(name, str)
    return HeldSkill(
        server=server,
        uri=skill.uri,
        name=name,
        description=description,
        frontmatter=skill.frontmatter,
        files=MappingProxyType(_files(skill.uri, root, skill.resources)),
        is_dynamic=skill.resources == "dynamic",
    )


def _files(
    uri: str, root: str, resources: list[SkillResource] | Literal["dynamic"]
) -> dict[str, SkillResource]:
    files: dict[str, SkillResource] = {}
    if resources == "dynamic":
        return files
    paths: set[tuple[str, ...]] = set()
    for each in resources:
        shown = excerpt(each.uri)
        path = path_in(each.uri, root)
        if path is None:
            raise _invalid(uri, f"{shown} does not lie in it")
        if path in paths:
            raise _invalid(uri, f"{shown} is there twice")
        paths.add(path)
        if _DIGEST.fullmatch(each.digest) is None:
            raise _invalid(uri, f"the digest of {shown} is none: {each.digest!r:.100}")
        if each.size < 0:
            raise _invalid(uri, f"the size of {shown} is {each.size}")
        files[each.uri] = each
    if uri not in files:
        raise _invalid(uri, "its SKILL.md is not among its files")
    return files


def _invalid(uri: str, why: str) -> InvalidSkillEntry:
    return InvalidSkillEntry(f"The entry of {excerpt(uri)} cannot be used: {why}")
