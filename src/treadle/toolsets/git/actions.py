"""Actions on a repository, with text results for a model. `tools` offers them."""

from collections.abc import Sequence

from msgspec import Struct

from treadle.files.problems import printable_name
from treadle.toolsets.git import branches, commit, history, staging, working_tree
from treadle.toolsets.git.commit import Identity, check_unprotected
from treadle.toolsets.git.copies import fetch_branch
from treadle.toolsets.git.host_programs import HostPrograms
from treadle.toolsets.git.pull_requests import PullRequest, find_base_branch, open_pull_request
from treadle.toolsets.git.push import push_branch
from treadle.toolsets.git.sandboxed import GitRefused, SandboxedGit
from treadle.toolsets.git.working_tree import normalize_branch


class GitRules(Struct, frozen=True):
    """The user's settings: where pushes go, whether pull requests are drafts, the prefix of branches, protected branches."""

    remote: str = "origin"
    draft: bool = False
    prefix: str = "treadle/"
    protected: tuple[str, ...] = ("main", "master")


class GitActions:
    """The actions, for any run. `origin` is the repository that this one is a private copy of: a push leaves from there."""

    def __init__(
        self,
        git: SandboxedGit,
        outside: HostPrograms,
        rules: GitRules,
        identity: Identity | None = None,
        origin: SandboxedGit | None = None,
    ) -> None:
        self._git = git
        self._outside = outside
        self._rules = rules
        self._identity = identity
        self._origin = origin

    async def status(self) -> str:
        """Return the branch, and what is staged, changed and untracked."""
        under_way = self._git.under_way()
        told = working_tree.format_git_status(await self._read_state())
        return f"{told}\n{under_way} is under way." if under_way else told

    async def diff(self, base: str, branch: str, files: Sequence[str]) -> str:
        """Return what isn't committed, or what a branch adds."""
        return await history.format_diff(self._git, base, branch, files)

    async def log(self, most: int, path: str) -> str:
        """Return the last commits."""
        return await history.format_log(self._git, most, path)

    async def branches(self) -> str:
        """Return all branches."""
        return await branches.format_branches(self._git)

    async def add(self, files: Sequence[str]) -> str:
        """Stage files, and name those that were not."""
        choice = await staging.stage_paths(self._git, files)
        refused = [f"{printable_name(path)} was not staged: {why}." for path, why in choice.refused]
        if not choice.files:
            raise GitRefused("\n".join(["Nothing was staged.", *(refused or ["Name the files that belong to your change."])]))
        return "\n".join([f"Staged: {', '.join(map(printable_name, choice.files))}.", *refused])

    async def commit(self, key: str, message: str) -> str:
        """Commit what is staged; once for every key."""
        identity = self._identity or await self._outside.identity(self._git)
        made = await commit.commit_staged(self._git, message, key, identity, self._rules.protected)
        return await commit.format_commit(self._git, made)

    async def find_commit(self, key: str) -> str | None:
        """Return what the call with this key committed; None if nothing."""
        made = await commit.find_commit_of_call(self._git, key)
        return None if made is None else await commit.format_commit(self._git, made)

    async def create_branch(self, name: str) -> str:
        """Create a branch and switch to it."""
        whole = normalize_branch(name, self._rules.prefix)
        check_unprotected(whole, self._rules.protected, "create")
        made = await branches.create_branch(self._git, name, self._rules.prefix)
        return f"On the new branch {made}. What isn't committed came along."

    async def checkout(self, name: str) -> str:
        """Switch to a branch."""
        return f"On branch {await branches.switch_branch(self._git, name, self._rules.prefix, self._rules.remote)}."

    async def push(self, branch: str, remote: str) -> str:
        """Push a branch, by default the current one."""
        name = await self._branch(branch)
        check_unprotected(name, self._rules.protected, "push")
        pushed = await push_branch(await self._prepare_source(name), self._outside, name, remote or self._rules.remote)
        what = f"Pushed {name} at {pushed.commit[:10]} to" if pushed.new else f"{name} at {pushed.commit[:10]} is there already:"
        return f"{what} {pushed.address.shown}."

    async def create_pr(self, title: str, body: str, base: str, draft: bool | None, branch: str = "") -> str:
        """Open a pull request of a branch, by default the current one."""
        name = await self._branch(branch)
        check_unprotected(name, self._rules.protected, "open a pull request from")
        if not title.strip() or not title.isprintable():
            raise GitRefused("A pull request needs a title of one line. Say what the change does.")
        git = await self._prepare_source(name)
        into = normalize_branch(base) if base else await find_base_branch(git, self._rules.remote, self._rules.protected)
        if into == name:
            raise GitRefused(f"{name} can't be merged into itself. Name another base.")
        chosen = self._rules.draft if draft is None else draft
        return await open_pull_request(git, self._outside, PullRequest(title.strip(), body, name, into, self._rules.remote, chosen))

    async def _prepare_source(self, branch: str) -> SandboxedGit:
        """Return the repository that a branch is pushed from, after fetching the branch into it."""
        if self._origin is None:
            return self._git
        await fetch_branch(self._origin.folder, self._git.folder, branch, unsafe=self._git.unsafe)
        return self._origin

    async def _branch(self, name: str) -> str:
        """Return the named branch, or the current one."""
        current = (await self._read_state()).branch
        if not name:
            if current is None:
                raise GitRefused("No branch is checked out. Create a branch first, then repeat this.")
            return current
        whole = normalize_branch(name, self._rules.prefix)
        return whole if whole == current else normalize_branch(name)

    async def _read_state(self) -> working_tree.GitState:
        return working_tree.parse_status(await self._git.read(*working_tree.STATUS_QUERY, "--untracked-files=normal"))
