"""Watchers over HTTP, each of which reads run after run at any server, and goes on at another one when a connection breaks."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from time import monotonic

import aiohttp
from msgspec import Struct

from bench.scale.cluster import Cluster
from treadle.home import Home
from treadle.server.runs.events import encode
from treadle.server.runs.follow import RunFollower

BREAK = 0.3  # the chance that a watcher breaks a stream off itself, at an event
RETRY_SECONDS = 0.2
EXAMPLES = 5  # of streams that aren't as they must be
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=60)


class Stream(Struct):
    """What a watcher has read of a run: the ids and lines of its events, and how often it had to connect."""

    run_id: str
    events: list[tuple[str, str]]
    connects: int = 0


class StreamVerdict(Struct):
    """How streams compare with the journal's own: events that are missing, double, or in another order."""

    streams: int = 0
    events: int = 0
    reconnects: int = 0
    missing: int = 0
    double: int = 0
    disordered: int = 0
    examples: list[str] = []


async def watch_runs(cluster: Cluster, run_ids: Sequence[str], chance: random.Random, until: float) -> list[Stream]:
    """Watch runs one after the other, each to its end."""
    found: list[Stream] = []
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        for run_id in run_ids:
            stream = Stream(run_id, [])
            found.append(stream)
            while monotonic() < until and not await _read(session, cluster, stream, chance):  # noqa: ASYNC110 - of servers
                await asyncio.sleep(RETRY_SECONDS)
    return found


async def _read(session: aiohttp.ClientSession, cluster: Cluster, stream: Stream, chance: random.Random) -> bool:
    """Read on where the stream was broken off; return whether it is at its end."""
    stream.connects += 1
    headers = {"last-event-id": stream.events[-1][0]} if stream.events else {}
    try:
        async with session.get(f"{cluster.address(chance)}/api/runs/{stream.run_id}/events", headers=headers) as response:
            if response.status == 204:
                return True
            if response.status != 200:
                return False
            event_id = ""
            async for raw in response.content:
                line = raw.decode().rstrip("\r\n")
                if line.startswith("id:"):
                    event_id = line[3:].strip()
                elif line.startswith("data:"):
                    stream.events.append((event_id, line[5:].strip()))
                    if '"event":"reply"' in line:
                        return True
                    if chance.random() < BREAK / len(stream.events):
                        return False
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False
    return False


async def compare_streams(home: Home, streams: Sequence[Stream]) -> StreamVerdict:
    """Compare each stream with the events of the journal, read at once."""
    verdict = StreamVerdict()
    expected: dict[str, list[str]] = {}
    for stream in streams:
        if stream.run_id not in expected:
            expected[stream.run_id] = await _read_journal(home, stream.run_id)
        read, wanted = [event for _, event in stream.events], expected[stream.run_id]
        missing, double = Counter(wanted) - Counter(read), Counter(read) - Counter(wanted)
        verdict.streams += 1
        verdict.events += len(read)
        verdict.reconnects += stream.connects - 1
        verdict.missing += missing.total()
        verdict.double += double.total()
        verdict.disordered += not missing and not double and read != wanted
        if (missing or double) and len(verdict.examples) < EXAMPLES:
            verdict.examples.append(f"{stream.run_id}: missing {[*missing][:3]}, double {[*double][:3]}")
    return verdict


async def _read_journal(home: Home, run_id: str) -> list[str]:
    """Return the events of a run; its ids differ between servers that read it live and after its end, its events don't."""
    events: list[str] = []
    async for batch in RunFollower(home, run_id).batches():
        events += [encode(event).decode() for _, event in batch]
    return events
