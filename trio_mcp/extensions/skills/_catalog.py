"""All the skills of a server, as they are on disk at one moment."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from trio_mcp.mcpserver import PathEscapeError
from trio_mcp.types import Resource
from trio_mcp.types._base import is_object

from ._files import FileDigests, InvalidSkill, Known, find_files, find_skills, read_bytes
from ._frontmatter import FrontmatterError, read_frontmatter
from ._uris import SCHEME, is_skill_name, manifest_in, skill_uri
from ._wire import DIRECTORY_TYPE, SKILL_FILE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from trio_mcp.types import JsonObject

_MARKDOWN: Final = "text/markdown"

# Frontmatter, `metadata`: what belongs to the protocol.
_RESERVED: Final = "io.modelcontextprotocol/"


_Parts: TypeAlias = tuple[str, ...]


@attrs.frozen
class ServedFile:
    """A file of a skill, or of several: a nested one's are its outer one's, too."""

    path: Path
    parts: _Parts
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
        """Read it as it is now; see `read_bytes`."""
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

    skills: dict[str, JsonObject] = attrs.field(factory=dict[str, "JsonObject"])
    files: dict[str, ServedFile] = attrs.field(factory=dict[str, ServedFile])
    directories: dict[str, list[Resource]] = attrs.field(factory=dict[str, "list[Resource]"])
    faults: tuple[InvalidSkill, ...] = ()

    def manifest(self, uri: str) -> ServedFile:
        """Give the ``SKILL.md`` of a skill."""
        # The names of skills and of what they lie in have no escapes.
        return self.files[uri.removeprefix(SCHEME)]

    def is_of_a_skill(self, directory: str) -> bool:
        """Tell whether a directory, by its URI, is that of a skill or lies in one."""
        while directory.startswith(SCHEME):
            if manifest_in(directory) in self.skills:
                return True
            directory = directory.rpartition("/")[0]
        return False


@attrs.frozen
class _Place:
    """Where a skill lies on disk: in a directory that an author named."""

    root: Path
    skill: Path


@attrs.frozen
class _Places:
    """Where the skills are that have been found, by the names on their way.

    What one directory offers is not mixed up with what another does: where two had files below
    the same URI, one would be read in place of the other, and the entry of the outer skill would
    not be complete.
    """

    _skills: dict[_Parts, _Place] = attrs.field(factory=dict[_Parts, _Place])
    # One of those that lie in it, for each of the named directories.
    _within: dict[_Parts, dict[Path, _Place]] = attrs.field(
        factory=dict[_Parts, "dict[Path, _Place]"]
    )

    def take(self, parts: _Parts, place: _Place) -> None:
        """Put a skill at a place.

        Raises:
          InvalidSkill: if it cannot be there beside the others; says where they are.

        """
        uri = skill_uri((*parts, SKILL_FILE))
        ways = [parts[:end] for end in range(1, len(parts) + 1)]
        if parts in self._skills:
            other = self._skills[parts].skill
            raise InvalidSkill(place.skill, f"there is another skill at {uri}: {other}")
        outer = [self._skills[each] for each in ways if each in self._skills]
        for each in (*outer, *self._within.get(parts, {}).values()):
            if each.root != place.root:
                raise InvalidSkill(
                    place.skill,
                    f"at {uri} it would be mixed up with the skill of another directory, "
                    f"{each.skill}: one of them lies in the other there",
                )
        self._skills[parts] = place
        for way in ways:
            self._within.setdefault(way, {}).setdefault(place.root, place)


def read_catalog(
    roots: Iterable[Path], digests: FileDigests, dynamic: Collection[str] = ()
) -> Catalog:
    """Look at what lies on disk. What is no skill is a fault, and the others are there.

    Args:
      roots: Resolved directories, of skills or of a single one.
      digests: Of the last time.
      dynamic: The URIs of skills that have no digests.

    """
    catalog = Catalog()
    inner: set[_Parts] = set()
    places = _Places()
    faults: list[InvalidSkill] = []
    for root in roots:
        above = root
        for skill in find_skills(root, faults):
            if skill == root:
                # The directory that was named counts where it is a skill itself.
                above = root.parent
            try:
                tree = find_files(skill)
                files = [_served(above, skill, path, digests) for path in tree.files]
                _add(catalog, skill, files, _Place(root, skill), places)
                inner.update(each.relative_to(above).parts for each in tree.directories)
            except InvalidSkill as fault:
                faults.append(fault)
            except (OSError, PathEscapeError) as exc:
                faults.append(InvalidSkill(skill, f"it cannot be read ({exc})"))
    digests.forget_unseen()
    return attrs.evolve(
        catalog,
        skills={
            uri: {**skill, "resources": "dynamic"} if _holds(uri, dynamic) else skill
            for uri, skill in sorted(catalog.skills.items())
        },
        directories=_directories(catalog.files.values(), inner),
        faults=tuple(faults),
    )


def _holds(skill: str, dynamic: Collection[str]) -> bool:
    # The files of an inner skill are its outer one's, too: that has no stable digests either.
    return any(uri.startswith(skill.removesuffix(SKILL_FILE)) for uri in dynamic)


def _add(
    catalog: Catalog, skill: Path, files: list[ServedFile], place: _Place, places: _Places
) -> None:
    manifest = next((each for each in files if each.frontmatter is not None), None)
    if manifest is None or manifest.frontmatter is None:
        raise InvalidSkill(skill, f"its {SKILL_FILE} is gone")
    _check_frontmatter(manifest.path, manifest.frontmatter)
    _check_place(manifest)
    places.take(manifest.parts[:-1], place)
    resources = [{"uri": each.uri, "digest": each.digest, "size": each.size} for each in files]
    catalog.skills[manifest.uri] = {
        "uri": manifest.uri,
        "frontmatter": manifest.frontmatter,
        "resources": resources,
    }
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


def _directories(
    files: Iterable[ServedFile], inner: Iterable[_Parts]
) -> dict[str, list[Resource]]:
    found: dict[str, dict[str, Resource]] = {}
    for file in files:
        found.setdefault(skill_uri(file.parts[:-1]), {})[file.uri] = file.to_wire()
    for parts in inner:
        # One without any files is there, too.
        found.setdefault(skill_uri(parts), {})
        for end in range(len(parts) - 1, 0, -1):
            uri = skill_uri(parts[: end + 1])
            entry = Resource(uri=uri, name=parts[end], mime_type=DIRECTORY_TYPE)
            found.setdefault(skill_uri(parts[:end]), {})[uri] = entry
    return {uri: [children[each] for each in sorted(children)] for uri, children in found.items()}
