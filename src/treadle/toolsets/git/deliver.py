"""What a job does with git at its ends, without a model: the change to review, and the branch pushed with its pull request."""

from pathlib import Path

from treadle.toolsets.git.actions import Actions, Rules
from treadle.toolsets.git.host import branch_diff
from treadle.toolsets.git.inside import Git
from treadle.toolsets.git.looks import DIFF
from treadle.toolsets.git.outside import Outside
from treadle.toolsets.git.pulls import base_of
from treadle.toolsets.git.state import QUERY, State, state_of

MOST_NEW = 50  # files that aren't tracked yet


async def review_diff(folder: str | Path, base: str = "", branch: str = "", *, rules: Rules = Rules(), unsafe: bool = False) -> str:  # noqa: B008 - frozen
    """What is to be reviewed: a branch against its base; without either, what isn't committed, else what this branch adds."""
    git = Git(folder, unsafe=unsafe)
    state = state_of(await git.read(*QUERY, "--untracked-files=all"))
    if not branch and not base:
        changed = await _uncommitted(git, state)
        if changed.strip() or not state.head:
            return changed
    into = base or await base_of(git, rules.remote, rules.protected)
    return await branch_diff(folder, into, branch or "HEAD", unsafe=unsafe)


async def _uncommitted(git: Git, state: State) -> str:
    """What isn't committed, with the files that git doesn't know yet."""
    tracked = await git.read(*DIFF, *(("HEAD",) if state.head else ("--cached",))) if state.changes else ""
    new = [change.path for change in state.changes if change.untracked][:MOST_NEW]
    diffs = [(await git.tried(*DIFF, "--no-index", "--", "/dev/null", path)).output for path in new]
    return "".join([tracked, *diffs])


async def publish(
    folder: str | Path,
    title: str,
    body: str,
    *,
    rules: Rules,
    pull_request: bool,
    branch: str = "",
    base: str = "",
    unsafe: bool = False,
) -> dict[str, str]:
    """A branch pushed (the current one, unless named), with a pull request where one is wanted; what was done, as sentences."""
    actions = Actions(Git(folder, unsafe=unsafe), Outside(Path(folder)), rules)
    done = {"pushed": await actions.push(branch, rules.remote)}
    if pull_request:
        done["pull_request"] = await actions.create_pr(title, body, base, None, branch)
    return done
