"""`treadle read`: what a file or a folder is for, on the command line."""

import asyncio
from argparse import ArgumentParser, Namespace
from pathlib import Path

import msgspec

from treadle import Host, Terminal, TreadleError
from treadle.assistants.reading import show
from treadle.assistants.reading.analyse import Analysis, How, analyse
from treadle.assistants.reading.files import load, open_source
from treadle.assistants.reading.folder import AT_ONCE, FileRead, read_folder
from treadle.assistants.reading.outline.source import read_source
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.program import Wanted
from treadle.assistants.reading.report import filed
from treadle.assistants.reading.source import hash_of
from treadle.assistants.reading.values import Reading

PATHS: tuple[Wanted, ...] = ("auto", "fast-path", "tool-calling", "two-stage")
REPORTS = "debug_reports"


def arguments(parser: ArgumentParser) -> None:
    """What can be typed."""
    parser.add_argument("path", metavar="FILE", help="a source file, a folder of them, or - for the standard input")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--no-model", action="store_true", help="a sketch, without asking a model")
    parser.add_argument("--path", dest="way", choices=PATHS, default="auto", help="how to ask (default: what suits the file)")
    parser.add_argument("--language", default="", metavar="NAME", help="what it is written in (default: as its name tells)")
    parser.add_argument("--fresh", action="store_true", help="ask again, even where an answer is kept")
    parser.add_argument("--debug", action="store_true", help=f"write a report into {REPORTS}/")
    parser.add_argument("--outline", action="store_true", help="print the outline that a model is shown, and ask nobody")
    parser.add_argument("-j", "--jobs", type=int, default=AT_ONCE, metavar="N", help="files of a folder at once (default: 4)")


async def run(args: Namespace, host: Host) -> int:
    """Read it, and show what was found."""
    path = Path(args.path)
    wanted: Wanted = "sketch" if args.no_model else args.way
    how = How(host, wanted, args.fresh)
    if args.model and wanted != "sketch" and not args.outline:
        await host.model()  # one that was named and isn't there is an error, not a sketch
    async with Outliner() as outliner:
        if await asyncio.to_thread(path.is_dir):
            return await _read_folder(path, how, outliner, args, host)
        return await _read_file(path, how, outliner, args, host)


async def _read_file(path: Path, how: How, outliner: Outliner, args: Namespace, host: Host) -> int:
    terminal = host.shown_at
    source = await open_source(path, outliner, args.language)
    if args.outline:
        from treadle.assistants.reading.outline.compact import compact

        terminal.line(compact(source.outline))
        return 0
    found = await analyse(source, how)
    if args.json:
        terminal.line(msgspec.json.format(msgspec.json.encode(found.reading)).decode())
    elif args.markdown:
        terminal.line(show.markdown(path.name, found.reading))
    else:
        show.show(found, terminal)
    if args.debug:
        page, _ = await filed(Path(REPORTS), found, outliner)
        terminal.tell(f"Report: {page}")
    if await asyncio.to_thread(_has_changed, path, found):
        terminal.tell(f"{path} has changed while it was read: line numbers are those of before.", "yellow")
    return _code(found.reading, terminal)


def _code(reading: Reading, terminal: Terminal) -> int:
    """The exit code: 1 where a model was asked and nothing came of it. What failed is said in any case, whatever is printed."""
    if reading.metadata.fallbacks:
        terminal.tell(reading.metadata.label, "yellow")
    return int(reading.metadata.is_failed)


def _has_changed(path: Path, found: Analysis) -> bool:
    if str(path) == "-" or (path.exists() and not path.is_file()):
        return False  # a pipe, which can be read but once
    try:
        return hash_of(read_source(load(path)).text) != found.reading.metadata.content_hash
    except TreadleError:
        return True  # gone, or no longer text


async def _read_folder(path: Path, how: How, outliner: Outliner, args: Namespace, host: Host) -> int:
    terminal = host.shown_at

    def told(done: int, of: int, file: FileRead) -> None:
        what = f"not read: {file.problem}" if file.reading is None else file.reading.file_intent.partition("\n")[0]
        terminal.note(f"{done}/{of} {file.path}: {what}")

    found = await read_folder(path, how, outliner, told, max(1, args.jobs))
    if args.json:
        terminal.line(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif args.markdown:
        terminal.line(show.folder_markdown(path.name or "This folder", found))
    else:
        show.show_folder(found, terminal)
    return int(bool(found.fallback or found.failed_files))
