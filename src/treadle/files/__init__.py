"""Users' files: the one way to open them, and where a workspace may be. Public; each name is loaded when it is first used."""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.files.named import NotOpened, read_named
    from treadle.files.places import check_workspace, refusal, workspace_at
    from treadle.files.problems import Missing, WorkspaceProblem, shown
    from treadle.files.workspace import Workspace

_HOMES = {
    "Missing": "treadle.files.problems",
    "NotOpened": "treadle.files.named",
    "Workspace": "treadle.files.workspace",
    "WorkspaceProblem": "treadle.files.problems",
    "check_workspace": "treadle.files.places",
    "read_named": "treadle.files.named",
    "refusal": "treadle.files.places",
    "shown": "treadle.files.problems",
    "workspace_at": "treadle.files.places",
}

__all__ = [
    "Missing",
    "NotOpened",
    "Workspace",
    "WorkspaceProblem",
    "check_workspace",
    "read_named",
    "refusal",
    "shown",
    "workspace_at",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
