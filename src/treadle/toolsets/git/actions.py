"""What can be done with a repository, told in text for a model. Which tools offer this is `tools`."""

from collections.abc import Sequence

from msgspec import Struct

from treadle.files.problems import shown
from treadle.toolsets.git import branches, commit, looks, staging, state
from treadle.toolsets.git.commit import Identity, check_branch
from treadle.toolsets.git.copies import fetch_branch
from treadle.toolsets.git.inside import Git
from treadle.toolsets.git.names import branch_named
from treadle.toolsets.git.outside import Outside
from treadle.toolsets.git.problems import Refused
from treadle.toolsets.git.pulls import Wish, base_of, request
from treadle.toolsets.git.push import push


class Rules(Struct, frozen=True):
    """What a person decided: where pushes go, whether pull requests are drafts, how branches are called, which aren't touched."""

    remote: str = "origin"
    draft: bool = False
    prefix: str = "treadle/"
    protected: tuple[str, ...] = ("main", "master")


class Actions:
    """The actions, for whichever run. `origin` is the repository that this one is a private copy of: a push leaves from there."""

    def __init__(
        self, git: Git, outside: Outside, rules: Rules, identity: Identity | None = None, origin: Git | None = None
    ) -> None:
        self._git = git
        self._outside = outside
        self._rules = rules
        self._identity = identity
        self._origin = origin

    async def status(self) -> str:
        """The branch, and what is staged, changed and untracked."""
        under_way = self._git.under_way()
        told = state.told(await self._state())
        return f"{told}\n{under_way} is under way." if under_way else told

    async def diff(self, base: str, branch: str, files: Sequence[str]) -> str:
        """What isn't committed, or what a branch adds."""
        return await looks.difference(self._git, base, branch, files)

    async def log(self, most: int, path: str) -> str:
        """The last commits."""
        return await looks.history(self._git, most, path)

    async def branches(self) -> str:
        """All branches."""
        return await branches.listed(self._git)

    async def add(self, files: Sequence[str]) -> str:
        """Stage files, and say which were not."""
        choice = await staging.stage(self._git, files)
        refused = [f"{shown(path)} was not staged: {why}." for path, why in choice.refused]
        if not choice.files:
            raise Refused("\n".join(["Nothing was staged.", *(refused or ["Name the files that belong to your change."])]))
        return "\n".join([f"Staged: {', '.join(map(shown, choice.files))}.", *refused])

    async def commit(self, key: str, message: str) -> str:
        """Commit what is staged; once for every key."""
        identity = self._identity or await self._outside.identity(self._git)
        made = await commit.commit_staged(self._git, message, key, identity, self._rules.protected)
        return await commit.told(self._git, made)

    async def committed(self, key: str) -> str | None:
        """What the call of a key committed; None if nothing."""
        made = await commit.remembered(self._git, key)
        return None if made is None else await commit.told(self._git, made)

    async def create_branch(self, name: str) -> str:
        """Make a branch and switch to it."""
        whole = branch_named(name, self._rules.prefix)
        check_branch(whole, self._rules.protected, "create")
        made = await branches.create(self._git, name, self._rules.prefix)
        return f"On the new branch {made}. What isn't committed came along."

    async def checkout(self, name: str) -> str:
        """Switch to a branch."""
        return f"On branch {await branches.switch(self._git, name, self._rules.prefix, self._rules.remote)}."

    async def push(self, branch: str, remote: str) -> str:
        """Push a branch, the current one where none is named."""
        name = await self._branch(branch)
        check_branch(name, self._rules.protected, "push")
        pushed = await push(await self._leaving(name), self._outside, name, remote or self._rules.remote)
        what = f"Pushed {name} at {pushed.commit[:10]} to" if pushed.new else f"{name} at {pushed.commit[:10]} is there already:"
        return f"{what} {pushed.address.shown}."

    async def create_pr(self, title: str, body: str, base: str, draft: bool | None, branch: str = "") -> str:
        """A pull request of a branch, the current one where none is named."""
        name = await self._branch(branch)
        check_branch(name, self._rules.protected, "open a pull request from")
        if not title.strip() or not title.isprintable():
            raise Refused("A pull request needs a title of one line. Say what the change does.")
        git = await self._leaving(name)
        into = branch_named(base) if base else await base_of(git, self._rules.remote, self._rules.protected)
        if into == name:
            raise Refused(f"{name} can't be merged into itself. Name another base.")
        chosen = self._rules.draft if draft is None else draft
        return await request(git, self._outside, Wish(title.strip(), body, name, into, self._rules.remote, chosen))

    async def _leaving(self, branch: str) -> Git:
        """The repository that a branch leaves the machine from, which has it as it is here."""
        if self._origin is None:
            return self._git
        await fetch_branch(self._origin.folder, self._git.folder, branch, unsafe=self._git.unsafe)
        return self._origin

    async def _branch(self, name: str) -> str:
        """The branch that is meant."""
        current = (await self._state()).branch
        if not name:
            if current is None:
                raise Refused("No branch is checked out. Create a branch first, then repeat this.")
            return current
        whole = branch_named(name, self._rules.prefix)
        return whole if whole == current else branch_named(name)

    async def _state(self) -> state.State:
        return state.state_of(await self._git.read(*state.QUERY, "--untracked-files=normal"))
