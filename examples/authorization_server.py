"""A protected server that is its own authorization server, as one program.

By hand, with any client that opens a browser; ``alice`` logs in with ``wonderland``::

    python examples/authorization_server.py

Everything is in memory. A real server brings a provider that keeps what was issued, or takes the
tokens of an authorization server that is there already: `docs/howto/authorization-server.md`.
"""

from __future__ import annotations

from trio_mcp import MCPServer
from trio_mcp.auth import (
    AuthSettings,
    ClientMetadataDocuments,
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    RevocationOptions,
    get_access_token,
)

URL = "http://127.0.0.1:8000"

provider = InMemoryOAuthProvider(
    {"alice": "wonderland"},
    client_documents=ClientMetadataDocuments(),
    resources=[f"{URL}/mcp"],
)
settings = AuthSettings(
    issuer_url=URL,
    resource_server_url=f"{URL}/mcp",
    required_scopes=["notes"],
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["notes"]),
    revocation_options=RevocationOptions(enabled=True),
)
mcp = MCPServer("notes", auth=settings, auth_server_provider=provider)


@mcp.tool()
def whoami() -> str:
    """Tell in whose name the program asks."""
    token = get_access_token()
    return "nobody" if token is None else f"{token.subject}, by {token.client_id}"


if __name__ == "__main__":
    mcp.run("streamable-http", port=8000)
