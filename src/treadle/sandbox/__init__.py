"""Sandbox for commands: a shell line runs with the workspace, a read-only system and nothing else, and ends when its call ends.

Bubblewrap is the boundary. Lists of commands (`guard.shell_parser`) are a convenience on top of it.
"""
