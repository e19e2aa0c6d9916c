"""Commands in a sandbox: a shell line runs with the workspace, a read-only system and nothing else, and ends when its call ends.

Bubblewrap is the boundary. Lists of commands (`words`) are a convenience on top of it.
"""
