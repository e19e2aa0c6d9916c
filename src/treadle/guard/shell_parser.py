"""Parser for the programs that a shell line would run, for lists of commands and for grants. Pure, and only a convenience.

The sandbox is the boundary: a program that is allowed can always run others (`make`, `python`, `git`), and a list can't know.
What isn't certain, such as a computed name, counts as not allowed.
"""

import re
from collections.abc import Callable, Collection, Sequence
from posixpath import basename, dirname

import msgspec

MAX_LENGTH = 50_000  # characters of a line
MAX_DEPTH = 20

_SYSTEM_FOLDERS = {"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"}
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash"}
_KEYWORDS = {"!", "{", "}", "if", "then", "else", "elif", "fi", "while", "until", "do", "done"}
_UNPARSED = {
    *("case", "esac", "function", "select", "coproc", "alias", "enable", "hash", "busybox", "toybox", "parallel", "watch", "su"),
    *("script", "expect", "strace", "ltrace", "gdb", "flock", "unshare", "nsenter", "setpriv", "chroot", "runuser", "systemd-run"),
    *("prlimit", "taskset", "chrt", "ssh", "rsh", "at", "batch", "crontab", "start-stop-daemon", "ld.so", "bwrap", "firejail"),
}
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\+?=")
_UNSAFE_VARIABLE = re.compile(r"(?:PATH|IFS|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|CDPATH|BASH_FUNC\w*|LD_\w+)\Z")
_VARIABLE = re.compile(r"\$(?:\w+|[@*#?$!-])")
_REDIRECTION = re.compile(r"&>>?|<<<|<<-?|<>|[<>]&|>>|>\||[<>]")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_FIND_EXEC = {"-exec", "-execdir", "-ok", "-okdir"}


class UnclearCommand(ValueError):
    """A line that can't be parsed with certainty; the message names the part."""


class ShellWord(msgspec.Struct, frozen=True):
    """A word of a line: `plain` where the shell leaves it as it is, `bare` without quotes, `filled` where it has an expansion."""

    text: str
    plain: bool = True
    bare: bool = True
    filled: bool = False


class WrapperSyntax(msgspec.Struct, frozen=True):
    """Command line syntax of a program that runs another: options with a value, without one, and words before the other's name."""

    valued: str = ""
    bare: str = ""
    before: int = 0
    assigns: bool = False


_WRAPPERS = {
    "env": WrapperSyntax(valued="uC", bare="i0", assigns=True),
    "sudo": WrapperSyntax(valued="ugpCrtTD", bare="nEHPSkb", assigns=True),
    "doas": WrapperSyntax(valued="u", bare="n"),
    "nohup": WrapperSyntax(),
    "setsid": WrapperSyntax(bare="cfw"),
    "nice": WrapperSyntax(valued="n"),
    "ionice": WrapperSyntax(valued="cn", bare="t"),
    "timeout": WrapperSyntax(valued="sk", bare="v", before=1),
    "stdbuf": WrapperSyntax(valued="ioe"),
    "xargs": WrapperSyntax(valued="InPdLsaE", bare="0rtx"),
    "exec": WrapperSyntax(valued="a", bare="cl"),
    "command": WrapperSyntax(bare="pvV"),
    "builtin": WrapperSyntax(),
    "time": WrapperSyntax(valued="fo", bare="pvaq"),
}


def check_commands(line: str, allow: Collection[str] | None, forbid: Collection[str] = ()) -> str:
    """Return an empty string if all commands of a line are allowed, else a sentence. `allow=None` allows all not forbidden."""
    try:
        names = parse_commands(line)
    except UnclearCommand as unclear:
        return f"The line isn't allowed: {unclear} can't be judged."
    for name in names:
        if name in forbid or basename(name) in forbid:
            return f"The command {name} is forbidden."
        if allow is not None and name not in allow:
            return f"The command {name} isn't among the allowed ones."
    return ""


def parse_commands(line: str) -> list[str]:
    """Return the name of every command in a line, in order; system programs without their folder. Raises `UnclearCommand`."""
    if len(line) > MAX_LENGTH or "\x00" in line:
        raise UnclearCommand("a line of this kind")
    return _ShellParser(line, 0).all()


def parse_simple_command(line: str) -> list[ShellWord]:
    """Return the words of a line that is a single command. Raises `UnclearCommand` for everything else.

    That is: several commands, a redirection, a substitution or a variable, a comment, a command that runs another one.
    """
    names = parse_commands(line)
    parser = _ShellParser(line, 0)
    while parser.at < len(line):
        if line[parser.at] in " \t":
            parser.at += 1
        elif line[parser.at] in "\n;&|()<>#" or line.startswith("\\\n", parser.at):
            raise UnclearCommand("more than one command")
        else:
            parser.parse_word()
    words = parser.words
    if len(names) != 1 or not words or any(word.filled for word in words) or _command_name(words[0]) != names[0]:
        raise UnclearCommand("more than one command")
    return words


class _ShellParser:
    """Parser of one line, or of the inside of a substitution."""

    def __init__(self, text: str, depth: int, start: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise UnclearCommand("a line nested this deeply")
        self.text = text
        self.at = start
        self.depth = depth
        self.names: list[str] = []
        self.words: list[ShellWord] = []
        self.bodies: list[tuple[str, bool, bool]] = []  # here-documents that begin after this line

    def all(self, closing: str = "") -> list[str]:
        """Return every name up to the end, or up to the character that closes a substitution."""
        while self.at < len(self.text):
            if closing and self.text[self.at] == closing:
                break
            self._step()
        if closing and self.at >= len(self.text):
            raise UnclearCommand("an open parenthesis")
        if self.bodies:
            raise UnclearCommand("a here-document without an end")
        self._end_command()
        return self.names

    def _step(self) -> None:
        char, text = self.text[self.at], self.text
        if char in " \t":
            self.at += 1
        elif text.startswith("\\\n", self.at):
            self.at += 2
        elif char == "\n":
            self._end_line()
        elif char == "#":
            end = text.find("\n", self.at)
            self.at = len(text) if end < 0 else end
        elif text.startswith(("<(", ">("), self.at):
            self.parse_word()
        elif redirection := _REDIRECTION.match(text, self.at):
            self._parse_redirection(redirection.group())
        elif char in ";&|":
            self._end_command()
            self.at += 1
        elif char == "(":
            self._parse_group()
        elif char == ")":
            raise UnclearCommand("a parenthesis")
        else:
            self.parse_word()

    def _end_line(self) -> None:
        self._end_command()
        self.at += 1
        for delimiter, quoted, tabs in self.bodies:
            self._parse_heredoc(delimiter, quoted=quoted, tabs=tabs)
        self.bodies = []

    def _parse_heredoc(self, delimiter: str, *, quoted: bool, tabs: bool) -> None:
        """Parse a here-document: text in which an unquoted one may run commands."""
        lines: list[str] = []
        while self.at < len(self.text):
            line, _, _ = self.text[self.at :].partition("\n")
            self.at += len(line) + 1
            if (line.lstrip("\t") if tabs else line) == delimiter:
                if not quoted:
                    self._parse_heredoc_text("\n".join(lines))
                return
            lines.append(line)
        raise UnclearCommand("a here-document without an end")

    def _parse_heredoc_text(self, text: str) -> None:
        reader = _ShellParser(text, self.depth + 1)
        while reader.at < len(text):
            if not reader.expansion(quoted=True):
                reader.skip()
        self.names += reader.names

    def skip(self) -> None:
        """Skip a character without meaning, or an escaped one."""
        self.at += 2 if self.text[self.at] == "\\" else 1

    def _parse_redirection(self, sign: str) -> None:
        if self.words and self.words[-1].text.isdigit() and self.text[self.at - 1].isdigit():
            self.words.pop()  # the number of a descriptor
        self.at += len(sign)
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        start, before = self.at, len(self.words)
        if self.at >= len(self.text) or self.text[self.at] in "\n;&|()<>":
            raise UnclearCommand("a redirection to nowhere")
        self.parse_word()
        target = self.words.pop() if len(self.words) > before else ShellWord("")
        if sign in ("<<", "<<-"):
            written = self.text[start : self.at]
            if not target.plain or not target.text:
                raise UnclearCommand("a here-document")
            self.bodies.append((target.text, written != target.text, sign == "<<-"))

    def _parse_group(self) -> None:
        if self.words or self.text.startswith("((", self.at):
            raise UnclearCommand("a parenthesis")
        self._parse_nested(self.at + 1)

    def _parse_nested(self, start: int) -> None:
        """Parse commands up to a closing parenthesis."""
        if self.bodies:
            raise UnclearCommand("a here-document")
        reader = _ShellParser(self.text, self.depth + 1, start)
        self.names += reader.all(")")
        self.at = reader.at + 1

    def parse_word(self) -> None:
        """Parse one word."""
        parts: list[str] = []
        start, plain, filled = self.at, True, False
        while self.at < len(self.text) and not self._ends_word():
            part, kind = self._parse_part()
            parts.append(part)
            plain = plain and kind == "plain"
            filled = filled or kind == "filled"
        text, raw = "".join(parts), self.text[start : self.at]
        if self.bodies and "\n" in raw:
            raise UnclearCommand("a here-document")
        self.words.append(ShellWord(text, plain or raw in ("{", "[", "[["), raw == text, filled))

    def _parse_part(self) -> tuple[str, str]:
        """Parse a part of a word; return it with what the shell does to it."""
        char = self.text[self.at]
        if char == "\\":
            return self._parse_escape(), "plain"
        if char == "'":
            return self._read_quoted(), "plain"
        if char == '"':
            return self._parse_double_quotes()
        if self.expansion():
            return "", "filled"
        self.at += 1
        return char, "pattern" if char in "*?[{~^=" else "plain"

    def _ends_word(self) -> bool:
        return self.text[self.at] in " \t\n;&|()<>" and not self.text.startswith(("<(", ">("), self.at)

    def _parse_escape(self) -> str:
        char = self.text[self.at + 1 : self.at + 2]
        if not char:
            raise UnclearCommand("a backslash at the end")
        self.at += 2
        return "" if char == "\n" else char

    def _read_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise UnclearCommand("an open quote")
        inner, self.at = self.text[self.at + 1 : end], end + 1
        return inner

    def _parse_double_quotes(self) -> tuple[str, str]:
        parts: list[str] = []
        kind = "plain"
        self.at += 1
        while self.text[self.at : self.at + 1] != '"':
            if self.at >= len(self.text):
                raise UnclearCommand("an open quote")
            if self.text[self.at] == "\\":
                escaped = self._parse_escape()
                parts.append(escaped if escaped in '$`"\\' else f"\\{escaped}")
            elif self.expansion(quoted=True):
                kind = "filled"
            else:
                parts.append(self.text[self.at])
                self.at += 1
        self.at += 1
        return "".join(parts), kind

    def expansion(self, *, quoted: bool = False) -> bool:
        """Skip an expansion, if one is here, and record the commands in it."""
        text, at = self.text, self.at
        if text.startswith("$((", at):
            self._skip_expansion("))", 3)
        elif text.startswith("$(" if quoted else ("$(", "<(", ">("), at):
            self._parse_nested(at + 2)
        elif text.startswith("${", at):
            self._skip_expansion("}", 2)
        elif text[at] == "`":
            self._parse_backticks(quoted=quoted)
        elif text.startswith(("$'", '$"', "$["), at):
            raise UnclearCommand(f"{text[at : at + 2]}")
        elif variable := _VARIABLE.match(text, at):
            self.at = variable.end()
        else:
            return False
        return True

    def _skip_expansion(self, closing: str, opening: int) -> None:
        """Skip arithmetic and parameters where they hold nothing that could run."""
        start = self.at + opening
        end = self.text.find(closing, start)
        inner = self.text[start:end]
        if end < 0 or re.search(r"[$`@'\"\\{\[(]" if opening == 2 else r"[^\d\s%()*+/<>&|^~!=-]", inner):
            raise UnclearCommand("an expansion")
        self.at = end + len(closing)

    def _parse_backticks(self, *, quoted: bool) -> None:
        found = _BACKTICKS.match(self.text, self.at)
        if found is None or self.bodies or (quoted and '\\"' in found[1]):
            raise UnclearCommand("a backtick")
        self.names += _ShellParser(re.sub(r"\\([`$\\])", r"\1", found[1]), self.depth + 1).all()
        self.at = found.end()

    def _end_command(self) -> None:
        """End a simple command."""
        words, self.words = self.words, []
        self._add_command(words)

    def _add_command(self, words: Sequence[ShellWord]) -> None:
        words = list(words)
        while words and words[0].bare and words[0].text in _KEYWORDS:
            words.pop(0)
        words = _skip_assignments(words)
        if not words or (words[0].bare and words[0].text == "for"):
            return
        name = _command_name(words[0])
        self.names.append(name)
        if name in _UNPARSED:
            raise UnclearCommand(f"what {name} runs")
        self._add_commands_run_by(name, words[1:])

    def _add_commands_run_by(self, name: str, rest: Sequence[ShellWord]) -> None:
        """Add the commands that a command runs which runs others."""
        special: dict[str, Callable[[Sequence[ShellWord]], None]] = {
            "find": self._parse_find,
            "eval": self._parse_eval,
            "trap": lambda words: self._parse_lines(words[:1]),
            **dict.fromkeys(_SHELLS, self._parse_shell),
        }
        if name in special:
            special[name](rest)
        elif name in _WRAPPERS:
            self._add_command(_unwrap(name, _WRAPPERS[name], rest))

    def _parse_shell(self, words: Sequence[ShellWord]) -> None:
        for index, word in enumerate(words):
            if not word.plain:
                raise UnclearCommand("what a shell is given")
            if not word.text.startswith(("-", "+")):
                return
            if word.text.startswith("--") or "o" in word.text or "O" in word.text:
                raise UnclearCommand(f"{word.text} of a shell")
            if "c" in word.text:
                self._parse_lines(words[index + 1 : index + 2])
                return
        raise UnclearCommand("what a shell reads")

    def _parse_eval(self, words: Sequence[ShellWord]) -> None:
        self._parse_lines([ShellWord(" ".join(word.text for word in words), all(word.plain for word in words))])

    def _parse_lines(self, words: Sequence[ShellWord]) -> None:
        for word in words:
            if not word.plain:
                raise UnclearCommand("a line that is put together")
            self.names += _ShellParser(word.text, self.depth + 1).all()

    def _parse_find(self, words: Sequence[ShellWord]) -> None:
        for index, word in enumerate(words):
            if word.filled:
                raise UnclearCommand("what find is given")
            if word.text in _FIND_EXEC:
                following = words[index + 1 :]
                self._add_command(following[: _find_exec_end(following)])


def _find_exec_end(words: Sequence[ShellWord]) -> int:
    """Return where the command of `find -exec` ends."""
    return next((index for index, word in enumerate(words) if word.text in (";", "+")), len(words))


def _skip_assignments(words: list[ShellWord]) -> list[ShellWord]:
    for index, word in enumerate(words):
        found = _ASSIGNMENT.match(word.text)
        if found is None:
            return words[index:]
        if _UNSAFE_VARIABLE.match(found["name"]):
            raise UnclearCommand(f"another {found['name']}")
    return []


def _command_name(word: ShellWord) -> str:
    if not word.plain or not word.text:
        raise UnclearCommand("a command whose name is computed")
    return basename(word.text) if dirname(word.text) in _SYSTEM_FOLDERS else word.text


def _unwrap(name: str, wrapper: WrapperSyntax, words: Sequence[ShellWord]) -> list[ShellWord]:
    """Return the words of the command that another one runs."""
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        if option.text == "--":
            break
        if _takes_next(name, wrapper, option):
            rest[:1] = []
    rest = rest[wrapper.before :]
    return _skip_assignments(rest) if wrapper.assigns else rest


def _takes_next(name: str, wrapper: WrapperSyntax, option: ShellWord) -> bool:
    """Return whether an option's value is the next word. Raises `UnclearCommand` for an unknown option."""
    letters = option.text[1:]
    for index, letter in enumerate(letters):
        if letter in wrapper.valued:
            return index == len(letters) - 1
        if letter not in wrapper.bare:
            break
    else:
        if letters and option.plain:
            return False
    raise UnclearCommand(f"{option.text} of {name}")
