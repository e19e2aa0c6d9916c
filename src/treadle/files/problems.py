"""What can be wrong with a path, a file or an edit; each message is a sentence for the model that says what to do.

WorkspaceProblem
├── BadPath        nothing that could be the name of a file
├── Outside        leads out of the workspace
├── Missing        nothing there
├── NotAFile       a folder, a pipe, a device, a link that leads nowhere
├── NotAFolder     a file where a folder is needed
├── Guarded        a place that is never written, such as `.git`
├── Secret         a file that is not shown to models
├── TooLarge       more than is read or written at once
├── Binary         no text
├── NotRead        an edit of a file that this run hasn't read
├── Changed        an edit of a file that has changed since it was read
├── BadEdit        an edit that doesn't fit the file
├── BadSearch      a pattern that can't be searched for
└── Refused        by the system: permissions, a full disk

Each is both a `TreadleError`, for programs, and a `ToolProblem`, for models.
"""

import errno

from treadle.core.errors import ToolProblem, TreadleError


class WorkspaceProblem(TreadleError, ToolProblem):
    """The root of the tree. A tool may let it through: the model then reads the sentence."""


class BadPath(WorkspaceProblem):
    """Nothing that could be the name of a file."""


class Outside(WorkspaceProblem):
    """Leads out of the workspace."""


class Missing(WorkspaceProblem):
    """Nothing there."""


class NotAFile(WorkspaceProblem):
    """A folder, a pipe, a device, a link that leads nowhere."""


class NotAFolder(WorkspaceProblem):
    """A file where a folder is needed."""


class Guarded(WorkspaceProblem):
    """A place that is never written."""


class Secret(WorkspaceProblem):
    """A file that is not shown to models."""


class TooLarge(WorkspaceProblem):
    """More than is read or written at once."""


class Binary(WorkspaceProblem):
    """No text."""


class NotRead(WorkspaceProblem):
    """An edit of a file that this run hasn't read."""


class Changed(WorkspaceProblem):
    """An edit of a file that has changed since it was read."""


class BadEdit(WorkspaceProblem):
    """An edit that doesn't fit the file."""


class BadSearch(WorkspaceProblem):
    """A pattern that can't be searched for."""


class Refused(WorkspaceProblem):
    """By the system: permissions, a full disk."""


def shown(name: str) -> str:
    """A name for a line of text: as it is if it can be printed, else quoted, so that no name can pretend to be more lines."""
    return name if name.isprintable() else ascii(name)


def outside(path: str) -> Outside:
    """For a path that leads out."""
    return Outside(f"{shown(path)} is outside of the workspace. Use a path relative to its folder, such as src/main.py.")


def missing(path: str) -> Missing:
    """For a path with nothing there."""
    return Missing(f"There is no {shown(path)} in the workspace. List the folder or search for the file to find its path.")


def of_system(error: OSError, path: str) -> WorkspaceProblem:
    """What the system said about a path, as a problem."""
    name = shown(path)
    match error.errno:
        case errno.EXDEV:
            return outside(path)
        case errno.ENOENT:
            return missing(path)
        case errno.ELOOP:
            return NotAFile(f"{name} goes through symbolic links that are not followed. Use the path of the file itself.")
        case errno.ENOTDIR:
            return NotAFolder(f"{name} is not a folder, or one of the folders on the way to it is a file or a link.")
        case errno.ENXIO | errno.EISDIR:
            return NotAFile(f"{name} is not a file with content.")
        case errno.ENAMETOOLONG:
            return BadPath("The path is too long.")
        case errno.ENOTEMPTY | errno.EEXIST:
            return Refused(f"{name} is a folder that isn't empty. Delete what is in it first.")
        case _:
            return Refused(f"The system refused {name}: {error.strerror}.")
