"""The public names of the tools for code: files, commands, tests and git of one folder, held in it by the system; and checkpoints.

Each is loaded when it is first used. Assistants and programs import them from here.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

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
    "Bounds": "treadle.toolsets.sandbox.values",
    "Change": "treadle.toolsets.checkpoints",
    "ChangedSince": "treadle.toolsets.checkpoints",
    "Checkpoint": "treadle.toolsets.checkpoints",
    "Checkpoints": "treadle.toolsets.checkpoints",
    "CommandData": "treadle.toolsets.shell.told",
    "Failure": "treadle.toolsets.checks.values",
    "FileChange": "treadle.toolsets.git.since",
    "FileLines": "treadle.toolsets.workspace.files",
    "GitRules": "treadle.toolsets.git.actions:Rules",
    "Merged": "treadle.toolsets.git.merge",
    "Outcome": "treadle.toolsets.checks.values",
    "Outline": "treadle.toolsets.workspace.finder",
    "Repository": "treadle.toolsets.git.host",
    "SandboxMissing": "treadle.toolsets.sandbox.values",
    "Search": "treadle.toolsets.workspace.search",
    "Together": "treadle.toolsets.wrap",
    "Wanted": "treadle.toolsets.checks.values",
    "changes_since": "treadle.toolsets.git.since",
    "check": "treadle.toolsets.checks.check",
    "check_tools": "treadle.toolsets.checks.tools",
    "checkpointed": "treadle.toolsets.checkpoints.around",
    "commit_paths": "treadle.toolsets.git.host",
    "copy_repository": "treadle.toolsets.git.copies",
    "fetch_branch": "treadle.toolsets.git.copies",
    "git_tools": "treadle.toolsets.git.tools",
    "link_environments": "treadle.toolsets.git.copies",
    "merge_branch": "treadle.toolsets.git.merge",
    "only": "treadle.toolsets.wrap",
    "outcome_counts": "treadle.toolsets.checks.words:counts_of",
    "outcome_words": "treadle.toolsets.checks.words:words",
    "publish": "treadle.toolsets.git.deliver",
    "repository": "treadle.toolsets.git.host:facts",
    "require_sandbox": "treadle.toolsets.sandbox.trial",
    "review_diff": "treadle.toolsets.git.deliver",
    "shell_tools": "treadle.toolsets.shell.tools",
    "unsuitable": "treadle.toolsets.git.host",
    "workspace_tools": "treadle.toolsets.workspace.tools",
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

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
