"""What the embedded model does for speed, as ratios within one run: prompts read once, and threads on a busy machine.

    python -m bench.local [MODEL]      (default: smollm2-135m, which is quick; any name or path that llamacpp takes)

Burners keep every core busy for the second part. The table goes to standard output and to `bench/results/local.md`.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from treadle.core.messages import History, person_message
from treadle.core.requests import Options, ReplyEnded, Request
from treadle.models.downloads.storage import models_folder
from treadle.models.llamacpp.child import close_children
from treadle.models.llamacpp.model import LlamaCpp

LONG = "You are a clerk in a shop that sells lamps, chairs and tables, and you answer briefly and politely. " * 25
RESULTS = Path(__file__).parent / "results" / "local.md"
Row = tuple[str, str]


class Took(Struct, frozen=True):
    """One reply: how long it took, and how many tokens of it were read, written and known already."""

    seconds: float
    read: int
    written: int
    known: int


async def _ask(model: LlamaCpp, words: str, tokens: int) -> Took:
    request = Request(
        LONG, History([person_message(words)]), options=Options(temperature=0, max_tokens=tokens, extra={"ignore_eos": True})
    )
    began = time.perf_counter()
    ended = ReplyEnded("done")
    async for delta in model.reply(request):
        if isinstance(delta, ReplyEnded):
            ended = delta
    usage = ended.usage
    return Took(time.perf_counter() - began, usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)


def _loaded(name: str, threads: int) -> LlamaCpp:
    """A model whose child is up, so that loading isn't measured."""
    from treadle.models.llamacpp.child import start_child

    model = LlamaCpp(name, context=4096, threads=threads)
    start_child(model._settings)
    return model


def reading(name: str) -> list[Row]:
    """The same beginning read for the first time, again by the same process, and by the next one."""
    model = _loaded(name, os.cpu_count() or 1)
    first = asyncio.run(_ask(model, "Hello.", 1))
    again = asyncio.run(_ask(model, "Good evening.", 1))
    close_children()
    anew = asyncio.run(_ask(_loaded(name, os.cpu_count() or 1), "Good morning.", 1))
    close_children()
    return [
        (f"a prompt of {first.read} tokens, read for the first time", f"{first.seconds:.2f} s"),
        ("the same beginning again, in the same process", f"1/{first.seconds / again.seconds:.0f} of that"),
        ("in a new process, from disk", f"1/{first.seconds / anew.seconds:.0f} of that ({anew.known} tokens known)"),
    ]


@contextmanager
def _burning(cores: int) -> Iterator[None]:
    """Every core busy with something else."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def busy(name: str) -> list[Row]:
    """Tokens a second with every core busy, by threads; how they wait is the child's environment."""
    cores = os.cpu_count() or 1
    rows: list[Row] = []
    for threads in sorted({1, cores}):
        for policy in ("active", "passive"):
            os.environ["OMP_WAIT_POLICY"] = policy
            model = _loaded(name, threads)
            asyncio.run(_ask(model, "Hello.", 1))
            quiet = asyncio.run(_ask(model, "Hello.", 24))
            with _burning(cores):
                loaded = asyncio.run(_ask(model, "Hello.", 24))
            rows.append(
                (f"{threads} threads, {policy} waiting", f"{24 / quiet.seconds:.1f} → {24 / loaded.seconds:.1f} tokens a second")
            )
            close_children()
    return rows


def main() -> None:
    """Measure, and write it down."""
    name = sys.argv[1] if len(sys.argv) > 1 else "smollm2-135m"
    here = models_folder()
    with tempfile.TemporaryDirectory() as folder:
        for file in here.glob("*.gguf"):
            (Path(folder) / file.name).symlink_to(file)
        os.environ["TREADLE_MODELS"] = folder  # so that nothing is known from earlier
        rows = [*reading(name), *busy(name)]
    page = "\n".join(
        [f"# The embedded model: {name}", "", "| | |", "|---|---|", *[f"| {what} | {value} |" for what, value in rows], ""]
    )
    RESULTS.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
