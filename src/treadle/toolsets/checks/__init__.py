"""A project's own tests: which runner it has, how to start it in the sandbox, and what came of it, in counts and places."""
