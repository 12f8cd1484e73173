"""OAuth on the side of servers; its public names are those of `trio_mcp.auth`."""
