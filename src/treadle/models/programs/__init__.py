"""The model that is a local program: its process, its prompt as plain text, its output as a reply."""
