"""`python -m bench.reading.checklist`: foreign files and folders read without a model, against a check-list.

The check-list, and the words of which each file's intent has to contain one, were written before the files were read, from what the
packages' own manuals say that the files are for. The page goes to standard output and to `bench/results/reading-sketch.md`.
`python -m bench.reading.by_model` has a model read them: the cases are in `dataset`.

Intent: (sentence) it is a whole sentence; (subject) it contains a word of what the file is for, and is no licence, pragma or
heading of a section; (public) it names nothing private, no type variable, nothing twice. Blocks: (count) three to six, or as many
as there are definitions; (whole) a type with its members is in one block, unless it is all there is in the file; (labels) a label
has a word of the largest public definition of its block, or one that half of its definitions share; (described) label and
description have a word of a name in the block. A model chooses its own labels, and may divide a type: (whole) and (labels) aren't
checked then.
Changed after the first readings: that (labels) is about public definitions, the exception of (whole), and that plurals of the
words of (subject) count.
"""

import argparse
import asyncio
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.reading.files import fetch_package
from treadle.assistants.reading.analysis_program import sketch_outline
from treadle.assistants.reading.command import format_ranges
from treadle.assistants.reading.file_units import FileUnit, fewest_blocks, find_units, pick_named
from treadle.assistants.reading.grouping import split_identifier
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.reading_types import ResponsibilityBlock
from treadle.assistants.reading.source_files import OutlinedSource, iter_source_files, open_source
from treadle.files import Workspace

FILES = {
    "wheel:click==8.1.8": {
        "click/core.py": "command context",
        "click/decorators.py": "decorator command option",
        "click/globals.py": "context",
        "click/_termui_impl.py": "termui terminal",
    },
    "wheel:itsdangerous==2.2.0": {"itsdangerous/signer.py": "sign signer"},
    "wheel:schedule==1.2.2": {"schedule/__init__.py": "schedule scheduling scheduler"},
    "npm:express@5.1.0": {"lib/application.js": "app application", "lib/response.js": "res response"},
    "npm:commander@14.0.3": {"lib/command.js": "command"},
    "npm:semver@7.7.2": {"classes/range.js": "range"},
    "npm:zod@4.1.0": {"src/v4/core/checks.ts": "check checks"},
    "npm:@capacitor/android@7.4.0": {
        "capacitor/src/main/java/com/getcapacitor/Bridge.java": "bridge plugins",
        "capacitor/src/main/java/com/getcapacitor/plugin/util/HttpRequestHandler.java": "http request",
    },
    "npm:@capacitor/ios@7.4.0": {"Capacitor/Capacitor/CapacitorBridge.swift": "bridge"},
    "npm:react-native-screens@4.16.0": {"android/src/main/java/com/swmansion/rnscreens/ScreenStack.kt": "screen screens stack"},
    "npm:@serialport/bindings-cpp@13.0.1": {"src/serialport_unix.cpp": "open baton baud port"},
    "npm:edge-js@26.1.0": {"src/double/Edge.js/dotnetcore/semversion.cs": "version"},
    "sdist:gojsonnet==0.22.0": {"vm.go": "vm", "internal/program/desugarer.go": "desugar desugarer desugaring sugar"},
    "npm:react-native@0.76.0": {"scripts/cocoapods/utils.rb": "native react utils pod pods"},
    "sdist:tiktoken==0.12.0": {"src/lib.rs": "bpe encode encoding token tokens"},
    "npm:@wordpress/block-library@9.0.0": {"src/calendar/index.php": "calendar"},
}
FOLDERS = {"wheel:click==8.1.8": "click", "npm:express@5.1.0": "lib", "npm:react-native@0.76.0": "scripts/cocoapods"}
RESULTS = Path(__file__).parents[1] / "results"
_NO_INTENT = re.compile(r"(?i)copyright|licen[sc]e|module dependencies|eslint|use strict|coding:|frozen_string")
_PRIVATE = re.compile(r"(?<![\w.])(?:_[a-z]\w*|#\w+)\b|\bTypeVar\b|\b[Dd]efines [A-Z], ")


class Report(Struct, frozen=True):
    """One file: what was said of it, and which lines of the check-list it fails."""

    name: str
    language: str
    intent: str
    blocks: tuple[ResponsibilityBlock, ...]
    failed: tuple[str, ...]


class Summary(Struct, frozen=True):
    """A folder: the intents of its files, and what is wrong with each."""

    name: str
    files: tuple[tuple[str, str, tuple[str, ...]], ...]


def check_intent(intent: str, wanted: str) -> Iterator[str]:
    """Yield what is wrong with an intent."""
    if not re.fullmatch(r"(?s)[`\"'$\w].*[.!?]", intent) or len(intent.split()) < 3:
        yield "sentence"
    if _NO_INTENT.search(intent) or (wanted and not {*_singular(split_identifier(intent))} & {*_singular(wanted.split())}):
        yield "subject"
    listed = re.findall(r"[\w.$]+(?=,)", intent)
    if _PRIVATE.search(intent) or len(listed) > len({*listed}):
        yield "public"


def _singular(words: Iterable[str]) -> list[str]:
    return [word.removesuffix("s") for word in words]


def check_blocks(source: OutlinedSource, blocks: Sequence[ResponsibilityBlock], *, by_model: bool = False) -> Iterator[str]:
    """Yield what is wrong with the blocks."""
    units = find_units(source.parts, source.language)
    opened = find_units(source.parts, source.language, opened=True)
    several = sum([unit.is_subject for unit in units]) >= 3
    least = fewest_blocks(opened) if by_model else min(3, sum([unit.is_subject for unit in opened]))
    if not least <= len(blocks) <= 6:
        yield f"count ({len(blocks)})"
    cut = [unit.name for unit in units if unit.is_type and len(_homes(unit, source, blocks)) != 1]
    if cut and several and not by_model:
        yield f"whole ({', '.join(cut)})"
    for block in blocks:
        mine = pick_named([unit for unit in opened if _homes(unit, source, [block])])
        if mine and not by_model and not _is_labelled(block.label, mine):
            yield f"labels ({block.label})"
        said = {*split_identifier(f"{block.description} {block.label}")}
        names = [name for names in msgspec.structs.astuple(block.elements) for name in names]
        if not said & {word for name in names for word in split_identifier(name)}:
            yield f"described ({block.label})"


def _homes(unit: FileUnit, source: OutlinedSource, blocks: Sequence[ResponsibilityBlock]) -> list[ResponsibilityBlock]:
    """Return the blocks that have lines of a definition or of its members."""
    starts = [source.parts[number].start for number in unit.parts]
    return [block for block in blocks if any(start <= line <= end for line in starts for start, end in block.ranges)]


def _is_labelled(label: str, mine: Sequence[FileUnit]) -> bool:
    words, names = {*split_identifier(label)}, [{*split_identifier(unit.name)} for unit in mine]
    return bool(words & names[0]) or any(sum([word in name for name in names]) * 2 >= len(names) for word in words)


async def check_file(path: Path, name: str, wanted: str, outliner: Outliner) -> Report:
    """Sketch a file, and check what is said of it."""
    source = await open_source(path, outliner)
    found = sketch_outline(source.outline, source.parts)
    failed = (*check_intent(found.file_intent, wanted), *check_blocks(source, found.blocks))
    return Report(name, source.language, found.file_intent, found.blocks, failed)


async def check_folder(folder: Path, name: str, outliner: Outliner) -> Summary:
    """Sketch every file of a folder, and check their intents, no two of which may be the same."""
    intents: list[tuple[str, str]] = []
    for path in iter_source_files(Workspace(folder)):
        source = await open_source(folder / path, outliner)
        intents.append((path, sketch_outline(source.outline, source.parts).file_intent))
    every = [intent for _, intent in intents]
    rows = [(path, said, (*check_intent(said, ""), *(["same"] if every.count(said) > 1 else []))) for path, said in intents]
    return Summary(name, tuple(rows))


def format_page(reports: Sequence[Report], folders: Sequence[Summary]) -> str:
    """Return the page: a summary, then every reading in full, to be judged by eye."""
    good = [report for report in reports if not report.failed]
    lines = [f"Read without a model: {len(good)} of {len(reports)} files pass the whole check-list.", ""]
    lines += ["| file | language | blocks | fails |", "|---|---|--:|---|"]
    lines += [f"| {each.name} | {each.language} | {len(each.blocks)} | {'; '.join(each.failed) or '–'} |" for each in reports]
    for folder in folders:
        passed = sum([not failed for _, _, failed in folder.files])
        lines += ["", f"Folder {folder.name}: {passed} of {len(folder.files)} intents pass.", ""]
        lines += [f"- `{path}`: {said}{' Fails: ' + ', '.join(failed) if failed else ''}" for path, said, failed in folder.files]
    for each in reports:
        lines += ["", f"### {each.name}", "", each.intent, ""]
        lines += [f"- **{block.label}** ({format_ranges(block.ranges)}): {block.description}" for block in each.blocks]
    return "\n".join([*lines, ""])


async def run(wanted: argparse.Namespace) -> str:
    """Read and check everything without a model."""
    reports: list[Report] = []
    folders: list[Summary] = []
    async with Outliner() as outliner:
        for package, names in FILES.items():
            for name, words in names.items():
                home = fetch_package(package, wanted.folder) if not wanted.only or Path(name).name in wanted.only else None
                if home is not None:
                    reports.append(await check_file(home / name, name, words, outliner))
                    print(reports[-1].name, *reports[-1].failed, flush=True)
        for package, name in FOLDERS.items() if not wanted.only else ():
            home = fetch_package(package, wanted.folder)
            if home is not None:
                folders.append(await check_folder(home / name, f"{name} of {package.partition(':')[2]}", outliner))
    return format_page(reports, folders)


def main() -> None:
    """Read, check, and write it down."""
    parser = argparse.ArgumentParser(prog="python -m bench.reading.checklist", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "treadle-bench-reading", help="for packages")
    parser.add_argument("--only", nargs="*", default=[], metavar="FILE", help="only these files, by name, and no folders")
    wanted = parser.parse_args()
    page = asyncio.run(run(wanted))
    (RESULTS / "reading-sketch.md").write_text(page, "utf-8")
    print(page)


if __name__ == "__main__":
    main()
