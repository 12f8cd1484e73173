"""OAuth on the side of clients; its public names are those of `trio_mcp.auth`."""
