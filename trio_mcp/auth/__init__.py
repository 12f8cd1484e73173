"""OAuth: how a client gets a token, and a server knows who asks.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio_mcp._exports import lazy_exports

if TYPE_CHECKING:
    from trio_mcp._rpc._exchange import Principal as Principal
    from trio_mcp.errors import InsufficientScopeError as InsufficientScopeError
    from trio_mcp.errors import OAuthFlowError as OAuthFlowError
    from trio_mcp.errors import OAuthRegistrationError as OAuthRegistrationError
    from trio_mcp.errors import OAuthTokenError as OAuthTokenError

    from ._client_document import (
        create_client_metadata_document as create_client_metadata_document,
    )
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
    from ._pieces import (
        build_oauth_authorization_server_metadata_discovery_urls as build_oauth_authorization_server_metadata_discovery_urls,  # noqa: E501
    )
    from ._pieces import (
        build_protected_resource_metadata_discovery_urls as build_protected_resource_metadata_discovery_urls,  # noqa: E501
    )
    from ._pieces import create_client_registration_request as create_client_registration_request
    from ._pieces import create_oauth_metadata_request as create_oauth_metadata_request
    from ._pieces import extract_field_from_www_auth as extract_field_from_www_auth
    from ._pieces import (
        extract_resource_metadata_from_www_auth as extract_resource_metadata_from_www_auth,
    )
    from ._pieces import extract_scope_from_www_auth as extract_scope_from_www_auth
    from ._pieces import handle_auth_metadata_response as handle_auth_metadata_response
    from ._pieces import handle_protected_resource_response as handle_protected_resource_response
    from ._pieces import handle_registration_response as handle_registration_response
    from ._pieces import handle_token_response_scopes as handle_token_response_scopes
    from ._pieces import validate_authorization_response_iss as validate_authorization_response_iss
    from ._pieces import validate_metadata_issuer as validate_metadata_issuer
    from ._pkce import PKCEParameters as PKCEParameters
    from ._scopes import get_client_metadata_scopes as get_client_metadata_scopes
    from ._scopes import union_scopes as union_scopes
    from ._step_types import AuthorizationRefused as AuthorizationRefused
    from ._steps_registration import (
        create_client_info_from_metadata_url as create_client_info_from_metadata_url,
    )
    from ._steps_registration import credentials_match_issuer as credentials_match_issuer
    from ._steps_registration import (
        should_use_client_metadata_url as should_use_client_metadata_url,
    )
    from .client._bearer import BearerAuth as BearerAuth
    from .client._callbacks import AuthorizationCallback as AuthorizationCallback
    from .client._callbacks import OpenCallback as OpenCallback
    from .client._console import ConsoleCallback as ConsoleCallback
    from .client._enterprise import EnterpriseOAuthProvider as EnterpriseOAuthProvider
    from .client._enterprise import (
        IdentityAssertionOAuthProvider as IdentityAssertionOAuthProvider,
    )
    from .client._file_storage import FileTokenStorage as FileTokenStorage
    from .client._keyring_storage import KeyringTokenStorage as KeyringTokenStorage
    from .client._loopback import LoopbackCallback as LoopbackCallback
    from .client._oauth import OAuth as OAuth
    from .client._programs import ClientCredentialsOAuthProvider as ClientCredentialsOAuthProvider
    from .client._programs import PrivateKeyJWTOAuthProvider as PrivateKeyJWTOAuthProvider
    from .client._programs import ProviderOptions as ProviderOptions
    from .client._programs import SignedJWTParameters as SignedJWTParameters
    from .client._programs import WorkloadIdentityOAuthProvider as WorkloadIdentityOAuthProvider
    from .client._programs import static_assertion_provider as static_assertion_provider
    from .client._provider import OAuthClientProvider as OAuthClientProvider
    from .client._storage import InMemoryTokenStorage as InMemoryTokenStorage
    from .client._storage import TokenStorage as TokenStorage
    from .client._storage import TokenStore as TokenStore
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
    from .server._introspection import IntrospectionTokenVerifier as IntrospectionTokenVerifier
    from .server._jwt_verifier import JWTVerifier as JWTVerifier
    from .server._metadata import AUTHORIZATION_PATH as AUTHORIZATION_PATH
    from .server._metadata import REGISTRATION_PATH as REGISTRATION_PATH
    from .server._metadata import REVOCATION_PATH as REVOCATION_PATH
    from .server._metadata import TOKEN_PATH as TOKEN_PATH
    from .server._metadata import build_metadata as build_metadata
    from .server._principal import get_access_token as get_access_token
    from .server._provider import AuthorizationCode as AuthorizationCode
    from .server._provider import AuthorizationParams as AuthorizationParams
    from .server._provider import IdentityAssertionParams as IdentityAssertionParams
    from .server._provider import (
        OAuthAuthorizationServerProvider as OAuthAuthorizationServerProvider,
    )
    from .server._provider import ProviderTokenVerifier as ProviderTokenVerifier
    from .server._provider import RefreshToken as RefreshToken
    from .server._redirects import construct_redirect_uri as construct_redirect_uri
    from .server._resource_metadata import (
        build_resource_metadata_url as build_resource_metadata_url,
    )
    from .server._resource_metadata import (
        create_protected_resource_routes as create_protected_resource_routes,
    )
    from .server._routes import create_auth_routes as create_auth_routes
    from .server._routes import validate_issuer_url as validate_issuer_url
    from .server._settings import AuthSettings as AuthSettings
    from .server._settings import ClientRegistrationOptions as ClientRegistrationOptions
    from .server._settings import DPoPSettings as DPoPSettings
    from .server._settings import RevocationOptions as RevocationOptions
    from .server._static_verifier import StaticTokenVerifier as StaticTokenVerifier
    from .server._verifier import VerifierUnavailable as VerifierUnavailable

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
    "AuthorizationCallback",
    "AuthorizationCode",
    "AuthorizationCodeResult",
    "AuthorizationErrorCode",
    "AuthorizationParams",
    "AuthorizationRefused",
    "AuthorizeError",
    "BearerAuth",
    "ClientCredentialsOAuthProvider",
    "ClientMetadataDocuments",
    "ClientRegistrationOptions",
    "ConsoleCallback",
    "DPoPKey",
    "DPoPSettings",
    "EnterpriseOAuthProvider",
    "FileTokenStorage",
    "IdentityAssertion",
    "IdentityAssertionOAuthProvider",
    "IdentityAssertionParams",
    "IdentityAssertionVerifier",
    "IdentityProvider",
    "InMemoryOAuthProvider",
    "InMemoryTokenStorage",
    "InsufficientScopeError",
    "IntrospectionTokenVerifier",
    "InvalidJwt",
    "InvalidRedirectUriError",
    "InvalidScopeError",
    "JWTVerifier",
    "KeyringTokenStorage",
    "LoopbackCallback",
    "OAuth",
    "OAuthAuthorizationServerProvider",
    "OAuthClientInformationFull",
    "OAuthClientMetadata",
    "OAuthClientProvider",
    "OAuthFlowError",
    "OAuthMetadata",
    "OAuthRegistrationError",
    "OAuthToken",
    "OAuthTokenError",
    "OpenCallback",
    "PKCEParameters",
    "Principal",
    "PrivateKeyJWTOAuthProvider",
    "ProtectedResourceMetadata",
    "ProviderOptions",
    "ProviderTokenVerifier",
    "RefreshToken",
    "RegistrationError",
    "RegistrationErrorCode",
    "RevocationOptions",
    "SignedJWTParameters",
    "StaticTokenVerifier",
    "TokenEndpointAuthMethod",
    "TokenError",
    "TokenErrorCode",
    "TokenStorage",
    "TokenStore",
    "TokenVerifier",
    "VerifierUnavailable",
    "WorkloadIdentityOAuthProvider",
    "build_metadata",
    "build_oauth_authorization_server_metadata_discovery_urls",
    "build_protected_resource_metadata_discovery_urls",
    "build_resource_metadata_url",
    "construct_redirect_uri",
    "create_auth_routes",
    "create_client_info_from_metadata_url",
    "create_client_metadata_document",
    "create_client_registration_request",
    "create_oauth_metadata_request",
    "create_protected_resource_routes",
    "credentials_match_issuer",
    "extract_field_from_www_auth",
    "extract_resource_metadata_from_www_auth",
    "extract_scope_from_www_auth",
    "get_access_token",
    "get_client_metadata_scopes",
    "handle_auth_metadata_response",
    "handle_protected_resource_response",
    "handle_registration_response",
    "handle_token_response_scopes",
    "is_valid_client_metadata_url",
    "issuers_match",
    "principal_components",
    "should_use_client_metadata_url",
    "static_assertion_provider",
    "union_scopes",
    "validate_authorization_response_iss",
    "validate_issuer_url",
    "validate_metadata_issuer",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "AUTHORIZATION_PATH": ".server._metadata",
            "DEFAULT_GRANT_TYPES": "._models",
            "ID_JAG_GRANT_PROFILE": "._models",
            "JWT_BEARER_GRANT_TYPE": "._models",
            "REGISTRATION_PATH": ".server._metadata",
            "REVOCATION_PATH": ".server._metadata",
            "TOKEN_PATH": ".server._metadata",
            "AccessToken": ".server._access",
            "AuthSettings": ".server._settings",
            "AuthorizationCallback": ".client._callbacks",
            "AuthorizationCode": ".server._provider",
            "AuthorizationCodeResult": "._models",
            "AuthorizationErrorCode": ".server._errors",
            "AuthorizationParams": ".server._provider",
            "AuthorizationRefused": "._step_types",
            "AuthorizeError": ".server._errors",
            "BearerAuth": ".client._bearer",
            "ClientCredentialsOAuthProvider": ".client._programs",
            "ClientMetadataDocuments": ".server._client_documents",
            "ClientRegistrationOptions": ".server._settings",
            "ConsoleCallback": ".client._console",
            "DPoPKey": "._dpop_proof",
            "DPoPSettings": ".server._settings",
            "EnterpriseOAuthProvider": ".client._enterprise",
            "FileTokenStorage": ".client._file_storage",
            "IdentityAssertion": ".server._identity_assertions",
            "IdentityAssertionOAuthProvider": ".client._enterprise",
            "IdentityAssertionParams": ".server._provider",
            "IdentityAssertionVerifier": ".server._identity_assertions",
            "IdentityProvider": ".server._identity_assertions",
            "InMemoryOAuthProvider": ".server._in_memory_provider",
            "InMemoryTokenStorage": ".client._storage",
            "InsufficientScopeError": "trio_mcp.errors",
            "IntrospectionTokenVerifier": ".server._introspection",
            "InvalidJwt": "._jwt",
            "InvalidRedirectUriError": "._models",
            "InvalidScopeError": "._models",
            "JWTVerifier": ".server._jwt_verifier",
            "KeyringTokenStorage": ".client._keyring_storage",
            "LoopbackCallback": ".client._loopback",
            "OAuth": ".client._oauth",
            "OAuthAuthorizationServerProvider": ".server._provider",
            "OAuthClientInformationFull": "._models",
            "OAuthClientMetadata": "._models",
            "OAuthClientProvider": ".client._provider",
            "OAuthFlowError": "trio_mcp.errors",
            "OAuthMetadata": "._models",
            "OAuthRegistrationError": "trio_mcp.errors",
            "OAuthToken": "._models",
            "OAuthTokenError": "trio_mcp.errors",
            "OpenCallback": ".client._callbacks",
            "PKCEParameters": "._pkce",
            "Principal": "trio_mcp._rpc._exchange",
            "PrivateKeyJWTOAuthProvider": ".client._programs",
            "ProtectedResourceMetadata": "._models",
            "ProviderOptions": ".client._programs",
            "ProviderTokenVerifier": ".server._provider",
            "RefreshToken": ".server._provider",
            "RegistrationError": ".server._errors",
            "RegistrationErrorCode": ".server._errors",
            "RevocationOptions": ".server._settings",
            "SignedJWTParameters": ".client._programs",
            "StaticTokenVerifier": ".server._static_verifier",
            "TokenEndpointAuthMethod": "._models",
            "TokenError": ".server._errors",
            "TokenErrorCode": ".server._errors",
            "TokenStorage": ".client._storage",
            "TokenStore": ".client._storage",
            "TokenVerifier": ".server._access",
            "VerifierUnavailable": ".server._verifier",
            "WorkloadIdentityOAuthProvider": ".client._programs",
            "build_metadata": ".server._metadata",
            "build_oauth_authorization_server_metadata_discovery_urls": "._pieces",
            "build_protected_resource_metadata_discovery_urls": "._pieces",
            "build_resource_metadata_url": ".server._resource_metadata",
            "construct_redirect_uri": ".server._redirects",
            "create_auth_routes": ".server._routes",
            "create_client_info_from_metadata_url": "._steps_registration",
            "create_client_metadata_document": "._client_document",
            "create_client_registration_request": "._pieces",
            "create_oauth_metadata_request": "._pieces",
            "create_protected_resource_routes": ".server._resource_metadata",
            "credentials_match_issuer": "._steps_registration",
            "extract_field_from_www_auth": "._pieces",
            "extract_resource_metadata_from_www_auth": "._pieces",
            "extract_scope_from_www_auth": "._pieces",
            "get_access_token": ".server._principal",
            "get_client_metadata_scopes": "._scopes",
            "handle_auth_metadata_response": "._pieces",
            "handle_protected_resource_response": "._pieces",
            "handle_registration_response": "._pieces",
            "handle_token_response_scopes": "._pieces",
            "is_valid_client_metadata_url": "._identifiers",
            "issuers_match": "._identifiers",
            "principal_components": ".server._access",
            "should_use_client_metadata_url": "._steps_registration",
            "static_assertion_provider": ".client._programs",
            "union_scopes": "._scopes",
            "validate_authorization_response_iss": "._pieces",
            "validate_issuer_url": ".server._routes",
            "validate_metadata_issuer": "._pieces",
        },
    )
