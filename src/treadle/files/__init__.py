"""Users' files: the one way to open them, and where a workspace may be. Public; each name is loaded when it is first used."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.files.named import NotOpened, read_named
    from treadle.files.places import check_workspace, refusal, workspace_at
    from treadle.files.problems import Missing, WorkspaceProblem, shown
    from treadle.files.workspace import Workspace

_MODULES = {
    "Missing": "problems",
    "NotOpened": "named",
    "Workspace": "workspace",
    "WorkspaceProblem": "problems",
    "check_workspace": "places",
    "read_named": "named",
    "refusal": "places",
    "shown": "problems",
    "workspace_at": "places",
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


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'treadle.files' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"treadle.files.{_MODULES[name]}"), name)
    return value
