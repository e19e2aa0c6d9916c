"""The definition of an assistant: a ready-made agent with optional commands, routes and panel.

A value, not a class to subclass.

Packages register one under the entry-point group `treadle.assistants`; the built-in ones do the same. Importing it
must be cheap: heavy modules are imported by the functions it names. `assistants` finds them and makes agents of
them.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.requests import Options, Usage
from treadle.core.seams import Model, Policy, Toolset, Watcher
from treadle.engine.setup import Approver, Caller, Instructions
from treadle.guard.policy import Rule
from treadle.loop.limits import Limits

if TYPE_CHECKING:
    from treadle.agent.agent import Agent
    from treadle.agent.session import AssistantSession
    from treadle.agent.talk import AssistantChat
    from treadle.core.entries import Entry
    from treadle.core.messages import Message
    from treadle.engine.result import RunResult
    from treadle.home import Home  # its stores take longer to import than all of this
    from treadle.jobs.execution import JobKind
    from treadle.models.calling.guided import FixedPlan, PartialPlan, Plan
    from treadle.plugins.editor_session import EditorSession, OnMode
    from treadle.plugins.item_sharing import ItemSharing
    from treadle.settings.schema import Settings


class Terminal(Protocol):
    """Output of a command. Control sequences that could take over a terminal are removed from all text."""

    @property
    def width(self) -> int | None:
        """Columns for data; None where the output isn't a terminal."""
        ...

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line of data to stdout."""
        ...

    def note(self, text: str, style: str = "dim") -> None:
        """Print a progress line to stderr; suppressed with `--quiet`."""
        ...

    def tell(self, text: str, style: str = "") -> None:
        """Print a line to stderr that the user has to see."""
        ...


def _wrap_about(about: dict[str, Any]) -> dict[str, Any]:
    return {"about": about}


def _ignore_close(close: Callable[[], object]) -> None:
    """Ignore the callback: for hosts that end with their process, which releases everything."""


class Host(Struct, frozen=True):
    """What a host application (CLI, server, worker) provides to an assistant, for one user.

    home      the folder their data is stored in
    model     returns the chosen model, or the default one; raises `UnknownModel` with instructions where there is none
    dialect   how models are to call tools, where the user chose it: `native`, `held`, or the name of a dialect
    user      the user's name
    terminal  the output of a command; None where no command runs, as on a server
    approver  callback that answers approvals at once; None where no person can be asked: a run then stops as "waiting"
    on_close  registers a callback to be called when the host closes: a function, or one that returns an awaitable
    watcher   receives the events of a run as they happen
    observe   counts the turns of sessions where the host has metrics: a context manager for each turn, which yields a watcher
    origin    what the host needs to provide the same model again, when a job is resumed later
    remember  returns the origin of a run, by which the host can resume it, from what the assistant has to know then
    detach    starts a Treadle command that outlives the host; None where that isn't possible
    talk      holds a conversation with an assistant at a terminal; None where there is no input
    about     the context of the conversation, such as a project; journaled as it is, so it must not contain secrets
    headers   the headers of the HTTP request being served, by lower-case name: an assistant may act by a token in them
    folder    the working folder; the current one by default
    shared    whether several users share this host: then credentials of the machine, such as tokens in its environment, aren't
              used on their behalf
    sharing   shares items, such as projects, between the users of a server; None where there are none
    """

    home: "Home"
    model: Callable[[], Awaitable[Model]]
    user: str = ""
    terminal: Terminal | None = None
    approver: Approver | None = None
    on_close: Callable[[Callable[[], object]], None] = _ignore_close
    watcher: Watcher | None = None
    origin: dict[str, Any] = {}
    remember: Callable[[dict[str, Any]], dict[str, Any]] = _wrap_about
    detach: Callable[[Sequence[str]], None] | None = None
    talk: "Callable[[AssistantSession, Agent[Any, Any]], AssistantChat] | None" = None
    about: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    folder: Path | None = None
    shared: bool = False
    dialect: str = ""
    sharing: "ItemSharing | None" = None
    observe: "Callable[[str, str, Usage, Agent[Any, Any]], AbstractContextManager[Watcher]] | None" = None

    @property
    def workspace(self) -> Path:
        """The working folder, created where it doesn't exist."""
        if self.folder is None:
            return Path.cwd()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self.folder

    @property
    def settings(self) -> "Settings":
        """The settings that apply in the working folder, read anew; an assistant's own settings are `settings.assistant(NAME)`."""
        from treadle.settings.loader import settings_for  # nothing is read before it is needed

        return settings_for(Path.cwd() if self.folder is None else self.folder)

    @property
    def command_terminal(self) -> Terminal:
        """The terminal, for commands, which always have one."""
        assert self.terminal is not None, "only servers have none"
        return self.terminal

    def show(self, value: Any) -> None:
        """Print a value as JSON, for commands."""
        self.command_terminal.line(msgspec.json.format(msgspec.json.encode(value)).decode())

    def start_talk(self, session: "AssistantSession", agent: "Agent[Any, Any]") -> "AssistantChat":
        """Start a conversation, for commands, which can always hold one."""
        assert self.talk is not None, "only servers can't"
        return self.talk(session, agent)


def lazy_import(path: str) -> Callable[..., Any]:
    """Return a function that is imported when called: `lazy_import("my_package.command:run")` keeps an assistant's module light."""

    def call(*args: Any) -> Any:
        from importlib import import_module

        module, _, name = path.partition(":")
        return getattr(import_module(module), name)(*args)

    return call


class Command(Struct, frozen=True):
    """A command of an assistant: `treadle NAME …`, or a subcommand: `treadle NAME PART …`.

    summary    what it does, in a few words without a full stop
    run        executes it and returns the exit code, directly or as an awaitable; not used for a command with subcommands
    arguments  adds arguments; `--user` and `--quiet` are there already
    more       a sentence for its help
    parts      its subcommands, each with options of its own
    common     the options that it shares with other commands: `model` adds `--model`, `--base-url` and `--dialect`, `approval`
               adds `--yes`; empty for a command that asks neither a model nor a person
    pages      whether its output may be long, and is shown in a pager where it is longer than the terminal
    """

    name: str
    summary: str
    run: Callable[[Namespace, Host], int | Awaitable[int]] | None = None
    arguments: Callable[[ArgumentParser], object] | None = None
    more: str = ""
    parts: tuple["Command", ...] = ()
    common: tuple[Literal["model", "approval"], ...] = ("model", "approval")
    pages: bool = False


class Panel(Struct, frozen=True):
    """A page of an assistant: a folder with an `index.html`, served at `/NAME/`, where NAME is the assistant's.

    only          a sentence why conversations can start only in it; empty where they can start anywhere
    conversation  the query string that shows a conversation in it, with `{id}` for the conversation's id and `{run_id}` for its
                  latest run's: "session={id}"; empty where it shows none
    job           the same for a job
    asks          whether a question that is asked on the first page is asked in it: it has a conversation, and shows more of it
    """

    title: str
    folder: Path
    only: str = ""
    conversation: str = ""
    job: str = ""
    asks: bool = False


class Assistant(Struct, frozen=True):
    """A ready-made agent: everything an agent of it needs, on any host (`AssistantSession`).

    name          one lower-case word, by which it is selected
    summary       a sentence on its purpose
    instructions  the system prompt
    notes         a line for its model with the request of each round
    configure     returns what depends on the host: any of `instructions`, `policy`, `limits`, `options` and `notes`, by name;
                  and under `parts` further arguments of `Agent`
    toolsets      creates its tools, anew for each run
    lead          returns the plan that guides a model which doesn't call tools by itself: for every request, or for some as a
                  `PartialPlan`; or a `FixedPlan`, which guides every model
    settings      a struct whose fields, each with a default, are its keys under `[assistants.NAME]` in `treadle.toml`; the
                  description of a field's `Meta` says what it has to be, `extra={"project": …}` what a project's file may do
    variables     environment variables for those keys besides `TREADLE_NAME_KEY`
    caller        returns on whose behalf it acts and with which credentials, where that isn't the host's user
    begin         is called with each message before its run starts, and returns the conversation's history: for an assistant
                  that stores conversations itself, each message of which is a run of its own
    reply         returns data that accompanies an answer, such as citations; called for every finished turn, perhaps more than
                  once, so storing it must be idempotent
    erase         deletes its own data about runs, by their ids, when those are deleted
    session       returns what it adds to a session in an editor; given a callback that is called with the name of each new
                  mode, the entries of the run so far, and its id
    project       whether it works on the project in the host's folder: its model reads the project's guide and skills
    questions     example questions for new users
    quick         whether it answers quickly also with a small model: the first page chooses such a one
    routes        creates its HTTP routes (Starlette's), at the paths they declare
    work          returns its kinds of jobs
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
    project: bool = False
    questions: tuple[str, ...] = ()
    quick: bool = False
    commands: tuple[Command, ...] = ()
    routes: Callable[[Host], Sequence[Any]] | None = None
    panel: Panel | None = None
    work: Callable[[], Sequence["JobKind"]] | None = None
    lead: Callable[[Host], "Plan | PartialPlan | FixedPlan"] | None = None
    configure: Callable[[Host], Mapping[str, Any]] | None = None
    settings: type[Struct] | None = None
    variables: tuple[str, ...] = ()
    caller: Callable[[Host], Awaitable[Caller]] | None = None
    begin: "Callable[[Host, str, str], Awaitable[Sequence[Message]]] | None" = None
    reply: "Callable[[Host, RunResult[Any]], Awaitable[Any]] | None" = None
    erase: "Callable[[Home, Collection[str]], Awaitable[None]] | None" = None
    session: "Callable[[Host, OnMode, Sequence[Entry], str], EditorSession] | None" = None

    def for_host(self, host: Host) -> "Assistant":
        """Return the assistant with what depends on the host."""
        return self if self.configure is None else replace(self, configure=None, **self.configure(host))
