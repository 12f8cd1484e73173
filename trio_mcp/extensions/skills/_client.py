"""Skills on the client's side: listed, fetched when they are needed, and verified."""

from __future__ import annotations

import hashlib
import logging
import math
from typing import TYPE_CHECKING, Final

import attrs

from trio_mcp._checks import check_flag, check_kind, check_text
from trio_mcp._codec import excerpt
from trio_mcp._codec._base64 import decode_base64
from trio_mcp._rpc._repeats import Repeats
from trio_mcp.client import Client, ClientExtension, ClientSession, Pages
from trio_mcp.errors import InvalidResponse
from trio_mcp.extensions._reading import read_one
from trio_mcp.types import (
    MODERN_PROTOCOL_VERSIONS,
    PaginatedRequestParams,
    Request,
    TextResourceContents,
)
from trio_mcp.types._base import is_array, is_object

from ._errors import (
    InvalidSkillEntry,
    SkillDigestMismatch,
    SkillFrontmatterMismatch,
    SkillSizeMismatch,
    SkillsNotSupported,
    UnlistedSkillFile,
)
from ._frontmatter import FrontmatterError, read_frontmatter, require_yaml
from ._held import HeldSkill, hold
from ._uris import is_another_spelling, path_in
from ._wire import (
    MAX_SKILL_BYTES,
    SKILLS,
    GetSkillRequestParams,
    GetSkillResult,
    ListSkillsResult,
    ReadDirectoryRequestParams,
    ReadDirectoryResult,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.types import BlobResourceContents, JsonObject, JsonValue, Resource

logger: Final = logging.getLogger("trio_mcp.extensions")


class SkillsClientExtension(ClientExtension):
    """Declares that the client knows skills; `SkillsClient` works with them.

    Args:
      older_revisions: Whether it is declared to servers of revisions before 2026-07-28, too, for
        which the extension was not written.

    Raises:
      TypeError: if that is something else.

    """

    identifier = SKILLS

    def __init__(self, *, older_revisions: bool = False) -> None:
        check_flag("older_revisions", older_revisions)
        if not older_revisions:
            self.protocol_versions = frozenset(MODERN_PROTOCOL_VERSIONS)


@attrs.frozen
class VerifiedFile:
    """A file of a skill that is what its entry says. That says nothing of who wrote it.

    Attributes:
      skill: Whose it is.
      uri: Of the file.
      data: Its bytes.
      mime_type: What the server says that they are.

    """

    skill: HeldSkill
    uri: str
    data: bytes
    mime_type: str | None

    @property
    def text(self) -> str:
        """The bytes as UTF-8.

        Raises:
          UnicodeDecodeError: if they are none.

        """
        return self.data.decode()


class SkillsClient:
    """Works with the skills of one server.

    ::

        async with Client(url, extensions=[SkillsClientExtension()]) as client:
            skills = SkillsClient(client, server="office")
            async for skill in skills.iter_skills():
                print(skill.name, skill.description)

    Nothing is fetched ahead: a file is read when `read_file` asks for it, each time anew, and
    handed over only if it has the size and the digest of the entry that was held.

    Args:
      client: Connected to the server: a `Client`, or a `ClientSession`, such as one of a
        `ClientSessionGroup`.
      server: What the application calls the server. With the URI it identifies a skill: never is
        a skill of one server taken for that of another.

    Raises:
      TypeError: if an argument is of another kind.
      ValueError: if the label is empty.
      ModuleNotFoundError: if PyYAML is not installed (the extra ``skills``).

    """

    def __init__(self, client: Client | ClientSession, *, server: str) -> None:
        check_kind("client", client, (Client, ClientSession))
        check_text("server", server)
        if not server:
            raise ValueError("server: expected a label that is not empty")
        require_yaml("SkillsClient")
        self._client = client
        self._repeats = Repeats()
        self.server: Final = server

    @property
    def is_supported(self) -> bool:
        """Whether the server declared skills."""
        return self._settings() is not None

    @property
    def reads_directories(self) -> bool:
        """Whether the server declared that its directories may be read."""
        settings = self._settings()
        return settings is not None and settings.get("directoryRead") is True

    @property
    def _session(self) -> ClientSession:
        # Asked for anew: a client may be entered again.
        return self._client.session if isinstance(self._client, Client) else self._client

    def _settings(self) -> JsonObject | None:
        said = self._session.server_capabilities
        declared: JsonValue = ((said and said.extensions) or {}).get(SKILLS)
        # What is no object is not declared.
        return declared if is_object(declared) else None

    def _require(self) -> None:
        if not self.is_supported:
            raise SkillsNotSupported(f"The server {self.server!r} did not declare skills")

    # Entries

    async def list_skills(
        self, *, cursor: str | None = None
    ) -> tuple[list[HeldSkill], str | None]:
        """Ask for one page of the skills; `iter_skills` goes through all of them.

        A server may have more than it lists. Entries that are not what the extension says are
        left out, and logged.

        Args:
          cursor: Of the page; None for the first.

        Returns:
          The skills, and the cursor of the next page; None on the last one.

        Raises:
          SkillsNotSupported: if the server did not declare skills.
          MCPError: as `Client.list_tools`.

        """
        self._require()
        params = PaginatedRequestParams(cursor=cursor)
        page = await self._session.send_request(
            Request(method="skills/list", params=params), ListSkillsResult
        )
        held: list[HeldSkill] = []
        for entry in page.skills:
            try:
                held.append(hold(self.server, entry))
            except InvalidSkillEntry as fault:
                self._repeats.warn(logger, "A skill of %r is left out: %s", self.server, fault)
        return held, page.next_cursor

    def iter_skills(self) -> Pages[HeldSkill]:
        """Go through all listed skills; see `list_skills`."""

        async def fetch(cursor: str | None) -> tuple[Sequence[HeldSkill], str | None]:
            return await self.list_skills(cursor=cursor)

        return Pages("skills/list", fetch)

    async def get_skill(self, uri: str) -> HeldSkill:
        """Ask for the entry of a skill as it is now, whether or not it is listed.

        Args:
          uri: Of its ``SKILL.md``.

        Raises:
          SkillsNotSupported: if the server did not declare skills.
          InvalidSkillEntry: if the entry is not what the extension says, or of another skill.
          MCPError: -32602 if there is no such skill.

        """
        self._require()
        params = GetSkillRequestParams(uri=uri)
        reply = await self._session.send_request(
            Request(method="skills/get", params=params), GetSkillResult
        )
        skill = hold(self.server, reply.skill)
        if skill.uri != uri:
            raise InvalidSkillEntry(
                f"{excerpt(uri)} was asked for, and the entry is of {excerpt(skill.uri)}"
            )
        return skill

    # Files

    async def read_file(
        self, skill: HeldSkill, uri: str | None = None, *, allow_dynamic: bool = False
    ) -> VerifiedFile:
        """Read a file of a skill, and verify it.

        Of a ``SKILL.md`` the front matter is compared with the entry's, too.

        Args:
          skill: As this object gave it.
          uri: Of the file; of the ``SKILL.md`` if not given.
          allow_dynamic: Whether to read files that the server could not tell beforehand, of a
            dynamic skill: their size and digest are not known then.

        Raises:
          UnlistedSkillFile: if the entry does not have this file. Nothing was asked for.
          SkillSizeMismatch, SkillDigestMismatch, SkillFrontmatterMismatch: if what came is not
            what the entry says.
          InvalidResponse: if what came is not the contents of one file.
          ValueError: if the skill is another server's.
          MCPError: as `Client.read_resource`.

        """
        check_kind("skill", skill, HeldSkill)
        check_flag("allow_dynamic", allow_dynamic)
        if skill.server != self.server:
            raise ValueError(
                f"skill: {skill.uri} of {skill.server!r} is read there, and not from "
                f"{self.server!r}"
            )
        wanted = skill.uri if uri is None else uri
        _check_listed(skill, wanted, allow_dynamic)
        # What is kept may be older than the entry.
        file = _file_of(skill, await read_one(self._client, wanted, cache_mode="bypass"))
        _verify(file)
        return file

    # Directories

    async def list_directory(
        self, uri: str, *, cursor: str | None = None
    ) -> tuple[list[Resource], str | None]:
        """Ask for one page of what lies directly in a directory.

        Directories among it have the MIME type ``inode/directory``.

        Args:
          uri: Of the directory, without a slash at its end: of a skill, its ``root``.
          cursor: Of the page; None for the first.

        Returns:
          The resources, and the cursor of the next page; None on the last one.

        Raises:
          SkillsNotSupported: if the server did not declare that directories may be read.
          MCPError: -32602 if there is no such directory.

        """
        if not self.reads_directories:
            raise SkillsNotSupported(
                f"The server {self.server!r} did not declare that directories may be read"
            )
        params = ReadDirectoryRequestParams(uri=uri, cursor=cursor)
        page = await self._session.send_request(
            Request(method="resources/directory/read", params=params), ReadDirectoryResult
        )
        return page.resources, page.next_cursor

    def iter_directory(self, uri: str) -> Pages[Resource]:
        """Go through all that lies directly in a directory; see `list_directory`."""

        async def fetch(cursor: str | None) -> tuple[Sequence[Resource], str | None]:
            return await self.list_directory(uri, cursor=cursor)

        return Pages("resources/directory/read", fetch)


def _check_listed(skill: HeldSkill, uri: str, allow_dynamic: bool) -> None:
    if not skill.is_dynamic:
        if uri not in skill.files:
            raise UnlistedSkillFile(f"{excerpt(uri)} is no file of {skill.uri}")
        return
    if not allow_dynamic:
        raise UnlistedSkillFile(
            f"The files of {skill.uri} are not known beforehand, so they cannot be verified: "
            "allow_dynamic=True reads them all the same"
        )
    if path_in(uri, skill.root) is None:
        raise UnlistedSkillFile(f"{excerpt(uri)} does not lie in {skill.root}")
    if is_another_spelling(uri, skill.uri, skill.root):
        # Its front matter would not be compared.
        raise UnlistedSkillFile(f"{excerpt(uri)} is another spelling of {skill.uri}")


def _file_of(
    skill: HeldSkill, content: TextResourceContents | BlobResourceContents
) -> VerifiedFile:
    uri = content.uri
    if isinstance(content, TextResourceContents):
        data = content.text.encode("utf-8", "surrogatepass")
    else:
        try:
            data = decode_base64(content.blob)
        except ValueError as exc:
            raise InvalidResponse(f"resources/read: {excerpt(uri)} is no Base64") from exc
    # Of files that were listed the size is known, and compared.
    if skill.is_dynamic and len(data) > MAX_SKILL_BYTES:
        raise SkillSizeMismatch(
            f"{excerpt(uri)} has {len(data)} bytes, and a skill {MAX_SKILL_BYTES} at most"
        )
    return VerifiedFile(skill, uri, data, content.mime_type)


def _verify(file: VerifiedFile) -> None:
    listed = file.skill.files.get(file.uri)
    if listed is not None:
        if len(file.data) != listed.size:
            raise SkillSizeMismatch(
                f"{excerpt(file.uri)} has {len(file.data)} bytes, and {listed.size} by its entry"
            )
        digest = f"sha256:{hashlib.sha256(file.data).hexdigest()}"
        if digest != listed.digest:
            raise SkillDigestMismatch(
                f"{excerpt(file.uri)} has the digest {digest}, and {listed.digest} by its entry"
            )
    if file.uri == file.skill.uri:
        _compare_frontmatter(file)


def _compare_frontmatter(file: VerifiedFile) -> None:
    try:
        said = read_frontmatter(file.text)
    except (FrontmatterError, UnicodeDecodeError) as exc:
        raise SkillFrontmatterMismatch(f"{excerpt(file.uri)}: {excerpt(str(exc))}") from exc
    entry = file.skill.frontmatter
    differing = sorted(
        key
        for key in {*said, *entry}
        if key not in said or key not in entry or not _is_same(said[key], entry[key])
    )
    if differing:
        raise SkillFrontmatterMismatch(
            f"{excerpt(file.uri)} says something else than its entry: "
            f"{excerpt(', '.join(differing))}"
        )


def _is_same(one: JsonValue, other: JsonValue) -> bool:
    """Compare JSON: true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or _as_double(one) == _as_double(other)
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(map(_is_same, one, other))
    same: bool = one == other
    return same


def _as_double(number: float) -> float:
    """Give what many peers have for a number, who know no others (RFC 8259, section 6)."""
    try:
        return float(number)
    except OverflowError:
        return math.nan
