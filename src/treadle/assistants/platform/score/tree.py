"""YAML text as a tree that knows its lines. Reads one document of plain values: no aliases, no tags, no key twice.

Values are those of YAML 1.2, as the server reads them: `yes` is text and `0o17` a number. JSON is read as well, being YAML.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, assert_never, cast

from msgspec import Struct

from treadle import SettingsError
from treadle.assistants.platform.score.values import BadSpec, Finding

MOST_CHARACTERS = 64_000
MOST_DEEP = 40

_NULL = {"", "~", "null", "Null", "NULL"}
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]{1,100}|0x[0-9a-fA-F]{1,100}|0o[0-7]{1,100}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,100}|[0-9]{1,100}(\.[0-9]{0,100})?)([eE][-+]?[0-9]{1,5})?")


class Scalar(Struct, frozen=True):
    """A value that isn't made of others, and how it is written."""

    line: int
    column: int
    value: str | int | float | bool | None
    text: str


class Items(Struct, frozen=True):
    """A list."""

    line: int
    column: int
    items: tuple["Node", ...]


class Entry(Struct, frozen=True):
    """One key of a mapping, where it stands, and what it has."""

    key: str
    line: int
    column: int
    value: "Node"


class Fields(Struct, frozen=True):
    """A mapping. A key that is there twice is here once."""

    line: int
    column: int
    entries: tuple[Entry, ...]

    def get(self, key: str) -> Entry | None:
        """The entry of a key."""
        return next((entry for entry in self.entries if entry.key == key), None)


Node = Scalar | Items | Fields


def parse(text: str) -> tuple[Node, list[Finding]]:
    """The tree of a text, and keys that are there twice. Raises `BadSpec` where there is no tree to be had."""
    if len(text) > MOST_CHARACTERS:
        raise _bad(1, 1, f"The text has {len(text):,} characters; a spec has at most {MOST_CHARACTERS:,}.")
    try:
        import yaml
    except ImportError as error:
        raise SettingsError("Score specs are read with PyYAML, which isn't installed: pip install 'treadle[platform]'") from error
    builder = _Builder()
    try:
        for event in cast("Any", yaml).parse(text, Loader=yaml.SafeLoader):  # its stub says nothing
            builder.take(event)
    except yaml.YAMLError as error:
        raise _broken(text, error) from error
    except (ValueError, OverflowError) as error:  # PyYAML checks neither `"\UFFFFFFFF"` nor `%YAML 1.99…9`
        raise _bad(builder.line, 1, f"The YAML can't be read from here on: {error}.") from error
    if builder.root is None:
        raise _bad(1, 1, "There is nothing in it.")
    return builder.root, builder.findings


def plain(node: Node) -> Any:
    """The value of a tree, without its lines."""
    match node:
        case Scalar():
            return node.value
        case Items():
            return [plain(item) for item in node.items]
        case Fields():
            return {entry.key: plain(entry.value) for entry in node.entries}
        case _:
            assert_never(node)


def texts(node: Node, path: str) -> Iterator[tuple[str, Scalar]]:
    """All text in a tree, each with its path."""
    match node:
        case Scalar():
            if isinstance(node.value, str):
                yield path, node
        case Items():
            for number, item in enumerate(node.items):
                yield from texts(item, f"{path}.{number}")
        case Fields():
            for entry in node.entries:
                yield from texts(entry.value, f"{path}.{entry.key}")
        case _:
            assert_never(node)


class _Open:
    """A list or mapping whose end hasn't come yet."""

    def __init__(self, line: int, column: int, mapping: bool) -> None:
        self.line, self.column = line, column
        self.mapping = mapping
        self.nodes: list[Node] = []


class _Builder:
    """Makes a tree of PyYAML's events, without a deep stack however deep the text is."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.findings: list[Finding] = []
        self.line = 1
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        """Add what an event says."""
        import yaml

        self.line, column = event.start_mark.line + 1, event.start_mark.column + 1
        self._refuse(event, column)
        if isinstance(event, yaml.ScalarEvent):
            self._add(Scalar(self.line, column, _value(event), event.value))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open.append(_Open(self.line, column, isinstance(event, yaml.MappingStartEvent)))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._add(self._closed(self._open.pop()))

    def _refuse(self, event: Any, column: int) -> None:
        import yaml

        line = self.line
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _bad(line, column, "A second document begins here (`---`); write one spec only.")
        elif isinstance(event, yaml.AliasEvent):
            raise _bad(line, column, f"Aliases (`*{shown(str(event.anchor))}`) aren't read; write the value out.")
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
            raise _bad(line, column, f"Tags (`{shown(event.tag)}`) aren't read; leave it out.")
        elif len(self._open) > MOST_DEEP:
            raise _bad(line, column, f"It is nested more than {MOST_DEEP} deep.")

    def _add(self, node: Node) -> None:
        if self._open:
            self._open[-1].nodes.append(node)
        else:
            self.root = node

    def _closed(self, frame: _Open) -> Node:
        if not frame.mapping:
            return Items(frame.line, frame.column, tuple(frame.nodes))
        return Fields(frame.line, frame.column, tuple(self._entries(frame.nodes)))

    def _entries(self, nodes: list[Node]) -> Iterator[Entry]:
        seen: dict[str, int] = {}
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            if not isinstance(key, Scalar):
                raise _bad(key.line, key.column, "A key has to be a name; this one is a list or a mapping.")
            if key.text in seen:
                message = f"The key `{shown(key.text)}` is already on line {seen[key.text]}; one of them has to go."
                self.findings.append(Finding(key.line, key.column, "error", shown(self._path(key.text), 200), message))
                continue
            seen[key.text] = key.line
            yield Entry(key.text, key.line, key.column, value)

    def _path(self, key: str) -> str:
        """Where a key is, by the keys that are open above it."""
        above = (frame.nodes[-1] if frame.mapping else len(frame.nodes) for frame in self._open)
        return ".".join([*(each.text if isinstance(each, Scalar) else str(each) for each in above), key])


def shown(text: str, most: int = 60) -> str:
    """A name or value as findings show it: on one line, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _value(event: Any) -> str | int | float | bool | None:
    text: str = event.value
    if event.style is not None:
        return text
    if text in _NULL:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _bad(line: int, column: int, message: str) -> BadSpec:
    return BadSpec((Finding(line, column, "error", "", message),))


def _broken(text: str, error: Any) -> BadSpec:
    """What PyYAML says about a text that is no YAML, at its place."""
    mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a character that YAML doesn't have
        before = text[: error.position]
        character = text[error.position : error.position + 1]
        return _bad(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1, f"YAML has no character {character!r}.")
    problem = ": ".join(_sentences((error.context, error.problem)))
    if "'\\t'" in problem:
        problem = "There is a tab; YAML is indented with spaces"
    return _bad(mark.line + 1, mark.column + 1, f"This is no YAML: {shown(problem, 200)}.")


def _sentences(parts: Iterable[str | None]) -> Iterator[str]:
    return (part for part in parts if part)
