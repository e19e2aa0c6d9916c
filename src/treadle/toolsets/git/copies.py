"""Private copies of a repository, for jobs: all of its commits, and its files as they are, committed or not.

A copy has its own `.git`, with settings that are chosen here: what runs in it never reaches the user's repository. Its
branch is fetched back from there. Objects are copied, not shared: neither `git gc` there nor a filter here harms the other.
"""

import os
import re
import shutil
from asyncio import to_thread
from pathlib import Path

from treadle.sandbox.environments import find_environments
from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.sandboxed import GitFailed, GitRefused, SandboxedGit, check_repository_root, git_failure
from treadle.toolsets.git.working_tree import normalize_branch

SECONDS = 1_800.0
MAX_BYTES = 64 << 30
SETTINGS = re.compile(
    r"core\.(?:filemode|autocrlf|eol|safecrlf|symlinks|ignorecase|precomposeunicode)|user\.(?:name|email)|extensions\.objectformat"
)
"""What a copy takes over: none of it starts a program."""

# A line for each commit, empty where there is none, and the settings.
LOOK = """
for name in HEAD "$1"; do
  git rev-parse --verify --quiet "$name^{commit}" 2>/dev/null || echo
done
exec git config --local --list 2>&1
"""
# References are listed before objects are copied, so that none refers to what came later. Files may vanish while they are copied.
COPY = r"""
exec 2>&1
project=$1 branch=$2 start=$3 files=$4 here=$PWD
mkdir -p .git/treadle .git/info || exit 1
git -C "$project" for-each-ref --format='%(if)%(symref)%(then)%(else)create %(refname) %(objectname)%(end)' \
  refs/heads refs/tags refs/remotes > .git/treadle/all || exit 1
grep . .git/treadle/all | grep -v -F "create refs/heads/$branch " > .git/treadle/refs
cp -R "$project/.git/objects/." .git/objects/ || exit 1
for name in shallow info/exclude; do
  [ ! -f "$project/.git/$name" ] || cp "$project/.git/$name" ".git/$name" || exit 1
done
git update-ref --stdin < .git/treadle/refs || exit 1
[ -z "$start" ] || git update-ref "refs/heads/$branch" "$start" || exit 1
if [ "$files" = working ]; then
  git -C "$project" ls-files -z --cached --others --exclude-standard > .git/treadle/listed || exit 1
  sort -zu .git/treadle/listed > .git/treadle/names || exit 1
  (cd "$project" && xargs -0 -r sh -c 'cp -P --parents --preserve=mode,timestamps -- "$@" "$0"' "$here" \
    < "$here/.git/treadle/names" 2> "$here/.git/treadle/errors")
  if grep -v -e 'No such file or directory' -e '-r not specified' .git/treadle/errors; then exit 1; fi
  git read-tree "${start:---empty}" || exit 1
  git update-index -q --refresh
else
  git read-tree -u --reset "$start" || exit 1
fi
rm -rf .git/treadle
"""
FETCH = """
exec 2>&1
git -c fetch.fsckObjects=true fetch --quiet --no-tags --no-write-fetch-head --no-auto-gc --no-recurse-submodules \
  --upload-pack='git -c safe.directory=* upload-pack' "$1" "refs/heads/$2:refs/heads/$2"
"""


async def copy_repository(project: str | Path, target: Path, branch: str, *, start: str = "", unsafe: bool = False) -> str:
    """Make a copy at `target`, on a branch of this name; return the commit that it begins at, empty where there is none.

    A branch that the project has is continued; otherwise it begins at the branch `start`, or at what is checked out. Where that
    is what is checked out, the files are those of the project, with uncommitted changes; otherwise those of the commit.
    """
    git, name = SandboxedGit(project, unsafe=unsafe), normalize_branch(branch)
    unfinished = target.with_name(f"{target.name}.new")
    check_repository_root(git.folder)
    ran = await git.script(LOOK, f"refs/heads/{name}", writable=False)
    if ran.code != 0:
        raise git_failure("git config", ran)
    head, there, settings = ran.output.split("\n", 2)
    begin = there or (await _find_tip(git, start) if start else head)
    await to_thread(_create_repository, unfinished, name, settings)
    await to_thread(shutil.rmtree, target, ignore_errors=True)
    copy = SandboxedGit(unfinished, unsafe=unsafe, reads=(git.folder,))
    files = "working" if begin == head else "commit"
    ran = await copy.script(COPY, str(git.folder), name, begin, files, seconds=SECONDS, disk=MAX_BYTES)
    if ran.code != 0:
        raise git_failure("Copying the repository", ran)
    await to_thread(unfinished.rename, target)
    return begin


async def fetch_branch(project: str | Path, copy: Path, branch: str, *, since: str | None = None, unsafe: bool = False) -> str:
    """Fetch a branch of a copy into the project's repository; return its commit, empty where it has none but that of `since`.

    The project's own branch is only fast-forwarded. None of its files is touched, no hook runs, and the objects are checked.
    """
    source, name = SandboxedGit(copy, unsafe=unsafe), normalize_branch(branch)
    git = SandboxedGit(project, unsafe=unsafe, reads=(source.folder,))
    commit = await commit_of(source, f"refs/heads/{name}")
    if commit in ("", since):
        return ""
    if await commit_of(git, f"refs/heads/{name}") == commit:
        return commit
    ran = await git.script(FETCH, str(source.folder), name, seconds=SECONDS)
    if ran.code != 0 and "refusing to fetch into" in ran.output:
        raise GitFailed(
            f"The branch {name} is checked out in {git.folder}, so it wasn't moved. Switch to another one, and try again."
        )
    if ran.code != 0:
        raise git_failure("git fetch", ran)
    return commit


def link_environments(project: Path, copy: Path) -> None:
    """Link a project's environments into a copy, where no sandbox can show them there. Git ignores the links."""
    excluded = copy / ".git" / "info" / "exclude"
    for path in find_environments(project):
        link = copy / path.relative_to(project)
        if not os.path.lexists(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
            with excluded.open("a", encoding="utf-8") as file:
                file.write(f"/{link.relative_to(copy)}\n")


async def _find_tip(git: SandboxedGit, branch: str) -> str:
    found = await commit_of(git, f"refs/heads/{normalize_branch(branch)}")
    if not found:
        raise GitRefused(f"There is no branch {branch} any more, so nothing can go on from it.")
    return found


def _create_repository(folder: Path, branch: str, listed: str) -> None:
    """Create an empty repository without git: settings of the project's that start programs never get into it."""
    shutil.rmtree(folder, ignore_errors=True)
    repository = folder / ".git"
    for name in ("objects/info", "objects/pack", "refs/heads", "info"):
        (repository / name).mkdir(parents=True, mode=0o700)
    (repository / "HEAD").write_text(f"ref: refs/heads/{branch}\n", "utf-8")
    (repository / "config").write_text(_format_config(listed), "utf-8", errors="surrogateescape")


def _format_config(listed: str) -> str:
    """Return the text of `config`, from the project's `git config --list`."""
    said = [line.partition("=") for line in listed.splitlines()]
    taken = {key.lower(): value for key, _, value in said if SETTINGS.fullmatch(key.lower())}
    version = 1 if "extensions.objectformat" in taken else 0
    every = {"core.repositoryformatversion": str(version), "core.bare": "false", "core.logallrefupdates": "true", **taken}
    return "".join([f"[{key.partition('.')[0]}]\n\t{key.partition('.')[2]} = {_quote(value)}\n" for key, value in every.items()])


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
