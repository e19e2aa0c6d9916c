"""What was found, as Markdown pages in `bench/results`. Every number comes out of what was counted; none is typed here."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.faults.frozen import IN_FLIGHT, Frozen
from bench.faults.kills import Kills
from bench.faults.named import Tried
from bench.faults.troubles import Trouble
from bench.faults.verdicts import Verdict
from bench.machine import describe
from bench.report import table

FOLDER = Path(__file__).parents[1] / "results"
GOAL = "0 repeated, 0 lost, exactly the unresolvable ones reported"


def written(name: str, title: str, parts: Iterable[str]) -> str:
    """Leave a page behind."""
    machine = describe()
    about = f"{machine.date}; {machine.cpu}, {machine.cores} cores, load {machine.load_average_before}; {machine.python}."
    page = "\n\n".join([f"# {title}", about, *parts]) + "\n"
    (FOLDER / f"{name}.md").write_text(page, "utf-8")
    return page


def points_page(store: str, found: Sequence[Tried], audit: str) -> str:
    """Named crash points: a row for each class, then whatever went wrong."""
    rows = [_points_row(retry, [each for each in found if each.scenario.retry == retry]) for retry in _classes(found)]
    rows.append(_points_row("all", found))
    head = (
        "class",
        "deaths",
        "points",
        "lives",
        "repeated",
        "again, harmless",
        "lost",
        "reported",
        "wrongly or not reported",
        "right",
    )
    points = Counter(each.scenario.point for each in found if each.reached)
    wrong = [f"- {each.scenario}: {each.verdict}" for each in found if not each.verdict.right]
    return written(
        f"faults-points-{store}",
        f"Killed at every point, {store}",
        [
            f"Goal: {GOAL}. A death is at one passing of one point, in a run's first life or in the one that takes it up.",
            table(head, rows),
            f"The audit of all of them: {audit or 'holds'}.",
            "Deaths by point: " + ", ".join([f"{point} {count}" for point, count in points.items()]) + ".",
            *(["What went wrong:\n\n" + "\n".join(wrong)] if wrong else []),
        ],
    )


def _classes(found: Sequence[Tried]) -> list[str]:
    return list(dict.fromkeys(each.scenario.retry for each in found))


def _points_row(name: str, found: Sequence[Tried]) -> tuple[str, ...]:
    reached = [each for each in found if each.reached]
    points = {(each.scenario.point, each.scenario.life) for each in reached}
    verdicts = [each.verdict for each in found]
    inexact = sum(not each.exact for each in verdicts)
    return (
        name,
        str(len(reached)),
        str(len(points)),
        str(sum(each.kills + 1 for each in verdicts)),
        str(sum(each.repeated for each in verdicts)),
        str(sum(each.again for each in verdicts)),
        str(sum(each.lost for each in verdicts)),
        str(sum(len(each.reported) for each in verdicts)),
        str(inexact),
        f"{sum(each.right for each in verdicts)} of {len(verdicts)}",
    )


def kills_page(store: str, what: Kills, found: Sequence[Verdict], seconds: float, audit: str) -> str:
    """Random kills."""
    rows = [
        ("kills that landed", summed(found, "kills")),
        ("runs of twenty calls", str(len(found))),
        ("most kills of one run", str(max(each.kills for each in found))),
        ("**repeated effects**", summed(found, "repeated")),
        ("**lost effects**", summed(found, "lost")),
        ("runs lost, stuck or not answered", str(sum(bool(each.failure) for each in found))),
        ("idempotent effects that happened again", summed(found, "again")),
        ("`once` calls left begun and unfinished", str(sum(len(each.unresolved) for each in found))),
        ("of these reported", str(sum(len(set(each.reported) & set(each.unresolved)) for each in found))),
        ("reported without need", str(sum(len(set(each.reported) - set(each.unresolved)) for each in found))),
        ("resume, a process that has Treadle imported", _spread([one for each in found for one in each.resumed])),
        ("resume, a new interpreter", _spread([one for each in found for one in each.resumed_cold])),
    ]
    wrong = [f"- {each}" for each in found if not each.right]
    about = (
        f"Goal: {GOAL}. Tools go on for {what.tail * 1000:g} ms after their effect; {what.parallel} processes at once on one store."
        f" Took {seconds:.0f} s. The audit: {audit or 'holds'}."
    )
    return written(
        f"faults-random-{store}",
        f"Killed at random, {store}",
        [
            about,
            table(("", "count"), rows),
            "Resume is from the start of a process until its first call of a tool.",
            *(["What went wrong:\n\n" + "\n".join(wrong)] if wrong else []),
        ],
    )


def summed(found: Sequence[Verdict], field: str) -> str:
    """How many of something there were, over all verdicts."""
    return str(sum(getattr(each, field) for each in found))


def _spread(seconds: Sequence[float]) -> str:
    """The median, and what 95 of 100 stay below."""
    if not seconds:
        return "-"
    ordered = sorted(seconds)
    middle, most = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"p50 {middle * 1000:.0f} ms, p95 {most * 1000:.0f} ms ({len(ordered)})"


def frozen_page(found: Sequence[tuple[str, Frozen]]) -> str:
    """Workers that froze."""
    rows = [_frozen_row(store, point, found) for store in _stores(found) for point in _frozen_points(found)]
    about = (
        "Frozen with SIGSTOP at a named point, woken with SIGCONT five leases later."
        f" Frozen at {' or '.join(IN_FLIGHT)}, the effect is still to come and comes when the worker wakes: the one in flight."
    )
    head = ("frozen at", "store", "tried", "taken over", "refused when it woke", "repeated", "lost", "right")
    return written(
        "faults-frozen",
        "A worker frozen for longer than its lease",
        [
            about,
            table(head, rows),
            _in_flight(found),
        ],
    )


def _stores(found: Sequence[tuple[str, Frozen]]) -> list[str]:
    return list(dict.fromkeys(store for store, _ in found))


def _frozen_points(found: Sequence[tuple[str, Frozen]]) -> list[str]:
    return list(dict.fromkeys(each.point for _, each in found))


def _frozen_row(store: str, point: str, found: Sequence[tuple[str, Frozen]]) -> tuple[str, ...]:
    some = [each for kept, each in found if kept == store and each.point == point]
    return (
        point,
        store,
        str(len(some)),
        str(sum(each.taken for each in some)),
        str(sum(each.fenced for each in some)),
        str(sum(each.verdict.repeated for each in some)),
        str(sum(each.verdict.lost for each in some)),
        f"{sum(each.right for each in some)} of {len(some)}",
    )


def _in_flight(found: Sequence[tuple[str, Frozen]]) -> str:
    wrong = [f"- {store}, {each.retry}, {each.point}: {each.verdict}" for store, each in found if not each.right]
    return "What wasn't right:\n\n" + "\n".join(wrong) if wrong else "All of them were right."


def troubles_page(found: Sequence[Trouble]) -> str:
    """Troubles of a file."""
    head = ("trouble", "effects without their intent on disk", "repeated", "lost", "right afterwards")
    rows = [
        (each.what, str(each.unasked), str(each.verdict.repeated), str(each.verdict.lost), "yes" if each.right else "**no**")
        if each.verdict is not None
        else (each.what, "-", "-", "-", each.said)
        for each in found
    ]
    said = [f"- {each.what}: {_without_path(each.said) or 'waited, and went on'}" for each in found]
    return written(
        "faults-troubles",
        "Troubles of a SQLite file",
        [table(head, rows), "What the person reads:\n\n" + "\n".join(said)],
    )


def _without_path(words: str) -> str:
    """A sentence without the folder this was tried in, which is nobody's business."""
    return " ".join([Path(word).name if word.startswith("/") else word for word in words.split(" ")])


def peers_page(found: Sequence[tuple[str, Kills, Sequence[Verdict]]]) -> str:
    """Engines side by side."""
    head = ("engine", "kills", "repeated effects", "per 100 kills", "lost effects", "reported as unknown", "not finished")
    rows: list[tuple[str, ...]] = []
    for name, _, verdicts in found:
        kills = sum(each.kills for each in verdicts)
        repeated = sum(each.repeated for each in verdicts)
        rows.append(
            (
                name,
                str(kills),
                str(repeated),
                f"{100 * repeated / max(1, kills):.0f}",
                summed(verdicts, "lost"),
                str(sum(len(each.reported) for each in verdicts)),
                str(sum(bool(each.failure) for each in verdicts)),
            )
        )
    tail = found[0][1].tail * 1000
    return written(
        "faults-peers",
        "Side by side: twenty effects, killed once at a random instant, started again",
        [f"Each effect is one line with fsync in a file outside; the tool goes on for {tail:g} ms after it.", table(head, rows)],
    )
