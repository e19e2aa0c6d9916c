"""What git knows, in text for a model: differences and the history, both bounded."""

from collections.abc import Sequence

from treadle.files.problems import shown
from treadle.files.workspace import Workspace
from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.inside import Git
from treadle.toolsets.git.names import revision
from treadle.toolsets.git.problems import Refused
from treadle.toolsets.git.state import QUERY, state_of

MOST_SHOWN = 16_000  # characters of a difference
MOST_COLUMNS = 500
MOST_COMMITS = 200
MOST_UNTRACKED = 20
DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color")
_FORMAT = "%h %ad %an: %s"


async def difference(git: Git, base: str = "", branch: str = "", files: Sequence[str] = ()) -> str:
    """What a branch adds to where it left `base`; without either, what isn't committed."""
    where = await _compared(git, base, branch)
    paths = _paths(git, files)
    text = await git.read(*DIFF, *where, "--", *paths)
    untracked = "" if base or branch else await _untracked(git, paths)
    if not text.strip():
        return f"There is no difference.{untracked}"
    return f"{await _bounded(git, text, where, paths)}{untracked}"


async def _compared(git: Git, base: str, branch: str) -> list[str]:
    if not base and not branch:
        return ["HEAD"] if await commit_of(git, "HEAD") else ["--cached"]
    return [f"{await known(git, base or 'HEAD')}...{await known(git, branch or 'HEAD')}"]


async def known(git: Git, name: str) -> str:
    """The hash of a commit that somebody named."""
    found = await commit_of(git, revision(name))
    if not found:
        raise Refused(f"There is no branch or commit {shown(name)}. List the branches, or look at the log, to see which there are.")
    return found


def _paths(git: Git, files: Sequence[str]) -> list[str]:
    workspace = Workspace(git.folder, links=False)
    return [workspace.relative(path) for path in files]


async def _bounded(git: Git, text: str, where: Sequence[str], paths: Sequence[str]) -> str:
    """The lines that may be shown; where there are more, which files they are in comes first."""
    lines = [line if len(line) <= MOST_COLUMNS else f"{line[:MOST_COLUMNS]} […]" for line in text.rstrip("\n").split("\n")]
    kept = fitting(lines, MOST_SHOWN)
    if len(kept) == len(lines):
        return "\n".join(lines)
    stat = (await git.read(*DIFF, "--stat=100", *where, "--", *paths)).rstrip().splitlines()
    files = fitting(stat, MOST_SHOWN // 4)
    more = [f" [{len(stat) - len(files)} more files]", stat[-1]] if len(files) < len(stat) else []
    note = f"[{len(lines) - len(kept)} more lines of the difference. Give `files` to see those of some files only.]"
    return "\n".join([*files, *more, "", *kept, note])


def fitting(lines: Sequence[str], most: int) -> list[str]:
    """As many lines as have at most so many characters."""
    kept, size = list[str](), 0
    for line in lines:
        size += len(line) + 1
        if size > most:
            break
        kept.append(line)
    return kept


async def _untracked(git: Git, paths: Sequence[str]) -> str:
    changes = state_of(await git.read(*QUERY, "--untracked-files=normal", "--", *paths)).changes
    names = [shown(change.path) for change in changes if change.untracked]
    more = f" and {len(names) - MOST_UNTRACKED} more" if len(names) > MOST_UNTRACKED else ""
    return (
        f"\n[Not in the difference, because git doesn't track them yet: {', '.join(names[:MOST_UNTRACKED])}{more}]" if names else ""
    )


async def history(git: Git, most: int = 20, path: str = "") -> str:
    """The last commits, a line each."""
    if not await commit_of(git, "HEAD"):
        return "There is no commit yet."
    count = max(1, min(most, MOST_COMMITS))
    words = ("log", f"--max-count={count}", "--date=short", f"--format={_FORMAT}", "--no-color", "--no-notes")
    text = await git.read(*words, "--", *_paths(git, [path] if path else []))
    lines = [line[:MOST_COLUMNS] for line in text.splitlines()]
    return "\n".join(fitting(lines, MOST_SHOWN)) or f"No commit has changed {shown(path)}."
