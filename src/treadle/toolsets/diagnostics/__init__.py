"""Errors that a language server finds after an edit: `servers` finds one, `client` talks to it, `toolset` adds the errors."""
