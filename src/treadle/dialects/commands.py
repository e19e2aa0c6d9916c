"""Calls as command lines in a code fence: each line a tool's name, then its arguments by position or as `--name value`.

Quoting is the shell's, and nothing else is: a line with a pipe, a redirection or a substitution is a command for a shell, so the
fence it stands in is a sample. So is one in which any line begins with something other than a tool on offer.
"""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from treadle.core.calls import Call, Written
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


class _Word(Struct, frozen=True):
    text: str
    quoted: bool  # whether it begins with a quote, so that it means nothing but itself


class _Splitter:
    """Splits text into commands, and those into words."""

    def __init__(self) -> None:
        self.commands: list[list[_Word]] = [[]]
        self.foreign = False  # whether a shell would do more than take words apart
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
                self.commands.append([])
            case _:
                self.foreign = self.foreign or ("$(" in text and kind != "single")
                self._plain = kind == "plain"
                self._quoted = self._quoted if self._in_word else not self._plain
                self._in_word = True
                self._parts.append(_ESCAPE.sub(r"\1", text) if kind == "double" else text)

    def _end_word(self) -> None:
        if not self._in_word:
            return
        operator = not self._quoted and _OPERATOR.match(self._parts[0]) is not None
        self.foreign = self.foreign or operator or (self._plain and self._parts[-1].endswith(";"))
        self.commands[-1].append(_Word("".join(self._parts), self._quoted))
        self._parts.clear()
        self._in_word = False


def _begins(line: str, offer: Offer) -> bool:
    word = _FIRST_WORD.match(line)
    return word is not None and (line[0] == "#" or offer.has(word.group()))


def _read(body: str, offer: Offer) -> Found | None:
    splitter = _Splitter()
    closed = splitter.split(body)
    commands = [command for command in splitter.commands if command]
    if not commands or splitter.foreign or not all(offer.has(command[0].text) for command in commands):
        return None
    calls = [Written("", command[0].text, json_text(_arguments(command, offer))) for command in commands]
    if not closed or not body.endswith("\n"):  # the reply may have ended within the last word
        calls[-1] = Written("", calls[-1].name, calls[-1].text, cut=True)
    return Found(tuple(calls))


def _arguments(command: list[_Word], offer: Offer) -> dict[str, Any]:
    name = command[0].text
    properties, root = offer.properties(name), offer.schema(name)
    flags = [key for key, schema in properties.items() if kinds_of(resolved(schema, root), root) == ["boolean"]]
    given, positional = _sorted_out(command[1:], list(properties), flags)
    _fill(given, positional, properties, root)
    return {key: values_of(texts, properties.get(key) or {}, root) if texts else True for key, texts in given.items()}


def _sorted_out(words: list[_Word], keys: list[str], flags: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """What was given by name, and what by position. A flag is given with nothing."""
    given: dict[str, list[str]] = {}
    positional: list[str] = []
    rest = words[::-1]
    while rest:
        word = rest.pop()
        if word.text == "--" and not word.quoted:
            positional += [after.text for after in reversed(rest)]
            break
        if not _is_option(word):
            positional.append(word.text)
            continue
        spelled, equals, value = word.text.lstrip("-").partition("=")
        for key in _keys(spelled, keys, flags, short=not word.text.startswith("--")):
            texts = given.setdefault(key, [])
            if equals:
                texts.append(value)
            elif key not in flags and rest and (key in keys or not _is_option(rest[-1])):
                texts.append(rest.pop().text)
    return given, positional


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


def _fill(given: dict[str, list[str]], positional: list[str], properties: dict[str, Any], root: dict[str, Any]) -> None:
    """Gives the arguments by position their names, in the order the tool declares them; a list takes all that are left."""
    free = [key for key in properties if key not in given]
    for index, text in enumerate(positional):
        if index < len(free):
            given[free[index]] = [text]
        elif free and kinds_of(resolved(properties[free[-1]], root), root) == ["array"]:
            given[free[-1]].append(text)
        else:
            given[f"argument {index + 1}"] = [text]


LINES = Block(("bash", "sh", "shell"), _begins, _read)

_LESSON = """\
To call tools, end your reply with a bash block, one call a line: the tool's name, then its arguments in order or as --name value:
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


DIALECTS = {"own_bash_fence": TextDialect("own_bash_fence", (LINES,), _LESSON, _spell)}
