"""`treadle code`: a coding session in the current folder, typed at a terminal or piped.

The conversation itself is the host's, as for every assistant; here are the session's slash commands, its `!` lines and mentions,
and how its changes, tasks and modes are shown.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from msgspec import Struct

from treadle import Approval, RunInfo
from treadle.assistant import (
    ApprovalChoice,
    AssistantChat,
    AssistantSession,
    ChatExtension,
    Host,
    Quote,
    SlashCommand,
    Terminal,
    TypedPrompt,
    exit_code,
    fit_columns,
    read_typed_prompt,
    wrap_words,
)
from treadle.assistants.coding import assistant, prompts
from treadle.assistants.coding.command import add_check_argument
from treadle.assistants.coding.inputs import truncate_middle
from treadle.assistants.coding.mentions import expand_session_mentions, find_mentions
from treadle.assistants.coding.modes import MODES, PROPOSE_PLAN, Mode, next_mode, parse_mode
from treadle.assistants.coding.session import CodingSession, Task
from treadle.assistants.coding.session_changes import ChangedSince, find_mode
from treadle.assistants.coding.undo import UNDO_VERBS, print_diff
from treadle.errors import SettingsError, TreadleError
from treadle.journal import JournalQuery, Opened
from treadle.workspace import review_diff

MAX_SHOWN_LINES = 60  # of a change that needed no approval; /diff has the rest
_MAX_DIFF = 60_000  # characters of a change to review
_RECENT = 50  # runs among which sessions of this folder are looked for
GREETING = "Shift-Tab or /mode changes the mode, ! runs a command, @ adds a file or a symbol; /help lists the rest."
_MARKS = {"pending": "[ ]", "active": "[>]", "done": "[x]"}


def code_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `treadle code`."""
    parser.add_argument("words", nargs="*", metavar="PROMPT", help="the first message; piped text is added, and files as @FILE")
    parser.add_argument("--mode", choices=list(MODES), metavar="MODE", help="ask (default), accept-edits or plan")
    add_check_argument(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-c", "--continue", action="store_true", dest="continue_last", help="continue the last session here")
    which.add_argument("--resume", metavar="RUN", help="continue this session: its id, the beginning of it, or `last`")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object, where it isn't a terminal")


async def code(args: Namespace, host: Host) -> int:
    """Hold a session in the current folder, or answer one piped prompt."""
    known = await find_session("last" if args.continue_last else args.resume, host) if args.continue_last or args.resume else None
    mode = args.mode or ("ask" if known is None else known.mode)
    coding = CodingSession(assistant, host, mode, TerminalView(host.command_terminal), check=args.check)
    session = AssistantSession(coding.assistant, host, {"mode": mode})
    talk = host.start_talk(session, session.agent(await host.model()))
    try:
        if talk.is_interactive:
            coding.start()
        return await _hold_session(args, host, coding, talk, known)
    finally:
        await coding.close()


async def _hold_session(
    args: Namespace, host: Host, coding: CodingSession, talk: AssistantChat, known: "KnownSession | None"
) -> int:
    chat = SessionChat(coding, talk, host)
    prompt = await read_first_prompt(args.words, coding, required=not talk.is_interactive and known is None)
    if known is not None:
        coding.keep_mode(known.run.run_id)
        resumed = await talk.go_on(known.run.run_id)
        if resumed is not None and resumed.stopped == "waiting":
            return exit_code(resumed)
    if talk.is_interactive:
        return await chat.converse(prompt if prompt.text or prompt.attachments else None)
    if not prompt.text and known is not None:
        raise SettingsError("There is nothing to send: type the message after the command, or pipe it.")
    return exit_code(await talk.ask(prompt.text, prompt.attachments))


async def read_first_prompt(words: Sequence[str], coding: CodingSession, *, required: bool) -> TypedPrompt:
    """Return what is typed after the command, with what it mentions and what is piped."""
    text = " ".join(words)
    mentions = await find_mentions(text, coding.symbols.find_definitions)
    return mentions.add_to(read_typed_prompt([mentions.escape(word) for word in words], required=required), text)


class KnownSession(Struct, frozen=True):
    """A stored session: its run, and the mode that it was in."""

    run: RunInfo
    mode: Mode


async def list_sessions(host: Host) -> list[KnownSession]:
    """Return the sessions of the host's folder and user, the newest first."""
    journal, here = host.home.journal, str(host.workspace)
    if not host.home.database.exists():
        return []
    found: list[KnownSession] = []
    for run in await journal.list_runs(JournalQuery(agent=assistant.name, limit=_RECENT)):
        entries = await journal.read(run.run_id)
        opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
        mode = find_mode(host.home.folder, run.run_id, entries)
        if mode is not None and opened.origin.get("workspace") == here and run.user == host.user:
            found.append(KnownSession(run, mode))
    return found


async def find_session(text: str, host: Host) -> KnownSession:
    """Return the session that is meant: by its id, the beginning of it, or `last`."""
    found = await list_sessions(host)
    if text == "last" and found:
        return found[0]
    meant = [each for each in found if each.run.run_id.startswith(text)]
    if len(meant) == 1:
        return meant[0]
    if not found or text == "last":
        raise SettingsError("There is no session in this folder yet; `treadle code` starts one.")
    several = f"{len(meant)} sessions begin with {text}" if meant else f"There is no session {text} in this folder"
    raise SettingsError(f"{several}. The last ones are {', '.join([each.run.run_id for each in found[:3]])}.")


class TerminalView:
    """Shows a session at a terminal: plain lines, so that it works at any width and without colour."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def show_diff(self, diff: str) -> None:
        """Print the beginning of a diff."""
        lines = diff.splitlines()
        print_diff("\n".join(lines[:MAX_SHOWN_LINES]), self._terminal.note)
        if len(lines) > MAX_SHOWN_LINES:
            self._terminal.note(f"[{len(lines) - MAX_SHOWN_LINES} more lines; /diff shows them]")

    def show_tasks(self, tasks: Sequence[Task]) -> None:
        """Print the task list."""
        for task in tasks:
            self._terminal.note(f"{_MARKS[task.state]} {' '.join(task.title.split())}", "bold" if task.state == "active" else "dim")

    def show_mode(self, mode: Mode) -> None:
        """Print the mode."""
        self._terminal.note(wrap_words(f"Mode {mode}: {MODES[mode].summary}.", self._terminal.width), "cyan")


class SessionChat:
    """The session at a terminal: what can be typed besides messages."""

    def __init__(self, coding: CodingSession, talk: AssistantChat, host: Host) -> None:
        self._coding = coding
        self._talk = talk
        self._host = host
        self._terminal = host.command_terminal
        self._context: list[str] = []  # what the user did since the last message, for the model
        self._outputs: list[Quote] = []  # of the user's own commands since then

    async def converse(self, first: TypedPrompt | None) -> int:
        """Answer lines until there are no more."""
        coding, info = self._coding, MODES[self._coding.state.mode]
        words = f"Working in {coding.folder}. Mode {info.name}: {info.summary}. {GREETING}"
        self._terminal.note(wrap_words(words, self._terminal.width))
        extension = ChatExtension(
            first=first,
            expand=self._expand,
            shell=self._run_shell_line,
            prompt=lambda: f"{coding.state.mode}> ",
            keys={"s-tab": self._switch_quietly},
            choices=self._make_choices(),
        )
        return await self._talk.converse(self._make_slashes(), None, extension)

    def _make_slashes(self) -> dict[str, SlashCommand]:
        return {
            "/mode": SlashCommand("show the mode, or change it: ask, accept-edits or plan", self._change_mode, "[MODE]"),
            "/plan": SlashCommand("plan first: nothing is changed before you approve the plan", self._plan, "[TEXT]"),
            "/tasks": SlashCommand("show the task list", self._show_tasks),
            "/diff": SlashCommand("show what this session has changed", self._show_diff),
            "/undo": SlashCommand("undo the last change of a file, or the last N, or `all`", self._undo, "[N|all]"),
            "/review": SlashCommand("have uncommitted changes reviewed", self._review, "[TEXT]"),
            "/new": SlashCommand("begin another conversation (so does /clear)", self._start_afresh),
            "/resume": SlashCommand("list earlier sessions of this folder, or continue one", self._resume, "[RUN]"),
        }

    def _make_choices(self) -> tuple[ApprovalChoice, ...]:
        state = self._coding.state

        def accepts_edits(approval: Approval) -> bool:
            return state.mode == "ask" and self._coding.accepts(approval.name)

        def accepts_plan(approval: Approval) -> bool:
            return approval.name == PROPOSE_PLAN and state.after_plan != "accept-edits"

        def carry_out() -> None:
            state.after_plan = "accept-edits"

        return (
            ApprovalChoice("s", "[s] accept edits in this session", accepts_edits, lambda: state.switch("accept-edits")),
            ApprovalChoice("s", "[s] and accept its edits", accepts_plan, carry_out),
        )

    # messages

    async def _expand(self, said: str | TypedPrompt) -> TypedPrompt:
        """Return a message with what it mentions, and with what the user did since the last one."""
        prompt = await expand_session_mentions(said, self._coding.symbols.find_definitions) if isinstance(said, str) else said
        notes = [*self._context, self._coding.take_mode_note()]
        context, self._context = "".join([f"\n\n{each}" for each in notes if each]), []
        outputs, self._outputs = self._outputs, []
        return TypedPrompt(prompt.text + context, (*prompt.attachments, *outputs))

    async def _run_shell_line(self, line: str) -> None:
        if not line:
            raise SettingsError("Type a command after the exclamation mark: !git status")
        output = await self._coding.run_shell_line(line)
        self._terminal.line(output)
        self._context.append(f"The user ran a command:\n<command>\n{line}\n</command>")
        self._outputs.append(Quote("the output of the user's command", output))

    # modes

    def _switch_quietly(self) -> None:
        """Go to the next mode; the prompt shows it, and nothing is printed above a line that is being typed."""
        state = self._coding.state
        shown, state.on_switch = state.on_switch, None
        state.switch(next_mode(state.mode))
        state.on_switch = shown

    def _change_mode(self, text: str) -> None:
        state = self._coding.state
        if text:
            state.switch(parse_mode(text))
        else:
            for mode, info in MODES.items():
                self._terminal.tell(f"{'*' if mode == state.mode else ' '} {mode}: {info.summary}")

    def _plan(self, text: str) -> str:
        self._coding.state.switch("plan")
        return text

    def _show_tasks(self, _: str) -> None:
        if self._coding.tasks:
            TerminalView(self._terminal).show_tasks(self._coding.tasks)
        else:
            self._terminal.tell("There is no task list yet.")

    # changes

    async def _show_diff(self, _: str) -> None:
        diff = await self._coding.changes(self._talk.run_id).diff()
        if diff:
            print_diff(diff, self._terminal.line)
        else:
            self._terminal.tell("This session has changed nothing.")

    async def _undo(self, text: str) -> None:
        if text and text != "all" and not (text.isdecimal() and int(text)):
            raise SettingsError("/undo takes how many changes to undo, or `all`.")
        changes = self._coding.changes(self._talk.run_id)
        known = len(changes.load())
        try:
            with self._coding.lock_folder():
                undone = await changes.undo(known if text == "all" else int(text or 1))
        except ChangedSince as changed:
            names = ", ".join(changed.paths)
            raise TreadleError(
                f"{names} changed after that, so it isn't undone. Save your own changes elsewhere first."
            ) from changed
        if not undone:
            self._terminal.tell("There is nothing to undo.")
            return
        restored = [(UNDO_VERBS[change.kind], change.path) for each in undone for change in each.restored]
        for verb, path in restored:
            self._terminal.tell(f"{verb}: {path}")
        files = ", ".join(dict.fromkeys([path for _, path in restored]))
        self._context.append(f"The user undid your last changes of {files}: read them again before you change them.")

    async def _review(self, text: str) -> TypedPrompt | None:
        coding = self._coding
        diff = await coding.changes(self._talk.run_id).diff()
        if (coding.folder / ".git").exists():
            diff = await review_diff(coding.folder, unsafe=not coding.is_sandboxed) or diff
        if not diff.strip():
            self._terminal.tell("There is nothing to review.")
            return None
        asked = prompts.format_review_prompt(text, truncate_middle(diff, _MAX_DIFF), "", "")
        return TypedPrompt(f"{prompts.SESSION_REVIEW}\n\n{asked}")

    def _start_afresh(self, _: str) -> None:
        self._talk.start_afresh()
        self._coding.start_afresh()
        self._terminal.tell(f"A new conversation: run {self._talk.run_id}")

    async def _resume(self, text: str) -> None:
        if text:
            known = await find_session(text, self._host)
            self._terminal.note(f"Continuing run {known.run.run_id}: {known.run.title}")
            self._context, self._outputs = [], []
            self._coding.go_on_with(known.run.run_id, known.mode)
            await self._talk.go_on(known.run.run_id)
            return
        for known in (await list_sessions(self._host))[:10]:
            mark = "*" if known.run.run_id == self._talk.run_id else " "
            line = f"{mark} {known.run.run_id}  {' '.join(known.run.title.split())}"
            self._terminal.tell(fit_columns(line, self._terminal.width or len(line)))
