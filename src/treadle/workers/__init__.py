"""Workers: queued runs, executed by whichever worker has capacity, on one machine or on many.

Public names: submitting a run to them. Each is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.workers.run_spec import RunSpec
    from treadle.workers.submission import submit_run

_HOMES = {
    "RunSpec": "treadle.workers.run_spec",
    "submit_run": "treadle.workers.submission",
}

__all__ = ["RunSpec", "submit_run"]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
