"""The comments of a file by position, and their text without comment markers.

Taken from the syntax tree, so what looks like a comment inside a string isn't one.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from treadle.assistants.reading.outline.node_draft import last_row

if TYPE_CHECKING:
    from tree_sitter import Node as Syntax

_MOST = 1000  # characters of a comment that are kept
_MOST_SENTENCE = 500
_LINE_MARKS = re.compile(r"^(?://[/!]?|#+|--|;+)[ \t]?")
_BLOCK_MARKS = re.compile(r"^/\*[*!]*<?|\*+/$|^=begin|=end$")
_STARS = re.compile(r"^[ \t]*\*+(?!/)[ \t]?")
_RULERS = re.compile(r"[\W_]*")
_PRAGMAS = re.compile(
    r"^!|^\s*(?:-\*-|coding[:=]|encoding:|frozen_string_literal|typed: |vim?:|ex: |pragma|<reference|language=|sourceMappingURL"
    r"|eslint|jshint|jslint|tslint|biome-|deno-lint|prettier-ignore|istanbul|c8 |webpack|@ts-|@flow|global "
    r"|noqa|type: ?ignore|pylint|pyright|mypy|ruff|fmt:|isort|rubocop|swiftlint|checkstyle|ReSharper|lint:|cspell"
    r"|clang-format|NOLINT|go:build|\+build|nolint|MARK: -$|endregion|region$)"
)
_LICENCE = re.compile(r"(?i)copyright|licen[sc]e|spdx|all rights reserved|permission is hereby|redistribution and use")
_TAGS = re.compile(r"</?[a-zA-Z][^<>]*>|\{@\w+\s*|(?<=\w)\}")
_FILE_TAGS = re.compile(
    r"^\s*[@\\](?:file(?:overview)?|module|package(?:Documentation)?|brief|summary|description|desc)\b:?[ \t]*(?:\S+\.\w+[ \t]*$)?",
    re.MULTILINE,
)
_ATTRIBUTES = re.compile(
    r"^\s*(?:[@\\]\w+|:\w+[^:]*:|#+ |Args:|Parameters?:|Returns?:|Raises:|[-*+•] |\d+[-.)] |```|>>>)",
    re.MULTILINE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s+[^a-z\s]|\s*$)|。")
_BLANK = re.compile(rb"[ \t\r]*\n[ \t\r]*\n")
_ROLES = re.compile(r":[\w:]+:`~?([^`<]+?)\s*(?:<[^`>]*>)?`")  # :class:`Command`, :meth:`run <Job.run>`
_TITLE = re.compile(r"\A[^\n]*\n[ \t]*([-=~^*#\"'])\1{2,}[ \t]*$", re.MULTILINE)
_SECTION = re.compile(  # a heading above a section of a file, which describes neither the file nor what follows
    r"(?i)(?:(?:module|local|node|core|third|party|standard|library|std|system|external|internal|other|private|public|global|npm|"
    r"package|project|our|own|the)\W+)*(?:dependenc(?:y|ies)|imports?|includes?|requires?|modules?|variables?|constants?|exports?|"
    r"prototypes?|types?|helpers?|utils|functions?|classes)(?:\W+@\w+)*\W*"
)
_CODE = re.compile(r"[{};=]|//|\b(?:import|from|require|include)\b.*[\"'(]|^\s*[@$]|\)\s*$")


class Comments:
    """All comments of a file."""

    def __init__(self, nodes: "Sequence[Syntax]", source: bytes) -> None:
        self._source = source
        self._nodes = nodes
        self._starts = [node.start_byte for node in nodes]
        self._rows = [node.start_point.row for node in nodes]
        self._last = [last_row(node) for node in nodes]
        self._ending = {row: index for index, row in enumerate(self._last)}
        self._beginning = {row: index for index, row in enumerate(self._rows)}

    def above(self, row: int, *, apart: bool = False) -> list[str]:
        """Return the comments directly above a row, each alone on its lines; a blank line ends them.

        With `apart`, a documentation comment may have one blank line after it.
        """
        found: list[str] = []
        index = self._ending.get(row - 2) if apart else None
        if index is not None and is_doc_comment(self._text(index)) and _BLANK.match(self._source, self._nodes[index].end_byte):
            row -= 1
        while (index := self._ending.get(row - 1)) is not None and self._is_alone(index):
            found.append(self._text(index))
            row = self._rows[index]
        return found[::-1]

    def beside(self, row: int) -> str:
        """Return the comment that follows code on a row."""
        index = self._beginning.get(row)
        return "" if index is None or self._is_alone(index) else self._text(index)

    def runs_before(self, row: int) -> "list[tuple[int, list[str]]]":
        """Return all comments above a row, adjacent ones together; each run with the row of its end."""
        runs: list[tuple[int, list[str]]] = []
        for index, start in enumerate(self._rows):
            if start >= row:
                break
            if runs and runs[-1][0] + 1 >= start:
                runs[-1] = (self._last[index], [*runs[-1][1], self._text(index)])
            else:
                runs.append((self._last[index], [self._text(index)]))
        return runs

    def rows(self) -> set[int]:
        """Return the rows that begin inside a comment or with one."""
        return {
            row
            for index, first in enumerate(self._rows)
            for row in range(first + (not self._is_alone(index)), self._last[index] + 1)
        }

    def cut(self, start: int, end: int) -> str:
        """Return the text between two bytes without the comments in it."""
        at = bisect_left(self._starts, start)
        pieces: list[bytes] = []
        while at < len(self._starts) and self._starts[at] < end:
            pieces.append(self._source[start : self._starts[at]])
            start = max(start, self._nodes[at].end_byte)
            at += 1
        pieces.append(self._source[start:end])
        return b" ".join(pieces).decode("utf-8", "replace")

    def _text(self, index: int) -> str:
        node = self._nodes[index]
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _is_alone(self, index: int) -> bool:
        """Return whether there is only whitespace before it on its line."""
        node = self._nodes[index]
        return not self._source[node.start_byte - node.start_point.column : node.start_byte].strip()


def clean_comments(comments: Iterable[str]) -> str:
    """Return the text of comments line by line, without comment markers, rulers and pragmas."""
    lines = [line for comment in comments for line in _split_comment(comment.strip())]
    kept = [line for line in lines if not _PRAGMAS.match(line) and (not line or not _RULERS.fullmatch(line))]
    return "\n".join(kept).strip()[:_MOST]


def _split_comment(comment: str) -> list[str]:
    if comment.startswith(("/*", "=begin")):
        return [_STARS.sub("", line).strip() for line in _BLOCK_MARKS.sub("", comment).removesuffix("*/").split("\n")]
    return [_LINE_MARKS.sub("", comment).rstrip()]


def is_doc_comment(comment: str) -> bool:
    """Return whether a comment is a documentation comment."""
    return comment.startswith(("/**", "///", "//!", "/*!"))


def is_license_notice(text: str) -> bool:
    """Return whether a comment is a copyright or license notice and doesn't describe the file."""
    return bool(_LICENCE.search(text))


def first_doc_line(doc: str) -> str:
    """Return the first non-empty line of a docstring."""
    return next((line.strip() for line in doc.split("\n") if line.strip()), "")


def is_prose(text: str) -> bool:
    """Return whether a sentence says something to a reader: it is no heading, no code that was commented out, no link."""
    words = re.findall(r"[^\W\d_]+", re.sub(r"\w+://\S+", "", text))
    return len(words) > 1 and not _SECTION.fullmatch(text) and not _CODE.search(re.sub(r"`[^`]*`", "", text))


def first_sentence(text: str) -> str:
    """Return the first sentence of a documentation comment as plain text."""
    text = _TAGS.sub("", _FILE_TAGS.sub("", _ROLES.sub(r"`\1`", text[:_MOST_SENTENCE]))).strip()
    attributes = _ATTRIBUTES.search(text)
    paragraph = (text[: attributes.start()] if attributes else text).strip().partition("\n\n")[0]
    flat = " ".join(paragraph.split())
    for end in _SENTENCE_END.finditer(flat):
        before, letter = flat[max(end.start() - 2, 0)], flat[end.start() - 1]
        if end.start() > 2 and before != "." and not (before == " " and letter.isupper()):  # neither dots, e.g., nor an initial
            return flat[: end.end()]
    return flat


def as_sentence(text: str) -> str:
    """Return a text with a full stop if it is prose; empty if it isn't."""
    return (text if text[-1] in ".!?。" else f"{text.rstrip(':,;')}.") if is_prose(text) else ""


def first_paragraph(text: str) -> str:
    """Return the first paragraph that isn't a license notice; empty if a notice comes first."""
    text = _TITLE.sub("", _TAGS.sub("", _FILE_TAGS.sub("", text)).strip())
    for paragraph in re.split(r"\n\s*\n", text):
        if _LICENCE.search(paragraph):
            return ""
        if paragraph.strip() and not _ATTRIBUTES.match(paragraph):
            return "\n".join([line.strip() for line in paragraph.strip().split("\n")])
    return ""
