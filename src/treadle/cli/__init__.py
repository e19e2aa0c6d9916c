"""The command line: one module per command in `commands`, imported when it is used. `main` is the entry point."""
