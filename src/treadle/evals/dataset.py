"""Cases of an evaluation, in files or in code: what an agent is asked, and what is expected of its run.

A dataset is a YAML, JSON or JSONL file, or a `Dataset` in Python. Every mistake in a file is reported, with the line and the case.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType

from treadle.core.entries import Stopped
from treadle.core.errors import SettingsError
from treadle.core.messages import Message, Text
from treadle.files import NotOpened, read_named
from treadle.guard.conditions import compile_conditions
from treadle.guard.globs import compile_glob
from treadle.plugins.tool_loader import load_object, names_object

MAX_BYTES = 50_000_000  # of a dataset
SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")


def as_tuple(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    return (value,) if isinstance(value, str) else value


class ExpectedText(Struct, frozen=True, forbid_unknown_fields=True):
    """What a text has to be: of an answer, or of a file.

    equals    the whole text; white space at both ends doesn't count
    contains  a text or several, all of which have to be in it; upper and lower case are the same
    excludes  a text or several, none of which may be in it
    matches   a regular expression that is found in it, or several
    json      a value that the text, read as JSON, has to contain: objects may have more fields, lists are compared item by item
    """

    equals: str | None = None
    contains: str | tuple[str, ...] = ()
    excludes: str | tuple[str, ...] = ()
    matches: str | tuple[str, ...] = ()
    json: Any = UNSET

    def __post_init__(self) -> None:
        for pattern in as_tuple(self.matches):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"`matches` is no regular expression: {error}") from error


class ExpectedFile(ExpectedText, frozen=True, forbid_unknown_fields=True):
    """What a file of the workspace has to be after the run; with `exists: false`, it must not be there."""

    exists: bool = True


class ExpectedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that is expected, or forbidden.

    tool       the tool's name, as a glob
    arguments  values that its arguments have to contain, compared as in `ExpectedText.json`
    where      conditions on its arguments, as in rules of a policy: `{"item": "A-*", "count": "<= 100"}`
    verdict    the policy's verdict on it; without one, the call has to have run
    """

    tool: str
    arguments: dict[str, Any] = {}
    where: dict[str, Any] = {}
    verdict: Literal["allow", "ask", "deny"] | None = None

    def __post_init__(self) -> None:
        compile_glob(self.tool)
        try:
            compile_conditions(self.where)
        except SettingsError as error:
            raise ValueError(str(error)) from error


class Expectations(Struct, frozen=True, forbid_unknown_fields=True):
    """What is expected of a run.

    calls      calls that have to be made, in any order; a text is the name of a tool
    in_order   the calls have to be made in this order; there may be others between them
    only       no other calls may be made
    forbidden  calls that must not be requested, whether they would run or not
    output     the answer; a text has to be contained in it
    files      files of the workspace after the run, by their paths; a text is the whole content
    stopped    how the run has to end: one way, or several that are right
    cost       US dollars that it may cost at most
    seconds    seconds of work that it may take at most
    """

    calls: tuple[str | ExpectedCall, ...] = ()
    in_order: bool = False
    only: bool = False
    forbidden: tuple[str | ExpectedCall, ...] = ()
    output: str | ExpectedText | None = None
    files: dict[str, str | ExpectedFile] = {}
    stopped: Stopped | tuple[Stopped, ...] = "answered"
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for path in self.files:
            if not path or Path(path).is_absolute() or ".." in Path(path).parts:
                raise ValueError(f"`files` names {path!r}; a path is relative to the workspace, without `..`")
        for name, limit in (("cost", self.cost), ("seconds", self.seconds)):
            if limit is not None and limit < 0:
                raise ValueError(f"`{name}` can't be negative")


class Rubric(Struct, frozen=True, forbid_unknown_fields=True):
    """What a judge model decides by: `rubric` says when an answer passes, `model` which model judges."""

    rubric: str
    model: str = ""

    def __post_init__(self) -> None:
        if not self.rubric.strip():
            raise ValueError("`rubric` is empty; say when an answer passes")


class SimulatedUser(Struct, frozen=True, forbid_unknown_fields=True):
    """A user whom a model plays.

    goal   what the user wants, and what they know
    model  the model that plays them
    turns  how many messages they send at most
    """

    goal: str
    model: str = ""
    turns: int = 8

    def __post_init__(self) -> None:
        if not self.goal.strip():
            raise ValueError("`goal` is empty; say what the user wants and knows")
        if self.turns < 1:
            raise ValueError("`turns` is at least 1")


class CaseMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """A message of the conversation that a case begins with."""

    role: Literal["user", "assistant"]
    text: str


Check = Callable[..., Any]
Attack = Literal["plain", "authority", "user", "step", "call"]
Setup = Callable[..., AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]


class Case(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One case: what is asked, and what is expected.

    name          the case's name, unique in its dataset
    input         the prompt; or `messages`, a conversation that ends with the user's message
    agent         `MODULE:NAME` or `FILE.py:NAME`: an `Agent`, or a function that returns one, of the workspace if it takes it
    assistant     the name of an installed assistant, in place of `agent`; `context` is what the conversation with it is about
    task          a function in place of an agent, or its name, `MODULE:NAME`: it runs the case, as a job is run; see `TaskContext`
    instructions  in place of the agent's own; for an assistant they are added to its own
    user          a simulated user, who goes on with the conversation, and also begins it where there is no `input`
    workspace     a folder, relative to the dataset; each run gets a copy of it to work in
    approve       the tools, as globs, whose calls are approved where the policy asks; all others are denied
    expected      what is expected of the run
    checks        functions of a `CaseRun`, or in a file their names, `MODULE:NAME`; see `treadle.evals`
    judge         a rubric for a judge model
    attack        a kind of prompt injection that the results of tools carry; see `treadle.evals.attacks`
    """

    name: str
    input: str = ""
    messages: tuple[CaseMessage, ...] = ()
    agent: str = ""
    assistant: str = ""
    context: dict[str, Any] = {}
    task: Any = None
    instructions: str = ""
    user: SimulatedUser | None = None
    workspace: str = ""
    approve: tuple[str, ...] = ()
    expected: Expectations = Expectations()
    checks: tuple[Any, ...] = ()
    judge: Rubric | None = None
    attack: Attack | None = None

    def __post_init__(self) -> None:
        for mistake in self._mistakes():
            raise ValueError(mistake)

    def _mistakes(self) -> Iterator[str]:
        if not self.name.strip():
            yield "`name` is empty"
        given = bool(self.input.strip()) + bool(self.messages)
        if given > 1 or not (given or self.user):
            yield "a case has either `input` or `messages`" + ("" if given else ", or a simulated `user` who begins")
        if self.messages and (self.messages[-1].role != "user" or not self.messages[-1].text.strip()):
            yield "the last of `messages` has to be the user's, with text"
        if self.agent and self.assistant:
            yield "a case has either `agent` or `assistant`"
        if self.task is not None:
            yield from self._task_mistakes()
        for check in self.checks:
            if not _is_function(check):
                yield f"`checks` has {check!r}; write MODULE:NAME or FILE.py:NAME"

    def _task_mistakes(self) -> Iterator[str]:
        others = {"agent": self.agent, "assistant": self.assistant, "user": self.user, "attack": self.attack}
        if unfit := [f"`{name}`" for name, value in others.items() if value]:
            yield f"a `task` runs the case by itself, without {' and '.join(unfit)}"
        if not _is_function(self.task):
            yield f"`task` is {self.task!r}; write MODULE:NAME or FILE.py:NAME"

    @property
    def prompt(self) -> str:
        """The user's message that the run answers."""
        return self.messages[-1].text if self.messages else self.input

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages before it."""
        roles: dict[str, Literal["person", "model"]] = {"user": "person", "assistant": "model"}
        return tuple([Message(roles[each.role], (Text(each.text),)) for each in self.messages[:-1]])


def _is_function(value: object) -> bool:
    """Return whether a value is a function, or the name of one."""
    return callable(value) or (isinstance(value, str) and ":" in value)


class Dataset(Struct, frozen=True):
    """Cases with a name.

    folder  what paths and modules in them are relative to
    setup   a function that returns a context manager, or in a file its name, `MODULE:NAME`: entered before the first case and left
            after the last; if it takes an argument, that is the user's name; a dict that it yields is added to the context of each
            case
    """

    name: str
    cases: tuple[Case, ...]
    folder: Path = Path()
    setup: Setup | str | None = None

    def __post_init__(self) -> None:
        for name, times in Counter([case.name for case in self.cases]).items():
            if times > 1:
                raise SettingsError(f"The dataset {self.name} has {times} cases called {name!r}; names are unique.")


class _DatasetFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A YAML or JSON document. `defaults` are fields that all cases have, unless they set them."""

    cases: list[dict[str, Any]]
    name: str = ""
    defaults: dict[str, Any] = {}
    setup: str | None = None


class _RawCase(Struct, frozen=True):
    """A case as it stands in a file. The line is 0 where it isn't known."""

    line: int
    fields: Mapping[str, Any]


def load_dataset(path: Path | str) -> Dataset:
    """Read a dataset from a file: YAML, JSON, or JSONL with a case on each line. Raises `SettingsError` with all mistakes.

    `MODULE:NAME` and `FILE.py:NAME` name a `Dataset` in Python, or a function that returns one.
    """
    if names_object(str(path)):
        return _load_from_code(str(path))
    file = Path(path)
    if file.suffix not in SUFFIXES:
        raise SettingsError(f"The dataset {file} has to be a file that ends in {', '.join(SUFFIXES)}.")
    try:
        text = read_named(file, MAX_BYTES).decode("utf-8")
    except (NotOpened, UnicodeDecodeError) as error:
        raise SettingsError(f"The dataset {file} can't be opened: {error}") from error
    document, raw = _read_lines(file, text) if file.suffix == ".jsonl" else _read_document(file, text)
    if not raw:
        raise SettingsError(f"The dataset {file} has no cases.")
    cases, mistakes = _read_cases(file, raw, document.defaults)
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    return Dataset(document.name or file.stem, tuple(cases), file.parent.absolute(), document.setup)


def _load_from_code(spec: str) -> Dataset:
    found = load_object(spec, str(Path.cwd()))
    if callable(found):
        found = found()
    if not isinstance(found, Dataset):
        raise SettingsError(f"{spec} is of type {type(found).__name__}; it has to be a Dataset, or a function that returns one.")
    return found


def _read_document(file: Path, text: str) -> tuple[_DatasetFile, list[_RawCase]]:
    from treadle.toolsets.openapi.yaml_loader import InvalidYaml, find_item_lines, read_yaml

    try:
        document = msgspec.convert(msgspec.json.decode(text) if file.suffix == ".json" else read_yaml(text), _DatasetFile)
    except (InvalidYaml, msgspec.DecodeError) as error:
        raise SettingsError(f"The dataset {file} can't be read: {error}") from error
    lines = [0] * len(document.cases) if file.suffix == ".json" else find_item_lines(text, "cases")
    return document, [_RawCase(*each) for each in zip(lines, document.cases, strict=True)]


def _read_lines(file: Path, text: str) -> tuple[_DatasetFile, list[_RawCase]]:
    raw: list[_RawCase] = []
    mistakes: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                raw.append(_RawCase(number, msgspec.json.decode(line, type=dict[str, Any])))
            except msgspec.DecodeError as error:
                mistakes.append(f"{file}, line {number}: it isn't one JSON object: {error}")
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    defaults: Any = {}
    if raw and [*raw[0].fields] == ["defaults"]:
        defaults = raw.pop(0).fields["defaults"]
        if not isinstance(defaults, dict):
            raise SettingsError(f"{file}, line 1: `defaults` has to be an object.")
    return _DatasetFile([], defaults=cast("dict[str, Any]", defaults)), raw


_RUN_BY = ("agent", "assistant", "task")


def _read_cases(file: Path, raw: Sequence[_RawCase], defaults: Mapping[str, Any]) -> tuple[list[Case], list[str]]:
    cases: list[Case] = []
    mistakes: list[str] = []
    seen: set[str] = set()
    for each in raw:
        replaced = {*_RUN_BY} if {*_RUN_BY} & {*each.fields} else set[str]()
        fields = {**{name: value for name, value in defaults.items() if name not in replaced}, **each.fields}
        where = f"{file}, {f'line {each.line}, ' if each.line else ''}case {fields.get('name', '')!r}"
        try:
            made = msgspec.convert(fields, Case)
        except msgspec.ValidationError as error:
            mistakes.append(f"{where}: {error}")
            continue
        if made.name in seen:
            mistakes.append(f"{where}: another case has the same name.")
        elif made.workspace and not (file.parent / made.workspace).is_dir():
            mistakes.append(f"{where}: there is no folder {made.workspace} beside the dataset.")
        seen.add(made.name)
        cases.append(made)
    return cases, mistakes


def is_set(value: object) -> bool:
    """Return whether a value was given, where null is a value too."""
    return not isinstance(value, UnsetType)
