"""`python -m bench.reading.quality`: how good the sketch is, as far as that can be measured without a judge.

Files are made by joining three modules that have nothing to do with each other. Purity is the share of lines that lie in a block
whose most lines come from the same module; coverage the share of definitions that some block has. The table goes to standard output
and to `bench/results/quality.md`.
"""

import random
import sysconfig
from collections import Counter
from pathlib import Path

from msgspec import Struct

from treadle.assistants.reading.analysis_program import sketch_outline
from treadle.assistants.reading.file_parts import split_parts
from treadle.assistants.reading.outline.builder import build_outline
from treadle.assistants.reading.outline.nodes import iter_definitions
from treadle.assistants.reading.reading_types import ResponsibilityBlock

MODULES = (
    "heapq",
    "bisect",
    "colorsys",
    "calendar",
    "csv",
    "fnmatch",
    "getopt",
    "graphlib",
    "netrc",
    "optparse",
    "pprint",
    "queue",
    "sched",
    "shlex",
    "statistics",
    "string",
    "textwrap",
    "timeit",
    "tokenize",
    "zipapp",
    "quopri",
    "dis",
    "cmd",
    "configparser",
    "difflib",
    "filecmp",
    "fractions",
    "gettext",
    "imaplib",
    "poplib",
    "smtplib",
)
SEED, FILES = 1, 20
RESULTS = Path(__file__).parents[1] / "results" / "quality.md"


class Quality(Struct, frozen=True):
    """What was measured of one answer."""

    purity: float
    coverage: float
    valid: bool


def joined(count: int, seed: int = SEED) -> list[tuple[str, list[tuple[str, int, int]]]]:
    """Texts, each with where its three modules lie."""
    library = Path(sysconfig.get_path("stdlib"))
    there = [library / f"{name}.py" for name in MODULES if (library / f"{name}.py").is_file()]
    chance, found = random.Random(seed), []
    for _ in range(count):
        text, spans = "", []
        for path in chance.sample(there, 3):
            start = text.count("\n") + 1
            text += path.read_text("utf-8").rstrip("\n") + "\n\n\n"
            spans.append((path.stem, start, text.count("\n")))
        found.append((text, spans))
    return found


def quality(text: str, spans: list[tuple[str, int, int]], blocks: tuple[ResponsibilityBlock, ...]) -> Quality:
    """How good the blocks of a joined file are."""
    last = text.count("\n")
    lines = [line for block in blocks for start, end in block.ranges for line in range(start, end + 1)]
    valid = len(lines) == len(set(lines)) and all(1 <= line <= last for line in lines)
    pure = sum([max(_by_module(block, spans).values(), default=0) for block in blocks])
    covered = set(lines)
    defined = list(iter_definitions(build_outline(text, "python")))
    reached = [node for node in defined if node.start in covered]
    return Quality(pure / len(lines) if lines else 0.0, len(reached) / len(defined) if defined else 1.0, valid)


def _by_module(block: ResponsibilityBlock, spans: list[tuple[str, int, int]]) -> "Counter[str]":
    found: Counter[str] = Counter()
    for name, first, last in spans:
        found[name] = sum([max(0, min(end, last) - max(start, first) + 1) for start, end in block.ranges])
    return found


def main() -> None:
    """Measure, and write it down."""
    found = [(spans, _sketched(text, spans)) for text, spans in joined(FILES)]
    rows = [f"| {_names(spans)} | {each.purity:.0%} | {each.coverage:.0%} | {each.valid} |" for spans, each in found]
    purities = [each.purity for _, each in found]
    last = f"\nPurity: {sum(purities) / len(purities):.0%} over all, {min(purities):.0%} at worst.\n"
    page = "\n".join(["| modules | purity | coverage | valid |", "|---|--:|--:|---|", *rows, last])
    RESULTS.write_text(page, "utf-8")
    print(page)


def _names(spans: list[tuple[str, int, int]]) -> str:
    return ", ".join([name for name, _, _ in spans])


def _sketched(text: str, spans: list[tuple[str, int, int]]) -> Quality:
    found = build_outline(text, "python")
    return quality(text, spans, sketch_outline(found, split_parts(found)).blocks)


if __name__ == "__main__":
    main()
