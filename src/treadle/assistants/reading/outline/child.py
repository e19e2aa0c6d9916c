"""The process in which text from strangers is parsed: it may crash, hang or run out of memory without anybody else noticing.

Run by `worker` as `python -m treadle.assistants.reading.outline.child`; it ends when its stdin does.
"""

import os
import signal
import sys
from typing import IO

from msgspec import Raw

from treadle.assistants.reading.outline import frames
from treadle.assistants.reading.outline.errors import OutlineError
from treadle.assistants.reading.outline.metrics import metrics
from treadle.assistants.reading.outline.seed_json import seed_json
from treadle.assistants.reading.outline.tree import outline


def main(memory: int) -> None:
    """Answer jobs from stdin on stdout until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the parent to end this
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else writes there must not get among the answers
    _limit_memory(memory)
    serve(sys.stdin.buffer, answers)


def serve(jobs: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each job."""
    while (data := frames.receive(jobs)) is not None:
        frames.send(answers, _answer(frames.decode_job(data)))


def _answer(job: frames.Job) -> frames.Answer:
    try:
        match job.what:
            case "outline":
                found = outline(job.text, job.language)
            case "seed_json":
                found = seed_json(job.text, job.language, job.max_depth)
            case "metrics":
                found = metrics(job.text, job.language)
        return frames.Done(Raw(frames.encode(found)))
    except OutlineError as error:
        return frames.Refused(type(error).__name__, str(error))
    except MemoryError:
        return frames.Refused("OutlineFailed", "There was not enough memory for its outline.")


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main(int(sys.argv[1]))
