"""What a protected server publishes of itself (RFC 9728)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp._codec import dumps
from trio_mcp.auth._identifiers import PRM_SUFFIX, split_url, well_known
from trio_mcp.auth._models import ProtectedResourceMetadata
from trio_mcp.transports.http._routes import Route

from ._answers import ANY_ORIGIN, Answer, Endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio_mcp.transports.http._asgi import HttpRequest

    from ._settings import AuthSettings

CACHE: Final = (("cache-control", "public, max-age=3600"),)

ROOT_PATH: Final = f"/.well-known/{PRM_SUFFIX}"


def build_resource_metadata_url(resource_server_url: str) -> str:
    """Give the URL of a server's metadata (RFC 9728, section 3.1): the path comes behind.

    Raises:
      ValueError: if it is no http or https URL.

    """
    return well_known(str(resource_server_url), PRM_SUFFIX)


def metadata_paths(resource_url: str) -> list[str]:
    """Give the paths where metadata is published: that of its URL, and the root.

    Clients look at the root last, and some nowhere else (discovery, well-known URIs).
    """
    parts = split_url(build_resource_metadata_url(resource_url))
    assert parts is not None
    return list(dict.fromkeys((parts.path, ROOT_PATH)))


def create_protected_resource_routes(
    resource_url: str,
    authorization_servers: Sequence[str],
    scopes_supported: Sequence[str] | None = None,
    resource_name: str | None = None,
    resource_documentation: str | None = None,
) -> list[Route]:
    """Make the routes of a protected server's metadata.

    `MCPServer.streamable_http_app` has them by itself. An application in which it is mounted
    serves them at its own root, since that is where clients look::

        app = Starlette(routes=[Mount("/api", mcp.streamable_http_app()), *routes])

    Args:
      resource_url: The server's identifier: its URL, byte for byte.
      authorization_servers: The issuers whose tokens it takes; at least one.
      scopes_supported: What clients may ask for.
      resource_name: For people.
      resource_documentation: For people, too.

    Raises:
      ValueError: if it is no http or https URL, or there is no issuer.

    """
    issuers = [str(each) for each in authorization_servers]
    if not issuers:
        raise ValueError("authorization_servers is empty: clients would have nowhere to go")
    return metadata_routes(
        ProtectedResourceMetadata(
            resource=str(resource_url),
            authorization_servers=issuers,
            scopes_supported=None if scopes_supported is None else list(scopes_supported),
            resource_name=resource_name,
            resource_documentation=resource_documentation,
        )
    )


def metadata_of(settings: AuthSettings) -> ProtectedResourceMetadata | None:
    """Write the metadata of a server; None if it has no name of its own."""
    if settings.resource_server_url is None:
        return None
    scopes, dpop = settings.scopes_supported, settings.dpop
    return ProtectedResourceMetadata(
        resource=settings.resource_server_url,
        authorization_servers=settings.issuers,
        scopes_supported=settings.required_scopes if scopes is None else scopes,
        resource_name=settings.resource_name,
        resource_documentation=settings.resource_documentation,
        dpop_signing_alg_values_supported=None if dpop is None else list(dpop.algorithms),
        dpop_bound_access_tokens_required=True if dpop is not None and dpop.required else None,
    )


def metadata_routes(metadata: ProtectedResourceMetadata) -> list[Route]:
    """Make the routes where a document is published, for everybody and for every web page."""
    body = dumps(metadata.to_json())

    async def answer(_request: HttpRequest) -> Answer:
        return Answer(200, body, CACHE)

    methods = ("GET", "HEAD")
    endpoint = Endpoint(answer, methods, ANY_ORIGIN)
    return [
        Route(path, (*methods, "OPTIONS"), endpoint, takes_request=False)
        for path in metadata_paths(metadata.resource)
    ]
