"""Errors that a language server finds after an edit: `client` finds a server and talks to it, `toolset` adds the errors."""
