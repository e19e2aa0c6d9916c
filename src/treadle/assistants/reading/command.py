"""`treadle read`: what a file, a folder or a change is for, on the command line.

A reading is rendered for a terminal, with the source's blocks in colours, or as Markdown.
"""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

import msgspec

from treadle import TreadleError
from treadle.assistant import Host, Terminal, wrap_words
from treadle.assistants.reading.analysis import Analysis, AnalysisOptions, analyse
from treadle.assistants.reading.analysis_program import RequestedPath
from treadle.assistants.reading.change_reading import ChangeReading, format_change_lines, read_change
from treadle.assistants.reading.debug_report import file_report
from treadle.assistants.reading.folder_reading import CONCURRENCY, FolderFile, FolderReading, read_folder
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.source_text import decode_source
from treadle.assistants.reading.reading_types import FileReading, Range, ResponsibilityBlock
from treadle.assistants.reading.source_files import hash_text, load_source_file, open_source
from treadle.errors import SettingsError

STYLES = ("cyan", "yellow", "green", "magenta", "blue", "red")
_MARKS = "①②③④⑤⑥"
_SHOWN = 24  # lines of a range that are shown; its middle is left out
PATHS: tuple[RequestedPath, ...] = ("auto", "fast-path", "tool-calling", "two-stage")
REPORTS = "debug_reports"


def show_analysis(analysis: Analysis, terminal: Terminal, *, source: bool = False) -> None:
    """Print the intent and the blocks; with `source` also the lines of each block."""
    reading = analysis.reading
    terminal.line(wrap_words(reading.file_intent, terminal.width), "bold")
    if reading.metadata.label:
        terminal.line(reading.metadata.label, "yellow")
    for number, block in enumerate(reading.responsibilities):
        style = STYLES[number % len(STYLES)]
        terminal.line()
        terminal.line(f"{_block_mark(number)} {block.label}  {format_ranges(block.ranges)}", style)
        terminal.line(wrap_words(f"  {block.description}", terminal.width, "  "))
    if source:
        for number, block in enumerate(reading.responsibilities):
            _show_source(number, block, analysis.source.lines, terminal)
    terminal.note(summarize_reading(reading))


def _block_mark(number: int) -> str:
    return _MARKS[number] if number < len(_MARKS) else f"({number + 1})"


def _show_source(number: int, block: ResponsibilityBlock, lines: Sequence[str], terminal: Terminal) -> None:
    style = STYLES[number % len(STYLES)]
    terminal.line()
    terminal.line(f"── {_block_mark(number)} {block.label} ──", style)
    digits = len(str(len(lines)))
    for start, end in block.ranges:
        for line in _shorten_range(start, end):
            text = f"{line:>{digits}} {lines[line - 1].expandtabs(4)}" if line else f"{'⋮':>{digits}}"
            terminal.line(text[: terminal.width], style)


def _shorten_range(start: int, end: int) -> list[int]:
    """Return the lines of a range to print; 0 stands for omitted ones."""
    if end - start < _SHOWN:
        return list(range(start, end + 1))
    half = _SHOWN // 2
    return [*range(start, start + half), 0, *range(end - half + 1, end + 1)]


def format_ranges(ranges: Sequence[Range]) -> str:
    """Format line ranges: `12-40, 51`."""
    return ", ".join([f"{start}-{end}" if end > start else str(start) for start, end in ranges])


def summarize_reading(reading: FileReading) -> str:
    """Describe in one line how the reading was made."""
    metadata = reading.metadata
    tokens = metadata.tokens
    spent = f"{tokens.total:,} tokens, {metadata.seconds:.1f} s" if tokens.requests else f"{metadata.seconds:.1f} s"
    reads = f", {metadata.tool_call_count} reads" if metadata.tool_call_count else ""
    kept = " (kept from before)" if metadata.cached else ""
    by = f" by {metadata.model}" if metadata.model else ""
    notes = f" {metadata.notes}" if metadata.notes else ""
    return f"{metadata.execution_path}{by}{kept}: {metadata.why}; {spent}{reads}.{notes}"


def reading_to_markdown(filename: str, reading: FileReading) -> str:
    """Format a reading as Markdown."""
    lines = [f"# {filename}", "", reading.file_intent, ""]
    lines += [f"> {reading.metadata.label}", ""] if reading.metadata.label else []
    for block in reading.responsibilities:
        lines += [f"## {block.label}", "", block.description, "", f"Lines {format_ranges(block.ranges)}.", ""]
        for kind in ("functions", "types", "state", "constants", "imports"):
            names = getattr(block.elements, kind)
            if names:
                lines += [f"- {kind}: {', '.join([f'`{name}`' for name in names])}"]
        lines += [""]
    return "\n".join([*lines, f"*{summarize_reading(reading)}*", ""])


def show_folder(found: FolderReading, terminal: Terminal) -> None:
    """Print a folder's reading."""
    intents = {file.path: file for file in found.files}
    terminal.line(wrap_words(found.folder_intent, terminal.width), "bold")
    for number, group in enumerate(found.groups):
        terminal.line()
        terminal.line(group.label, STYLES[number % len(STYLES)])
        if group.description:
            terminal.line(wrap_words(f"  {group.description}", terminal.width, "  "))
        for path in group.files:
            file = intents[path]
            words = file.reading.file_intent.partition("\n")[0] if file.reading else f"not read: {file.problem}"
            terminal.line(wrap_words(f"  {path}: {words}", terminal.width, "    "))
    if found.fallback:
        terminal.line()
        terminal.line(f"[FALLBACK] {found.fallback}", "yellow")
    kept = sum([bool(file.reading and file.reading.metadata.cached) for file in found.files])
    failed = sum([file.reading is None for file in found.files])
    lost = len(found.failed_files)
    told = f"{len(found.files)} files, {kept} of them kept from before, {failed} not read; {found.tokens.total:,} tokens."
    if lost:
        terminal.line(f"[FALLBACK] {lost} of {len(found.files)} files are sketches, since the model failed.", "yellow")
    terminal.note(f"{told} {found.notes}".rstrip())


def folder_to_markdown(name: str, found: FolderReading) -> str:
    """Format a folder's reading as Markdown."""
    intents = {file.path: file for file in found.files}
    lines = [f"# {name}", "", found.folder_intent, ""]
    lines += [f"> [FALLBACK] {found.fallback}", ""] if found.fallback else []
    for group in found.groups:
        lines += [f"## {group.label}", "", group.description, ""]
        for path in group.files:
            file = intents[path]
            lines.append(
                f"- `{path}`: {file.reading.file_intent if file.reading else f'not read: {file.problem}'}".replace("\n", " ")
            )
        lines.append("")
    return "\n".join(lines)


def format_change_label(found: ChangeReading) -> str:
    """Return the note to print beside the reading of a change; empty if a model explained it."""
    if found.fallback:
        return f"[FALLBACK] {found.fallback}"
    return f"A list, made without a model{f': {found.notes}' if found.notes else '.'}" if found.sketch and found.files else ""


def show_change(found: ChangeReading, terminal: Terminal) -> None:
    """Print a change's purpose, and the definitions that it touches."""
    terminal.line(wrap_words(found.change_intent, terminal.width), "bold")
    if label := format_change_label(found):
        terminal.line(label, "yellow")
    terminal.line()
    for line in format_change_lines(found.files):
        terminal.line(line, "" if line.startswith(" ") else "cyan")
    if not found.sketch:
        terminal.note(f"{found.tokens.total:,} tokens; run {found.run_id}. {found.notes}".rstrip())


def change_to_markdown(found: ChangeReading) -> str:
    """Format the reading of a change as Markdown."""
    lines = [f"# Changes since {found.since}", "", found.change_intent, ""]
    lines += [f"> {label}", ""] if (label := format_change_label(found)) else []
    for file in found.files:
        lines += [f"## {file.path}", "", f"{file.status}, +{file.added} -{file.removed}. {file.problem}".rstrip(), ""]
        for each in file.definitions:
            words = f": {each.explanation}" if each.explanation else ""
            lines.append(f"- `{each.name}` ({each.kind}, {each.status}, +{each.added} -{each.removed}){words}")
        lines += [""] if file.definitions else []
    return "\n".join(lines)


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
        terminal.line(change_to_markdown(found))
    else:
        show_change(found, terminal)
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
        terminal.line(reading_to_markdown(path.name, found.reading))
    else:
        show_analysis(found, terminal, source=args.source)
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
        terminal.line(folder_to_markdown(path.name or "This folder", found))
    else:
        show_folder(found, terminal)
    return int(bool(found.fallback or found.failed_files))
