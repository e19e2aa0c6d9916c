"""Programs as blocks of code: how a model without native calling writes one for a tool that runs programs.

Inside of a call, a program of several lines has an escape for each line and quote, which small models get wrong; a block of code
is what all models have seen. `ProgramBlocks` adds this to any dialect, in which the model may still write calls of other tools.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Written
from treadle.core.requests import Programs, ToolSpec
from treadle.core.seams import Dialect, Heard, Parser

STOP = "\n```\n"  # a block of code that ends; what a model writes behind it can't know the result
_LESSON = """\
You can run Python programs. To run one, write it as a block of code, and nothing after it. \
You are then told what it printed, and the
value of its last expression. Do all that is asked for in one program. \
For example, with list_folders() -> list[{{'id': int, 'name': str}}]
and count_files(folder_id: int) -> int, \
this says how many files are in folders whose names begin with A:

```python
total = 0
for folder in list_folders():
    if folder["name"].startswith("A"):
        total += count_files(folder["id"])
print(total)
```

These functions are imported already and work on the user's data:

{listing}"""
_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(\w*)[ \t]*")
_NAMES = ("python", "python3", "py", "")
_DATA = re.compile(r"\s*[{<]")  # a block that begins so is none of Python
_UNFINISHED = re.compile(r"[ \t]*(?:`{0,2}|~{0,2}|(?:`{3,}|~{3,})[ \t\w]*)")  # a line that may become the opening one


class ProgramBlocks(Struct, frozen=True):
    """A dialect in which programs are blocks of code; calls of other tools are those of the dialect `base`."""

    base: Dialect
    tool: str
    programs: Programs

    @property
    def name(self) -> str:
        """The name: that of the base, and of the tool."""
        return f"{self.base.name} {self.tool}"

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """Return the instructions that explain the functions of programs, and the other tools."""
        others = [tool for tool in tools if tool.name != self.tool]
        lesson = _LESSON.format(listing=self.programs.listing)
        return "\n\n".join([*([self.base.explain(others)] if others else []), lesson])

    def spell(self, calls: Sequence[Call], /) -> str:
        """Return the calls as a model writes them."""
        others = [call for call in calls if call.name != self.tool]
        blocks = [self._spell_block(call) for call in calls if call.name == self.tool]
        return "\n".join([*([self.base.spell(others)] if others else []), *blocks])

    def _spell_block(self, call: Call) -> str:
        return f"```python\n{str(call.arguments.get(self.programs.argument, '')).strip()}\n```"

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """Return a parser for one reply."""
        return ProgramBlockParser(self, self.base.parser(tools, reasoning_open))


class ProgramBlockParser:
    """Parses one reply that may have a program; see `core.seams.Parser`.

    Blocks are looked for in what is text to the parser of the base. The first one ends the reply. One that isn't closed is cut.
    """

    def __init__(self, dialect: ProgramBlocks, base: Parser) -> None:
        self._dialect = dialect
        self._base = base
        self._line = ""  # held back: of an open block, or what may become the opening of one
        self._opening = ""  # the line that opened the block
        self._fence = ""  # of the block that is open
        self._is_program = False
        self._block: list[str] = []
        self._is_line_start = True
        self._is_over = False

    def feed(self, text: str) -> Heard:
        """Return what is certain after this piece."""
        return self._read(self._base.feed(text))

    def close(self) -> Heard:
        """Return what is left at the end of the reply."""
        heard = self._read(self._base.close())
        if self._is_over:
            return heard
        if not (self._fence and self._is_program):
            return replace(heard, text=heard.text + self._line)
        if self._line:
            self._read_line(self._line)
        return replace(heard, calls=(*heard.calls, self._end_block(cut=not self._is_over)))

    def _read(self, heard: Heard) -> Heard:
        """Take the block out of text that the parser of the base has passed."""
        if self._is_over or not heard.text:
            return replace(heard, text="")
        *lines, rest = (self._line + heard.text).split("\n")
        said: list[str] = []
        for line in lines:
            said.append(self._read_line(line))
            if self._is_over:
                self._line = ""
                return replace(heard, text="".join(said), calls=(*heard.calls, self._end_block()))
        self._line = rest if self._fence or (self._is_line_start and _UNFINISHED.fullmatch(rest)) else ""
        if not self._line:
            said.append(rest)
            self._is_line_start = self._is_line_start and not rest
        return replace(heard, text="".join(said))

    def _read_line(self, line: str) -> str:
        """Read a whole line; return what is text."""
        if not self._fence:
            opening = _OPENING.fullmatch(line) if self._is_line_start else None
            self._is_line_start = True
            if opening is None:
                return f"{line}\n"
            self._fence, self._is_program = opening[1], opening[2].lower() in _NAMES
            self._opening = f"{line}\n"
            return "" if self._is_program else self._opening
        if line.strip() == self._fence:
            self._is_over = self._is_program
            self._fence = ""
        elif self._is_program and not self._block and _DATA.match(line):
            self._is_program = False
            return f"{self._opening}{line}\n"
        elif self._is_program:
            self._block.append(line)
        return "" if self._is_program else f"{line}\n"

    def _end_block(self, *, cut: bool = False) -> Written:
        arguments = msgspec.json.encode({self._dialect.programs.argument: "\n".join(self._block)}).decode()
        return Written("", self._dialect.tool, arguments, cut)


def add_program_blocks(dialect: Dialect, tools: Sequence[ToolSpec]) -> Dialect:
    """Return a dialect with programs as blocks where one of the tools runs programs, else the dialect itself."""
    found = next(((tool.name, tool.programs) for tool in tools if tool.programs is not None), None)
    return ProgramBlocks(dialect, *found) if found else dialect


def end_open_block(heard: Heard, tools: Sequence[ToolSpec]) -> Heard:
    """Return the end of a reply that the model itself has ended: a program that it hasn't closed is whole."""
    names = {tool.name for tool in tools if tool.programs is not None}
    return replace(heard, calls=tuple([replace(call, cut=call.cut and call.name not in names) for call in heard.calls]))
