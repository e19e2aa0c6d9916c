"""Shell commands of a workspace as a tool. The sandbox is the boundary; the lists of commands are a convenience."""
