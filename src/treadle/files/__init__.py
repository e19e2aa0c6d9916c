"""Users' files: the one way to open them, and where a workspace may be. Public; each name is loaded when it is first used."""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.files.named_files import NotOpened, read_named
    from treadle.files.problems import MissingPath, WorkspaceProblem, printable_name
    from treadle.files.workspace import Workspace
    from treadle.files.workspace_folders import SAMPLES as SAMPLES_FOLDER
    from treadle.files.workspace_folders import NotAWorkspace, check_workspace, explain_workspace_refusal, workspace_at

_HOMES = {
    "MissingPath": "treadle.files.problems",
    "NotAWorkspace": "treadle.files.workspace_folders",
    "NotOpened": "treadle.files.named_files",
    "SAMPLES_FOLDER": "treadle.files.workspace_folders:SAMPLES",
    "Workspace": "treadle.files.workspace",
    "WorkspaceProblem": "treadle.files.problems",
    "check_workspace": "treadle.files.workspace_folders",
    "read_named": "treadle.files.named_files",
    "explain_workspace_refusal": "treadle.files.workspace_folders",
    "printable_name": "treadle.files.problems",
    "workspace_at": "treadle.files.workspace_folders",
}

__all__ = [
    "SAMPLES_FOLDER",
    "MissingPath",
    "NotAWorkspace",
    "NotOpened",
    "Workspace",
    "WorkspaceProblem",
    "check_workspace",
    "explain_workspace_refusal",
    "printable_name",
    "read_named",
    "workspace_at",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
