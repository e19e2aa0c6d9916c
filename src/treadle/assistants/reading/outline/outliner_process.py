"""Child process that parses untrusted text: it may crash, hang or run out of memory without affecting its parent.

Started by `outliner` with `python -m treadle.assistants.reading.outline.outliner_process`; it exits when its stdin
closes. The two exchange MessagePack values, each preceded by its length in four bytes.
"""

import os
import signal
import sys
from typing import IO, Any, Literal

import msgspec
from msgspec import Raw, Struct

from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.errors import OutlineError
from treadle.assistants.reading.outline.shallow_tree import build_shallow_tree, measure_outline
from treadle.assistants.reading.symbols.extraction import extract_symbols

_LENGTH = 4


class OutlineJob(Struct, frozen=True):
    """A job for the child process."""

    what: Literal["outline", "seed_json", "metrics", "symbols"]
    text: str
    language: str
    max_depth: int = 2


class OutlineResult(Struct, frozen=True, tag="done"):
    """The result of a job."""

    value: msgspec.Raw


class OutlineRefusal(Struct, frozen=True, tag="refused"):
    """A failed job: the name of an error class, and its message."""

    error: str
    message: str


OutlineAnswer = OutlineResult | OutlineRefusal

encode_frame = msgspec.msgpack.Encoder().encode
decode_job = msgspec.msgpack.Decoder(OutlineJob).decode
decode_answer = msgspec.msgpack.Decoder(OutlineAnswer).decode


def send_frame(pipe: IO[bytes], value: Any) -> None:
    """Write one value."""
    data = encode_frame(value)
    pipe.write(len(data).to_bytes(_LENGTH, "big"))
    pipe.write(data)
    pipe.flush()


def receive_frame(pipe: IO[bytes]) -> bytes | None:
    """Read one value without decoding it; None at end of file."""
    length = pipe.read(_LENGTH)
    if len(length) < _LENGTH:
        return None
    size = int.from_bytes(length, "big")
    data = pipe.read(size)
    return data if len(data) == size else None


def main(memory: int) -> None:
    """Answer jobs from stdin on stdout until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the parent to end this
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else writes there must not get among the answers
    _limit_memory(memory)
    serve_jobs(sys.stdin.buffer, answers)


def serve_jobs(jobs: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each job."""
    while (data := receive_frame(jobs)) is not None:
        send_frame(answers, _answer_job(decode_job(data)))


def _answer_job(job: OutlineJob) -> OutlineAnswer:
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
        return OutlineResult(Raw(encode_frame(found)))
    except OutlineError as error:
        return OutlineRefusal(type(error).__name__, str(error))
    except MemoryError:
        return OutlineRefusal("OutlineFailed", "There was not enough memory for its outline.")


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main(int(sys.argv[1]))
