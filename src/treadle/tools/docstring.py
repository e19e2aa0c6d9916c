"""Parses a docstring: the summary before the parameters, one description for each parameter, and the return value.

Sphinx, Google and NumPy styles, also mixed in one text. It reads descriptions only; types are taken from annotations.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

_PARAMETERS = r"Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters|Attributes"
_RETURNS = r"Returns?|Yields?"
_OTHERS = r"Raises?|Warns?|Receives"

# Patterns as text: compiled when the first docstring is read, not when Treadle is imported.
_FIELD = r"(?P<indent> *):(?P<field>[a-z]+)(?: +(?P<about>[^:\n]+))?:(?: +(?P<text>.*)|$)"
_GOOGLE = rf"(?P<indent> *)(?:(?P<parameters>{_PARAMETERS})|(?P<returns>{_RETURNS})|(?:{_OTHERS})):\s*$"
_NUMPY = r"(?P<indent> *)(?P<title>[A-Z][A-Za-z ]*?)\s*$"
_RULE = r" *-{3,}\s*$"
_NUMPY_SECTIONS = rf"(?:(?P<parameters>{_PARAMETERS})|(?P<returns>{_RETURNS})|(?:{_OTHERS}))$"

_GOOGLE_ITEM = r"\*{0,2}(?P<names>\w+)\s*(?:\([^\n]*?\))?\s*:(?:\s+(?P<text>.*)|$)"
_NUMPY_ITEM = r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$"

_SPHINX_PARAMETERS = frozenset(("param", "parameter", "arg", "argument", "key", "keyword", "ivar", "var"))
_SPHINX_RETURNS = frozenset(("return", "returns", "yield", "yields"))
_SPHINX_OTHERS = frozenset(("type", "rtype", "raise", "raises", "except", "exception", "vartype", "meta"))


class Docstring(Struct, frozen=True):
    """A parsed docstring. `summary` is everything before the first section about parameters, results or errors."""

    summary: str
    parameters: dict[str, str]
    returns: str


class _Section(Struct, frozen=True):
    """A section: its subject and the indentation of its heading."""

    about: str  # "parameters", "returns" or "others"
    style: str  # "google" or "numpy"
    indent: int


class _Notes:
    """What was found so far; `open` is where a continuation line belongs."""

    def __init__(self) -> None:
        self.parameters: dict[str, list[str]] = {}
        self.returns: list[str] = []
        self.open: list[str] = []

    def parameter(self, names: str, text: str) -> None:
        self.open = [text]
        for name in names.split(","):
            self.parameters[name.strip().lstrip("*")] = self.open

    def result(self, text: str) -> None:
        self.open = self.returns
        self.open.append(text)

    def nothing(self) -> None:
        self.open = []


def read_docstring(text: str) -> Docstring:
    """Parse a docstring in any of the usual styles."""
    from inspect import cleandoc  # imported only where tools are made

    lines = cleandoc(text).splitlines()
    first = next((number for number in range(len(lines)) if _opens_section(lines, number)), len(lines))
    notes = _Notes()
    _read_section(lines, first, notes)
    parameters = {name: _join_lines(found) for name, found in notes.parameters.items()}
    return Docstring("\n".join(lines[:first]).strip(), parameters, _join_lines(notes.returns))


def _opens_section(lines: list[str], number: int) -> bool:
    return bool(_match_field(lines[number]) or _match_section(lines, number))


def _match_field(line: str) -> re.Match[str] | None:
    match = re.match(_FIELD, line)
    if match is None or (match["field"] in _SPHINX_PARAMETERS and not match["about"]):
        return None
    return match if match["field"] in _SPHINX_PARAMETERS | _SPHINX_RETURNS | _SPHINX_OTHERS else None


def _match_section(lines: list[str], number: int) -> _Section | None:
    google = re.match(_GOOGLE, lines[number])
    if google is not None:
        return _Section(
            _section_subject(google), "google", -1 if number == 0 else len(google["indent"])
        )  # a first line has no indent
    title = _match_numpy_title(lines, number)
    numpy = None if title is None else re.match(_NUMPY_SECTIONS, title["title"])
    return None if title is None or numpy is None else _Section(_section_subject(numpy), "numpy", len(title["indent"]))


def _match_numpy_title(lines: list[str], number: int) -> re.Match[str] | None:
    underlined = number + 1 < len(lines) and re.match(_RULE, lines[number + 1])
    return re.match(_NUMPY, lines[number]) if underlined else None


def _section_subject(match: re.Match[str]) -> str:
    return next((about for about in ("parameters", "returns") if match[about]), "others")


def _read_section(lines: list[str], first: int, notes: _Notes) -> None:
    numbers = iter(range(first, len(lines)))
    for number in numbers:
        section = _match_section(lines, number)
        if section is None:
            _read_field(lines, number, notes)
            continue
        body = list(_iter_body(lines, number + 1 + (section.style == "numpy"), section))
        _read_body(body, section, notes)
        for _ in range(len(body) + (section.style == "numpy")):
            next(numbers)


def _iter_body(lines: list[str], start: int, section: _Section) -> Iterator[str]:
    """Yield the lines of a section: to the next heading or field, and in Google style to the first line that isn't indented."""
    inner = _inner_indent(lines[start:])
    for number in range(start, len(lines)):
        line = lines[number]
        heading = _indent(line) <= inner and (_match_section(lines, number) or _match_numpy_title(lines, number))
        outside = section.style == "google" and line.strip() and _indent(line) <= section.indent
        if heading or outside or _match_field(line):
            return
        yield line


def _inner_indent(lines: list[str]) -> int:
    """Return the indentation of the first item below a heading."""
    return next((_indent(line) for line in lines if line.strip()), 0)


def _read_body(body: list[str], section: _Section, notes: _Notes) -> None:
    match section.about:
        case "parameters":
            _read_items(body, _GOOGLE_ITEM if section.style == "google" else _NUMPY_ITEM, notes)
        case "returns" if section.style == "numpy":
            described = [line for line in body if _indent(line) > section.indent]
            notes.result(" ".join(described or body))
        case "returns":
            notes.result(" ".join(body))
        case _:
            pass
    notes.nothing()


def _read_items(body: list[str], pattern: str, notes: _Notes) -> None:
    """Read items and their continuation lines: whatever is indented further than the item before it continues it."""
    inner = _inner_indent(body)
    for line in body:
        item = re.match(pattern, line.strip()) if _indent(line) <= inner else None
        if item is None:
            notes.open.append(line)
        else:
            inner = _indent(line)
            notes.parameter(item["names"], item.groupdict().get("text") or "")


def _read_field(lines: list[str], number: int, notes: _Notes) -> None:
    """Read one line below the summary: a Sphinx field, or the next line of one."""
    line = lines[number]
    field = _match_field(line)
    if field is None:
        after_gap = not lines[number - 1].strip()
        if after_gap and line.strip() and not line.startswith(" "):
            notes.nothing()
        notes.open.append(line)
    elif field["field"] in _SPHINX_PARAMETERS:
        notes.parameter(field["about"].split()[-1], field["text"] or "")
    elif field["field"] in _SPHINX_RETURNS:
        notes.result(field["text"] or "")
    else:
        notes.nothing()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _join_lines(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
