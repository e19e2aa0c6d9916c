"""Errors of paths, files and edits; each message is a sentence for the model that says what to do.

WorkspaceProblem
├── BadPath           not a valid file name
├── OutsideWorkspace  leads out of the workspace
├── MissingPath       doesn't exist
├── NotAFile          a folder, a pipe, a device, a broken link
├── NotAFolder        a file where a folder is needed
├── GuardedPath       a path that is never written, such as `.git`
├── SecretFile        a file that is not shown to models
├── FileTooLarge      more than is read or written at once
├── BinaryFile        not text
├── FileNotRead       an edit of a file that this run hasn't read
├── FileChanged       an edit of a file that has changed since it was read
├── BadEdit           an edit that doesn't fit the file
├── BadSearch         an invalid search pattern
└── SystemRefused     by the system: permissions, a full disk

Each is both a `TreadleError`, for programs, and a `ToolProblem`, for models.
"""

import errno

from treadle.core.errors import ToolProblem, TreadleError


class WorkspaceProblem(TreadleError, ToolProblem):
    """The root of the tree. A tool may let it propagate: the model then reads the message."""


class BadPath(WorkspaceProblem):
    """Not a valid file name."""


class OutsideWorkspace(WorkspaceProblem):
    """A path that leads out of the workspace."""


class MissingPath(WorkspaceProblem):
    """A path that doesn't exist."""


class NotAFile(WorkspaceProblem):
    """A folder, a pipe, a device, a broken link."""


class NotAFolder(WorkspaceProblem):
    """A file where a folder is needed."""


class GuardedPath(WorkspaceProblem):
    """A path that is never written."""


class SecretFile(WorkspaceProblem):
    """A file that is not shown to models."""


class FileTooLarge(WorkspaceProblem):
    """More than is read or written at once."""


class BinaryFile(WorkspaceProblem):
    """A file that isn't text."""


class FileNotRead(WorkspaceProblem):
    """An edit of a file that this run hasn't read."""


class FileChanged(WorkspaceProblem):
    """An edit of a file that has changed since it was read."""


class BadEdit(WorkspaceProblem):
    """An edit that doesn't fit the file."""


class BadSearch(WorkspaceProblem):
    """An invalid search pattern."""


class SystemRefused(WorkspaceProblem):
    """Refused by the system: permissions, a full disk."""


def printable_name(name: str) -> str:
    """Return a name for one line of text: quoted if it isn't printable, so that no name can pretend to be more lines."""
    return name if name.isprintable() else ascii(name)


def outside_error(path: str) -> OutsideWorkspace:
    """Return the error for a path that leads out."""
    return OutsideWorkspace(
        f"{printable_name(path)} is outside of the workspace. Use a path relative to its folder, such as src/main.py."
    )


def missing_error(path: str) -> MissingPath:
    """Return the error for a path that doesn't exist."""
    return MissingPath(
        f"There is no {printable_name(path)} in the workspace. List the folder or search for the file to find its path."
    )


def error_from_os(error: OSError, path: str) -> WorkspaceProblem:
    """Return an operating system error about a path as a problem."""
    name = printable_name(path)
    match error.errno:
        case errno.EXDEV:
            return outside_error(path)
        case errno.ENOENT:
            return missing_error(path)
        case errno.ELOOP:
            return NotAFile(f"{name} goes through symbolic links that are not followed. Use the path of the file itself.")
        case errno.ENOTDIR:
            return NotAFolder(f"{name} is not a folder, or one of the folders on the way to it is a file or a link.")
        case errno.ENXIO | errno.EISDIR:
            return NotAFile(f"{name} is not a file with content.")
        case errno.ENAMETOOLONG:
            return BadPath("The path is too long.")
        case errno.ENOTEMPTY | errno.EEXIST:
            return SystemRefused(f"{name} is a folder that isn't empty. Delete what is in it first.")
        case _:
            return SystemRefused(f"The system refused {name}: {error.strerror}.")
