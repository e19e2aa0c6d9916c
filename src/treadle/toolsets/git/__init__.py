"""Git as tools: every git command that a repository could influence runs inside the sandbox, whatever its settings contain.

Only a push and a pull request leave it, from our own repository that holds nothing but the commits.
"""
