"""What the skills extension adds to the wire (SEP-2640)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from trio_mcp.types import (
    CacheableResult,
    PaginatedRequestParams,
    PaginatedResult,
    RequestParams,
    WireModel,
    wire_field,
    wire_model,
)

if TYPE_CHECKING:
    from trio_mcp.types import JsonObject, Resource, ResultType

SKILLS: Final = "io.modelcontextprotocol/skills"
"""The identifier of the extension."""

SKILL_FILE: Final = "SKILL.md"
DIRECTORY_TYPE: Final = "inode/directory"

MAX_SKILL_FILES: Final = 512
"""Files of one skill; a server offers none with more."""

MAX_SKILL_BYTES: Final = 16 * 1024 * 1024
"""Bytes of all the files of one skill."""


@wire_model
class SkillResource(WireModel):
    """A file of a skill."""

    uri: str
    digest: str
    """``sha256:`` and 64 lowercase hexadecimal digits, of the bytes of the file."""
    size: int
    """In bytes."""


@wire_model
class Skill(WireModel):
    """The entry of a skill, as a client reads it."""

    uri: str
    """Of its ``SKILL.md``."""
    frontmatter: JsonObject
    resources: list[SkillResource] | Literal["dynamic"]
    """All its files; or that they cannot be told beforehand."""


@wire_model
class ListSkillsResult(PaginatedResult, CacheableResult):
    skills: list[Any]
    """Each a `Skill`. One that cannot be read costs no other."""
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class GetSkillResult(CacheableResult):
    skill: JsonObject
    """A `Skill`."""
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class ReadDirectoryResult(PaginatedResult):
    resources: list[Resource]
    """What lies directly in it."""
    result_type: ResultType = wire_field(
        default="complete", since="2026-07-28", always=True, foreign="extra"
    )


@wire_model
class GetSkillRequestParams(RequestParams):
    uri: str


@wire_model
class ReadDirectoryRequestParams(PaginatedRequestParams):
    uri: str
