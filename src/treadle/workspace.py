"""The public names of the tools for code: files, commands, tests and git of one folder, held in it by the system; and checkpoints.

Each is loaded when it is first used. Assistants and programs import them from here.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.toolsets.checkpoints import Change, ChangedSince, Checkpoint, Checkpoints
    from treadle.toolsets.checkpoints.around import checkpointed
    from treadle.toolsets.checks.check import check
    from treadle.toolsets.checks.tools import check_tools
    from treadle.toolsets.checks.values import Failure, Outcome, Wanted
    from treadle.toolsets.checks.words import counts_of as outcome_counts
    from treadle.toolsets.checks.words import words as outcome_words
    from treadle.toolsets.git.actions import Rules as GitRules
    from treadle.toolsets.git.copies import copy_repository, fetch_branch, link_environments
    from treadle.toolsets.git.deliver import publish, review_diff
    from treadle.toolsets.git.host import Repository, commit_paths, unsuitable
    from treadle.toolsets.git.host import facts as repository
    from treadle.toolsets.git.merge import Merged, merge_branch
    from treadle.toolsets.git.since import FileChange, changes_since
    from treadle.toolsets.git.tools import git_tools
    from treadle.toolsets.sandbox.trial import require_sandbox
    from treadle.toolsets.sandbox.values import Bounds, SandboxMissing
    from treadle.toolsets.shell.told import CommandData
    from treadle.toolsets.shell.tools import shell_tools
    from treadle.toolsets.workspace.files import FileLines
    from treadle.toolsets.workspace.finder import Outline
    from treadle.toolsets.workspace.search import Search
    from treadle.toolsets.workspace.tools import workspace_tools
    from treadle.toolsets.wrap import Together, only

_HOMES = {
    "Bounds": "sandbox.values",
    "Change": "checkpoints",
    "ChangedSince": "checkpoints",
    "Checkpoint": "checkpoints",
    "Checkpoints": "checkpoints",
    "CommandData": "shell.told",
    "Failure": "checks.values",
    "FileChange": "git.since",
    "FileLines": "workspace.files",
    "GitRules": "git.actions:Rules",
    "Merged": "git.merge",
    "Outcome": "checks.values",
    "Outline": "workspace.finder",
    "Repository": "git.host",
    "SandboxMissing": "sandbox.values",
    "Search": "workspace.search",
    "Together": "wrap",
    "Wanted": "checks.values",
    "changes_since": "git.since",
    "check": "checks.check",
    "check_tools": "checks.tools",
    "checkpointed": "checkpoints.around",
    "commit_paths": "git.host",
    "copy_repository": "git.copies",
    "fetch_branch": "git.copies",
    "git_tools": "git.tools",
    "link_environments": "git.copies",
    "merge_branch": "git.merge",
    "only": "wrap",
    "outcome_counts": "checks.words:counts_of",
    "outcome_words": "checks.words:words",
    "publish": "git.deliver",
    "repository": "git.host:facts",
    "require_sandbox": "sandbox.trial",
    "review_diff": "git.deliver",
    "shell_tools": "shell.tools",
    "unsuitable": "git.host",
    "workspace_tools": "workspace.tools",
}

__all__ = [
    "Bounds",
    "Change",
    "ChangedSince",
    "Checkpoint",
    "Checkpoints",
    "CommandData",
    "Failure",
    "FileChange",
    "FileLines",
    "GitRules",
    "Merged",
    "Outcome",
    "Outline",
    "Repository",
    "SandboxMissing",
    "Search",
    "Together",
    "Wanted",
    "changes_since",
    "check",
    "check_tools",
    "checkpointed",
    "commit_paths",
    "copy_repository",
    "fetch_branch",
    "git_tools",
    "link_environments",
    "merge_branch",
    "only",
    "outcome_counts",
    "outcome_words",
    "publish",
    "repository",
    "require_sandbox",
    "review_diff",
    "shell_tools",
    "unsuitable",
    "workspace_tools",
]


def __getattr__(name: str) -> Any:
    module, _, other = _HOMES.get(name, "").partition(":")
    if not module:
        raise AttributeError(f"module 'treadle.workspace' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"treadle.toolsets.{module}"), other or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
