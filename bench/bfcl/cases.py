"""The cases: what kinds there are, how they are read from the package `bfcl-eval`, and a sample of them that a seed decides."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from bench.bfcl.schema import json_schema, safe_name

SIMPLE = ("simple_python", "multiple", "live_simple", "live_multiple")
PARALLEL = ("parallel", "parallel_multiple", "live_parallel", "live_parallel_multiple")
IRRELEVANT = ("irrelevance", "live_irrelevance")
MULTI_TURN = "multi_turn_base"
KINDS = (
    *("simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "live_irrelevance"),
    MULTI_TURN,
)

FAULTY = frozenset(  # no answer to these is right by their own checker, not even the published one
    ["live_simple_106-63-0", "live_simple_112-68-0", "live_multiple_862-181-3", "live_multiple_964-207-0"]
)

Said = Mapping[str, str]  # one message: role and content


@dataclass(frozen=True, slots=True)
class Function:
    """One function on offer: its name as routes have to spell it, and its parameters as JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `turns` are the messages of each turn, `answer` what the checker compares with, `entry` the case as published."""

    id: str
    kind: str
    turns: tuple[tuple[Said, ...], ...]
    functions: tuple[Function, ...]
    answer: Any
    entry: dict[str, Any] = field(repr=False)

    @property
    def instructions(self) -> str:
        """What its system message says, if it has one."""
        return "\n\n".join(said["content"] for said in self.turns[0] if said["role"] == "system")

    @property
    def earlier(self) -> tuple[Said, ...]:
        """What was said before the last message of the first turn."""
        return tuple(said for said in self.turns[0][:-1] if said["role"] != "system")

    @property
    def prompts(self) -> tuple[str, ...]:
        """What the person says last, turn by turn."""
        return tuple(turn[-1]["content"] for turn in self.turns)

    def published_name(self, name: str) -> str:
        """A function's name as the case spells it; another name stays what it is."""
        return next((each["name"] for each in self.entry["function"] if safe_name(each["name"]) == name), name)


def sample(kinds: Sequence[str], per: Mapping[str, int], seed: int) -> list[Case]:
    """So many cases of each kind; the seed alone decides which."""
    return [case for kind in kinds for case in drawn(load(kind), per[kind], f"{seed}-{kind}")]


def drawn(cases: Iterable[Case], count: int, seed: str) -> list[Case]:
    """The first of a shuffled deck, without the faulty ones: a larger sample has all cases of a smaller one."""
    deck = list(cases)
    Random(seed).shuffle(deck)
    return [case for case in deck if case.id not in FAULTY][:count]


def counts(text: str, kinds: Sequence[str]) -> dict[str, int]:
    """`12`, or `simple_python=20,parallel=5`; a number alone is for the kinds that aren't named, which else have none."""
    named = {name: count for name, _, count in (part.rpartition("=") for part in text.split(","))}
    strange = [name for name in named if name and name not in KINDS]
    if strange:
        raise ValueError(f"There is no kind {strange[0]!r}. There are: {', '.join(KINDS)}.")
    return {kind: int(named.get(kind, named.get("", "0"))) for kind in kinds}


def load(kind: str) -> list[Case]:
    """All cases of a kind, in the order they were published."""
    data = data_folder()
    answers = _answers(data / "possible_answer" / f"BFCL_v4_{kind}.json")
    entries = _lines(data / f"BFCL_v4_{kind}.json")
    return [_case(kind, entry, answers.get(entry["id"]), data) for entry in entries]


def data_folder() -> Path:
    """Where the package keeps its data; importing it isn't needed, and would need much else."""
    spec = find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The cases are missing: `make bfcl` sets .venv-bench up with them.")
    return Path(spec.submodule_search_locations[0]) / "data"


def _case(kind: str, entry: dict[str, Any], answer: Any, data: Path) -> Case:
    entry = entry if "function" in entry else {**entry, "function": _class_functions(entry["involved_classes"], data)}
    functions = tuple(_function(each) for each in entry["function"])
    return Case(entry["id"], kind, tuple(map(tuple, entry["question"])), functions, answer, entry)


def _function(described: dict[str, Any]) -> Function:
    return Function(safe_name(described["name"]), described["description"], json_schema(described["parameters"]))


def _class_functions(classes: Sequence[str], data: Path) -> list[dict[str, Any]]:
    files = import_module("bfcl_eval.constants.executable_backend_config").MULTI_TURN_FUNC_DOC_FILE_MAPPING
    return [described for name in classes for described in _lines(data / "multi_turn_func_doc" / files[name])]


def _answers(path: Path) -> dict[str, Any]:
    return {each["id"]: each["ground_truth"] for each in _lines(path)} if path.exists() else {}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
