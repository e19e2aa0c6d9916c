"""Render a reading: on a terminal, with the source's blocks in colours, and as Markdown."""

from collections.abc import Sequence

from treadle.assistant import Terminal, wrap_words
from treadle.assistants.reading.analysis import Analysis
from treadle.assistants.reading.change_reading import ChangeReading, format_change_lines
from treadle.assistants.reading.folder_reading import FolderReading
from treadle.assistants.reading.reading_types import FileReading, Range, ResponsibilityBlock

STYLES = ("cyan", "yellow", "green", "magenta", "blue", "red")
_MARKS = "①②③④⑤⑥"
_SHOWN = 24  # lines of a range that are shown; its middle is left out


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
