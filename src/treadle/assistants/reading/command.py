"""`treadle read`: what a file, a folder or a change is for, on the command line."""

import asyncio
from argparse import ArgumentParser, Namespace
from pathlib import Path

import msgspec

from treadle import TreadleError
from treadle.assistant import Host, Terminal
from treadle.assistants.reading import rendering
from treadle.assistants.reading.analysis import Analysis, AnalysisOptions, analyse
from treadle.assistants.reading.analysis_program import RequestedPath
from treadle.assistants.reading.change_reading import read_change
from treadle.assistants.reading.debug_report import file_report
from treadle.assistants.reading.folder_reading import CONCURRENCY, FolderFile, read_folder
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.source_text import decode_source
from treadle.assistants.reading.reading_types import FileReading
from treadle.assistants.reading.source import hash_text
from treadle.assistants.reading.source_files import load_source_file, open_source
from treadle.errors import SettingsError

PATHS: tuple[RequestedPath, ...] = ("auto", "fast-path", "tool-calling", "two-stage")
REPORTS = "debug_reports"


def add_read_arguments(parser: ArgumentParser) -> None:
    """Add the command's arguments to the parser."""
    parser.add_argument("path", metavar="FILE", nargs="?", help="a source file, a folder, or - for stdin")
    parser.add_argument(
        "--since", default="", metavar="REF", help="explain what has changed since a commit, in FILE or in this folder"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown")
    form.add_argument("--source", action="store_true", help="print the lines of each block too, in its colour")
    parser.add_argument("--no-model", action="store_true", help="make a sketch without a model")
    parser.add_argument(
        "--path", dest="way", choices=PATHS, default="auto", help="the analysis path (default: what suits the file)"
    )
    parser.add_argument(
        "--language", default="", metavar="NAME", help="the programming language (default: by the name of the file)"
    )
    parser.add_argument("--fresh", action="store_true", help="analyse again, even if there is a stored result")
    parser.add_argument("--debug", action="store_true", help=f"write a report into {REPORTS}/")
    parser.add_argument("--outline", action="store_true", help="print the outline that the model would see, and stop")
    parser.add_argument(
        "-j", "--jobs", type=int, default=CONCURRENCY, metavar="N", help="concurrent files of a folder (default: 4)"
    )


async def run(args: Namespace, host: Host) -> int:
    """Read a file, a folder or a change, and print the result."""
    _check_arguments(args)
    path = Path(args.path or ".")
    wanted: RequestedPath = "sketch" if args.no_model else args.way
    how = AnalysisOptions(host, wanted, args.fresh)
    if args.model and wanted != "sketch" and not args.outline:
        await host.model()  # one that was named and isn't there is an error, not a sketch
    try:
        async with Outliner() as outliner:
            if args.since:
                return await _read_change(path, outliner, args, host)
            if await asyncio.to_thread(path.is_dir):
                return await _read_folder(path, how, outliner, args, host)
            return await _read_file(path, how, outliner, args, host)
    except asyncio.CancelledError:
        host.command_terminal.tell("Interrupted. The same command goes on; files that were read are kept.", "yellow")
        raise


def _check_arguments(args: Namespace) -> None:
    """Raise if the arguments don't fit together."""
    if not args.since:
        if args.path is None:
            raise SettingsError("There is nothing to read: name a file or a folder, or - for the standard input, or use --since.")
        return
    others = {"--outline": args.outline, "--debug": args.debug, "--path": args.way != "auto", "--language": args.language}
    if unfit := [option for option, given in others.items() if given]:
        raise SettingsError(f"--since reads a change, for which there is no {' and no '.join(unfit)}.")
    if args.path == "-":
        raise SettingsError("--since reads a change of a file or a folder, not of the standard input.")


async def _read_change(path: Path, outliner: Outliner, args: Namespace, host: Host) -> int:
    terminal = host.command_terminal
    found = await read_change(host, args.since, path, outliner, ask=not args.no_model)
    if args.json:
        terminal.line(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif args.markdown:
        terminal.line(rendering.change_to_markdown(found))
    else:
        rendering.show_change(found, terminal)
    if found.fallback:
        terminal.tell(f"[FALLBACK] {found.fallback}", "yellow")
    return int(bool(found.fallback))


async def _read_file(path: Path, how: AnalysisOptions, outliner: Outliner, args: Namespace, host: Host) -> int:
    terminal = host.command_terminal
    source = await open_source(path, outliner, args.language)
    if args.outline:
        from treadle.assistants.reading.outline.formatter import format_outline

        terminal.line(format_outline(source.outline))
        return 0
    found = await analyse(source, how)
    if args.json:
        terminal.line(msgspec.json.format(msgspec.json.encode(found.reading)).decode())
    elif args.markdown:
        terminal.line(rendering.reading_to_markdown(path.name, found.reading))
    else:
        rendering.show_analysis(found, terminal, source=args.source)
    if args.debug:
        page, _ = await file_report(Path(REPORTS), found, outliner)
        terminal.tell(f"Report: {page}")
    if await asyncio.to_thread(_has_changed, path, found):
        terminal.tell(f"{path} has changed while it was read: line numbers are those of before.", "yellow")
    return _exit_code(found.reading, terminal)


def _exit_code(reading: FileReading, terminal: Terminal) -> int:
    """Return the exit code: 1 if a model was asked without success. A failure is always printed, whatever the output format."""
    if reading.metadata.fallbacks:
        terminal.tell(reading.metadata.label, "yellow")
    return int(reading.metadata.is_failed)


def _has_changed(path: Path, found: Analysis) -> bool:
    if str(path) == "-" or (path.exists() and not path.is_file()):
        return False  # a pipe, which can be read but once
    try:
        return hash_text(decode_source(load_source_file(path)).text) != found.reading.metadata.content_hash
    except TreadleError:
        return True  # gone, or no longer text


async def _read_folder(path: Path, how: AnalysisOptions, outliner: Outliner, args: Namespace, host: Host) -> int:
    terminal = host.command_terminal

    def told(done: int, of: int, file: FolderFile) -> None:
        what = f"not read: {file.problem}" if file.reading is None else file.reading.file_intent.partition("\n")[0]
        terminal.note(f"{done}/{of} {file.path}: {what}")

    found = await read_folder(path, how, outliner, told, max(1, args.jobs))
    if args.json:
        terminal.line(msgspec.json.format(msgspec.json.encode(found)).decode())
    elif args.markdown:
        terminal.line(rendering.folder_to_markdown(path.name or "This folder", found))
    else:
        rendering.show_folder(found, terminal)
    return int(bool(found.fallback or found.failed_files))
