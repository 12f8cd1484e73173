"""OAuth: how a client gets a token, and a server knows who asks.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp.errors import OAuthFlowError as OAuthFlowError
    from trio_mcp.errors import OAuthRegistrationError as OAuthRegistrationError
    from trio_mcp.errors import OAuthTokenError as OAuthTokenError

    from ._models import DEFAULT_GRANT_TYPES as DEFAULT_GRANT_TYPES
    from ._models import ID_JAG_GRANT_PROFILE as ID_JAG_GRANT_PROFILE
    from ._models import JWT_BEARER_GRANT_TYPE as JWT_BEARER_GRANT_TYPE
    from ._models import AuthorizationCodeResult as AuthorizationCodeResult
    from ._models import InvalidRedirectUriError as InvalidRedirectUriError
    from ._models import InvalidScopeError as InvalidScopeError
    from ._models import OAuthClientInformationFull as OAuthClientInformationFull
    from ._models import OAuthClientMetadata as OAuthClientMetadata
    from ._models import OAuthMetadata as OAuthMetadata
    from ._models import OAuthToken as OAuthToken
    from ._models import ProtectedResourceMetadata as ProtectedResourceMetadata
    from ._models import TokenEndpointAuthMethod as TokenEndpointAuthMethod

__all__ = [
    "DEFAULT_GRANT_TYPES",
    "ID_JAG_GRANT_PROFILE",
    "JWT_BEARER_GRANT_TYPE",
    "AuthorizationCodeResult",
    "InvalidRedirectUriError",
    "InvalidScopeError",
    "OAuthClientInformationFull",
    "OAuthClientMetadata",
    "OAuthFlowError",
    "OAuthMetadata",
    "OAuthRegistrationError",
    "OAuthToken",
    "OAuthTokenError",
    "ProtectedResourceMetadata",
    "TokenEndpointAuthMethod",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "DEFAULT_GRANT_TYPES": "._models",
            "ID_JAG_GRANT_PROFILE": "._models",
            "JWT_BEARER_GRANT_TYPE": "._models",
            "AuthorizationCodeResult": "._models",
            "InvalidRedirectUriError": "._models",
            "InvalidScopeError": "._models",
            "OAuthClientInformationFull": "._models",
            "OAuthClientMetadata": "._models",
            "OAuthFlowError": "trio_mcp.errors",
            "OAuthMetadata": "._models",
            "OAuthRegistrationError": "trio_mcp.errors",
            "OAuthToken": "._models",
            "OAuthTokenError": "trio_mcp.errors",
            "ProtectedResourceMetadata": "._models",
            "TokenEndpointAuthMethod": "._models",
        },
    )
