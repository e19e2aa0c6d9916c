"""The results as a page."""

from collections.abc import Sequence

from bench.machine import describe
from bench.scale.cluster import ClusterShape
from bench.scale.growth import GrowthPoint
from bench.scale.peers import AFTER_KILLS, IN_FLIGHT, PeerResult
from bench.scale.storm import StormResult, percentile


def storm_section(result: StormResult, shape: ClusterShape) -> str:
    """What came through the kills."""
    kills, streams = result.kills, result.streams
    whole = tuple([each.seconds for each in result.cancels])
    with_database = tuple([each.seconds - each.outage for each in result.cancels])
    rows = {
        "kills": f"{kills.total}: {kills.workers} of workers, {kills.servers} of servers, {kills.databases} of the database",
        "runs": f"{result.plan.runs:,}: " + ", ".join(f"{count:,} {status}" for status, count in sorted(result.statuses.items())),
        "runs lost": f"{len(result.lost)}",
        "effects": f"{result.effects:,}, {len(result.effects_twice)} of them twice, {len(result.effects_missing)} missing",
        "streams": f"{streams.streams:,} of {result.plan.watchers} watchers, "
        f"{streams.events:,} events, {streams.reconnects:,} reconnects",
        "events missing, double, out of order": f"{streams.missing}, {streams.double}, {streams.disordered}",
        "cancels": f"{len(whole)} landed, {result.cancels_failed} didn't",
        "seconds of a cancel": _format_seconds(whole),
        "the same, without those in which there was no database": _format_seconds(with_database),
        "members that ended by themselves": ", ".join(f"{name} {count}" for name, count in result.ended.items()) or "none",
        "duration": f"{result.seconds:.0f} s",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    about = (
        f"{shape.servers} servers and {shape.workers} workers on one PostgreSQL, each worker with {shape.at_once} runs at once and"
        f" leases of {shape.lease:g} s. Each run has three effects, which are checked against a file after a kill. Watchers read at"
        " any server, break streams off at random, and go on at another one; what they read is compared with the journal. A"
        " cancel is timed from the request that a server accepted to the run's end (goal: two seconds)."
    )
    return f"## Kills\n\n{about}\n\n| | |\n|---|---|\n{table}\n"


def _format_seconds(seconds: tuple[float, ...]) -> str:
    late = sum(each > 2 for each in seconds)
    return (
        f"median {percentile(seconds, 50):.2f}, 95th percentile {percentile(seconds, 95):.2f}, "
        f"longest {max(seconds, default=0.0):.2f}; {late} above 2"
    )


def growth_section(points: Sequence[GrowthPoint]) -> str:
    """How costs grow."""
    rows = "\n".join(
        f"| {each.kept:,} | {each.workers} | {each.per_second:.1f} | {each.database_ms:.1f} | {each.commits:.1f} |"
        for each in points
    )
    about = (
        "Runs with three effects of 50 ms, submitted one after the other and executed by workers with four at once. Time in the"
        " database is that in which its sessions were active, polling included."
    )
    head = "| kept runs | workers | runs per second | database, ms per run | commits per run |\n|---|---|---|---|---|"
    return f"## Growth\n\n{about}\n\n{head}\n{rows}\n"


def peers_section(results: Sequence[PeerResult], shape: ClusterShape) -> str:
    """Other engines through the same kills."""
    rows = "\n".join(
        f"| {each.name} | {each.kills.total} | {each.runs:,} | {each.lost} | {each.effects_twice}"
        f" | {100 * each.effects_twice / each.kills.total:.0f} | {each.effects_missing} | {each.seconds:.0f} |"
        for each in results
    )
    about = (
        f"{shape.workers} workers with {shape.at_once} runs at once on one PostgreSQL; workers and database are killed at the same"
        " instants for each engine. Runs of three effects are submitted until the last kill, with up to"
        f" {IN_FLIGHT} waiting or under way; then they have {AFTER_KILLS:.0f} seconds to finish. agno by default gives up a"
        " run whose worker was killed. LangGraph's server doesn't take part: it needs a vendor's key."
    )
    head = (
        "| engine | kills | runs | not finished | effects twice | per 100 kills | effects missing | seconds |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|"
    )
    return f"## Other engines\n\n{about}\n\n{head}\n{rows}\n"


def page(sections: Sequence[str], command: str) -> str:
    """The whole page."""
    on = describe()
    where = f"{on.cores} cores of {on.cpu}, {on.memory_gib} GiB, {on.python}, {on.commit}, {on.date}"
    return "\n".join(["# Many servers and workers", "", f"Measured with `{command}` on {where}.", "", *sections])
