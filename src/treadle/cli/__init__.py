"""The command line: one module a command, imported when it is used. `main` is the way in."""
