"""Calls as command lines in a code fence: each line is a tool's name, then its arguments by position or as `--name value`.

Quoting follows the shell, and nothing else does. A line with a pipe, a redirection or a substitution, or one that doesn't
begin with an offered tool, is a command for a shell: if the model wasn't taught this form, the fence it stands in is an
example. A model that was taught it gets a problem for such a line, and the other lines count.
"""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Written
from treadle.core.requests import Shorthand
from treadle.dialects.argument_values import convert_values, resolve_reference, schema_types
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import CallMatch, FencedForm, OfferedTools, to_json_text

_FIRST_WORD = re.compile(r"\S+")
_TOKEN = re.compile(
    r"""(?P<join>\\\n)|(?P<blank>[ \t\r]+)|(?P<line>\n)|'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)"""
    r"""|(?P<plain>[^\s'"\\]+)|(?P<open>.)""",
    re.DOTALL,
)
_COMMENT = re.compile(r"#[^\n]*")
_ESCAPE = re.compile(r'\\(?:([$`"\\])|\n)')  # the only ones within double quotes
_OPERATOR = re.compile(r"[0-9]?[|&;<>]")
_NUMBER = re.compile(r"-[0-9.]+")
_TICKS = re.compile("`+")
_PLAIN = re.compile(r"[\w./:@%+,-]+")
_SCRIPT = frozenset({"for", "while", "until", "if", "case", "select", "function"})  # lines after these aren't commands of their own
_NO_SHELL_PROBLEM = (
    "This line was not run: {!r}. This is no shell: pipes, redirections, several commands on a line and substitutions can't be "
    "used. Write one call a line."
)


class _Word(Struct, frozen=True):
    text: str
    quoted: bool  # whether it begins with a quote, so that it means nothing but itself


class _CommandLine(Struct):
    """A command. `foreign` says that a shell would do more than split it into words."""

    words: list[_Word] = []
    foreign: bool = False

    @property
    def name(self) -> str:
        return self.words[0].text.rstrip(";")

    @property
    def is_script(self) -> bool:
        """Whether the following lines may belong to this command."""
        return self.name in _SCRIPT or any("<<" in word.text and not word.quoted for word in self.words)


class _CommandSplitter:
    """Splits text into commands, and commands into words."""

    def __init__(self) -> None:
        self.commands = [_CommandLine()]
        self._parts: list[str] = []
        self._in_word = False
        self._quoted = False  # whether the word begins with a quote
        self._plain = False  # whether it ends without one

    def split(self, text: str) -> bool:
        """Split all of `text`; return whether it ended outside of quotes."""
        at = 0
        while at < len(text):
            token = None if self._in_word else _COMMENT.match(text, at)
            if token is None:
                token = _TOKEN.match(text, at)
                if token is None or token.lastgroup == "open":
                    break
                self._add(token.lastgroup or "", token[token.lastgroup or 0])
            at = token.end()
        self._end_word()
        return at == len(text)

    def _add(self, kind: str, text: str) -> None:
        match kind:
            case "join":
                pass
            case "blank":
                self._end_word()
            case "line":
                self._end_word()
                self.commands.append(_CommandLine())
            case _:
                self.commands[-1].foreign |= "$(" in text and kind != "single"
                self._plain = kind == "plain"
                self._quoted = self._quoted if self._in_word else not self._plain
                self._in_word = True
                self._parts.append(_ESCAPE.sub(r"\1", text) if kind == "double" else text)

    def _end_word(self) -> None:
        if not self._in_word:
            return
        line, operator = self.commands[-1], not self._quoted and _OPERATOR.match(self._parts[0]) is not None
        line.foreign |= operator or (self._plain and self._parts[-1].endswith(";"))
        line.words.append(_Word("".join(self._parts), self._quoted))
        self._parts.clear()
        self._in_word = False


def _begins_with_tool(line: str, offer: OfferedTools) -> bool:
    word = _FIRST_WORD.match(line)
    return word is not None and (line[0] == "#" or offer.has(word.group()))


def _begins_with_anything(line: str, offer: OfferedTools) -> bool:
    return bool(line)


def _split_commands(body: str) -> tuple[list[_CommandLine], bool]:
    """Return the commands of a block, and whether the last one is complete: the reply may have ended within its last word."""
    splitter = _CommandSplitter()
    closed = splitter.split(body)
    return [line for line in splitter.commands if line.words], closed and body.endswith("\n")


def _read_all_calls(body: str, offer: OfferedTools) -> CallMatch | None:
    """Return all lines as calls, if each of them is one."""
    lines, is_whole = _split_commands(body)
    if not all(offer.has(line.name) and not line.foreign for line in lines):
        return None
    return _match_lines(lines, offer, is_whole=is_whole)


def _read_any_calls(body: str, offer: OfferedTools) -> CallMatch | None:
    """Return all lines if one of them is a call; the others become calls with a problem."""
    lines, is_whole = _split_commands(body)
    if not any(offer.has(line.name) for line in lines) or any(line.is_script for line in lines):
        return None
    return _match_lines(lines, offer, is_whole=is_whole)


def _match_lines(lines: list[_CommandLine], offer: OfferedTools, *, is_whole: bool) -> CallMatch | None:
    calls = [_write_call(line, offer) for line in lines]
    if not calls:
        return None
    if not is_whole:
        calls[-1] = replace(calls[-1], cut=True)
    return CallMatch(tuple(calls))


def _write_call(line: _CommandLine, offer: OfferedTools) -> Written:
    if line.foreign:
        return Written("", line.name, "", problem=_NO_SHELL_PROBLEM.format(" ".join([word.text for word in line.words])))
    return Written("", line.name, to_json_text(_parse_arguments(line, offer)))


def _parse_arguments(line: _CommandLine, offer: OfferedTools) -> dict[str, Any]:
    arguments = _ArgumentParser(offer, line.name)
    arguments.take(line.words[1:])
    return arguments.values()


class _ArgumentParser:
    """Parses the arguments of one line by name."""

    def __init__(self, offer: OfferedTools, name: str) -> None:
        self._properties, self._root = offer.properties(name), offer.schema(name)
        self._options = offer.command_line(name)
        self._given: dict[str, list[str]] = {}
        self._implied: dict[str, Any] = {**self._options.get("", Shorthand()).sets}

    def take(self, words: list[_Word]) -> None:
        """Add the arguments given by name, then those given by position."""
        positional: list[str] = []
        rest = words[::-1]
        while rest:
            word = rest.pop()
            if word.text == "--" and not word.quoted:
                positional += [after.text for after in reversed(rest)]
                break
            if _is_option(word):
                self._add_option(word, rest)
            else:
                positional.append(word.text)
        self._assign_positional(positional)

    def values(self) -> dict[str, Any]:
        """Return the arguments converted by the tool's schema."""
        schemas, root = self._properties, self._root
        given = {key: convert_values(texts, schemas.get(key) or {}, root) if texts else True for key, texts in self._given.items()}
        return {**{key: value for key, value in self._implied.items() if key not in given}, **given}

    def _add_option(self, word: _Word, rest: list[_Word]) -> None:
        """Add an option with its value, from behind the equals sign or from the following words, unless it is a flag."""
        spelled, equals, value = word.text.lstrip("-").partition("=")
        short = self._find_shorthand(word, rest[-1].text if rest else "")
        if short is not None:
            self._implied |= short.sets
            self._assign(short.names, value if equals else rest.pop().text)
            return
        for key in _match_option(spelled, list(self._properties), self._flag_names, short=not word.text.startswith("--")):
            texts = self._given.setdefault(key, [])
            if equals:
                texts.append(value)
            elif self._has_value(key, rest):
                texts.append(rest.pop().text)

    def _find_shorthand(self, word: _Word, following: str) -> Shorthand | None:
        """Return what an option stands for in this tool's command line.

        An argument of the same name takes precedence if it fits.
        """
        spelled, equals, value = word.text.lstrip("-").partition("=")
        short = self._options.get(spelled) if word.text[:2] != "--" else None
        value = value if equals else following
        if short is None or not (equals or following):
            return None
        named = _match_option(spelled, list(self._properties), self._flag_names, short=True)[0]
        return None if value in self._choices(named) else short

    def _assign(self, names: tuple[str, ...], value: str) -> None:
        """Assign a value to arguments. A value for several of them is split at its colons; a single piece is assigned to all."""
        pieces = value.split(":", len(names) - 1) if len(names) > 1 else [value]
        for name, piece in zip(names, pieces if len(pieces) == len(names) else pieces * len(names), strict=True):
            self._given.setdefault(name, []).append(piece)

    def _has_value(self, key: str, rest: list[_Word]) -> bool:
        if not rest:
            return False
        if key in self._flag_names:  # which needs none, and may have one
            return rest[-1].text.lower() in ("true", "false")
        return key in self._properties or not _is_option(rest[-1])

    @property
    def _flag_names(self) -> list[str]:
        return [key for key in self._properties if self._kinds(key) == ["boolean"]]

    def _kinds(self, key: str) -> list[str]:
        return schema_types(resolve_reference(self._properties[key], self._root), self._root)

    def _choices(self, key: str) -> list[object]:
        return resolve_reference(self._properties.get(key) or {}, self._root).get("enum") or []

    def _assign_positional(self, positional: list[str]) -> None:
        """Assign positional arguments in the order the tool declares them; a list takes all that are left."""
        free = [key for key in self._properties if key not in self._given]
        last = ""
        for index, text in enumerate(positional):
            while free and self._skips_argument(free[0], text):
                free.pop(0)
            if free:
                last = free.pop(0)
                self._given[last] = [text]
            elif last and self._kinds(last) == ["array"]:
                self._given[last].append(text)
            else:
                self._given[f"argument {index + 1}"] = [text]

    def _skips_argument(self, key: str, text: str) -> bool:
        """Return whether an argument has a default and can't have this value, which then belongs to the next argument."""
        choices = self._choices(key)
        return bool(choices) and text not in choices and (key in self._implied or "default" in self._properties[key])


def _is_option(word: _Word) -> bool:
    return not word.quoted and word.text[:1] == "-" and len(word.text) > 1 and not _NUMBER.fullmatch(word.text)


def _match_option(spelled: str, keys: list[str], flags: list[str], *, short: bool) -> list[str]:
    """Return the arguments an option stands for: by name, by a unique first letter, or several flags by their letters."""
    name = spelled.replace("-", "_")
    if name in keys:
        return [name]
    if not short:
        return [spelled]
    letters = [[key for key in keys if key[0] == letter] for letter in spelled]
    if all(len(found) == 1 for found in letters) and (len(letters) == 1 or all(found[0] in flags for found in letters)):
        return [found[0] for found in letters]
    return [spelled]


_FENCES = ("bash", "sh", "shell")
LINES = FencedForm(_FENCES, _begins_with_tool, _read_all_calls, every=True)
TAUGHT_LINES = FencedForm(_FENCES, _begins_with_anything, _read_any_calls, every=True)

_LESSON = """\
To call tools, write a bash block, one call a line: the tool's name, then its arguments in order or as --name value:
```bash
TOOL VALUE --ARGUMENT VALUE
```
Quote values that have spaces in them. Use no pipes, redirections or variables: this is no real shell."""


def _spell_calls(calls: Sequence[Call]) -> str:
    lines = "\n".join(map(_spell_call, calls))
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(lines)), default=0))
    return f"{fence}bash\n{lines}\n{fence}" if calls else ""


def _spell_call(call: Call) -> str:
    return " ".join([call.name, *(f"--{_quote(key)}={_quote(value)}" for key, value in call.arguments.items())])


def _quote(value: object) -> str:
    """Return a value as one shell word: quoted unless it is plain, with single quotes inside put into double quotes."""
    text = value if isinstance(value, str) else to_json_text(value)
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\"'\"'") + "'"


DIALECTS = {"own_bash_fence": TextDialect("own_bash_fence", (TAUGHT_LINES,), _LESSON, _spell_calls)}
