"""The page of results: the part with a scripted model, and the part with a model that does a sample itself."""

from collections.abc import Sequence
from pathlib import Path

from bench.code_mode.kills import Kills
from bench.code_mode.sample import HALVES, WAYS, Half, Try
from bench.code_mode.scripted import Cost
from bench.code_mode.tasks import make_tasks
from bench.machine import describe
from bench.quality import format_cell
from treadle.loop.window import CHARACTERS_PER_TOKEN

RESULTS = Path(__file__).parents[1] / "results" / "code-mode.md"
SAMPLE = "## A sample with a model on this computer"
COUNTS = (("requests", "requests"), ("tokens sent and received", "tokens"), ("of these, new ones", "new"))
MOST_LINES = 12  # of what came of a program
_HALVES = {"seen": "developed with", "unseen": "unseen until the end"}
_WAYS = {"calls": "one call at a time", "program": "a program"}


def write_part(part: str) -> None:
    """Replace one of the two parts of the page."""
    scripted, mark, sample = RESULTS.read_text("utf-8").partition(SAMPLE)
    parts = (scripted, part) if part.startswith(SAMPLE) else (part, f"{mark}{sample}")
    RESULTS.write_text("\n\n".join(map(str.strip, parts)).strip() + "\n", "utf-8")


def render_scripted(pairs: Sequence[tuple[Cost, Cost]], simulated: Kills, real: Kills) -> str:
    """Return the part with a scripted model as Markdown."""
    machine = describe()
    same = sum(one.answer == program.answer and one.effects == program.effects for one, program in pairs)
    rows = []
    for name, field in COUNTS:
        one, program = sum(getattr(pair[0], field) for pair in pairs), sum(getattr(pair[1], field) for pair in pairs)
        rows.append(f"| {name} | {one:,} | {program:,} | {100 - 100 * program / one:.0f} % |")
    least = min(100 - 100 * program.tokens / one.tokens for one, program in pairs)
    return f"""# Code mode

{machine.date}, {machine.cores} cores of {machine.cpu}, {machine.python}.

Fifty tasks of several calls, done with a program and with one call at a time. The model is scripted: it makes the same calls in
the same order, so that what differs is what is sent. A token is taken as {CHARACTERS_PER_TOKEN} characters.
New tokens are those that no request before had sent, which is what a server with a prompt cache computes.

| {len(pairs)} tasks | one call at a time | a program | fewer |
|---|---:|---:|---:|
{chr(10).join(rows)}

The same answer and the same effects: {same} of {len(pairs)} tasks. The task that gains least saves {least:.0f} % of its tokens.

Kills inside of programs:

| killed | kills | effects repeated | programs stopped as a call's outcome was unknown |
|---|---:|---:|---:|
| simulated, at every entry of the journal | {simulated.kills:,} | {simulated.repeated} | {simulated.unclear:,} |
| by SIGKILL, right before and after an effect | {real.kills} | {real.repeated} | not counted |
"""


def render_sample(model: str, tries: Sequence[Try]) -> str:
    """Return the part with a model that does a sample itself."""
    machine = describe()
    tables = "\n\n".join([_compare(half, [each for each in tries if each.half == half]) for half in HALVES])
    rows = "\n".join(map(_row, tries))
    wrong = "\n\n".join([_show_program(each) for each in tries if each.programs and not each.right])
    return f"""{SAMPLE}

{model}, {machine.date}, {machine.cores} cores of {machine.cpu} that other work had a share in, {machine.python}.

A seeded sample of the tasks, done by the model itself in both ways, at temperature 0; where Treadle asks for a program again,
at 1. A task is right if its effects are those of the task's own program, and its answer has the values of that one's and no
others, except what the task or an effect names. The kinds of tasks in one half were used to develop what the product says and
corrects; those in the other half weren't run before the end. New tokens are those that the server hadn't in its prompt cache.

{tables}

| task | half | way | right | requests | calls | tokens | new | s | answer, and what went wrong |
|---|---|---|---|---:|---:|---:|---:|---:|---|
{rows}

### Programs that were wrong

{wrong or "None."}
"""


def _compare(half: Half, tries: Sequence[Try]) -> str:
    of = {way: [each for each in tries if each.way == way] for way in WAYS}
    rows = [f"| right | {' | '.join([f'{sum(each.right for each in of[way])} of {len(of[way])}' for way in WAYS])} | |"]
    for name, field in (
        ("requests", "requests"),
        ("tokens sent and received", "tokens"),
        ("of these, new ones", "new"),
        ("seconds", "seconds"),
    ):
        calls, program = [sum(getattr(each, field) for each in of[way]) for way in WAYS]
        rows.append(f"| {name} | {calls:,.0f} | {program:,.0f} | {100 - 100 * program / max(1, calls):.0f} % |")
    head = f"| {_HALVES[half]} | {_WAYS['calls']} | {_WAYS['program']} | fewer |\n|---|---:|---:|---:|"
    return "\n".join([head, *rows])


def _row(tried: Try) -> str:
    prompt = make_tasks()[tried.number].prompt
    cells = (
        prompt if tried.way == WAYS[0] else "the same",
        _HALVES[tried.half],
        _WAYS[tried.way],
        "yes" if tried.right else "**no**",
        str(tried.requests),
        str(tried.calls),
        f"{tried.tokens:,}",
        f"{tried.new:,}",
        f"{tried.seconds:.0f}",
        tried.answer if tried.right else _explain(tried),
    )
    return "| " + " | ".join(map(format_cell, cells)) + " |"


def _explain(tried: Try) -> str:
    """Return what a try came to that isn't right."""
    stopped = "" if tried.stopped == "answered" else f"{tried.stopped}. "
    effects = f" Effects: {len(tried.effects)}." if tried.effects else " No effects."
    return f"{stopped}{tried.answer}{effects}"


def _show_program(tried: Try) -> str:
    """Return the last program of a try that isn't right, and what came of it."""
    program, result = tried.programs[-1]
    lines = result.splitlines()
    came = "\n".join(lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], "…"])
    prompt = make_tasks()[tried.number].prompt
    return f"{prompt} Program {len(tried.programs)}, the last one:\n\n```python\n{program}\n```\n\n```text\n{came}\n```"
