"""How requests to an authorization server fail: errors that providers raise, and OAuth names."""

from __future__ import annotations

from typing import Literal, TypeAlias

RegistrationErrorCode: TypeAlias = Literal[
    "invalid_redirect_uri",
    "invalid_client_metadata",
    "invalid_software_statement",
    "unapproved_software_statement",
]

AuthorizationErrorCode: TypeAlias = Literal[
    "invalid_request",
    "unauthorized_client",
    "access_denied",
    "unsupported_response_type",
    "invalid_scope",
    "server_error",
    "temporarily_unavailable",
    "invalid_target",
]

TokenErrorCode: TypeAlias = Literal[
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
    "invalid_target",
    "invalid_dpop_proof",
    "use_dpop_nonce",
]


class RegistrationError(Exception):
    """A client that is not registered (RFC 7591, section 3.2.2).

    Args:
      error: Which of OAuth's.
      error_description: One sentence for the client's developer. It goes to anybody who asks.

    """

    __module__ = "trio_mcp.auth"

    def __init__(self, error: RegistrationErrorCode, error_description: str | None = None) -> None:
        super().__init__(error, error_description)
        self.error: RegistrationErrorCode = error
        self.error_description = error_description


class AuthorizeError(Exception):
    """A request to the authorization endpoint that is refused (RFC 6749, section 4.1.2.1).

    Args:
      error: Which of OAuth's.
      error_description: One sentence for the client's developer.

    """

    __module__ = "trio_mcp.auth"

    def __init__(
        self, error: AuthorizationErrorCode, error_description: str | None = None
    ) -> None:
        super().__init__(error, error_description)
        self.error: AuthorizationErrorCode = error
        self.error_description = error_description


class TokenError(Exception):
    """A request to the token endpoint that is refused (RFC 6749, section 5.2).

    Args:
      error: Which of OAuth's.
      error_description: One sentence for the client's developer.

    """

    __module__ = "trio_mcp.auth"

    def __init__(self, error: TokenErrorCode, error_description: str | None = None) -> None:
        super().__init__(error, error_description)
        self.error: TokenErrorCode = error
        self.error_description = error_description
