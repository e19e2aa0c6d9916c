"""Code mode: the model writes programs that call its tools, with the tool `run_program`.

Each call of a program is a call of the run: judged, approved, limited, journaled and audited as if the model had made it. A
program that is interrupted, or waits for a user, is run again from its beginning with the recorded results of its calls.
"""

import asyncio
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.handoff import HANDOFFS
from treadle.agent.interpreter import (
    CallReply,
    FunctionCall,
    ProgramLimits,
    ProgramResult,
    StopProgram,
    check_installed,
    run_program,
)
from treadle.core.calls import Call, Preview
from treadle.core.context import RunContext
from treadle.core.errors import BadTool, ToolProblem
from treadle.core.requests import Programs, ToolSpec
from treadle.core.seams import Policy, Situation, Toolset
from treadle.core.tool import Tool, ToolResult
from treadle.engine.live import LiveRun
from treadle.engine.outcome import Suspended
from treadle.loop.program_replay import differs_from_journal, find_inner_calls, inner_call_id, reads_untrusted
from treadle.loop.state import CallState, find_call
from treadle.tools.program_hints import find_hint
from treadle.tools.programs import Program, ProgramError, ProgramMistake, bind_arguments, read_program, to_plain
from treadle.tools.python_signatures import PythonFunction, write_functions
from treadle.tools.text import NO_RESULT, to_text
from treadle.tools.validate import InvalidArguments
from treadle.tools.values import shorten_json_text
from treadle.toolsets.wrappers import MappedToolset, return_schema

RUN_PROGRAM = "run_program"
MOST_LISTED = 20  # calls in a problem
MOST_PRINTED = 2_000  # characters of what a program that failed had printed

NO_VALUE = "The program has run. It has no value: end it with an expression, or print, to read something of it."
LEFT_OUT = "The program's own definition of {} was left out: it is defined already."

DESCRIPTION = """\
Run a Python program that calls the functions below. You read the value of its last expression and what it prints, nothing else.
Do as much as you can in one program: loop, filter, join and sum in it, and end it with only what you need to know.
- `await` each call. Make independent ones together: `a, b = await asyncio.gather(f(1), f(2))`.
- A call that fails raises an exception; `except` what the program can handle. One that was denied raises PermissionError.
- asyncio, datetime, json, math, re and builtins are available; files, network, the clock, other imports and subclasses aren't.
- Each program starts anew, without the variables of earlier ones.

"""


class CodeMode(Struct, frozen=True):
    """How an agent's programs are run.

    tools    the tools that programs call, as globs; the others are offered as always
    calls    maximum number of calls of one program
    seconds  maximum time of computing; the time that calls take doesn't count
    memory   maximum bytes
    output   maximum characters that it prints
    """

    tools: tuple[str, ...] = ("*",)
    calls: int = 100
    seconds: float = 5.0
    memory: int = 64 * 1024 * 1024
    output: int = 100_000

    @property
    def limits(self) -> ProgramLimits:
        """The limits of the interpreter."""
        return ProgramLimits(self.seconds, self.memory, self.output)


class ProgramToolset(MappedToolset):
    """The tools of a toolset as functions of programs, and `run_program`, which is offered in their place."""

    def __init__(self, inner: Toolset, mode: CodeMode, policy: Policy) -> None:
        check_installed()
        super().__init__(inner, self._hide)
        self.mode = mode
        self._policy = policy
        self._mapped: Sequence[Tool] | None = None
        self._listed: tuple[Tool, ...] = ()

    def _hide(self, tool: Tool) -> Tool:
        if tool.name == RUN_PROGRAM:
            raise BadTool(f"In code mode {RUN_PROGRAM} is the tool that runs programs; give your own tool another name.")
        chosen = tool.toolset != HANDOFFS and any(fnmatchcase(tool.name, pattern) for pattern in self.mode.tools)
        return replace(tool, offered=False) if chosen else tool

    def tools(self) -> tuple[Tool, ...]:
        """Return all tools, and `run_program`."""
        mapped = super().tools()
        if mapped is not self._mapped:
            self._mapped, self._listed = mapped, self._with_program(mapped)
        return self._listed

    async def prepare(self, context: RunContext[Any]) -> Sequence[Tool]:
        """Return the tools for the next request, and `run_program`, which describes those that are prepared."""
        everything = self.tools()
        made = await super().prepare(context)
        return everything if made is everything else self._with_program(tuple(made))

    def _with_program(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        functions = self.functions(tools)
        specs = {tool.name: tool.spec for tool in tools}
        programs = Programs(
            "program",
            {name: specs[function.tool] for name, function in functions.items()},
            "\n".join([function.plain_text for function in functions.values()]),
        )
        description = DESCRIPTION + "\n".join([function.text for function in functions.values()])
        parameters = {
            "type": "object",
            "properties": {"program": {"type": "string", "description": "the source of the program"}},
            "required": ["program"],
            "additionalProperties": False,
        }
        # Its calls are judged one by one, and not repeated when it is run again: by itself it changes nothing.
        program = Tool(
            ToolSpec(RUN_PROGRAM, description, parameters, programs=programs),
            effect="read",
            retry="idempotent",
            toolset="programs",
            sequential=any(tool.sequential for tool in tools if not tool.offered),
            composite=True,
        )
        return (*tools, program)

    def functions(self, tools: Sequence[Tool]) -> dict[str, PythonFunction]:
        """Return the functions that programs can call, by their names in Python."""
        offered = [tool for tool in tools if not tool.offered and self._policy.offers(tool, Situation())]
        returns = {tool.name: schema for tool in offered if (schema := return_schema(self, tool.name)) is not None}
        reading = {tool.name for tool in offered if tool.effect == "read"}
        return write_functions([tool.spec for tool in offered], returns, reading)

    def find_literals(self, call: Call, tool_name: str) -> frozenset[tuple[str, str | int | float]]:
        """Return the values that a program has written out for its calls of a tool, with the names of their parameters."""
        try:
            program = read_program(call.arguments["program"], self.functions(self.tools()))
        except (KeyError, ProgramMistake):
            return frozenset()
        return program.literals.get(tool_name, frozenset())

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Run a program, or call one of the tools."""
        if call.name != RUN_PROGRAM:
            return await super().call(call, context)
        run = context._run  # pyright: ignore[reportPrivateUsage]  # kept there for tools that are runs of their own
        assert isinstance(run, LiveRun)  # only the engine calls toolsets
        return await _ProgramCall(self, call, context, run).execute()

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return what a call would do; of a program, its source."""
        if call.name != RUN_PROGRAM:
            return await super().preview(call, context)
        return Preview(call.arguments["program"], covers=("program",))


class _ProgramCall:
    """One program, and the calls that it makes."""

    def __init__(self, toolset: ProgramToolset, call: Call, context: RunContext[Any], run: LiveRun) -> None:
        self._mode = toolset.mode
        self._toolset = toolset
        self._functions = toolset.functions(run.catalog.listed)
        self._call = call
        self._context = context
        self._run = run
        self._made = 0

    async def execute(self) -> ToolResult:
        try:
            program = read_program(self._call.arguments["program"], self._functions)
            ended = await run_program(program, tuple(self._functions), self._respond, self._mode.limits)
        except ProgramMistake as mistake:
            raise ToolProblem(f"{mistake}\nNothing was run.", data=ProgramError(str(mistake))) from None
        except StopProgram as stop:
            raise self._problem(str(stop)) from None
        if self._made < len(self._inner()):
            raise self._problem("The program was stopped: run again after an interruption, it ended before calls that it had made.")
        if ended.error or ended.unawaited:
            raise self._failure(program, ended)
        return self._result(program, ended)

    def _inner(self) -> Sequence[CallState]:
        return find_inner_calls(self._run.state, self._call.id)

    # calls

    async def _respond(self, calls: Sequence[FunctionCall]) -> list[CallReply]:
        """Make the calls that a program waits for: together, those of sequential tools alone."""
        replies: list[CallReply] = []
        together: list[FunctionCall] = []
        for call in calls:
            if self._is_sequential(call):
                replies += [*await self._make(together), *await self._make([call])]
                together = []
            else:
                together.append(call)
        return [*replies, *await self._make(together)]

    def _is_sequential(self, call: FunctionCall) -> bool:
        tool = self._run.catalog.find(self._functions[call.function].tool)
        return tool is not None and tool.sequential

    async def _make(self, calls: Sequence[FunctionCall]) -> list[CallReply]:
        bound = [self._bind(call) for call in calls]
        made = await asyncio.gather(
            *[self._context.call(call.name, **call.arguments) for call in bound if isinstance(call, Call)], return_exceptions=True
        )
        for each in made:
            if isinstance(each, BaseException) and not isinstance(each, ToolProblem | Suspended):
                raise each  # it breaks the run
        waiting = [each for each in made if isinstance(each, Suspended)]
        if waiting:
            raise Suspended(tuple([approval for each in waiting for approval in each.approvals]))
        values = iter(made)
        return [self._reply(call, next(values)) if isinstance(call, Call) else call for call in bound]

    def _bind(self, requested: FunctionCall) -> Call | CallReply:
        """Return the call of a tool, or what is wrong with how a program calls it."""
        function = self._functions[requested.function]
        try:
            arguments = to_plain(bind_arguments(function, requested.args, requested.kwargs))
        except TypeError as error:
            return CallReply(problem=f"{requested.function}: {error}", kind="invalid")
        checked = self._run.catalog.validator(function.tool).check(arguments)
        if not isinstance(checked, InvalidArguments):
            arguments = checked.arguments  # with what was converted, as in a call of the model's own
        if self._made >= self._mode.calls:
            raise StopProgram(f"The program was stopped at line {requested.line}: it may make at most {self._mode.calls} calls.")
        self._made += 1
        call = Call(inner_call_id(self._call.id, self._made), function.tool, arguments)
        if differs_from_journal(self._run.state, call):
            raise StopProgram(
                f"The program was stopped at line {requested.line}: run again after an interruption, it made another call than "
                f"before as its call {self._made}."
            )
        return call

    def _reply(self, call: Call, value: Any) -> CallReply:
        state = find_call(self._run.state, call.id)
        result = None if state is None else state.result
        if isinstance(value, ToolProblem):
            return CallReply(problem=str(value), kind="" if result is None else result.problem or "")
        if result is not None and result.data is None and not result.media:
            if result.content == NO_RESULT:
                return CallReply()
            if (return_schema(self._toolset, call.name) or {}).get("type") == "string":
                return CallReply(result.content)
        try:
            return CallReply(to_plain(value))
        except TypeError:
            return CallReply(to_text(value))

    # results

    def _result(self, program: Program, ended: ProgramResult) -> ToolResult:
        try:
            value = to_plain(ended.value)
        except TypeError:
            value = str(ended.value)
        parts = [ended.printed.rstrip(), "" if value is None else to_text(value)]
        content = "\n".join(filter(None, parts)) or NO_VALUE
        if program.left_out:
            content += f"\n{LEFT_OUT.format(', '.join(program.left_out))}"
        return ToolResult(content, data=value, untrusted=reads_untrusted(self._inner()))

    def _failure(self, program: Program, ended: ProgramResult) -> ToolProblem:
        lines: list[str] = []
        if ended.error:
            where = f"Line {ended.line}: " if ended.line else ""
            source = program.source.splitlines()[ended.line - 1].strip() if ended.line else ""
            hint = find_hint(ended.error, source, self._functions)
            lines += [f"{where}{ended.error}", *([f"    {source}"] if source else []), *([hint] if hint else [])]
        lines += [f"Line {call.line}: {call.function} was called without `await`, so it was not run." for call in ended.unawaited]
        printed = ended.printed.rstrip()[-MOST_PRINTED:]
        return self._problem("The program failed.", *lines, *([f"It printed:\n{printed}"] if printed else []))

    def _problem(self, words: str, *derived: str) -> ToolProblem:
        """Return a problem that says what has run. What is `derived` from results is quoted where one of them is untrusted.

        Its first line is the error, which is the problem's data where it isn't quoted.
        """
        inner = self._inner()
        told = [*derived, _list_calls(inner)]
        if reads_untrusted(inner):
            return ToolProblem(f"{words}\n", "\n".join(told))
        return ToolProblem("\n".join([words, *told]), data=ProgramError(derived[0]) if derived else None)


def _list_calls(inner: Sequence[CallState]) -> str:
    """Return the calls that a program has made, which its next version must not repeat."""
    ended = [call for call in inner if call.result is not None and call.call is not None]
    if not ended:
        return "It had made no calls."
    lines = [_describe_call(call) for call in ended[:MOST_LISTED]]
    if len(ended) > MOST_LISTED:
        lines.append(f"and {len(ended) - MOST_LISTED} more")
    return "These calls have been made; what they changed stays changed:\n" + "\n".join(lines)


def _describe_call(state: CallState) -> str:
    assert state.call is not None  # chosen by `_list_calls`
    assert state.result is not None
    outcome = "returned" if state.result.problem is None else f"failed ({state.result.problem})"
    return f"- {state.name} {shorten_json_text(to_text(state.call.arguments))}: {outcome}"
