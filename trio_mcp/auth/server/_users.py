"""Who may log in at the in-memory provider."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import attrs
import trio

from trio_mcp._checks import awaited, check_mapping, check_text

UserCheck: TypeAlias = Callable[[str, str], Awaitable[str | None]]
"""Takes a name and a password, and gives the person whose these are, or None."""


def check_users(users: Mapping[str, str] | UserCheck) -> UserCheck:
    """Make a check of what a program handed over.

    Raises:
      TypeError: if it is something else.

    """
    if callable(users):
        return _Asked(users).check
    check_mapping("users", users, str, "a dict of passwords by name, or an async function")
    return _Passwords(dict(users)).check


@attrs.frozen
class _Passwords:
    passwords: dict[str, str] = attrs.field(repr=False)

    async def check(self, user: str, password: str) -> str | None:
        await trio.lowlevel.checkpoint()
        expected = self.passwords.get(user, "")
        # The same work for a name that is nobody's. An empty password would be no secret.
        is_right = hmac.compare_digest(expected.encode(), password.encode())
        return user if is_right and expected else None


@attrs.frozen
class _Asked:
    ask: UserCheck

    async def check(self, user: str, password: str) -> str | None:
        subject = await awaited("users", self.ask(user, password))
        if subject is not None:
            check_text("what users returned", subject)
        return subject
