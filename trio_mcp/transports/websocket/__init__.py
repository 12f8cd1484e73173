"""WebSocket: a carrier that the specification leaves to its users."""
