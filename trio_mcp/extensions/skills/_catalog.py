"""All the skills of a server, as they are on disk at one moment."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp.mcpserver import PathEscapeError
from trio_mcp.types import Resource
from trio_mcp.types._base import is_object

from ._files import FileDigests, InvalidSkill, Known, find_files, find_skills, read_bytes
from ._frontmatter import FrontmatterError, read_frontmatter
from ._uris import is_skill_name, skill_uri
from ._wire import DIRECTORY_TYPE, SKILL_FILE, Skill, SkillResource

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from trio_mcp.types import JsonObject

_MARKDOWN: Final = "text/markdown"

# Frontmatter, `metadata`: what belongs to the protocol.
_RESERVED: Final = "io.modelcontextprotocol/"


@attrs.frozen
class ServedFile:
    """A file of a skill, or of several: a nested one's are its outer one's, too."""

    path: Path
    parts: tuple[str, ...]
    digest: str
    size: int
    frontmatter: JsonObject | None

    @property
    def uri(self) -> str:
        return skill_uri(self.parts)

    @property
    def mime_type(self) -> str | None:
        """What its name says, alike on all systems for what skills are written in."""
        if self.path.suffix.lower() == ".md":
            return _MARKDOWN
        guess, compression = mimetypes.guess_type(self.path.name)
        return guess if compression is None else None

    def read(self) -> bytes:
        """Read it; as `read_bytes`."""
        return read_bytes(self.path)

    def to_wire(self) -> Resource:
        said = self.frontmatter or {}
        return Resource(
            uri=self.uri,
            name=said.get("name", self.path.name),
            description=said.get("description"),
            mime_type=self.mime_type,
            size=self.size,
        )


@attrs.frozen
class Catalog:
    """What a server offers. Nothing in it is changed.

    Attributes:
      skills: By the URI of their ``SKILL.md``, in the order of these.
      files: By their path, as a URI without its scheme and its escapes.
      directories: What lies directly in each, by URI.
      faults: Of skills that are left out.

    """

    skills: dict[str, Skill] = attrs.field(factory=dict[str, Skill])
    files: dict[str, ServedFile] = attrs.field(factory=dict[str, ServedFile])
    directories: dict[str, list[Resource]] = attrs.field(factory=dict[str, "list[Resource]"])
    faults: tuple[InvalidSkill, ...] = ()

    def manifest(self, uri: str) -> ServedFile:
        """Give the ``SKILL.md`` of a skill."""
        return self.files[_path_of(self.skills[uri])]


def _path_of(skill: Skill) -> str:
    # The names of skills and of what they lie in have no escapes.
    return skill.uri.removeprefix("skill://")


def read_catalog(roots: Iterable[Path], digests: FileDigests) -> Catalog:
    """Look at what lies on disk. What is no skill is a fault, and the others are there.

    Args:
      roots: Resolved directories, of skills or of a single one.
      digests: Of the last time.

    """
    catalog = Catalog()
    faults: list[InvalidSkill] = []
    for root in roots:
        for skill in find_skills(root, faults):
            try:
                _add(catalog, root, skill, digests)
            except InvalidSkill as fault:
                faults.append(fault)
            except (OSError, PathEscapeError) as exc:
                faults.append(InvalidSkill(skill, f"it cannot be read ({exc})"))
    digests.forget_unseen()
    return attrs.evolve(
        catalog,
        skills=dict(sorted(catalog.skills.items())),
        directories=_directories(catalog.files.values()),
        faults=tuple(faults),
    )


def _add(catalog: Catalog, root: Path, skill: Path, digests: FileDigests) -> None:
    # The directory that was named counts where it is the skill itself.
    above = root.parent if (root / SKILL_FILE).exists() else root
    files = [_served(above, skill, path, digests) for path in find_files(skill)]
    manifest = next((each for each in files if each.frontmatter is not None), None)
    if manifest is None or manifest.frontmatter is None:
        raise InvalidSkill(skill, f"its {SKILL_FILE} is gone")
    _check_frontmatter(manifest.path, manifest.frontmatter)
    _check_place(manifest)
    if manifest.uri in catalog.skills:
        raise InvalidSkill(skill, f"there is another skill at {manifest.uri}")
    resources = [SkillResource(uri=each.uri, digest=each.digest, size=each.size) for each in files]
    catalog.skills[manifest.uri] = Skill(
        uri=manifest.uri, frontmatter=manifest.frontmatter, resources=resources
    )
    catalog.files.update({"/".join(each.parts): each for each in files})


def _served(above: Path, skill: Path, path: Path, digests: FileDigests) -> ServedFile:
    known = digests.of(path)
    # Not of the skills inside of this one: they are asked for themselves.
    said = _frontmatter(path, known) if path == skill / SKILL_FILE else None
    parts = path.relative_to(above).parts
    return ServedFile(path, parts, known.digest, known.size, said)


def _frontmatter(path: Path, known: Known) -> JsonObject:
    if known.frontmatter is None:
        assert known.data is not None
        try:
            known.frontmatter = read_frontmatter(known.data.decode())
        except UnicodeDecodeError:
            raise InvalidSkill(path, "it is not in UTF-8") from None
        except FrontmatterError as exc:
            raise InvalidSkill(path, str(exc)) from exc
    return known.frontmatter


def _check_frontmatter(path: Path, said: JsonObject) -> None:
    name, description, metadata = map(said.get, ("name", "description", "metadata"))
    if not is_skill_name(name):
        raise InvalidSkill(
            path,
            "the name in its front matter has 1 to 64 lowercase letters, digits and single "
            f"hyphens inside, not {name!r:.80}",
        )
    if name != path.parent.name:
        raise InvalidSkill(path, f"its name is {name!r}, and its directory has another one")
    if not (isinstance(description, str) and description.strip()):
        raise InvalidSkill(path, "its front matter needs a description")
    if is_object(metadata) and any(key.startswith(_RESERVED) for key in metadata):
        raise InvalidSkill(path, f"metadata under {_RESERVED} belongs to the protocol")


def _check_place(manifest: ServedFile) -> None:
    for part in manifest.parts[:-1]:
        if not is_skill_name(part):
            raise InvalidSkill(
                manifest.path,
                f"{part!r} becomes a part of its URI, and is named as a skill is",
            )


def _directories(files: Iterable[ServedFile]) -> dict[str, list[Resource]]:
    found: dict[str, dict[str, Resource]] = {}
    for file in files:
        entry = file.to_wire()
        for end in range(len(file.parts) - 1, 0, -1):
            uri = skill_uri(file.parts[:end])
            found.setdefault(uri, {})[entry.uri] = entry
            entry = Resource(uri=uri, name=file.parts[end - 1], mime_type=DIRECTORY_TYPE)
    return {uri: [children[each] for each in sorted(children)] for uri, children in found.items()}
