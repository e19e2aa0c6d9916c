"""Public names of the journal: its protocol, its entries, and the journals in memory, in a database and behind a lease.

Each is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.core.calls import Written
    from treadle.core.entries import (
        Approved,
        Awaited,
        Called,
        Delivered,
        Entry,
        Finished,
        Forked,
        Informed,
        Judged,
        Noted,
        Opened,
        Previewed,
        Refused,
        Replied,
        Resumed,
        Returned,
        Said,
        Settled,
        Shortened,
        Started,
        Steered,
        Unclear,
        Woken,
    )
    from treadle.core.errors import RunTaken
    from treadle.core.seams import Journal
    from treadle.stores.journal import DatabaseJournal, JournalQuery
    from treadle.stores.leases import FencedJournal, Lease, Leases
    from treadle.stores.memory import MemoryJournal

_HOMES = {
    "Approved": "treadle.core.entries",
    "Awaited": "treadle.core.entries",
    "Called": "treadle.core.entries",
    "DatabaseJournal": "treadle.stores.journal",
    "Delivered": "treadle.core.entries",
    "Entry": "treadle.core.entries",
    "FencedJournal": "treadle.stores.leases",
    "Finished": "treadle.core.entries",
    "Forked": "treadle.core.entries",
    "Informed": "treadle.core.entries",
    "Journal": "treadle.core.seams",
    "JournalQuery": "treadle.stores.journal",
    "Judged": "treadle.core.entries",
    "Lease": "treadle.stores.leases",
    "Leases": "treadle.stores.leases",
    "MemoryJournal": "treadle.stores.memory",
    "Noted": "treadle.core.entries",
    "Opened": "treadle.core.entries",
    "Previewed": "treadle.core.entries",
    "Refused": "treadle.core.entries",
    "Replied": "treadle.core.entries",
    "Resumed": "treadle.core.entries",
    "Returned": "treadle.core.entries",
    "RunTaken": "treadle.core.errors",
    "Said": "treadle.core.entries",
    "Settled": "treadle.core.entries",
    "Shortened": "treadle.core.entries",
    "Started": "treadle.core.entries",
    "Steered": "treadle.core.entries",
    "Unclear": "treadle.core.entries",
    "Woken": "treadle.core.entries",
    "Written": "treadle.core.calls",
}

__all__ = [
    "Approved",
    "Awaited",
    "Called",
    "DatabaseJournal",
    "Delivered",
    "Entry",
    "FencedJournal",
    "Finished",
    "Forked",
    "Informed",
    "Journal",
    "JournalQuery",
    "Judged",
    "Lease",
    "Leases",
    "MemoryJournal",
    "Noted",
    "Opened",
    "Previewed",
    "Refused",
    "Replied",
    "Resumed",
    "Returned",
    "RunTaken",
    "Said",
    "Settled",
    "Shortened",
    "Started",
    "Steered",
    "Unclear",
    "Woken",
    "Written",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
