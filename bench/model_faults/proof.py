"""The three parts of the proof: faults at random, a reply cut after every byte, and refusals that stay."""

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic

from bench.model_faults.fates import Fate, doomed, drawn
from bench.model_faults.orders import Order, reply_to
from bench.model_faults.page import Part
from bench.model_faults.runs import WAYS, Carried, Works
from bench.model_faults.server import Fates, FaultyServer
from bench.model_faults.verdicts import flaws, flaws_of_doomed
from bench.model_faults.wires import answered

BATCH = 200  # orders between two looks at how many requests there were
FIRST = 10_000  # the number of the first order, so that all names are equally long


async def at_random(requests: int, seed: int) -> Part:
    """Orders of two to eight items, until so many requests came in."""
    begun, found = monotonic(), list[Carried]()
    async with FaultyServer(lambda order, number: drawn(seed, order, number)) as server:
        with tempfile.TemporaryDirectory() as folder, closing(Works(server, Path(folder))) as works:
            while server.count < requests:
                some = min(BATCH, max(4, (requests - server.count) // 8))
                numbers = range(len(found), len(found) + some)
                orders = [Order(f"r{FIRST + number}", 2 + number % 7) for number in numbers]
                found += await works.all(orders, [number % len(WAYS) for number in numbers])
    return Part("faults at random", found, [flaw for each in found for flaw in flaws(each)], monotonic() - begun)


async def cut_everywhere(step: int = 1) -> Part:
    """A reply with two calls cut after each of its bytes, or each so many, on each of the ways; every second time after a pause."""
    begun = monotonic()
    places = [(way, at) for way in range(len(WAYS)) for at in range(way, _length(way), step)]
    cuts = {f"r{FIRST + number}": place for number, place in enumerate(places)}

    def fate(order: str, number: int) -> Fate:
        at = cuts[order][1]
        return Fate("cut within the answer", at=at, pause=at % 2 == 0) if number == 1 else Fate()

    found = await _carried([Order(name, 2) for name in cuts], fate, [way for way, _ in places])
    return Part("a reply cut after every byte", found, [flaw for each in found for flaw in flaws(each)], monotonic() - begun)


def _length(way: int) -> int:
    """How many bytes the first reply to an order has."""
    order, (wire, stream) = Order(f"r{FIRST}", 2), WAYS[way]
    return len(answered(wire, reply_to(order.prompt.encode(), order, 1), stream=stream).data)


async def refused_for_good(runs: int, seed: int) -> Part:
    """Orders whose second or third request is refused in a way that no second try would change."""
    begun = monotonic()

    def fate(order: str, number: int) -> Fate:
        return doomed(seed, order) if number == 2 + int(order[1:]) % 2 else Fate()

    orders = [Order(f"r{FIRST + number}", 6) for number in range(runs)]
    found = await _carried(orders, fate, [number % len(WAYS) for number in range(runs)])
    return Part("refused for good", found, [flaw for each in found for flaw in flaws_of_doomed(each)], monotonic() - begun)


async def _carried(orders: Sequence[Order], fates: Fates, ways: Sequence[int]) -> list[Carried]:
    async with FaultyServer(fates) as server:
        with tempfile.TemporaryDirectory() as folder, closing(Works(server, Path(folder))) as works:
            return await works.all(orders, ways)
