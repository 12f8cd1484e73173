"""What a client finds wrong with the skills of a server.

::

    InvalidResponse
    └── SkillVerificationError        never raised itself
        ├── InvalidSkillEntry         the entry is not what the extension says
        ├── UnlistedSkillFile         the file is none of the entry's
        ├── SkillSizeMismatch         it has another size
        ├── SkillDigestMismatch       it has other bytes
        └── SkillFrontmatterMismatch  SKILL.md says something else of itself

    LocalError
    └── SkillsNotSupported            the server did not say that it has what was asked for
"""

from __future__ import annotations

from typing import ClassVar

from trio_mcp.errors import InvalidResponse, LocalError
from trio_mcp.types import METHOD_NOT_FOUND


class SkillVerificationError(InvalidResponse):
    """What a server gave is not what its skill's entry says; nothing of it is to be used.

    The skill may have changed: `SkillsClient.get_skill` gives its entry as it is now, which is
    to be approved anew.
    """

    __module__ = "trio_mcp.extensions"


class InvalidSkillEntry(SkillVerificationError):
    """The entry of a skill is not what the extension says, so nothing can be verified by it."""

    __module__ = "trio_mcp.extensions"


class UnlistedSkillFile(SkillVerificationError):
    """A file was asked for that is none of the skill's, as its entry has them."""

    __module__ = "trio_mcp.extensions"


class SkillSizeMismatch(SkillVerificationError):
    """A file has another size than the entry says, or is larger than a skill may be."""

    __module__ = "trio_mcp.extensions"


class SkillDigestMismatch(SkillVerificationError):
    """A file has other bytes than the entry says."""

    __module__ = "trio_mcp.extensions"


class SkillFrontmatterMismatch(SkillVerificationError):
    """The front matter of a ``SKILL.md`` is not that of the entry."""

    __module__ = "trio_mcp.extensions"


class SkillsNotSupported(LocalError, RuntimeError):
    """The server did not declare skills, or not that its directories may be read.

    A client that is pinned to a modern revision knows what a server declares after
    ``client.session.discover()``.
    """

    __module__ = "trio_mcp.extensions"

    CODE: ClassVar[int] = METHOD_NOT_FOUND
