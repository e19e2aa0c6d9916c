"""Commits that are made once: the branch and the ref that remembers the call are moved together, and a repeat finds the ref.

Made of git's plumbing in one command line, so no hook runs. The ref of the call is written first: whoever dies between the two
leaves a commit that `remembered` finds and puts in its place.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from treadle.files.problems import shown
from treadle.files.secret import is_secret
from treadle.toolsets.git.inside import Git
from treadle.toolsets.git.names import call_ref, is_sha
from treadle.toolsets.git.problems import Failed, Refused, failed
from treadle.toolsets.git.staging import chosen
from treadle.toolsets.git.state import QUERY, State, state_of

NOTHING = 3  # the code of a script that found nothing to commit
END = "-- the message ends here --"  # whoever was to send it may be killed before they have: then nothing is committed
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
    """Who commits."""

    name: str
    email: str

    def variables(self) -> dict[str, str]:
        """The same, as git wants it."""
        return {
            **{f"GIT_{role}_NAME": self.name for role in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{role}_EMAIL": self.email for role in ("AUTHOR", "COMMITTER")},
        }


TREADLE = Identity("Treadle", "treadle@localhost")
_TRAILER = re.compile(r"[A-Za-z][A-Za-z-]*: \S.*")


def with_co_author(message: str, author: Identity) -> str:
    """A message whose last line names Treadle beside the person who commits; unchanged where it does, or where Treadle commits."""
    line = f"Co-authored-by: {TREADLE.name} <{TREADLE.email}>"
    if author == TREADLE or line in message.splitlines():
        return message
    last = message.partition("\n")[2].strip().rpartition("\n\n")[2]
    has_trailers = bool(last) and all(map(_TRAILER.fullmatch, last.splitlines()))
    return f"{message}\n{line}" if has_trailers else f"{message}\n\n{line}"


async def commit_staged(git: Git, message: str, key: str, identity: Identity, protected: Sequence[str] = ()) -> str:
    """Commit what is staged, and give the commit's hash. A call with a known key gives the commit that it made."""
    if known := await remembered(git, key):
        return known
    state = await plain_state(git)
    check_branch(state.branch, protected, "commit on")
    secret = [shown(change.path) for change in state.staged if is_secret(change.path) and change.staged != "D"]
    if secret:
        raise Refused(f"Nothing was committed: {', '.join(secret)} is staged and may hold secrets. Ask the person to unstage it.")
    made = await _made(git, STAGED, state, message, key, identity) if state.staged else None
    if made is None:
        raise Refused(f"Nothing is staged, so nothing was committed. {_left(state)}")
    return made


async def commit_only(git: Git, paths: Sequence[str], message: str, key: str, identity: Identity) -> str | None:
    """Commit these paths and nothing else, and give the commit's hash; None where they have nothing to commit."""
    if known := await remembered(git, key):
        return known
    state = await plain_state(git)
    files = (await chosen(git, paths)).files
    return await _made(git, PATHS, state, message, key, identity, files) if files else None


async def remembered(git: Git, key: str) -> str | None:
    """The commit that the call of this key made, put in its place if it isn't; None where it made none."""
    ref = call_ref(key)
    made = (await git.tried("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")).output.strip() if ref else ""
    if not is_sha(made):
        return None
    state = state_of(await git.read(*QUERY, "--untracked-files=no"))
    if state.head and (await git.tried("merge-base", "--is-ancestor", made, state.head)).code == 0:
        return made
    parent = (await git.tried("rev-parse", "--verify", "--quiet", f"{made}^")).output.strip()
    if parent != (state.head or ""):
        raise Failed(
            f"The commit {made[:10]} was made, but isn't on this branch, which has moved on. Check out the branch it is for."
        )
    await git.change("update-ref", "-m", "commit: by treadle", state.ref, made, state.head or "0" * len(made))
    return made


async def told(git: Git, made: str) -> str:
    """A commit for a model: the same words whenever they are asked for."""
    subject = await git.read("show", "--no-patch", "--no-notes", "--format=%s", made)
    files = await git.read("diff-tree", "--root", "--no-commit-id", "-r", "--stat=100", made)
    lines = files.rstrip().splitlines()
    shown_lines = lines if len(lines) <= 40 else [*lines[:39], f" [{len(lines) - 40} more files]", lines[-1]]
    return "\n".join([f"Committed {made[:10]}: {subject.strip()}", *shown_lines])


async def plain_state(git: Git) -> State:
    """The state of a folder where nothing is under way that a commit would break into."""
    if what := git.under_way():
        raise Refused(f"{what} is under way in the repository, so nothing was committed. Ask the person to finish or abort it.")
    return state_of(await git.read(*QUERY, "--untracked-files=normal"))


def check_branch(branch: str | None, protected: Sequence[str], what: str) -> None:
    """Nothing, unless the branch is a protected one."""
    if branch in protected:
        raise Refused(f"The branch {branch} is protected: it isn't allowed to {what} it. Create a branch first, then repeat this.")


async def _made(
    git: Git, script: str, state: State, message: str, key: str, identity: Identity, files: Sequence[str] = ()
) -> str | None:
    text = message.replace("\0", "").strip()
    if not text:
        raise Refused("A commit needs a message. Say in a line what the change does.")
    words = (call_ref(key), state.ref, state.head or "", *files)
    ran = await git.script(script, *words, stdin=f"{with_co_author(text, identity)}\n{END}", env=identity.variables())
    if ran.code == NOTHING:
        return None
    lines = ran.output.splitlines()
    if ran.code != 0 or not lines or not is_sha(lines[-1]):
        raise failed("git commit", ran)
    return lines[-1]


def _left(state: State) -> str:
    names = [shown(change.path) for change in state.changes][:10]
    return f"Add the files of your change first; changed are: {', '.join(names)}." if names else "There are no changes either."
