"""The pages on workers that are killed, and on workers whose database is restarted. Every number comes out of what was counted."""

from collections.abc import Sequence

from bench.faults.cluster import Crowd, Outcome
from bench.faults.pages import GOAL, summed, written
from bench.faults.restarts import Storm, Weathered
from bench.faults.verdicts import Verdict
from bench.report import table


def cluster_page(store: str, what: Crowd, found: Outcome, seconds: float) -> str:
    """Several workers, killed at random."""
    takeovers = sorted(found.takeovers) or [0.0]
    rows = [
        ("kills", str(found.kills)),
        ("runs of twenty calls", str(len(found.verdicts))),
        *_counts(found.verdicts),
        ("takeovers", str(len(found.takeovers))),
        ("takeover, in leases", f"p50 {_part(takeovers, 0.5):.2f}, p95 {_part(takeovers, 0.95):.2f}"),
        ("longest takeover, in leases", f"{takeovers[-1]:.2f}"),
        ("takeovers of more than two leases", str(sum(each > 2 for each in takeovers))),
        ("workers that ended by themselves", str(len(found.wrong))),
    ]
    about = (
        f"Goal: {GOAL}; a dead worker's runs are taken over within two leases. Processes of `treadle worker`, leases of"
        f" {what.lease:g} s, {what.tail * 1000:g} ms tails. Took {seconds:.0f} s. The audit: {found.audit or 'holds'}."
    )
    title = f"{what.workers} workers, killed at random, {store}"
    return written(f"faults-cluster-{store}", title, [about, table(("", "count"), rows), *_wrong(found.verdicts, found.wrong)])


def restarts_page(what: Storm, found: Weathered) -> str:
    """Workers whose database is restarted."""
    verdicts = [each.verdict for each in found.courses]
    seconds = sorted([each.seconds for each in found.courses])
    rows = [
        ("restarts", f"{len(found.away)}, every second one as after a crash"),
        ("server away, the longest time", f"{max(found.away, default=0.0):.1f} s"),
        ("runs of five calls", str(len(verdicts))),
        ("answered", str(sum(not each.failure for each in verdicts))),
        *_counts(verdicts),
        ("a run, from its beginning to its answer", f"p50 {_part(seconds, 0.5):.1f} s, p95 {_part(seconds, 0.95):.1f} s"),
        ("the longest", f"{seconds[-1]:.1f} s"),
        ("workers that ended by themselves", str(len(found.wrong))),
    ]
    about = (
        f"Goal: {GOAL}; every run answered, by workers that nobody restarts. {what.workers} processes of `treadle worker`,"
        f" leases of {what.lease:g} s; a tool takes {what.tail:g} s. The server is stopped every {what.pause[0]:g} to"
        f" {what.pause[1]:g} s, and started again {what.away[0]:g} to {what.away[1]:g} s later."
        f" Took {found.seconds:.0f} s. The audit: {found.audit or 'holds'}."
    )
    title = "PostgreSQL restarted under load"
    return written("faults-restarts", title, [about, table(("", "count"), rows), *_wrong(verdicts, found.wrong)])


def _counts(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    return [
        ("**repeated effects**", summed(verdicts, "repeated")),
        ("**lost effects**", summed(verdicts, "lost")),
        ("runs lost, stuck or not answered", str(sum(bool(each.failure) for each in verdicts))),
        ("idempotent effects that happened again", summed(verdicts, "again")),
        ("`once` calls left begun and unfinished", str(sum(len(each.unresolved) for each in verdicts))),
        ("runs in which exactly those were reported", f"{sum(each.exact for each in verdicts)} of {len(verdicts)}"),
    ]


def _part(ordered: Sequence[float], part: float) -> float:
    """What so many of them stay below."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def _wrong(verdicts: Sequence[Verdict], workers: Sequence[str]) -> list[str]:
    lines = [f"- {each}" for each in [*[each for each in verdicts if not each.right], *workers]]
    return ["What went wrong:\n\n" + "\n".join(lines)] if lines else []
