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

    from ._dpop_proof import DPoPKey as DPoPKey
    from ._identifiers import is_valid_client_metadata_url as is_valid_client_metadata_url
    from ._identifiers import issuers_match as issuers_match
    from ._jwt import InvalidJwt as InvalidJwt
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
    from ._pkce import PKCEParameters as PKCEParameters
    from ._scopes import get_client_metadata_scopes as get_client_metadata_scopes
    from ._scopes import union_scopes as union_scopes
    from .server._access import AccessToken as AccessToken
    from .server._access import TokenVerifier as TokenVerifier
    from .server._access import principal_components as principal_components
    from .server._client_documents import ClientMetadataDocuments as ClientMetadataDocuments
    from .server._errors import AuthorizationErrorCode as AuthorizationErrorCode
    from .server._errors import AuthorizeError as AuthorizeError
    from .server._errors import RegistrationError as RegistrationError
    from .server._errors import RegistrationErrorCode as RegistrationErrorCode
    from .server._errors import TokenError as TokenError
    from .server._errors import TokenErrorCode as TokenErrorCode
    from .server._identity_assertions import IdentityAssertion as IdentityAssertion
    from .server._identity_assertions import IdentityAssertionVerifier as IdentityAssertionVerifier
    from .server._identity_assertions import IdentityProvider as IdentityProvider
    from .server._in_memory_provider import InMemoryOAuthProvider as InMemoryOAuthProvider
    from .server._metadata import AUTHORIZATION_PATH as AUTHORIZATION_PATH
    from .server._metadata import REGISTRATION_PATH as REGISTRATION_PATH
    from .server._metadata import REVOCATION_PATH as REVOCATION_PATH
    from .server._metadata import TOKEN_PATH as TOKEN_PATH
    from .server._metadata import build_metadata as build_metadata
    from .server._provider import AuthorizationCode as AuthorizationCode
    from .server._provider import AuthorizationParams as AuthorizationParams
    from .server._provider import BringsRoutes as BringsRoutes
    from .server._provider import IdentityAssertionParams as IdentityAssertionParams
    from .server._provider import (
        OAuthAuthorizationServerProvider as OAuthAuthorizationServerProvider,
    )
    from .server._provider import ProviderTokenVerifier as ProviderTokenVerifier
    from .server._provider import RefreshToken as RefreshToken
    from .server._redirects import construct_redirect_uri as construct_redirect_uri
    from .server._routes import create_auth_routes as create_auth_routes
    from .server._routes import validate_issuer_url as validate_issuer_url
    from .server._settings import AuthSettings as AuthSettings
    from .server._settings import ClientRegistrationOptions as ClientRegistrationOptions
    from .server._settings import RevocationOptions as RevocationOptions

__all__ = [
    "AUTHORIZATION_PATH",
    "DEFAULT_GRANT_TYPES",
    "ID_JAG_GRANT_PROFILE",
    "JWT_BEARER_GRANT_TYPE",
    "REGISTRATION_PATH",
    "REVOCATION_PATH",
    "TOKEN_PATH",
    "AccessToken",
    "AuthSettings",
    "AuthorizationCode",
    "AuthorizationCodeResult",
    "AuthorizationErrorCode",
    "AuthorizationParams",
    "AuthorizeError",
    "BringsRoutes",
    "ClientMetadataDocuments",
    "ClientRegistrationOptions",
    "DPoPKey",
    "IdentityAssertion",
    "IdentityAssertionParams",
    "IdentityAssertionVerifier",
    "IdentityProvider",
    "InMemoryOAuthProvider",
    "InvalidJwt",
    "InvalidRedirectUriError",
    "InvalidScopeError",
    "OAuthAuthorizationServerProvider",
    "OAuthClientInformationFull",
    "OAuthClientMetadata",
    "OAuthFlowError",
    "OAuthMetadata",
    "OAuthRegistrationError",
    "OAuthToken",
    "OAuthTokenError",
    "PKCEParameters",
    "ProtectedResourceMetadata",
    "ProviderTokenVerifier",
    "RefreshToken",
    "RegistrationError",
    "RegistrationErrorCode",
    "RevocationOptions",
    "TokenEndpointAuthMethod",
    "TokenError",
    "TokenErrorCode",
    "TokenVerifier",
    "build_metadata",
    "construct_redirect_uri",
    "create_auth_routes",
    "get_client_metadata_scopes",
    "is_valid_client_metadata_url",
    "issuers_match",
    "principal_components",
    "union_scopes",
    "validate_issuer_url",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "IdentityProvider": ".server._identity_assertions",
            "IdentityAssertion": ".server._identity_assertions",
            "IdentityAssertionVerifier": ".server._identity_assertions",
            "InMemoryOAuthProvider": ".server._in_memory_provider",
            "BringsRoutes": ".server._provider",
            "ClientMetadataDocuments": ".server._client_documents",
            "REVOCATION_PATH": ".server._metadata",
            "REGISTRATION_PATH": ".server._metadata",
            "TOKEN_PATH": ".server._metadata",
            "AUTHORIZATION_PATH": ".server._metadata",
            "build_metadata": ".server._metadata",
            "validate_issuer_url": ".server._routes",
            "create_auth_routes": ".server._routes",
            "AccessToken": ".server._access",
            "AuthSettings": ".server._settings",
            "AuthorizationCode": ".server._provider",
            "AuthorizationCodeResult": "._models",
            "AuthorizationErrorCode": ".server._errors",
            "AuthorizationParams": ".server._provider",
            "AuthorizeError": ".server._errors",
            "ClientRegistrationOptions": ".server._settings",
            "DEFAULT_GRANT_TYPES": "._models",
            "DPoPKey": "._dpop_proof",
            "ID_JAG_GRANT_PROFILE": "._models",
            "IdentityAssertionParams": ".server._provider",
            "InvalidJwt": "._jwt",
            "InvalidRedirectUriError": "._models",
            "InvalidScopeError": "._models",
            "JWT_BEARER_GRANT_TYPE": "._models",
            "OAuthAuthorizationServerProvider": ".server._provider",
            "OAuthClientInformationFull": "._models",
            "OAuthClientMetadata": "._models",
            "OAuthFlowError": "trio_mcp.errors",
            "OAuthMetadata": "._models",
            "OAuthRegistrationError": "trio_mcp.errors",
            "OAuthToken": "._models",
            "OAuthTokenError": "trio_mcp.errors",
            "PKCEParameters": "._pkce",
            "ProtectedResourceMetadata": "._models",
            "ProviderTokenVerifier": ".server._provider",
            "RefreshToken": ".server._provider",
            "RegistrationError": ".server._errors",
            "RegistrationErrorCode": ".server._errors",
            "RevocationOptions": ".server._settings",
            "TokenEndpointAuthMethod": "._models",
            "TokenError": ".server._errors",
            "TokenErrorCode": ".server._errors",
            "TokenVerifier": ".server._access",
            "construct_redirect_uri": ".server._redirects",
            "get_client_metadata_scopes": "._scopes",
            "is_valid_client_metadata_url": "._identifiers",
            "issuers_match": "._identifiers",
            "principal_components": ".server._access",
            "union_scopes": "._scopes",
        },
    )
