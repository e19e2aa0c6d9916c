"""Public names of the coding tools: files, commands, tests and git of one folder, sandboxed by the system; and checkpoints.

Each is loaded when it is first used. Assistants and programs import them from here.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.checkpoints import ChangedSince, Checkpoint, CheckpointChange, Checkpoints
    from treadle.sandbox.probe import require_sandbox
    from treadle.sandbox.values import Bounds, SandboxMissing
    from treadle.toolsets.checkpointed import ToolChange, checkpointed
    from treadle.toolsets.checks.format import format_counts, format_outcome
    from treadle.toolsets.checks.tools import check_tools, run_checks
    from treadle.toolsets.checks.values import CheckFailure, CheckOutcome, CheckSelection
    from treadle.toolsets.diagnostics.toolset import diagnosed
    from treadle.toolsets.git.actions import GitRules
    from treadle.toolsets.git.branches import MergeResult, merge_branch
    from treadle.toolsets.git.changes import FileChange, changes_since
    from treadle.toolsets.git.copies import copy_repository, fetch_branch, link_environments
    from treadle.toolsets.git.github import GitHub, GitHubReference, GitHubReviewComment, is_github_reference
    from treadle.toolsets.git.repository import Repository, commit_paths, find_unsuitable, publish, read_repository, review_diff
    from treadle.toolsets.git.tools import git_tools
    from treadle.toolsets.shell import CommandData, shell_tools
    from treadle.toolsets.workspace.files import FileLines
    from treadle.toolsets.workspace.finder import Outline, SymbolLookup, any_definition_pattern, find_language_patterns
    from treadle.toolsets.workspace.search import FileNames, GrepResult, Search
    from treadle.toolsets.workspace.tools import workspace_tools

_HOMES = {
    "Bounds": "treadle.sandbox.values",
    "CheckpointChange": "treadle.checkpoints",
    "ChangedSince": "treadle.checkpoints",
    "Checkpoint": "treadle.checkpoints",
    "Checkpoints": "treadle.checkpoints",
    "CommandData": "treadle.toolsets.shell",
    "CheckFailure": "treadle.toolsets.checks.values",
    "FileChange": "treadle.toolsets.git.changes",
    "FileLines": "treadle.toolsets.workspace.files",
    "FileNames": "treadle.toolsets.workspace.search",
    "GitHub": "treadle.toolsets.git.github",
    "GitHubReference": "treadle.toolsets.git.github",
    "GitHubReviewComment": "treadle.toolsets.git.github",
    "GitRules": "treadle.toolsets.git.actions",
    "GrepResult": "treadle.toolsets.workspace.search",
    "MergeResult": "treadle.toolsets.git.branches",
    "CheckOutcome": "treadle.toolsets.checks.values",
    "Outline": "treadle.toolsets.workspace.finder",
    "Repository": "treadle.toolsets.git.repository",
    "SandboxMissing": "treadle.sandbox.values",
    "Search": "treadle.toolsets.workspace.search",
    "SymbolLookup": "treadle.toolsets.workspace.finder",
    "CheckSelection": "treadle.toolsets.checks.values",
    "ToolChange": "treadle.toolsets.checkpointed",
    "any_definition_pattern": "treadle.toolsets.workspace.finder",
    "changes_since": "treadle.toolsets.git.changes",
    "run_checks": "treadle.toolsets.checks.tools",
    "check_tools": "treadle.toolsets.checks.tools",
    "checkpointed": "treadle.toolsets.checkpointed",
    "diagnosed": "treadle.toolsets.diagnostics.toolset",
    "commit_paths": "treadle.toolsets.git.repository",
    "copy_repository": "treadle.toolsets.git.copies",
    "fetch_branch": "treadle.toolsets.git.copies",
    "git_tools": "treadle.toolsets.git.tools",
    "is_github_reference": "treadle.toolsets.git.github",
    "link_environments": "treadle.toolsets.git.copies",
    "merge_branch": "treadle.toolsets.git.branches",
    "format_counts": "treadle.toolsets.checks.format",
    "format_outcome": "treadle.toolsets.checks.format",
    "publish": "treadle.toolsets.git.repository",
    "read_repository": "treadle.toolsets.git.repository",
    "require_sandbox": "treadle.sandbox.probe",
    "review_diff": "treadle.toolsets.git.repository",
    "shell_tools": "treadle.toolsets.shell",
    "find_language_patterns": "treadle.toolsets.workspace.finder",
    "find_unsuitable": "treadle.toolsets.git.repository",
    "workspace_tools": "treadle.toolsets.workspace.tools",
}

__all__ = [
    "Bounds",
    "ChangedSince",
    "CheckFailure",
    "CheckOutcome",
    "CheckSelection",
    "Checkpoint",
    "CheckpointChange",
    "Checkpoints",
    "CommandData",
    "FileChange",
    "FileLines",
    "FileNames",
    "GitHub",
    "GitHubReference",
    "GitHubReviewComment",
    "GitRules",
    "GrepResult",
    "MergeResult",
    "Outline",
    "Repository",
    "SandboxMissing",
    "Search",
    "SymbolLookup",
    "ToolChange",
    "any_definition_pattern",
    "changes_since",
    "check_tools",
    "checkpointed",
    "commit_paths",
    "copy_repository",
    "diagnosed",
    "fetch_branch",
    "find_language_patterns",
    "find_unsuitable",
    "format_counts",
    "format_outcome",
    "git_tools",
    "is_github_reference",
    "link_environments",
    "merge_branch",
    "publish",
    "read_repository",
    "require_sandbox",
    "review_diff",
    "run_checks",
    "shell_tools",
    "workspace_tools",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
