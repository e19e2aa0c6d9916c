"""The Python environment that Treadle runs from, if inside a workspace. Commands and file tools may read it, never write it.

A process that can change it controls what Treadle does at its next start, and which bubblewrap isolates the next command.
"""

import sys
import sysconfig
from pathlib import Path

_PARTS = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")


def own_environment(workspace: Path, prefix: Path | None = None) -> tuple[Path, ...]:
    """Return the folders and files of the running environment that lie in a resolved workspace, outermost only."""
    prefix = (prefix or Path(sys.prefix)).resolve()
    if workspace in prefix.parents:
        return (prefix,)
    if workspace != prefix:
        return ()
    paths = {prefix / "pyvenv.cfg", *(Path(sysconfig.get_path(part)).resolve() for part in _PARTS)}
    inside = sorted(path for path in paths if prefix in path.parents and path.exists())
    return tuple(path for path in inside if not any(other in path.parents for other in inside))
