"""Idempotent commits: the branch and the ref that records the call are moved together, and a repeat finds the ref.

Made with git's plumbing in one command line, so no hook runs. The ref of the call is written first: a process that dies
between the two leaves a commit that `find_commit_of_call` finds and puts on the branch.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from treadle.files.problems import printable_name
from treadle.files.secret_files import is_secret_file
from treadle.toolsets.git.sandboxed import GitFailed, GitRefused, SandboxedGit, git_failure
from treadle.toolsets.git.staging import plan_staging
from treadle.toolsets.git.working_tree import STATUS_QUERY, GitState, call_ref, is_sha, parse_status

NOTHING_TO_COMMIT = 3  # the code of a script that found nothing to commit
END = "-- the message ends here --"  # the sending process may be killed before it has: then nothing is committed
_MAKE = """
call=$1 ref=$2 old=$3
message=$(cat)
[ "${message%@END@}" != "$message" ] || exit 1
message=${message%@END@}
tree=$(git write-tree) || exit 1
if [ -n "$old" ]; then
  [ "$tree" != "$(git rev-parse "$old^{tree}")" ] || exit 3
  made=$(printf %s "$message" | git commit-tree "$tree" -p "$old" -F -) || exit 1
else
  made=$(printf %s "$message" | git commit-tree "$tree" -F -) || exit 1
fi
before=${old:-$(printf %s "$made" | tr '0-9a-f' '0')}
{
  [ -z "$call" ] || printf 'create %s %s\\n' "$call" "$made"
  printf 'update %s %s %s\\n' "$ref" "$made" "$before"
} | git update-ref -m "commit: by treadle" --stdin || exit 1
printf '%s\\n' "$made"
""".replace("@END@", END)
STAGED = f"exec 2>&1{_MAKE}"
# Other things that are staged stay so: the commit is made of an index of its own.
PATHS = f"""
exec 2>&1
call=$1 ref=$2 old=$3
shift 3
git update-index --add --remove --replace -- "$@" || exit 1
mkdir -p .git/treadle && GIT_INDEX_FILE=$(mktemp .git/treadle/index-XXXXXX) || exit 1
export GIT_INDEX_FILE
trap 'rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.lock"' EXIT
git read-tree "${{old:---empty}}" && git update-index --add --remove --replace -- "$@" || exit 1
set -- "$call" "$ref" "$old"{_MAKE}"""


class Identity(Struct, frozen=True):
    """Author and committer."""

    name: str
    email: str

    def variables(self) -> dict[str, str]:
        """Return the identity as environment variables for git."""
        return {
            **{f"GIT_{role}_NAME": self.name for role in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{role}_EMAIL": self.email for role in ("AUTHOR", "COMMITTER")},
        }


TREADLE = Identity("Treadle", "treadle@localhost")
_TRAILER = re.compile(r"[A-Za-z][A-Za-z-]*: \S.*")


def add_co_author(message: str, author: Identity) -> str:
    """Add a last line that names Treadle as co-author; unchanged where it is there already, or where Treadle commits."""
    line = f"Co-authored-by: {TREADLE.name} <{TREADLE.email}>"
    if author == TREADLE or line in message.splitlines():
        return message
    last = message.partition("\n")[2].strip().rpartition("\n\n")[2]
    has_trailers = bool(last) and all(map(_TRAILER.fullmatch, last.splitlines()))
    return f"{message}\n{line}" if has_trailers else f"{message}\n\n{line}"


async def commit_staged(git: SandboxedGit, message: str, key: str, identity: Identity, protected: Sequence[str] = ()) -> str:
    """Commit what is staged and return the commit's hash. A call with a known key returns the commit that it made."""
    if known := await find_commit_of_call(git, key):
        return known
    state = await read_clean_state(git)
    check_unprotected(state.branch, protected, "commit on")
    secret = [printable_name(change.path) for change in state.staged if is_secret_file(change.path) and change.staged != "D"]
    if secret:
        raise GitRefused(
            f"Nothing was committed: {', '.join(secret)} is staged and may hold secrets. Ask the person to unstage it."
        )
    made = await _make_commit(git, STAGED, state, message, key, identity) if state.staged else None
    if made is None:
        raise GitRefused(f"Nothing is staged, so nothing was committed. {_suggest_files(state)}")
    return made


async def commit_only(git: SandboxedGit, paths: Sequence[str], message: str, key: str, identity: Identity) -> str | None:
    """Commit these paths and nothing else, and return the commit's hash; None where they have nothing to commit."""
    if known := await find_commit_of_call(git, key):
        return known
    state = await read_clean_state(git)
    files = (await plan_staging(git, paths)).files
    return await _make_commit(git, PATHS, state, message, key, identity, files) if files else None


async def find_commit_of_call(git: SandboxedGit, key: str) -> str | None:
    """Return the commit that the call with this key made, moved onto the branch if it isn't; None where it made none."""
    ref = call_ref(key)
    made = (await git.try_read("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")).output.strip() if ref else ""
    if not is_sha(made):
        return None
    state = parse_status(await git.read(*STATUS_QUERY, "--untracked-files=no"))
    if state.head and (await git.try_read("merge-base", "--is-ancestor", made, state.head)).code == 0:
        return made
    parent = (await git.try_read("rev-parse", "--verify", "--quiet", f"{made}^")).output.strip()
    if parent != (state.head or ""):
        raise GitFailed(
            f"The commit {made[:10]} was made, but isn't on this branch, which has moved on. Check out the branch it is for."
        )
    await git.change("update-ref", "-m", "commit: by treadle", state.ref, made, state.head or "0" * len(made))
    return made


async def format_commit(git: SandboxedGit, made: str) -> str:
    """Format a commit for a model: always with the same words."""
    subject = await git.read("show", "--no-patch", "--no-notes", "--format=%s", made)
    files = await git.read("diff-tree", "--root", "--no-commit-id", "-r", "--stat=100", made)
    lines = files.rstrip().splitlines()
    shown_lines = lines if len(lines) <= 40 else [*lines[:39], f" [{len(lines) - 40} more files]", lines[-1]]
    return "\n".join([f"Committed {made[:10]}: {subject.strip()}", *shown_lines])


async def read_clean_state(git: SandboxedGit) -> GitState:
    """Return the state of a folder where no operation is in progress that a commit would interfere with."""
    if what := git.under_way():
        raise GitRefused(f"{what} is under way in the repository, so nothing was committed. Ask the person to finish or abort it.")
    return parse_status(await git.read(*STATUS_QUERY, "--untracked-files=normal"))


def check_unprotected(branch: str | None, protected: Sequence[str], what: str) -> None:
    """Raise if the branch is protected."""
    if branch in protected:
        raise GitRefused(
            f"The branch {branch} is protected: it isn't allowed to {what} it. Create a branch first, then repeat this."
        )


async def _make_commit(
    git: SandboxedGit, script: str, state: GitState, message: str, key: str, identity: Identity, files: Sequence[str] = ()
) -> str | None:
    text = message.replace("\0", "").strip()
    if not text:
        raise GitRefused("A commit needs a message. Say in a line what the change does.")
    words = (call_ref(key), state.ref, state.head or "", *files)
    ran = await git.script(script, *words, stdin=f"{add_co_author(text, identity)}\n{END}", env=identity.variables())
    if ran.code == NOTHING_TO_COMMIT:
        return None
    lines = ran.output.splitlines()
    if ran.code != 0 or not lines or not is_sha(lines[-1]):
        raise git_failure("git commit", ran)
    return lines[-1]


def _suggest_files(state: GitState) -> str:
    names = [printable_name(change.path) for change in state.changes][:10]
    return f"Add the files of your change first; changed are: {', '.join(names)}." if names else "There are no changes either."
