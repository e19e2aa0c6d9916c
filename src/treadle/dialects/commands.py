"""Calls as command lines in a code fence: each line a tool's name, then its arguments by position or as `--name value`.

Quoting is the shell's, and nothing else is. A line with a pipe, a redirection or a substitution, or that begins with something
other than a tool on offer, is a command for a shell: where nobody taught the model this form, the fence it stands in is a sample.
A model that was taught it is told of such a line, and the other lines count.
"""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Written
from treadle.core.requests import Shorthand
from treadle.dialects.dialect import TextDialect
from treadle.dialects.forms import Block, Found, Offer, json_text
from treadle.dialects.typed import kinds_of, resolved, values_of

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
_NO_SHELL = (
    "This line was not run: {!r}. This is no shell: pipes, redirections, several commands on a line and substitutions can't be "
    "used. Write one call a line."
)


class _Word(Struct, frozen=True):
    text: str
    quoted: bool  # whether it begins with a quote, so that it means nothing but itself


class _Line(Struct):
    """A command. `foreign` says that a shell would do more than take its words apart."""

    words: list[_Word] = []
    foreign: bool = False

    @property
    def name(self) -> str:
        return self.words[0].text.rstrip(";")

    @property
    def is_script(self) -> bool:
        """Whether the lines after it may be parts of it."""
        return self.name in _SCRIPT or any("<<" in word.text and not word.quoted for word in self.words)


class _Splitter:
    """Splits text into commands, and those into words."""

    def __init__(self) -> None:
        self.commands = [_Line()]
        self._parts: list[str] = []
        self._in_word = False
        self._quoted = False  # whether the word begins with a quote
        self._plain = False  # whether it ends without one

    def split(self, text: str) -> bool:
        """Takes all of `text`; whether it ended outside of quotes."""
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
                self.commands.append(_Line())
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


def _begins(line: str, offer: Offer) -> bool:
    word = _FIRST_WORD.match(line)
    return word is not None and (line[0] == "#" or offer.has(word.group()))


def _begins_anyhow(line: str, offer: Offer) -> bool:
    return bool(line)


def _split(body: str) -> tuple[list[_Line], bool]:
    """The commands of a block, and whether the last one is whole: the reply may have ended within its last word."""
    splitter = _Splitter()
    closed = splitter.split(body)
    return [line for line in splitter.commands if line.words], closed and body.endswith("\n")


def _read(body: str, offer: Offer) -> Found | None:
    """All lines, if each is a call."""
    lines, is_whole = _split(body)
    if not all(offer.has(line.name) and not line.foreign for line in lines):
        return None
    return _found(lines, offer, is_whole=is_whole)


def _read_taught(body: str, offer: Offer) -> Found | None:
    """All lines, if one of them is a call; what is wrong with the others is told."""
    lines, is_whole = _split(body)
    if not any(offer.has(line.name) for line in lines) or any(line.is_script for line in lines):
        return None
    return _found(lines, offer, is_whole=is_whole)


def _found(lines: list[_Line], offer: Offer, *, is_whole: bool) -> Found | None:
    calls = [_written(line, offer) for line in lines]
    if not calls:
        return None
    if not is_whole:
        calls[-1] = replace(calls[-1], cut=True)
    return Found(tuple(calls))


def _written(line: _Line, offer: Offer) -> Written:
    if line.foreign:
        return Written("", line.name, "", problem=_NO_SHELL.format(" ".join([word.text for word in line.words])))
    return Written("", line.name, json_text(_arguments(line, offer)))


def _arguments(line: _Line, offer: Offer) -> dict[str, Any]:
    arguments = _Arguments(offer, line.name)
    arguments.take(line.words[1:])
    return arguments.values()


class _Arguments:
    """The arguments of one line, by their names."""

    def __init__(self, offer: Offer, name: str) -> None:
        self._properties, self._root = offer.properties(name), offer.schema(name)
        self._options = offer.command_line(name)
        self._given: dict[str, list[str]] = {}
        self._implied: dict[str, Any] = {**self._options.get("", Shorthand()).sets}

    def take(self, words: list[_Word]) -> None:
        """Take what was given by name, and then what by position."""
        positional: list[str] = []
        rest = words[::-1]
        while rest:
            word = rest.pop()
            if word.text == "--" and not word.quoted:
                positional += [after.text for after in reversed(rest)]
                break
            if _is_option(word):
                self._option(word, rest)
            else:
                positional.append(word.text)
        self._fill(positional)

    def values(self) -> dict[str, Any]:
        """What the texts mean, by the tool's schema."""
        schemas, root = self._properties, self._root
        given = {key: values_of(texts, schemas.get(key) or {}, root) if texts else True for key, texts in self._given.items()}
        return {**{key: value for key, value in self._implied.items() if key not in given}, **given}

    def _option(self, word: _Word, rest: list[_Word]) -> None:
        """An option, with its value from behind the equals sign or from the words that follow, unless it is a flag."""
        spelled, equals, value = word.text.lstrip("-").partition("=")
        short = self._shorthand(word, rest[-1].text if rest else "")
        if short is not None:
            self._implied |= short.sets
            self._give(short.names, value if equals else rest.pop().text)
            return
        for key in _keys(spelled, list(self._properties), self._flags, short=not word.text.startswith("--")):
            texts = self._given.setdefault(key, [])
            if equals:
                texts.append(value)
            elif self._has_value(key, rest):
                texts.append(rest.pop().text)

    def _shorthand(self, word: _Word, following: str) -> Shorthand | None:
        """What an option stands for in this tool's command line; an argument that it names as well goes before, if that fits."""
        spelled, equals, value = word.text.lstrip("-").partition("=")
        short = self._options.get(spelled) if word.text[:2] != "--" else None
        value = value if equals else following
        if short is None or not (equals or following):
            return None
        named = _keys(spelled, list(self._properties), self._flags, short=True)[0]
        return None if value in self._choices(named) else short

    def _give(self, names: tuple[str, ...], value: str) -> None:
        """A value for several arguments is split at its colons; one piece is for all of them."""
        pieces = value.split(":", len(names) - 1) if len(names) > 1 else [value]
        for name, piece in zip(names, pieces if len(pieces) == len(names) else pieces * len(names), strict=True):
            self._given.setdefault(name, []).append(piece)

    def _has_value(self, key: str, rest: list[_Word]) -> bool:
        if not rest:
            return False
        if key in self._flags:  # which needs none, and may have one
            return rest[-1].text.lower() in ("true", "false")
        return key in self._properties or not _is_option(rest[-1])

    @property
    def _flags(self) -> list[str]:
        return [key for key in self._properties if self._kinds(key) == ["boolean"]]

    def _kinds(self, key: str) -> list[str]:
        return kinds_of(resolved(self._properties[key], self._root), self._root)

    def _choices(self, key: str) -> list[object]:
        return resolved(self._properties.get(key) or {}, self._root).get("enum") or []

    def _fill(self, positional: list[str]) -> None:
        """Give the arguments by position their names, in the order the tool declares them; a list takes all that are left."""
        free = [key for key in self._properties if key not in self._given]
        last = ""
        for index, text in enumerate(positional):
            while free and self._is_passed_over(free[0], text):
                free.pop(0)
            if free:
                last = free.pop(0)
                self._given[last] = [text]
            elif last and self._kinds(last) == ["array"]:
                self._given[last].append(text)
            else:
                self._given[f"argument {index + 1}"] = [text]

    def _is_passed_over(self, key: str, text: str) -> bool:
        """Whether an argument has another value by itself and can't have this one, which is for the next argument then."""
        choices = self._choices(key)
        return bool(choices) and text not in choices and (key in self._implied or "default" in self._properties[key])


def _is_option(word: _Word) -> bool:
    return not word.quoted and word.text[:1] == "-" and len(word.text) > 1 and not _NUMBER.fullmatch(word.text)


def _keys(spelled: str, keys: list[str], flags: list[str], *, short: bool) -> list[str]:
    """The arguments an option stands for: by name, by the letter only one begins with, or several flags by their letters."""
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
LINES = Block(_FENCES, _begins, _read, every=True)
TAUGHT_LINES = Block(_FENCES, _begins_anyhow, _read_taught, every=True)

_LESSON = """\
To call tools, write a bash block, one call a line: the tool's name, then its arguments in order or as --name value:
```bash
TOOL VALUE --ARGUMENT VALUE
```
Quote values that have spaces in them. Use no pipes, redirections or variables: this is no real shell."""


def _spell(calls: Sequence[Call]) -> str:
    lines = "\n".join(map(_spelled, calls))
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(lines)), default=0))
    return f"{fence}bash\n{lines}\n{fence}" if calls else ""


def _spelled(call: Call) -> str:
    return " ".join([call.name, *(f"--{_quoted(key)}={_quoted(value)}" for key, value in call.arguments.items())])


def _quoted(value: object) -> str:
    """A value as one word: in quotes unless it is quite plain, and with those in it between quotes of the other kind."""
    text = value if isinstance(value, str) else json_text(value)
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "'\"'\"'") + "'"


DIALECTS = {"own_bash_fence": TextDialect("own_bash_fence", (TAUGHT_LINES,), _LESSON, _spell)}
