"""`python -m bench.long_sessions`, or `make long-sessions`: conversations of 50, 200 and 400 turns, and one of 1,000.

Facts are planted early and asked for late, against a deterministic model over HTTP with a window of 8,000 tokens. Every contender
has the same conversation, the same model and the same summarizer, in a process of its own. The tables go to standard output and to
`bench/results/long-sessions.md`; goals that are missed are named there, and end the command with an error.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from bench.long_sessions.contenders import CONTENDERS
from bench.long_sessions.server import SUMMARY, WINDOW, Counts, MockModel, serve
from bench.machine import describe
from bench.report import table

RESULTS = Path(__file__).parents[1] / "results" / "long-sessions.md"
TURNS = (50, 200, 400)
STEADY_TURNS = 1_000
OURS = "treadle"
FLAT = 1.5  # how much more the last turns may cost than the second hundred
RESUME = 1.0  # seconds
RESUMES = 5
PACKAGES = ("pydantic-ai-slim", "pydantic-ai-harness", "langchain", "deepagents")


Steady = tuple[list[dict[str, float]], list[dict[str, float]]]  # blocks of turns, and how the run was resumed, several times

ABOUT = f"""\
Facts are planted in the first half of a conversation and asked for in the last fifth: half of them in the user's words, half in a
tool's result, and every fifth is corrected in between. The model is a deterministic mock over HTTP with a window of {WINDOW:,}
tokens, which refuses more; it answers from what it is sent, or by a search of the conversation's history where one is offered.
The summarizer is the same for all: the most telling sentences, {SUMMARY:,} characters. Thresholds are those of each framework's
documentation, everything else is as it comes. Tokens are the server's count, of four characters each; a prompt cache can't serve
those that aren't at the beginning of the request as they were in the one before.
"""


@dataclass(frozen=True)
class Session:
    """A session of one contender: what it found, and what the server counted."""

    contender: str
    turns: int
    found: dict[str, Any]
    counts: Counts

    @property
    def asked(self) -> int:
        """How many facts were asked for."""
        return sum(self.found["asked"].values())

    @property
    def right(self) -> int:
        """How many answers were right."""
        return sum(self.found["right"].values())

    @property
    def failures(self) -> int:
        """How many turns had no answer."""
        return sum(self.found["failures"].values())

    def row(self) -> list[str]:
        """Return the row of the table."""
        counts, found = self.counts, self.found
        by_kind = [f"{found['right'].get(kind, 0)}/{found['asked'].get(kind, 0)}" for kind in ("fact", "record", "correction")]
        new = counts.input_tokens - counts.repeated_tokens
        return [
            self.contender,
            f"**{self.right / self.asked:.0%}**",
            *by_kind,
            f"{counts.input_tokens:,}",
            f"{new:,}",
            f"{counts.requests:,}",
            f"{counts.summaries:,}",
            f"{counts.searches:,}",
            f"{counts.refused:,}",
            f"{self.failures:,}",
        ]


COLUMNS = [
    *("contender", "recall", "said by the user", "in a tool's result", "corrected", "tokens sent", "of these not at the beginning"),
    *("requests", "summaries", "searches", "refused", "failed turns"),
]


def hold(model: MockModel, url: str, contender: str, turns: int) -> Session:
    """Hold a session in a process of its own."""
    key = f"{contender}-{turns}"
    command = [sys.executable, "-m", "bench.long_sessions.worker", contender, str(turns), url, key]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{contender} with {turns} turns: {ran.stderr}")
    return Session(contender, turns, json.loads(ran.stdout.splitlines()[-1]), model.counts[key])


class Record:
    """Sessions that were held already, one JSON line each, so that a measurement that was stopped can go on."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def find(self, contender: str, turns: int) -> Session | None:
        """Return a session that was held already."""
        lines = self._path.read_text("utf-8").splitlines() if self._path is not None and self._path.exists() else []
        held = [each for each in map(json.loads, lines) if (each["contender"], each["turns"]) == (contender, turns)]
        return Session(contender, turns, held[0]["found"], Counts(**held[0]["counts"])) if held else None

    def find_steady(self, turns: int) -> Steady | None:
        """Return the long run, if it was measured already."""
        found = self.find("steady", turns)
        return None if found is None else (found.found["blocks"], found.found["resumed"])

    def add_steady(self, measured: Steady) -> Steady:
        """Add the long run, and return it."""
        blocks, resumed = measured
        self.add(Session("steady", int(blocks[-1]["turns"]), {"blocks": blocks, "resumed": resumed}, Counts()))
        return measured

    def add(self, session: Session) -> Session:
        """Add a session, and return it."""
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(session)) + "\n")
        return session


def measure_steady(url: str, turns: int) -> Steady:
    """Return the blocks of a long run, and how it was resumed after its process was killed."""
    with tempfile.TemporaryDirectory(prefix="long-sessions-") as folder:
        found: dict[str, Any] = {}
        resumed: list[dict[str, float]] = []
        for step in ("talk", *("die", "resume") * RESUMES):
            command = [sys.executable, "-m", "bench.long_sessions.steady", step, folder, url, str(turns)]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if step != "die" and ran.returncode:
                raise SystemExit(f"{step}: {ran.stderr}")
            if step == "resume":
                resumed.append(json.loads(ran.stdout.splitlines()[-1]))
            elif step == "talk":
                found[step] = json.loads(ran.stdout.splitlines()[-1])
    return found["talk"], resumed


def judge_sessions(sessions: list[Session]) -> list[tuple[str, bool]]:
    """Return each goal about recall and tokens, and whether it is reached."""
    goals: list[tuple[str, bool]] = []
    for turns in sorted({each.turns for each in sessions}):
        held = [each for each in sessions if each.turns == turns]
        mine = next((each for each in held if each.contender == OURS), None)
        others = [each for each in held if each is not mine]
        if mine is None or not others:
            continue
        best = max(each.right for each in others)
        rivals = [each for each in others if each.right == best]
        fewest = min(rivals, key=lambda each: each.counts.input_tokens)
        goals.append((f"{turns} turns: recall {mine.right} of {mine.asked}, the best of the others {best}", mine.right >= best))
        theirs = f"{fewest.contender} with that recall {fewest.counts.input_tokens:,}"
        text = f"{turns} turns: {mine.counts.input_tokens:,} tokens sent, {theirs}"
        goals.append((text, mine.right > best or mine.counts.input_tokens <= fewest.counts.input_tokens))
        goals.append((f"{turns} turns: {mine.failures} failed turns", mine.failures == 0))
    return goals


def judge_steady(blocks: list[dict[str, float]], resumes: list[dict[str, float]]) -> list[tuple[str, bool]]:
    """Return each goal about the long run, and whether it is reached."""
    resumed = median([each["resume_s"] for each in resumes])
    early, late = blocks[min(1, len(blocks) - 1)], blocks[-1]
    grown = (late["memory_mb"] - early["memory_mb"]) / max(late["turns"] - early["turns"], 1) * 1000
    return [
        (
            f"CPU time of a turn: {early['cpu_ms']:.1f} ms in turns 101 to 200, {late['cpu_ms']:.1f} ms in the last hundred",
            late["cpu_ms"] <= early["cpu_ms"] * FLAT,
        ),
        (f"memory: {grown:.0f} KB for each further turn, which is what the turn says (at most 20 KB)", grown <= 20),
        (
            f"resumed after a kill in {resumed:.2f} s, the median of {len(resumes)} (below {RESUME:.0f} s)",
            resumed < RESUME,
        ),
    ]


def write_page(sessions: list[Session], steady: Steady | None, goals: list[tuple[str, bool]]) -> str:
    """Return the page with all tables."""
    machine = describe()
    lines = [
        "# Long sessions: what is still known, and what it costs\n",
        f"{machine.cpu}, {machine.cores} cores, {machine.date}. {', '.join(_versions())}.\n",
        ABOUT,
    ]
    for turns in sorted({each.turns for each in sessions}):
        lines += [f"## {turns} turns\n", table(COLUMNS, [each.row() for each in sessions if each.turns == turns]), ""]
    if steady is not None:
        blocks, resumed = steady
        rows = [
            [f"{block['turns'] - 99:.0f}–{block['turns']:.0f}", *[f"{block[name]:.1f}" for name in ("ms", "cpu_ms", "memory_mb")]]
            for block in blocks
        ]
        lines += [
            f"## {blocks[-1]['turns']:,.0f} turns in one run of Treadle, with journal and audit log in SQLite\n",
            table(["turns", "ms per turn, with the mock's", "CPU ms per turn", "memory of the process, MB"], rows),
            _describe_resume(resumed),
        ]
    return "\n".join(
        [*lines, "## Goals\n", *[f"- {'reached' if reached else '**missed**'}: {text}" for text, reached in goals], ""]
    )


def _describe_resume(resumes: list[dict[str, float]]) -> str:
    rows = [[f"{each[name]:,.2f}" for name in ("resume_s", "cpu_s", "next_turn_s", "load")] for each in resumes]
    words = (
        f"\nKilled in the next turn, during a call, and resumed by another process, from {resumes[0]['entries']:,.0f} entries on:\n"
    )
    return f"{words}\n{table(['resumed in, s', 'CPU time, s', 'the next turn, s', 'load of the machine'], rows)}\n"


def _versions() -> list[str]:
    found: list[str] = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Measure what the command line names, and write it down where it is everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, nargs="*", default=[*TURNS])
    parser.add_argument("--contenders", nargs="*", default=[*CONTENDERS], choices=[*CONTENDERS])
    parser.add_argument("--steady", type=int, default=STEADY_TURNS, help="turns of the long run; 0 for none")
    parser.add_argument(
        "--record", type=Path, help="a file to which each session is added, and from which it is taken if it is there"
    )
    wanted = parser.parse_args()
    model, record = MockModel(), Record(wanted.record)
    sessions: list[Session] = []
    with serve(model) as url:
        for turns in wanted.turns:
            for contender in wanted.contenders:
                session = record.find(contender, turns) or record.add(hold(model, url, contender, turns))
                sessions.append(session)
                print(*session.row(), *list(session.found["failures"])[:1], flush=True)
        steady = (
            record.find_steady(wanted.steady) or record.add_steady(measure_steady(url, wanted.steady)) if wanted.steady else None
        )
    goals = [*judge_sessions(sessions), *([] if steady is None else judge_steady(*steady))]
    page = write_page(sessions, steady, goals)
    print(page)
    if (wanted.turns, wanted.contenders, wanted.steady) == ([*TURNS], [*CONTENDERS], STEADY_TURNS):
        RESULTS.write_text(page, "utf-8")
    if not all(reached for _, reached in goals):
        raise SystemExit("A goal is missed.")


if __name__ == "__main__":
    main()
