"""Where the tasks of a server are kept."""
