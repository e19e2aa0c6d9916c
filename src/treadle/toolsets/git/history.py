"""Diffs and the log as text for a model, both bounded."""

from collections.abc import Sequence

from treadle.files.problems import printable_name
from treadle.files.workspace import Workspace
from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.sandboxed import GitRefused, SandboxedGit
from treadle.toolsets.git.working_tree import STATUS_QUERY, check_revision, parse_status

MAX_SHOWN = 16_000  # characters of a difference
MAX_COLUMNS = 500
MAX_COMMITS = 200
MAX_UNTRACKED = 20
DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color")
_FORMAT = "%h %ad %an: %s"


async def format_diff(git: SandboxedGit, base: str = "", branch: str = "", files: Sequence[str] = ()) -> str:
    """Return what a branch adds to where it left `base`; without either, what isn't committed."""
    where = await _compare_arguments(git, base, branch)
    paths = _relative_paths(git, files)
    text = await git.read(*DIFF, *where, "--", *paths)
    untracked = "" if base or branch else await _list_untracked(git, paths)
    if not text.strip():
        return f"There is no difference.{untracked}"
    return f"{await _shorten_diff(git, text, where, paths)}{untracked}"


async def _compare_arguments(git: SandboxedGit, base: str, branch: str) -> list[str]:
    if not base and not branch:
        return ["HEAD"] if await commit_of(git, "HEAD") else ["--cached"]
    return [f"{await resolve_commit(git, base or 'HEAD')}...{await resolve_commit(git, branch or 'HEAD')}"]


async def resolve_commit(git: SandboxedGit, name: str) -> str:
    """Return the hash of a named commit."""
    found = await commit_of(git, check_revision(name))
    if not found:
        raise GitRefused(
            f"There is no branch or commit {printable_name(name)}. List the branches, or look at the log, to see which there are."
        )
    return found


def _relative_paths(git: SandboxedGit, files: Sequence[str]) -> list[str]:
    workspace = Workspace(git.folder, links=False)
    return [workspace.relative(path) for path in files]


async def _shorten_diff(git: SandboxedGit, text: str, where: Sequence[str], paths: Sequence[str]) -> str:
    """Return the lines that may be shown; where there are more, a list of the files comes first."""
    lines = [line if len(line) <= MAX_COLUMNS else f"{line[:MAX_COLUMNS]} […]" for line in text.rstrip("\n").split("\n")]
    kept = take_fitting_lines(lines, MAX_SHOWN)
    if len(kept) == len(lines):
        return "\n".join(lines)
    stat = (await git.read(*DIFF, "--stat=100", *where, "--", *paths)).rstrip().splitlines()
    files = take_fitting_lines(stat, MAX_SHOWN // 4)
    more = [f" [{len(stat) - len(files)} more files]", stat[-1]] if len(files) < len(stat) else []
    note = f"[{len(lines) - len(kept)} more lines of the difference. Give `files` to see those of some files only.]"
    return "\n".join([*files, *more, "", *kept, note])


def take_fitting_lines(lines: Sequence[str], most: int) -> list[str]:
    """Return as many lines as fit into so many characters."""
    kept, size = list[str](), 0
    for line in lines:
        size += len(line) + 1
        if size > most:
            break
        kept.append(line)
    return kept


async def _list_untracked(git: SandboxedGit, paths: Sequence[str]) -> str:
    changes = parse_status(await git.read(*STATUS_QUERY, "--untracked-files=normal", "--", *paths)).changes
    names = [printable_name(change.path) for change in changes if change.untracked]
    more = f" and {len(names) - MAX_UNTRACKED} more" if len(names) > MAX_UNTRACKED else ""
    return (
        f"\n[Not in the difference, because git doesn't track them yet: {', '.join(names[:MAX_UNTRACKED])}{more}]" if names else ""
    )


async def format_log(git: SandboxedGit, most: int = 20, path: str = "") -> str:
    """Return the last commits, a line each."""
    if not await commit_of(git, "HEAD"):
        return "There is no commit yet."
    count = max(1, min(most, MAX_COMMITS))
    words = ("log", f"--max-count={count}", "--date=short", f"--format={_FORMAT}", "--no-color", "--no-notes")
    text = await git.read(*words, "--", *_relative_paths(git, [path] if path else []))
    lines = [line[:MAX_COLUMNS] for line in text.splitlines()]
    return "\n".join(take_fitting_lines(lines, MAX_SHOWN)) or f"No commit has changed {printable_name(path)}."
