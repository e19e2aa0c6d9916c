"""Which programs a shell line would run, for lists of what a person wants to be asked about. Pure, and only a convenience.

The sandbox is the boundary: a program that is allowed can always run others (`make`, `python`, `git`), and a list can't know.
What isn't certain, such as a name that is computed, counts as not allowed.
"""

import re
from collections.abc import Callable, Collection, Sequence
from posixpath import basename, dirname

import msgspec

MOST = 50_000  # characters of a line
DEEPEST = 20

_SYSTEM = {"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"}
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash"}
_SKIPPED = {"!", "{", "}", "if", "then", "else", "elif", "fi", "while", "until", "do", "done"}
_UNREAD = {
    *("case", "esac", "function", "select", "coproc", "alias", "enable", "hash", "busybox", "toybox", "parallel", "watch", "su"),
    *("script", "expect", "strace", "ltrace", "gdb", "flock", "unshare", "nsenter", "setpriv", "chroot", "runuser", "systemd-run"),
    *("prlimit", "taskset", "chrt", "ssh", "rsh", "at", "batch", "crontab", "start-stop-daemon", "ld.so", "bwrap", "firejail"),
}
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\+?=")
_CHANGES_ALL = re.compile(r"(?:PATH|IFS|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|CDPATH|BASH_FUNC\w*|LD_\w+)\Z")
_VARIABLE = re.compile(r"\$(?:\w+|[@*#?$!-])")
_REDIRECTION = re.compile(r"&>>?|<<<|<<-?|<>|[<>]&|>>|>\||[<>]")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*+)`", re.DOTALL)
_EXECUTES = {"-exec", "-execdir", "-ok", "-okdir"}


class Unclear(ValueError):
    """A line that isn't understood for certain; the message names what."""


class Word(msgspec.Struct, frozen=True):
    """A word of a line: plain where the shell leaves it as it is, bare without quotes, filled where something is put in."""

    text: str
    plain: bool = True
    bare: bool = True
    filled: bool = False


class Wrapper(msgspec.Struct, frozen=True):
    """How a program is written that runs another: options with a value, without one, and words before the other's name."""

    valued: str = ""
    bare: str = ""
    before: int = 0
    assigns: bool = False


_WRAPPERS = {
    "env": Wrapper(valued="uC", bare="i0", assigns=True),
    "sudo": Wrapper(valued="ugpCrtTD", bare="nEHPSkb", assigns=True),
    "doas": Wrapper(valued="u", bare="n"),
    "nohup": Wrapper(),
    "setsid": Wrapper(bare="cfw"),
    "nice": Wrapper(valued="n"),
    "ionice": Wrapper(valued="cn", bare="t"),
    "timeout": Wrapper(valued="sk", bare="v", before=1),
    "stdbuf": Wrapper(valued="ioe"),
    "xargs": Wrapper(valued="InPdLsaE", bare="0rtx"),
    "exec": Wrapper(valued="a", bare="cl"),
    "command": Wrapper(bare="pvV"),
    "builtin": Wrapper(),
    "time": Wrapper(valued="fo", bare="pvaq"),
}


def verdict(line: str, allow: Collection[str] | None, forbid: Collection[str] = ()) -> str:
    """Nothing where every command of a line is allowed, else a sentence that names one. `allow=None` allows all not forbidden."""
    try:
        names = commands_in(line)
    except Unclear as unclear:
        return f"The line isn't allowed: {unclear} can't be judged."
    for name in names:
        if name in forbid or basename(name) in forbid:
            return f"The command {name} is forbidden."
        if allow is not None and name not in allow:
            return f"The command {name} isn't among the allowed ones."
    return ""


def commands_in(line: str) -> list[str]:
    """The name of every command in a line, in order; those of the system without their folder. Raises `Unclear`."""
    if len(line) > MOST or "\x00" in line:
        raise Unclear("a line of this kind")
    return _Reader(line, 0).all()


class _Reader:
    """Reads one line, or what is inside of a substitution."""

    def __init__(self, text: str, depth: int, start: int = 0) -> None:
        if depth > DEEPEST:
            raise Unclear("a line nested this deeply")
        self.text = text
        self.at = start
        self.depth = depth
        self.names: list[str] = []
        self.words: list[Word] = []
        self.bodies: list[tuple[str, bool, bool]] = []  # here-documents that begin after this line

    def all(self, closing: str = "") -> list[str]:
        """Every name up to the end, or up to what closes a substitution."""
        while self.at < len(self.text):
            if closing and self.text[self.at] == closing:
                break
            self._step()
        if closing and self.at >= len(self.text):
            raise Unclear("an open parenthesis")
        if self.bodies:
            raise Unclear("a here-document without an end")
        self._ended()
        return self.names

    def _step(self) -> None:
        char, text = self.text[self.at], self.text
        if char in " \t":
            self.at += 1
        elif text.startswith("\\\n", self.at):
            self.at += 2
        elif char == "\n":
            self._newline()
        elif char == "#":
            end = text.find("\n", self.at)
            self.at = len(text) if end < 0 else end
        elif text.startswith(("<(", ">("), self.at):
            self._word()
        elif redirection := _REDIRECTION.match(text, self.at):
            self._redirected(redirection.group())
        elif char in ";&|":
            self._ended()
            self.at += 1
        elif char == "(":
            self._group()
        elif char == ")":
            raise Unclear("a parenthesis")
        else:
            self._word()

    def _newline(self) -> None:
        self._ended()
        self.at += 1
        for delimiter, quoted, tabs in self.bodies:
            self._body(delimiter, quoted=quoted, tabs=tabs)
        self.bodies = []

    def _body(self, delimiter: str, *, quoted: bool, tabs: bool) -> None:
        """A here-document: words, in which an unquoted one may run commands."""
        lines: list[str] = []
        while self.at < len(self.text):
            line, _, _ = self.text[self.at :].partition("\n")
            self.at += len(line) + 1
            if (line.lstrip("\t") if tabs else line) == delimiter:
                if not quoted:
                    self._inside("\n".join(lines))
                return
            lines.append(line)
        raise Unclear("a here-document without an end")

    def _inside(self, text: str) -> None:
        reader = _Reader(text, self.depth + 1)
        while reader.at < len(text):
            if not reader.expansion(quoted=True):
                reader.skip()
        self.names += reader.names

    def skip(self) -> None:
        """Go past a character that says nothing, or one that is escaped."""
        self.at += 2 if self.text[self.at] == "\\" else 1

    def _redirected(self, sign: str) -> None:
        if self.words and self.words[-1].text.isdigit() and self.text[self.at - 1].isdigit():
            self.words.pop()  # the number of a descriptor
        self.at += len(sign)
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        start, before = self.at, len(self.words)
        if self.at >= len(self.text) or self.text[self.at] in "\n;&|()<>":
            raise Unclear("a redirection to nowhere")
        self._word()
        target = self.words.pop() if len(self.words) > before else Word("")
        if sign in ("<<", "<<-"):
            written = self.text[start : self.at]
            if not target.plain or not target.text:
                raise Unclear("a here-document")
            self.bodies.append((target.text, written != target.text, sign == "<<-"))

    def _group(self) -> None:
        if self.words or self.text.startswith("((", self.at):
            raise Unclear("a parenthesis")
        self._nested(self.at + 1)

    def _nested(self, start: int) -> None:
        """Commands up to a closing parenthesis."""
        if self.bodies:
            raise Unclear("a here-document")
        reader = _Reader(self.text, self.depth + 1, start)
        self.names += reader.all(")")
        self.at = reader.at + 1

    def _word(self) -> None:
        parts: list[str] = []
        start, plain, filled = self.at, True, False
        while self.at < len(self.text) and not self._ends_word():
            part, kind = self._part()
            parts.append(part)
            plain = plain and kind == "plain"
            filled = filled or kind == "filled"
        text, raw = "".join(parts), self.text[start : self.at]
        if self.bodies and "\n" in raw:
            raise Unclear("a here-document")
        self.words.append(Word(text, plain or raw in ("{", "[", "[["), raw == text, filled))

    def _part(self) -> tuple[str, str]:
        """Some of a word, and what the shell does to it."""
        char = self.text[self.at]
        if char == "\\":
            return self._escaped(), "plain"
        if char == "'":
            return self._quoted(), "plain"
        if char == '"':
            return self._double()
        if self.expansion():
            return "", "filled"
        self.at += 1
        return char, "pattern" if char in "*?[{~^=" else "plain"

    def _ends_word(self) -> bool:
        return self.text[self.at] in " \t\n;&|()<>" and not self.text.startswith(("<(", ">("), self.at)

    def _escaped(self) -> str:
        char = self.text[self.at + 1 : self.at + 2]
        if not char:
            raise Unclear("a backslash at the end")
        self.at += 2
        return "" if char == "\n" else char

    def _quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Unclear("an open quote")
        inner, self.at = self.text[self.at + 1 : end], end + 1
        return inner

    def _double(self) -> tuple[str, str]:
        parts: list[str] = []
        kind = "plain"
        self.at += 1
        while self.text[self.at : self.at + 1] != '"':
            if self.at >= len(self.text):
                raise Unclear("an open quote")
            if self.text[self.at] == "\\":
                escaped = self._escaped()
                parts.append(escaped if escaped in '$`"\\' else f"\\{escaped}")
            elif self.expansion(quoted=True):
                kind = "filled"
            else:
                parts.append(self.text[self.at])
                self.at += 1
        self.at += 1
        return "".join(parts), kind

    def expansion(self, *, quoted: bool = False) -> bool:
        """Go past an expansion, if one is here, and note the commands in it."""
        text, at = self.text, self.at
        if text.startswith("$((", at):
            self._past("))", 3)
        elif text.startswith("$(" if quoted else ("$(", "<(", ">("), at):
            self._nested(at + 2)
        elif text.startswith("${", at):
            self._past("}", 2)
        elif text[at] == "`":
            self._backticks(quoted=quoted)
        elif text.startswith(("$'", '$"', "$["), at):
            raise Unclear(f"{text[at : at + 2]}")
        elif variable := _VARIABLE.match(text, at):
            self.at = variable.end()
        else:
            return False
        return True

    def _past(self, closing: str, opening: int) -> None:
        """Arithmetic and parameters, where they hold nothing that could run."""
        start = self.at + opening
        end = self.text.find(closing, start)
        inner = self.text[start:end]
        if end < 0 or re.search(r"[$`@'\"\\{\[(]" if opening == 2 else r"[^\d\s%()*+/<>&|^~!=-]", inner):
            raise Unclear("an expansion")
        self.at = end + len(closing)

    def _backticks(self, *, quoted: bool) -> None:
        found = _BACKTICKS.match(self.text, self.at)
        if found is None or self.bodies or (quoted and '\\"' in found[1]):
            raise Unclear("a backtick")
        self.names += _Reader(re.sub(r"\\([`$\\])", r"\1", found[1]), self.depth + 1).all()
        self.at = found.end()

    def _ended(self) -> None:
        """A simple command is over."""
        words, self.words = self.words, []
        self._named(words)

    def _named(self, words: Sequence[Word]) -> None:
        words = list(words)
        while words and words[0].bare and words[0].text in _SKIPPED:
            words.pop(0)
        words = _after_assignments(words)
        if not words or (words[0].bare and words[0].text == "for"):
            return
        name = _name(words[0])
        self.names.append(name)
        if name in _UNREAD:
            raise Unclear(f"what {name} runs")
        self._run_by(name, words[1:])

    def _run_by(self, name: str, rest: Sequence[Word]) -> None:
        """What a command runs that runs others."""
        special: dict[str, Callable[[Sequence[Word]], None]] = {
            "find": self._find,
            "eval": self._eval,
            "trap": lambda words: self._line(words[:1]),
            **dict.fromkeys(_SHELLS, self._shell),
        }
        if name in special:
            special[name](rest)
        elif name in _WRAPPERS:
            self._named(_wrapped(name, _WRAPPERS[name], rest))

    def _shell(self, words: Sequence[Word]) -> None:
        for index, word in enumerate(words):
            if not word.plain:
                raise Unclear("what a shell is given")
            if not word.text.startswith(("-", "+")):
                return
            if word.text.startswith("--") or "o" in word.text or "O" in word.text:
                raise Unclear(f"{word.text} of a shell")
            if "c" in word.text:
                self._line(words[index + 1 : index + 2])
                return
        raise Unclear("what a shell reads")

    def _eval(self, words: Sequence[Word]) -> None:
        self._line([Word(" ".join(word.text for word in words), all(word.plain for word in words))])

    def _line(self, words: Sequence[Word]) -> None:
        for word in words:
            if not word.plain:
                raise Unclear("a line that is put together")
            self.names += _Reader(word.text, self.depth + 1).all()

    def _find(self, words: Sequence[Word]) -> None:
        for index, word in enumerate(words):
            if word.filled:
                raise Unclear("what find is given")
            if word.text in _EXECUTES:
                following = words[index + 1 :]
                self._named(following[: _end(following)])


def _end(words: Sequence[Word]) -> int:
    """Where the command of `find -exec` ends."""
    return next((index for index, word in enumerate(words) if word.text in (";", "+")), len(words))


def _after_assignments(words: list[Word]) -> list[Word]:
    for index, word in enumerate(words):
        found = _ASSIGNMENT.match(word.text)
        if found is None:
            return words[index:]
        if _CHANGES_ALL.match(found["name"]):
            raise Unclear(f"another {found['name']}")
    return []


def _name(word: Word) -> str:
    if not word.plain or not word.text:
        raise Unclear("a command whose name is computed")
    return basename(word.text) if dirname(word.text) in _SYSTEM else word.text


def _wrapped(name: str, wrapper: Wrapper, words: Sequence[Word]) -> list[Word]:
    """The words of the command that another runs."""
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        if option.text == "--":
            break
        if _takes_next(name, wrapper, option):
            rest[:1] = []
    rest = rest[wrapper.before :]
    return _after_assignments(rest) if wrapper.assigns else rest


def _takes_next(name: str, wrapper: Wrapper, option: Word) -> bool:
    """Whether an option's value is the next word. Raises `Unclear` for one that isn't known."""
    letters = option.text[1:]
    for index, letter in enumerate(letters):
        if letter in wrapper.valued:
            return index == len(letters) - 1
        if letter not in wrapper.bare:
            break
    else:
        if letters and option.plain:
            return False
    raise Unclear(f"{option.text} of {name}")
