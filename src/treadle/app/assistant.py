"""An assistant: a ready agent that people use, with its own commands, routes and panel where it has them. A value, not a class.

Packages register one under the entry-point group `treadle.assistants`; ours do it the same way. Importing it must be cheap:
whatever is heavy is imported by the functions it names. How they are found and become agents is `assistants`.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.errors import SettingsError
from treadle.core.requests import Options, Usage
from treadle.core.seams import Model, Policy, Toolset, Watcher
from treadle.engine.setup import Approver, Caller, Instructions
from treadle.guard.policy import Rule
from treadle.loop.limits import Limits

if TYPE_CHECKING:
    from treadle.app.agent import Agent
    from treadle.app.home import Home  # its stores take longer to import than all of this
    from treadle.app.session import AssistantSession
    from treadle.app.settled import Settings
    from treadle.app.talk import Talk
    from treadle.app.work import Work
    from treadle.core.messages import Message
    from treadle.engine.result import RunResult
    from treadle.models.led import Plan, Program


class Terminal(Protocol):
    """Where a command shows things. Whatever could take a terminal over is taken out of what it is given."""

    @property
    def width(self) -> int | None:
        """Columns for data; None where it doesn't go to a terminal."""
        ...

    def line(self, text: str = "", style: str = "") -> None:
        """A line of data, on stdout."""
        ...

    def note(self, text: str, style: str = "dim") -> None:
        """A line about what happens, on stderr; left out where the person asked for quiet."""
        ...

    def tell(self, text: str, style: str = "") -> None:
        """A line that the person has to see, on stderr."""
        ...


def _with_about(about: dict[str, Any]) -> dict[str, Any]:
    return {"about": about}


def _nothing_ends(close: Callable[[], object]) -> None:
    """For faces that end with their process, which takes everything with it."""


class Host(Struct, frozen=True):
    """What a face lends to an assistant, for one person.

    home      the folder their data is kept in
    model     gives the model they chose, or the one to use where they chose none; `UnknownModel` says what to do without one
    dialect   how they want models to call tools, where they said so: `native`, `held`, or the name of a dialect
    user      who they are
    terminal  where a command shows things; None where no command runs, as on a server
    approver  answers approvals on the spot; None where nobody can: a run then stops as "waiting"
    at_end    takes what has to be closed when the face ends: a function, or one that gives an awaitable
    watcher   tells them what happens in a run, as it happens
    observe   counts the turns of sessions where the face has metrics: a context for each turn, which gives a watcher
    origin    what the face needs to lend the same model again, when a job goes on another day
    remember  gives the origin of a run, by which the face can take it up again, from what the assistant has to know then
    detach    begins a command of Treadle that goes on when the face ends; None where there is no such thing
    talk      holds a conversation with an assistant, at a terminal; None where nobody can type
    about     the context of the conversation: what it is about, such as a project; journaled as it is, so no secrets
    headers   those of the HTTP request that it serves, by their lower-case names: an assistant may act by a token in them
    folder    the folder they work in; the current one unless a face says otherwise
    shared    whether others come here too: then what belongs to the machine, such as a token in its environment, isn't theirs
    """

    home: "Home"
    model: Callable[[], Awaitable[Model]]
    user: str = ""
    terminal: Terminal | None = None
    approver: Approver | None = None
    at_end: Callable[[Callable[[], object]], None] = _nothing_ends
    watcher: Watcher | None = None
    origin: dict[str, Any] = {}
    remember: Callable[[dict[str, Any]], dict[str, Any]] = _with_about
    detach: Callable[[Sequence[str]], None] | None = None
    talk: "Callable[[AssistantSession, Agent[Any]], Talk] | None" = None
    about: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    folder: Path | None = None
    shared: bool = False
    dialect: str = ""
    observe: "Callable[[str, str, Usage, Agent[Any]], AbstractContextManager[Watcher]] | None" = None

    @property
    def workspace(self) -> Path:
        """The folder they work in, which is there."""
        if self.folder is None:
            return Path.cwd()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self.folder

    @property
    def settings(self) -> "Settings":
        """What counts in that folder, read anew; an assistant's own settings are `settings.assistant(NAME)`."""
        from treadle.app.settings import settings_of  # nothing is read before somebody asks

        return settings_of(Path.cwd() if self.folder is None else self.folder)

    @property
    def shown_at(self) -> Terminal:
        """The terminal, for commands: they always have one."""
        assert self.terminal is not None, "only servers have none"
        return self.terminal

    def show(self, value: Any) -> None:
        """Print a value as JSON, for commands."""
        self.shown_at.line(msgspec.json.format(msgspec.json.encode(value)).decode())

    def talking(self, session: "AssistantSession", agent: "Agent[Any]") -> "Talk":
        """A conversation, for commands: they can always hold one."""
        assert self.talk is not None, "only servers can't"
        return self.talk(session, agent)


def typed(words: Sequence[str]) -> str:
    """What was typed after a command, or came through a pipe where that is `-`; `SettingsError` where it says nothing."""
    text = sys.stdin.read() if list(words) == ["-"] else " ".join(words)
    if not text.strip():
        raise SettingsError("There is nothing to ask: type it, or pipe it and write - for it.")
    return text.strip()


def later(path: str) -> Callable[..., Any]:
    """A function that is imported when it is called: `later("my_package.command:run")` keeps an assistant's module light."""

    def call(*args: Any) -> Any:
        from importlib import import_module

        module, _, name = path.partition(":")
        return getattr(import_module(module), name)(*args)

    return call


class Command(Struct, frozen=True):
    """A command of an assistant: `treadle NAME …`, or one of its parts: `treadle NAME PART …`.

    summary    what it does, in a few words without a full stop
    run        does it, and returns the exit code, at once or as an awaitable; not asked of a command that has parts
    arguments  adds to what can be typed; `--model`, `--base-url`, `--dialect`, `--user`, `--yes` and `--quiet` are there already
    more       a sentence for its help
    parts      the commands below it, each with options of its own
    """

    name: str
    summary: str
    run: Callable[[Namespace, Host], int | Awaitable[int]] | None = None
    arguments: Callable[[ArgumentParser], object] | None = None
    more: str = ""
    parts: tuple["Command", ...] = ()


class Panel(Struct, frozen=True):
    """A page of an assistant: a folder with an `index.html`, which is served at `/NAME/`, the name being the assistant's.

    only  why conversations can begin in it alone, in a sentence; empty where they can begin anywhere
    """

    title: str
    folder: Path
    only: str = ""


class Assistant(Struct, frozen=True):
    """A ready agent: everything that an agent of it needs, whichever face asks (`AssistantSession`).

    name          one lower-case word; it is picked by it
    summary       a sentence on what it is for
    instructions  what its model is told
    notes         a line for its model with the request of each round
    configure     gives what depends on the host: any of `instructions`, `policy`, `limits`, `options` and `notes`, by name; and
                  under `parts` what else `Agent` takes
    toolsets      makes its tools, for each run anew
    lead          gives the plan that leads a model which doesn't call tools by itself, or a `Program`, which leads every model
    settings      a struct whose fields, each with a default, are its keys under `[assistants.NAME]` in `treadle.toml`; the
                  description of a field's `Meta` says what it has to be, `extra={"project": …}` what a project's file may do
    variables     variables of the environment that it reads besides `TREADLE_NAME_KEY`, which stand for those keys
    caller        says for whom it acts and with which credentials, where that isn't the host's person
    begin         hears of each message before its run begins, and gives the history of the conversation: for an assistant that
                  keeps conversations itself, each message of which is a run of its own
    reply         gives what comes with an answer besides its words, such as citations; asked of every turn that ended, perhaps
                  more than once, so that what it keeps of it is kept once
    erase         deletes what it keeps of its own about runs, by their ids, when those are deleted
    questions     what a newcomer may ask it
    routes        makes its HTTP routes: Starlette's, at the paths they say
    work          gives what it does as jobs
    """

    name: str
    title: str
    summary: str
    instructions: Instructions = ""
    toolsets: Callable[[Host], Sequence[Toolset]] | None = None
    policy: Policy | Sequence[Rule] | None = None
    limits: Limits = Limits()
    options: Options = Options()
    notes: tuple[str, ...] = ()
    parts: Mapping[str, Any] = {}
    questions: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    routes: Callable[[Host], Sequence[Any]] | None = None
    panel: Panel | None = None
    work: Callable[[], Sequence["Work"]] | None = None
    lead: Callable[[Host], "Plan | Program"] | None = None
    configure: Callable[[Host], Mapping[str, Any]] | None = None
    settings: type[Struct] | None = None
    variables: tuple[str, ...] = ()
    caller: Callable[[Host], Awaitable[Caller]] | None = None
    begin: "Callable[[Host, str, str], Awaitable[Sequence[Message]]] | None" = None
    reply: "Callable[[Host, RunResult[Any]], Awaitable[Any]] | None" = None
    erase: "Callable[[Home, Collection[str]], Awaitable[None]] | None" = None

    def configured(self, host: Host) -> "Assistant":
        """It, with what depends on the host."""
        return self if self.configure is None else replace(self, configure=None, **self.configure(host))
