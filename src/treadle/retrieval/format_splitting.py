"""Splits Markdown by headings, and YAML by documents and top-level keys. Code and tables stay whole where possible."""

import re

from treadle.retrieval.splitting import (
    OVERLAP,
    SIZE,
    Piece,
    Span,
    Split,
    TextLines,
    check_sizes,
    pack_spans,
    split_block,
    split_prose,
)

LONGEST = 300  # characters of a heading that are looked at

_FRONT = re.compile(r"---[ \t]*\r?\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"(?m)^title:[ \t]*(?P<title>[^\r\n]+)")
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]++(?P<words>[^\r\n]*+))?\s*+\Z")
_UNDERLINE = re.compile(r" {0,3}(?P<mark>=++|-{2,}+)\s*+\Z")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^\r\n]*)")
_TABLE = re.compile(r"\s*\|")
_LINKED = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_DECORATION = re.compile(r"[*`]|\s*\{#[^{}]*\}|\s+#+\s*\Z")
_KEY = re.compile(
    r"""(?P<indent>[ ]*)(?:-[ ]+)*(?P<key>"[^"\n]*"|'[^'\n]*'|[^\s#:{}\[\]&*!|>%@`"'-][^\n:#]*|-[^\s:#][^\n:#]*):(?:\s|\Z)"""
)
_TITLE = re.compile(r"""(?m)^(?:title|name):[ \t]*["']?(?P<title>[^\r\n"'#|>]+)""")


class _Block:
    """Lines that belong together: prose, or a block that should stay whole."""

    __slots__ = ("blank", "end", "kind", "start")

    def __init__(self, span: Span, kind: str) -> None:
        self.start, self.end = span
        self.kind = kind  # prose, fence, table, heading, front
        self.blank = False  # whether a blank line has ended it


class _Section:
    """The blocks under a heading."""

    __slots__ = ("blocks", "headings")

    def __init__(self, headings: tuple[str, ...]) -> None:
        self.headings = headings
        self.blocks: list[_Block] = []

    @property
    def bare(self) -> bool:
        """Whether there is nothing but headings."""
        return all(block.kind in ("heading", "front") for block in self.blocks)


class _SectionReader:
    """Reads the lines of a text once and groups them into sections."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fence = ""  # the marks that will close the fence we are in
        self._above: list[tuple[int, str]] = []  # the headings above, with their levels
        self.sections = [_Section(())]
        self.title = ""

    def read(self, line: Span) -> None:
        """Read one more line."""
        text = self._text[line[0] : line[1]]
        if self._fence:
            self._add_fenced(line, text)
        elif not text.strip():
            self._add_blank(line)
        elif (fence := _FENCE.match(text)) and "`" not in fence["info"]:
            self._fence = fence["marks"]
            self._add(line, "fence")
        elif heading := _HEADING.match(text):
            self._add_heading(line, len(heading["marks"]), heading["words"] or "")
        elif (mark := _UNDERLINE.match(text)) and self._is_over_underline():
            self._add_underlined_heading(line, 1 if mark["mark"][0] == "=" else 2)
        else:
            self._extend(line, "table" if _TABLE.match(text) else "prose")

    def front(self, span: Span) -> None:
        """Add the front matter, between dashes before the text."""
        self._add(span, "front")
        found = _FRONT_TITLE.search(self._text, *span)
        self.title = found["title"].strip().strip("\"'").strip() if found else ""

    @property
    def _last(self) -> _Block | None:
        blocks = self.sections[-1].blocks
        return blocks[-1] if blocks else None

    def _add(self, span: Span, kind: str) -> None:
        self.sections[-1].blocks.append(_Block(span, kind))

    def _add_fenced(self, line: Span, text: str) -> None:
        self.sections[-1].blocks[-1].end = line[1]
        closing = text.strip()
        if len(closing) >= len(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""
            self.sections[-1].blocks[-1].blank = True

    def _add_blank(self, line: Span) -> None:
        last = self._last
        if last is None:
            self._add(line, "front")  # space before anything is said
        else:
            last.end, last.blank = line[1], True

    def _extend(self, line: Span, kind: str) -> None:
        last = self._last
        if last is not None and last.kind == kind and not last.blank:
            last.end = line[1]
        else:
            self._add(line, kind)

    def _is_over_underline(self) -> bool:
        """Return whether the previous line is a paragraph of its own: then dashes below make it a heading."""
        last = self._last
        return last is not None and last.kind == "prose" and not last.blank and self._text.count("\n", last.start, last.end) == 1

    def _add_underlined_heading(self, line: Span, level: int) -> None:
        words = self.sections[-1].blocks.pop()
        self._add_heading((words.start, line[1]), level, self._text[words.start : words.end])

    def _add_heading(self, span: Span, level: int, words: str) -> None:
        words = _DECORATION.sub("", _LINKED.sub(r"\1", words.strip()[:LONGEST])).strip()
        self._above = [(other, name) for other, name in self._above if other < level]
        if words:
            self._above.append((level, words))
        if level == 1 and not self.title:
            self.title = words
        self.sections.append(_Section(tuple(name for _, name in self._above)))
        self._add(span, "heading")


def split_markdown(text: str, *, size: int = SIZE, overlap: int = OVERLAP) -> Split:
    """Split a Markdown text into pieces of at most `size` characters, each with the headings above it."""
    check_sizes(size, overlap)
    lines, reader = TextLines(text), _SectionReader(text)
    front = _FRONT.match(text)
    if front:
        reader.front(front.span())
    for line in lines.spans(front.end() if front else 0):
        reader.read(line)
    pieces = [piece for section in _merge_bare_sections(reader.sections) for piece in _split_section(lines, section, size, overlap)]
    return Split(reader.title, tuple(pieces))


def _merge_bare_sections(sections: list[_Section]) -> list[_Section]:
    """Return the sections, those without text of their own merged into the next one that has some."""
    kept: list[_Section] = []
    waiting: list[_Block] = []
    for section in sections:
        if section.bare and section is not sections[-1]:
            waiting += section.blocks
        else:
            section.blocks = waiting + section.blocks
            kept.append(section)
            waiting = []
    return kept


def _split_section(lines: TextLines, section: _Section, size: int, overlap: int) -> list[Piece]:
    blocks = [_split_block(lines.text, block, size) for block in section.blocks]
    return lines.pieces(pack_spans(blocks, size, overlap), section.headings)


def _split_block(text: str, block: _Block, size: int) -> list[Span]:
    span = (block.start, block.end)
    return split_prose(text, span, size) if block.kind == "prose" else split_block(text, span, size)


def split_yaml(text: str, *, size: int = SIZE) -> Split:
    """Split a YAML text into pieces of at most `size` characters: as many whole keys as fit, without overlap."""
    check_sizes(size, 0)
    lines = TextLines(text)
    spans = lines.spans()
    blocks = [split_block(text, block, size) for block in _split_blocks(text, spans)]
    paths = _find_paths(text, spans)
    pieces = [_with_headings(piece, paths) for piece in lines.pieces(pack_spans(blocks, size, 0))]
    title = _TITLE.search(text)
    return Split(title["title"].strip() if title else "", tuple(pieces))


def _split_blocks(text: str, lines: list[Span]) -> list[Span]:
    """Return the lines in blocks: each begins with the comments above a top-level key or item, or with a document marker."""
    blocks: list[Span] = []
    comments = False  # whether the last block is nothing but comments so far
    for start, end in lines:
        line = text[start:end]
        begins = not line[0].isspace() and not (comments and not line.startswith(("---", "...")))
        if begins or not blocks:
            blocks.append((start, end))
        else:
            blocks[-1] = (blocks[-1][0], end)
        comments = line.startswith(("#", "---")) or (comments and not line.strip())
    return blocks


def _find_paths(text: str, lines: list[Span]) -> list[tuple[str, ...]]:
    """Return for each line the keys it lies under, its own last."""
    above: list[tuple[int, str]] = []
    paths: list[tuple[str, ...]] = []
    for start, end in lines:
        found = _KEY.match(text, start, end)
        if found:
            depth = found.start("key") - start
            above = [*((other, name) for other, name in above if other < depth), (depth, found["key"].strip().strip("\"'"))]
        elif text.startswith("---", start):
            above = []
        paths.append(tuple(name for _, name in above))
    return paths


def _with_headings(piece: Piece, paths: list[tuple[str, ...]]) -> Piece:
    """Return the piece with its headings: the keys it lies under, or the top-level ones it contains."""
    inside = paths[piece.first_line - 1 : piece.last_line]
    tops = list(dict.fromkeys(path[0] for path in inside if path))
    first = next((path for path in inside if path), ())
    headings = first[:-1] or first if len(tops) < 2 else (", ".join(tops),)
    return Piece(piece.text, piece.start, piece.end, piece.first_line, piece.last_line, headings)
