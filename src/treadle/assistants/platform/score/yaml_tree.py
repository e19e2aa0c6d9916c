"""Parse YAML to a tree with line numbers. One document of plain values: no aliases, no tags, no duplicate keys.

Values are those of YAML 1.2, as the server reads them: `yes` is text and `0o17` a number. JSON is accepted as well,
being YAML.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, assert_never, cast

from msgspec import Struct

from treadle.assistants.platform.score.spec import BadSpec, SpecFinding
from treadle.errors import SettingsError

MAX_CHARACTERS = 64_000
MAX_YAML_DEPTH = 40

_NULL = {"", "~", "null", "Null", "NULL"}
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]{1,100}|0x[0-9a-fA-F]{1,100}|0o[0-7]{1,100}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,100}|[0-9]{1,100}(\.[0-9]{0,100})?)([eE][-+]?[0-9]{1,5})?")


class YamlScalar(Struct, frozen=True):
    """A scalar value, and how it is written."""

    line: int
    column: int
    value: str | int | float | bool | None
    text: str


class YamlList(Struct, frozen=True):
    """A list."""

    line: int
    column: int
    items: tuple["YamlNode", ...]


class YamlEntry(Struct, frozen=True):
    """One key of a mapping with its position and value."""

    key: str
    line: int
    column: int
    value: "YamlNode"


class YamlMapping(Struct, frozen=True):
    """A mapping. A duplicate key is listed once."""

    line: int
    column: int
    entries: tuple[YamlEntry, ...]

    def get(self, key: str) -> YamlEntry | None:
        """Return the entry of a key."""
        return next((entry for entry in self.entries if entry.key == key), None)


YamlNode = YamlScalar | YamlList | YamlMapping


def parse_yaml(text: str) -> tuple[YamlNode, list[SpecFinding]]:
    """Return the tree of a text, and findings for duplicate keys. Raises `BadSpec` if it can't be parsed."""
    if len(text) > MAX_CHARACTERS:
        raise _bad_spec(1, 1, f"The text has {len(text):,} characters; a spec has at most {MAX_CHARACTERS:,}.")
    try:
        import yaml
    except ImportError as error:
        raise SettingsError("Score specs are read with PyYAML, which isn't installed: pip install 'treadle[platform]'") from error
    builder = _TreeBuilder()
    try:
        for event in cast("Any", yaml).parse(text, Loader=yaml.SafeLoader):  # its stub says nothing
            builder.take(event)
    except yaml.YAMLError as error:
        raise _syntax_error(text, error) from error
    except (ValueError, OverflowError) as error:  # PyYAML checks neither `"\UFFFFFFFF"` nor `%YAML 1.99…9`
        raise _bad_spec(builder.line, 1, f"The YAML can't be read from here on: {error}.") from error
    if builder.root is None:
        raise _bad_spec(1, 1, "There is nothing in it.")
    return builder.root, builder.findings


def plain_value(node: YamlNode) -> Any:
    """Return the value of a tree, without line numbers."""
    match node:
        case YamlScalar():
            return node.value
        case YamlList():
            return [plain_value(item) for item in node.items]
        case YamlMapping():
            return {entry.key: plain_value(entry.value) for entry in node.entries}
        case _:
            assert_never(node)


def iter_texts(node: YamlNode, path: str) -> Iterator[tuple[str, YamlScalar]]:
    """Yield all text in a tree with its path."""
    match node:
        case YamlScalar():
            if isinstance(node.value, str):
                yield path, node
        case YamlList():
            for number, item in enumerate(node.items):
                yield from iter_texts(item, f"{path}.{number}")
        case YamlMapping():
            for entry in node.entries:
                yield from iter_texts(entry.value, f"{path}.{entry.key}")
        case _:
            assert_never(node)


class _OpenCollection:
    """A list or mapping that hasn't ended yet."""

    def __init__(self, line: int, column: int, mapping: bool) -> None:
        self.line, self.column = line, column
        self.mapping = mapping
        self.nodes: list[YamlNode] = []


class _TreeBuilder:
    """Builds a tree from PyYAML's events, without recursion however deep the text is nested."""

    def __init__(self) -> None:
        self.root: YamlNode | None = None
        self.findings: list[SpecFinding] = []
        self.line = 1
        self._open: list[_OpenCollection] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        """Process an event."""
        import yaml

        self.line, column = event.start_mark.line + 1, event.start_mark.column + 1
        self._refuse(event, column)
        if isinstance(event, yaml.ScalarEvent):
            self._add(YamlScalar(self.line, column, _scalar_value(event), event.value))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open.append(_OpenCollection(self.line, column, isinstance(event, yaml.MappingStartEvent)))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._add(self._close(self._open.pop()))

    def _refuse(self, event: Any, column: int) -> None:
        import yaml

        line = self.line
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _bad_spec(line, column, "A second document begins here (`---`); write one spec only.")
        elif isinstance(event, yaml.AliasEvent):
            raise _bad_spec(line, column, f"Aliases (`*{shorten_spec_value(str(event.anchor))}`) aren't read; write the value out.")
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
            raise _bad_spec(line, column, f"Tags (`{shorten_spec_value(event.tag)}`) aren't read; leave it out.")
        elif len(self._open) > MAX_YAML_DEPTH:
            raise _bad_spec(line, column, f"It is nested more than {MAX_YAML_DEPTH} deep.")

    def _add(self, node: YamlNode) -> None:
        if self._open:
            self._open[-1].nodes.append(node)
        else:
            self.root = node

    def _close(self, frame: _OpenCollection) -> YamlNode:
        if not frame.mapping:
            return YamlList(frame.line, frame.column, tuple(frame.nodes))
        return YamlMapping(frame.line, frame.column, tuple(self._entries(frame.nodes)))

    def _entries(self, nodes: list[YamlNode]) -> Iterator[YamlEntry]:
        seen: dict[str, int] = {}
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            if not isinstance(key, YamlScalar):
                raise _bad_spec(key.line, key.column, "A key has to be a name; this one is a list or a mapping.")
            if key.text in seen:
                message = f"The key `{shorten_spec_value(key.text)}` is already on line {seen[key.text]}; one of them has to go."
                self.findings.append(
                    SpecFinding(key.line, key.column, "error", shorten_spec_value(self._path(key.text), 200), message)
                )
                continue
            seen[key.text] = key.line
            yield YamlEntry(key.text, key.line, key.column, value)

    def _path(self, key: str) -> str:
        """Return the path of a key, by the keys that are open above it."""
        above = (frame.nodes[-1] if frame.mapping else len(frame.nodes) for frame in self._open)
        return ".".join([*(each.text if isinstance(each, YamlScalar) else str(each) for each in above), key])


def shorten_spec_value(text: str, most: int = 60) -> str:
    """Shorten a name or value for a finding: on one line, and limited in length."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _scalar_value(event: Any) -> str | int | float | bool | None:
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


def _bad_spec(line: int, column: int, message: str) -> BadSpec:
    return BadSpec((SpecFinding(line, column, "error", "", message),))


def _syntax_error(text: str, error: Any) -> BadSpec:
    """Return PyYAML's error for a text that isn't YAML, with its position."""
    mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # a character that YAML doesn't have
        before = text[: error.position]
        character = text[error.position : error.position + 1]
        return _bad_spec(
            before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1, f"YAML has no character {character!r}."
        )
    problem = ": ".join(_non_empty((error.context, error.problem)))
    if "'\\t'" in problem:
        problem = "There is a tab; YAML is indented with spaces"
    return _bad_spec(mark.line + 1, mark.column + 1, f"This is no YAML: {shorten_spec_value(problem, 200)}.")


def _non_empty(parts: Iterable[str | None]) -> Iterator[str]:
    return (part for part in parts if part)
