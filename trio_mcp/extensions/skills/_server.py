"""Skills on the server's side."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from trio_mcp._checks import check_flag, check_items, check_kind, check_whole
from trio_mcp._codec import excerpt
from trio_mcp.errors import MCPError, ResourceError, ResourceNotFoundError
from trio_mcp.mcpserver import (
    Extension,
    MethodBinding,
    PathEscapeError,
    ReadResourceContents,
    Resource,
    ResourceBinding,
    ResourceTemplate,
)
from trio_mcp.server import CacheHint, apply_cache_hint
from trio_mcp.types import INVALID_PARAMS, MODERN_PROTOCOL_VERSIONS

from ._catalog import Catalog, read_catalog
from ._disk import Disk
from ._files import FileDigests, InvalidSkill
from ._frontmatter import require_yaml
from ._pages import page_of
from ._uris import SCHEME, manifest_in
from ._wire import (
    SKILLS,
    GetSkillRequestParams,
    GetSkillResult,
    ListSkillsResult,
    ReadDirectoryRequestParams,
    ReadDirectoryResult,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from trio_mcp.mcpserver import MCPServer
    from trio_mcp.server import (
        CallNext,
        HandlerResult,
        ServerMiddleware,
        ServerRequestContext,
    )
    from trio_mcp.types import PaginatedRequestParams
    from trio_mcp.types import Resource as WireResource

    from ._catalog import ServedFile

logger: Final = logging.getLogger("trio_mcp.extensions")

NO_HINT: Final = CacheHint()

# What shows which skills there are: the disk is looked at before it is answered.
_LOOKS: Final = frozenset(
    ("resources/list", "skills/list", "skills/get", "resources/directory/read")
)


class SkillsExtension(Extension):
    """Offers directories of skills: each with a ``SKILL.md`` that says what it is for (SEP-2640).

    ::

        mcp = MCPServer("office", extensions=[SkillsExtension("skills")])

    With ``skills/invoices/SKILL.md`` there is a skill ``skill://invoices/SKILL.md``; below
    ``skills/office/`` it is ``skill://office/invoices/SKILL.md``. The files of a skill are read as
    resources, and each ``SKILL.md`` is in the list of these. Hidden files (``.git``) and
    ``__pycache__`` are no part of it.

    What lies there may change while the server runs: every list is of what is there then, and
    clients are told when the list of resources changes. A skill that is no longer a good one is
    left out, with a warning in the log, until it is. A resource of the application at the URI of
    a ``SKILL.md`` stays there.

    Args:
      directory: A directory of skills, or of a single one; or several of either.
      directory_read: Whether clients may list what lies in a directory.
      unlisted: The URIs of skills that are in no list, and served to those who know them. What
        lies in another skill is among its files all the same.
      dynamic: The URIs of skills whose files something writes anew all the time, so that a digest
        would be out of date when it is compared: their entries have none. Their front matter has
        to stay as it is. Hosts cannot verify such a skill, nor bind an approval to it, and some
        refuse it. What it lies in is dynamic, too.
      page_size: The most entries in one answer to a list; all when None.
      cache_hint: How long clients may keep entries.
      older_revisions: Whether it is offered to clients of revisions before 2026-07-28, too.

    Raises:
      InvalidSkill: if something there cannot be offered: a ``SKILL.md`` without a good front
        matter, a symbolic link, more than 512 files or 16 MiB in one skill. A `ValueError`.
      ValueError: if there is no such directory, no skill in it, or none of an unlisted URI.
      ModuleNotFoundError: if PyYAML is not installed (the extra ``skills``).

    """

    identifier = SKILLS

    def __init__(
        self,
        directory: str | Path | Sequence[str | Path],
        *,
        directory_read: bool = True,
        unlisted: Collection[str] = (),
        dynamic: Collection[str] = (),
        page_size: int | None = 50,
        cache_hint: CacheHint = NO_HINT,
        older_revisions: bool = False,
    ) -> None:
        check_flag("directory_read", directory_read)
        check_flag("older_revisions", older_revisions)
        check_items("unlisted", unlisted, str, "a list of URIs")
        check_items("dynamic", dynamic, str, "a list of URIs")
        check_kind("cache_hint", cache_hint, CacheHint)
        if page_size is not None:
            check_whole("page_size", page_size, least=1)
        require_yaml("SkillsExtension")
        self._roots = _resolved(directory)
        self._directory_read = directory_read
        self._unlisted = frozenset(unlisted)
        self._dynamic = frozenset(dynamic)
        self._page_size = page_size
        self._hint = cache_hint
        if not older_revisions:
            self.protocol_versions = frozenset(MODERN_PROTOCOL_VERSIONS)
        self._digests = FileDigests()
        # Held in threads alone, where waiting for a disk holds nothing up.
        self._looking = threading.Lock()
        self._told: frozenset[str] = frozenset()
        self._disk = Disk(self._look)
        self._catalog = self._read()
        self._check_first()

    def _check_first(self) -> None:
        for fault in self._catalog.faults:
            raise fault
        if not self._catalog.skills:
            raise ValueError(f"no SKILL.md in {', '.join(map(str, self._roots))}")
        for argument, uris in (("unlisted", self._unlisted), ("dynamic", self._dynamic)):
            for unknown in sorted(uris.difference(self._catalog.skills)):
                raise ValueError(f"{argument}: there is no skill {unknown}")

    def settings(self) -> dict[str, Any]:
        """See `Extension.settings`."""
        return {"directoryRead": True} if self._directory_read else {}

    def resources(self) -> Sequence[ResourceBinding]:
        """See `Extension.resources`."""
        return [ResourceBinding(each) for each in self._manifests().values()]

    def resource_templates(self) -> Sequence[ResourceTemplate]:
        """See `Extension.resource_templates`."""
        template = ResourceTemplate.from_function(
            self._read_path,
            SCHEME + "{+path}",
            name="skill-file",
            title="File of a skill",
            description="A file of a skill, by the URI that the skill's entry gives.",
        )
        return [template]

    def methods(self) -> Sequence[MethodBinding]:
        """See `Extension.methods`."""
        methods = [
            MethodBinding("skills/list", "PaginatedRequestParams", self._list_skills),
            MethodBinding("skills/get", GetSkillRequestParams, self._get_skill),
        ]
        if self._directory_read:
            read = MethodBinding(
                "resources/directory/read", ReadDirectoryRequestParams, self._read_directory
            )
            methods.append(read)
        return methods

    def middleware(self, server: MCPServer[Any]) -> Sequence[ServerMiddleware]:
        """See `Extension.middleware`."""
        listed = self._manifests()
        lock = threading.Lock()

        async def look_first(
            ctx: ServerRequestContext[Any, Any], call_next: CallNext
        ) -> HandlerResult:
            if ctx.method in _LOOKS:
                await self._disk.look()
                wanted = self._manifests()
                if not _is_listed(wanted, listed):
                    there = {each.uri: each for each in await server.list_resources()}
                    # A server may run in several threads.
                    with lock:
                        _update(server, there, listed, wanted)
            return await call_next(ctx)

        return [look_first]

    # What is on disk

    def _read(self) -> Catalog:
        return read_catalog(self._roots, self._digests, self._dynamic)

    def _look(self) -> None:
        # Who looks later also says later what there is.
        with self._looking:
            catalog = self._read()
            faults = frozenset(map(str, catalog.faults))
            for fault in sorted(faults - self._told):
                logger.warning("A skill is left out: %s", fault)
            self._told = faults
            self._catalog = catalog

    def _manifests(self) -> dict[str, _Manifest]:
        catalog = self._catalog
        return {
            uri: _Manifest.of(catalog.manifest(uri), self._disk)
            for uri in catalog.skills
            if uri not in self._unlisted
        }

    async def _read_path(self, path: str) -> ReadResourceContents:
        if path not in self._catalog.files:
            await self._disk.look()
        file = self._catalog.files.get(path)
        if file is None:
            raise ResourceNotFoundError(f"Unknown resource: {excerpt(SCHEME + path)}")
        return await _read(file, self._disk)

    # Handlers

    async def _list_skills(
        self, _ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams
    ) -> ListSkillsResult:
        skills = {
            uri: skill for uri, skill in self._catalog.skills.items() if uri not in self._unlisted
        }
        page, next_cursor = page_of(
            list(skills), list(skills.values()), params.cursor, self._page_size
        )
        return apply_cache_hint(ListSkillsResult(skills=page, next_cursor=next_cursor), self._hint)

    async def _get_skill(
        self, _ctx: ServerRequestContext[Any, Any], params: GetSkillRequestParams
    ) -> GetSkillResult:
        skill = self._catalog.skills.get(params.uri)
        if skill is None:
            raise _unknown("There is no such skill", params.uri)
        return apply_cache_hint(GetSkillResult(skill=skill), self._hint)

    async def _read_directory(
        self, _ctx: ServerRequestContext[Any, Any], params: ReadDirectoryRequestParams
    ) -> ReadDirectoryResult:
        children = self._catalog.directories.get(params.uri)
        if children is None:
            raise _unknown("There is no such directory", params.uri)
        if not self._catalog.is_of_a_skill(params.uri):
            children = [each for each in children if manifest_in(each.uri) not in self._unlisted]
        page, next_cursor = page_of(
            [each.uri for each in children], children, params.cursor, self._page_size
        )
        return ReadDirectoryResult(resources=page, next_cursor=next_cursor)


@attrs.define(kw_only=True, eq=False, slots=False)
class _Manifest(Resource):
    """A ``SKILL.md`` in the list of resources."""

    file: ServedFile
    disk: Disk

    @classmethod
    def of(cls, file: ServedFile, disk: Disk) -> _Manifest:
        listed = file.to_wire()
        return cls(
            uri=listed.uri,
            name=listed.name,
            description=listed.description,
            mime_type=listed.mime_type or "",
            size=listed.size,
            file=file,
            disk=disk,
        )

    async def read(self) -> str | bytes:
        return (await _read(self.file, self.disk)).content


async def _read(file: ServedFile, disk: Disk) -> ReadResourceContents:
    """Read a file as it is now, in the form in which its bytes come back unchanged."""
    try:
        data = await disk.read(file.read)
    except (FileNotFoundError, NotADirectoryError, PathEscapeError) as exc:
        raise ResourceNotFoundError(f"Unknown resource: {excerpt(file.uri)}") from exc
    except InvalidSkill as exc:
        raise ResourceError(f"{excerpt(file.uri)} cannot be offered any more: {exc.why}") from exc
    return ReadResourceContents(_as_text(data), file.mime_type)


def _is_listed(wanted: dict[str, _Manifest], listed: dict[str, _Manifest]) -> bool:
    return wanted.keys() == listed.keys() and all(
        manifest.to_wire() == listed[uri].to_wire() for uri, manifest in wanted.items()
    )


def _update(
    server: MCPServer[Any],
    there: Mapping[str, WireResource],
    listed: dict[str, _Manifest],
    wanted: dict[str, _Manifest],
) -> None:
    """Have the resources of a server be those that there are now.

    What the application has put at such a URI stays: it is looked at again the next time.
    """
    for uri in {**listed, **wanted}:
        held, want = listed.get(uri), wanted.get(uri)
        told = None if held is None else held.to_wire()
        if want is not None and want.to_wire() == told:
            continue
        if there.get(uri, told) != told:
            if want is None:
                listed.pop(uri, None)
            continue
        if held is not None:
            del listed[uri]
            with suppress(ResourceNotFoundError):
                server.remove_resource(uri)
        if want is not None:
            listed[uri] = want
            server.add_resource(want)


def _resolved(directory: str | Path | Sequence[str | Path]) -> list[Path]:
    given = [directory] if isinstance(directory, str | Path) else directory
    check_items("directory", given, (str, Path), "a path, or a list of paths")
    roots = [Path(each).resolve() for each in given]
    for root in roots:
        if not root.is_dir():
            raise ValueError(f"directory: there is no directory {root}")
    return roots


def _as_text(data: bytes) -> str | bytes:
    """Give text where its UTF-8 is the data; a null character speaks for something else."""
    if b"\0" in data:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _unknown(what: str, uri: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"{what}: {excerpt(uri)}", {"uri": excerpt(uri)})
