"""A project's own tests: which runner it has, how to start it in the sandbox, and the outcome with counts and locations."""
