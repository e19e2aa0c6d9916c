"""What a call of a workspace tool changes in its file, as data: the content before and after, for editors that show diffs."""

from typing import Any

from msgspec import Struct

from treadle.core.context import RunContext
from treadle.core.tool import ToolResult
from treadle.files.problems import WorkspaceProblem
from treadle.files.workspace import Workspace
from treadle.toolsets.workspace.file_contents import decode_file_text
from treadle.toolsets.workspace.files import WorkspaceFiles
from treadle.toolsets.workspace.tools import FlatFiles, GroupedFiles


class FileEdit(Struct, frozen=True):
    """A change of one file. `before` is None for a new one; `after` is empty for one that is deleted."""

    path: str
    before: str | None
    after: str


def find_edit(workspace: Workspace, name: str, arguments: dict[str, Any]) -> FileEdit | None:
    """Return what a call would change now. Nothing is changed. None for a call that changes no text file, or that would fail."""
    edits = _FileEdits(workspace)
    change = getattr(FlatFiles(edits), name, None) or getattr(GroupedFiles(edits), name, None)
    if change is None:
        return None
    try:
        change(RunContext(), **arguments)
    except (WorkspaceProblem, TypeError):  # the call itself reports it; or another tool's of the same name
        return None
    return edits.found


class _FileEdits(WorkspaceFiles):
    """The operations on files, which note the change instead of making it. A file needn't have been read."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.found: FileEdit | None = None

    def read(self, run: str, path: str, start: int = 1, end: int | None = None, go_on: str = "") -> ToolResult:
        """Return nothing: reading changes nothing."""
        return ToolResult("")

    def delete(self, run: str, path: str) -> str:
        """Note the content that would be deleted; nothing of a folder or a link."""
        where = self.workspace.relative(path)
        text = decode_file_text(self.workspace.read_bytes(where)) if self.workspace.real(where) == where else None
        return "" if text is None else self._told("", where, text.readable, "")

    def _check_read(self, run: str, where: str, data: bytes) -> None:
        """Accept any file: the call itself is refused where it must be."""

    def _put(self, run: str, where: str, data: bytes) -> None:
        """Write nothing."""

    def _told(self, what: str, where: str, before: str | None, after: str) -> str:
        self.found = FileEdit(where, before, after)
        return ""
