"""Child process that parses untrusted text: it may crash, hang or run out of memory without affecting its parent.

Started by `outliner` with `python -m treadle.assistants.reading.outline.outliner_process`; it exits when its stdin
closes.
"""

import os
import signal
import sys
from typing import IO

from msgspec import Raw

from treadle.assistants.reading.outline import outliner_ipc
from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.errors import OutlineError
from treadle.assistants.reading.outline.metrics import measure_outline
from treadle.assistants.reading.outline.shallow_tree import build_shallow_tree
from treadle.assistants.reading.symbols.extraction import extract_symbols


def main(memory: int) -> None:
    """Answer jobs from stdin on stdout until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the parent to end this
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else writes there must not get among the answers
    _limit_memory(memory)
    serve_jobs(sys.stdin.buffer, answers)


def serve_jobs(jobs: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each job."""
    while (data := outliner_ipc.receive_frame(jobs)) is not None:
        outliner_ipc.send_frame(answers, _answer_job(outliner_ipc.decode_job(data)))


def _answer_job(job: outliner_ipc.OutlineJob) -> outliner_ipc.OutlineAnswer:
    try:
        match job.what:
            case "outline":
                found = build_outline(job.text, job.language)
            case "seed_json":
                found = build_shallow_tree(job.text, job.language, job.max_depth)
            case "metrics":
                found = measure_outline(job.text, job.language)
            case "symbols":
                found = extract_symbols(job.text, job.language)
        return outliner_ipc.OutlineResult(Raw(outliner_ipc.encode_frame(found)))
    except OutlineError as error:
        return outliner_ipc.OutlineRefusal(type(error).__name__, str(error))
    except MemoryError:
        return outliner_ipc.OutlineRefusal("OutlineFailed", "There was not enough memory for its outline.")


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main(int(sys.argv[1]))
