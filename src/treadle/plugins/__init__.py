"""Plug-ins: assistants, models, dialects and tools, registered by entry points or named in settings."""
