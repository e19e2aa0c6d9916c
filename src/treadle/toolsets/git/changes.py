"""Changes in a working folder since a commit, file by file: both texts in full, and which of their lines differ.

Git runs once, with the whole of each file as context, so that texts and lines are consistent. Untracked files
count as new. The texts of files that may contain secrets are left out, as are those of binary files.
"""

import re
from asyncio import to_thread
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from treadle.files.problems import WorkspaceProblem, printable_name
from treadle.files.secret_files import is_secret_file
from treadle.files.workspace import Workspace
from treadle.toolsets.git.history import DIFF, resolve_commit
from treadle.toolsets.git.sandboxed import GitFailed, NoRepository, SandboxedGit, git_failure
from treadle.toolsets.git.working_tree import STATUS_QUERY, parse_status, unquote_path
from treadle.toolsets.workspace.file_contents import decode_file_text

Status = Literal["added", "removed", "changed"]

MAX_UNTRACKED = 200  # files that are read
CONTEXT = 3  # lines around a difference
_WHOLE = ("--raw", "--patch", "--no-renames", "--unified=10000000", "--inter-hunk-context=0")
_RAW = re.compile(r":(\d+) (\d+) \S+ \S+ ([A-Z])\t(.+)")
_REGULAR = "100"  # how the mode of a regular file begins
_LETTERS: dict[str, Status] = {"A": "added", "D": "removed"}


class FileChange(Struct, frozen=True):
    """A changed file. Texts are empty where there is none, or where `problem` says why they are missing.

    before, after   the whole text, before and after
    removed, added  the lines that differ, counted from 1: of the text before, and of that after
    diff            the differing lines with a few around them, as in a unified diff
    """

    path: str
    status: Status
    before: str = ""
    after: str = ""
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    diff: str = ""
    problem: str = ""


async def changes_since(path: str | Path, commit: str, *, unsafe: bool = False) -> tuple[FileChange, ...]:
    """Return what differs between a commit and the files as they are, beneath a folder of a repository or in one file."""
    root, paths = await to_thread(_find_root, Path(path))
    git = SandboxedGit(root, unsafe=unsafe)
    base = await resolve_commit(git, commit)
    ran = await git.try_read(*DIFF, *_WHOLE, base, "--", *paths)
    if ran.truncated:
        raise GitFailed(f"The change since {commit} is too large to be read whole; name a folder or a file.")
    if ran.code != 0:
        raise git_failure("git diff", ran)
    state = parse_status(await git.read(*STATUS_QUERY, "--untracked-files=all", "--", *paths))
    new = [change.path for change in state.changes if change.untracked]
    untracked = await to_thread(_read_untracked, Workspace(git.folder), new)
    return tuple(sorted([*parse_changes(ran.output), *untracked], key=lambda change: change.path))


def _find_root(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the root of a path's repository, and the path from there; none where it is the root itself."""
    where = path.resolve()
    root = next((folder for folder in (where, *where.parents) if (folder / ".git").exists()), None)
    if root is None:
        raise NoRepository(f"{printable_name(str(path))} is in no git repository, so there is no change to read.")
    if not (root / ".git").is_dir():
        raise NoRepository(f"{root} is a linked worktree or a submodule; changes are read in the repository's own folder only.")
    return root, () if where == root else (where.relative_to(root).as_posix(),)


def parse_changes(text: str) -> list[FileChange]:
    """Parse git's output: a line for each file, then the whole of each. Pure."""
    lines = text.split("\n")
    heads = [found for line in lines if (found := _RAW.fullmatch(line))]
    starts = [number for number, line in enumerate(lines) if line.startswith("diff --git ")]  # a file's lines have a mark
    if len(starts) != len(heads):
        raise GitFailed(
            "What git says of the change can't be read, since a merge is under way or files changed meanwhile. Try again."
        )
    ends = [*starts[1:], len(lines)]
    return [_parse_change(head, lines[start:end]) for head, start, end in zip(heads, starts, ends, strict=False)]


def _parse_change(head: re.Match[str], block: Sequence[str]) -> FileChange:
    path, modes = unquote_path(head[4]), [mode for mode in (head[1], head[2]) if mode.strip("0")]
    status = _LETTERS.get(head[3], "changed")
    if problem := _find_problem(path, modes, block):
        return FileChange(path, status, problem=problem)
    body = [line for line in _hunk_lines(block) if line[:1] in (" ", "-", "+")]
    before, after = [line for line in body if line[0] != "+"], [line for line in body if line[0] != "-"]
    return FileChange(
        path,
        status,
        "".join([f"{line[1:]}\n" for line in before]),
        "".join([f"{line[1:]}\n" for line in after]),
        tuple([number for number, line in enumerate(before, 1) if line[0] == "-"]),
        tuple([number for number, line in enumerate(after, 1) if line[0] == "+"]),
        "\n".join(_context_lines(body)),
    )


def _find_problem(path: str, modes: Sequence[str], block: Sequence[str]) -> str:
    if is_secret_file(path):
        return "It may hold secrets, so it isn't read."
    if any(not mode.startswith(_REGULAR) for mode in modes):
        return "It is no regular file."
    return "It is binary." if any(line.startswith("Binary files ") for line in block) else ""


def _hunk_lines(block: Sequence[str]) -> Sequence[str]:
    """Return the lines of the file: what follows the header of its one hunk; none where only its mode has changed."""
    return next((block[number + 1 :] for number, line in enumerate(block) if line.startswith("@@ ")), ())


def _context_lines(body: Sequence[str]) -> Iterator[str]:
    """Yield the lines that differ and those around them, with a header before each run of lines."""
    near = {
        each
        for number, line in enumerate(body)
        if line[0] != " "
        for each in range(max(0, number - CONTEXT), min(len(body), number + CONTEXT + 1))
    }
    before = after = 1
    for number, line in enumerate(body):
        if number in near:
            if number - 1 not in near:
                yield f"@@ -{before} +{after} @@"
            yield line
        before, after = before + (line[0] != "+"), after + (line[0] != "-")


def _read_untracked(workspace: Workspace, paths: Sequence[str]) -> list[FileChange]:
    return [
        _read_new_file(workspace, path)
        if number < MAX_UNTRACKED
        else FileChange(path, "added", problem="There are too many new files.")
        for number, path in enumerate(paths)
    ]


def _read_new_file(workspace: Workspace, path: str) -> FileChange:
    """Return a file that git doesn't track yet."""
    try:
        text = decode_file_text(workspace.read_bytes(path))
    except WorkspaceProblem as error:
        return FileChange(path, "added", problem=str(error))
    if text is None:
        return FileChange(path, "added", problem="It is binary.")
    lines = text.readable.removesuffix("\n").split("\n") if text.readable else []
    diff = "\n".join(["@@ -0 +1 @@", *[f"+{line}" for line in lines]]) if lines else ""
    return FileChange(path, "added", after=text.readable, added=tuple(range(1, len(lines) + 1)), diff=diff)
