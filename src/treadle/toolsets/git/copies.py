"""Private copies of a repository, for jobs: all of its commits, and its files as they are, committed or not.

A copy has a `.git` of its own, with settings that are chosen here: what runs in it never reaches the person's repository. Its
branch is fetched back from there. Objects are copied and not shared: neither `git gc` there nor a filter here harms the other.
"""

import os
import re
import shutil
from asyncio import to_thread
from pathlib import Path

from treadle.toolsets.git.branches import commit_of
from treadle.toolsets.git.inside import Git, located
from treadle.toolsets.git.names import branch_named
from treadle.toolsets.git.problems import Failed, Refused, failed
from treadle.toolsets.sandbox.pythons import environments_in

SECONDS = 1_800.0
MOST_BYTES = 64 << 30
SETTINGS = re.compile(
    r"core\.(?:filemode|autocrlf|eol|safecrlf|symlinks|ignorecase|precomposeunicode)|user\.(?:name|email)|extensions\.objectformat"
)
"""What a copy takes over: none of it starts a program."""

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

    A branch that the project has is gone on with; otherwise it begins at the branch `start`, or at what is checked out. Where that
    is what is checked out, the files are those of the project, with changes that aren't committed; otherwise those of the commit.
    """
    git, name = Git(project, unsafe=unsafe), branch_named(branch)
    unfinished = target.with_name(f"{target.name}.new")
    located(git.folder)
    head = await commit_of(git, "HEAD")
    begin = await commit_of(git, f"refs/heads/{name}") or (await _tip(git, start) if start else head)
    settings = await git.read("config", "--local", "--list")
    await to_thread(_skeleton, unfinished, name, settings)
    await to_thread(shutil.rmtree, target, ignore_errors=True)
    copy = Git(unfinished, unsafe=unsafe, reads=(git.folder,))
    files = "working" if begin == head else "commit"
    ran = await copy.script(COPY, str(git.folder), name, begin, files, seconds=SECONDS, disk=MOST_BYTES)
    if ran.code != 0:
        raise failed("Copying the repository", ran)
    await to_thread(unfinished.rename, target)
    return begin


async def fetch_branch(project: str | Path, copy: Path, branch: str, *, since: str | None = None, unsafe: bool = False) -> str:
    """Bring a branch of a copy into the project's repository; return its commit, nothing where it has none but that of `since`.

    The project's own branch is only moved forward. No file of it is touched, no hook runs, and what arrives is checked.
    """
    source, name = Git(copy, unsafe=unsafe), branch_named(branch)
    git = Git(project, unsafe=unsafe, reads=(source.folder,))
    commit = await commit_of(source, f"refs/heads/{name}")
    if commit in ("", since):
        return ""
    if await commit_of(git, f"refs/heads/{name}") == commit:
        return commit
    ran = await git.script(FETCH, str(source.folder), name, seconds=SECONDS)
    if ran.code != 0 and "refusing to fetch into" in ran.output:
        raise Failed(f"The branch {name} is checked out in {git.folder}, so it wasn't moved. Switch to another one, and try again.")
    if ran.code != 0:
        raise failed("git fetch", ran)
    return commit


def link_environments(project: Path, copy: Path) -> None:
    """Link a project's environments into a copy, where no sandbox can show them there. Git ignores the links."""
    excluded = copy / ".git" / "info" / "exclude"
    for path in environments_in(project):
        link = copy / path.relative_to(project)
        if not os.path.lexists(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
            with excluded.open("a", encoding="utf-8") as file:
                file.write(f"/{link.relative_to(copy)}\n")


async def _tip(git: Git, branch: str) -> str:
    found = await commit_of(git, f"refs/heads/{branch_named(branch)}")
    if not found:
        raise Refused(f"There is no branch {branch} any more, so nothing can go on from it.")
    return found


def _skeleton(folder: Path, branch: str, listed: str) -> None:
    """An empty repository, made without git: settings of the project's that start programs never get into it."""
    shutil.rmtree(folder, ignore_errors=True)
    repository = folder / ".git"
    for name in ("objects/info", "objects/pack", "refs/heads", "info"):
        (repository / name).mkdir(parents=True, mode=0o700)
    (repository / "HEAD").write_text(f"ref: refs/heads/{branch}\n", "utf-8")
    (repository / "config").write_text(_settings(listed), "utf-8", errors="surrogateescape")


def _settings(listed: str) -> str:
    """The text of `config`, of what `git config --list` says of the project."""
    said = [line.partition("=") for line in listed.splitlines()]
    taken = {key.lower(): value for key, _, value in said if SETTINGS.fullmatch(key.lower())}
    version = 1 if "extensions.objectformat" in taken else 0
    every = {"core.repositoryformatversion": str(version), "core.bare": "false", "core.logallrefupdates": "true", **taken}
    return "".join([f"[{key.partition('.')[0]}]\n\t{key.partition('.')[2]} = {_quoted(value)}\n" for key, value in every.items()])


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
