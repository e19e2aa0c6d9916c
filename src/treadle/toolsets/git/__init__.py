"""Git as tools: every git command that a repository could have a say in runs inside the sandbox, whatever its settings contain.

Only a push and a pull request leave it, from a repository of our own that holds nothing but the commits.
"""
